"""Function words by language: articles, pronouns, prepositions, conjunctions, auxiliaries; nothing that could be a topic.

They are left out of prose, and tell one language from another. Words are given as tokens: what follows an apostrophe is one of
its own. Languages without a list are stemmed and keep all their words, which weigh little anyway where they are frequent.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_WORDS = {
    "english": (
        "a about above after again against all also although am among an and any are as at be because been before being below "
        "between both but by can cannot could d did do does doing don down during each either else etc every few for from "
        "further had has have having he hence her here hers herself him himself his how however i if in into is it its itself "
        "just ll may me might more most much must my myself neither no nor not now of off often on once only onto or other "
        "others otherwise ought our ours ourselves out over own per perhaps quite rather re s same shall she should since so "
        "some still such t than that the their theirs them themselves then there therefore these they this those though "
        "through thus to too toward towards under until up upon us ve very via was we were what when where whereas whether "
        "which while who whom whose why will with within without would yet you your yours yourself yourselves"
    ),
    "german": (
        "aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes auch auf aus bei beim bin bis "
        "bist da dabei dadurch daher damit dann darauf daraus das dass davon dazu dein deine deinem deinen deiner dem den denn "
        "der deren des dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen "
        "einer eines einige einigen einiger er es etwa etwas euch euer eure für gegen gibt hab habe haben hat hatte hatten "
        "hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im in indem ins ist ja jede jedem jeden jeder jedes "
        "jedoch jene jenem jenen jener jenes jetzt kann kein keine keinem keinen keiner können könnte man manche mein meine "
        "meinem meinen meiner mich mir mit muss müssen nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem "
        "seinen seiner seines seit selbst sich sie sind so solche soll sollen sollte sondern sonst sowie über um und uns unser "
        "unsere unter viel vom von vor während war waren warum was weil welche welchem welchen welcher welches wenn wer werde "
        "werden wie wieder will wir wird wo wobei wollen wurde wurden während würde würden zu zum zur zwar zwischen"
    ),
    "french": (
        "a ai ainsi alors au aucun aucune aussi autre autres aux avait avaient avant avec avez avoir avons bien c car ce ceci "
        "cela celle celles celui ces cet cette ceux chaque comme comment contre d dans de depuis des donc dont du elle elles en "
        "encore entre es est et étaient était étant été être eu fait il ils j je jusqu l la là le les leur leurs lors lorsque "
        "lui m ma mais même mes moi moins mon n ne ni non nos notre nous on ont ou où par parce pas pendant peu peut peuvent "
        "plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera serait ses si soit son sont sous "
        "sur t ta tandis te tes toi ton tous tout toute toutes très tu un une vers vos votre vous y"
    ),
    "spanish": (
        "a al algo algunas algunos ante antes aquel aquella aquellas aquellos así aún aunque bajo bien cada como cómo con "
        "contra cual cuál cuales cuando cuándo de del desde donde dónde durante e el él ella ellas ellos en entre era eran es "
        "esa esas ese eso esos está están estaba estar este esta estas esto estos fue fueron ha habían había hacia han hasta "
        "hay la las le les lo los más me mi mientras mis muy nada ni no nos nosotros o otra otras otro otros para pero poco por "
        "porque pues que qué quien quién quienes se sea según ser será si sí sido sin sobre solo sólo son su sus también tan "
        "tanto te tenía tiene tienen toda todas todo todos tras tu tus un una unas uno unos usted ustedes y ya yo"
    ),
    "portuguese": (
        "a à ainda além alguma algumas algum alguns ao aos apenas após aquela aquelas aquele aqueles aquilo as às até cada com "
        "como contra da das de dela delas dele deles depois desde dessa desse desta deste do dos durante e é ela elas ele eles "
        "em entre era eram essa essas esse esses esta está estão estar estas este estes eu foi foram há isso isto já lhe lhes "
        "lo mais mas me mesmo meu meus minha minhas muito na nas não nem nessa nesse nesta neste no nos nós nossa nosso num "
        "numa o os ou para pela pelas pelo pelos pode podem por porque porém qual quais quando que quem são se sem sendo ser "
        "seu seus será sido sob sobre só sua suas também tanto te tem têm tinha toda todas todo todos um uma umas uns você vocês"
    ),
    "italian": (
        "a ad agli ai al alla alle allo anche ancora avere aveva avevano c che chi ci ciò come con contro cosa cui d da dagli "
        "dai dal dalla dalle dallo degli dei del dell della delle dello di dopo dove due e è ed era erano essere fra fu fino "
        "gli ha hanno ho i il in io l la le lei li lo loro lui ma me mentre mi mia mio molto ne negli nei nel nell nella nelle "
        "nello noi non nostra nostro o ogni oppure per perché perchè più poi prima può qual quale quali quando quanto quella "
        "quelle quelli quello questa queste questi questo qui quindi se sempre senza si sia sono sta stata stato su sua sue "
        "sugli sui sul sulla sulle suo suoi tra tu tutta tutte tutti tutto un una uno vi voi"
    ),
    "dutch": (
        "aan al alle alleen als andere ben bij daar dan dat de den der des deze die dit doch doen door dus een eens en er ge "
        "geen had hadden heb hebben heeft hem het hier hij hoe hun iets ik in is ja je kan kon kunnen maar me meer men met mij "
        "mijn moet moeten na naar niet niets nog nu of om omdat onder ons ook op over reeds te tegen toch toen tot tussen u uit "
        "uw van veel voor waar waren was wat we wel welke werd werden wie wij wil worden wordt zal ze zei zelf zich zij zijn zo "
        "zonder zou zouden"
    ),
    "swedish": (
        "all alla allt att av blev bli blir blivit där därför de dem den denna deras dess dessa det detta dig din dina ditt du "
        "då efter ej eller en er ert ett från för före genom ha hade han hans har hela henne hennes hon honom hur här i icke "
        "inga ingen inget inom inte jag ju kan kunde man många med mellan men mer mig min mina mitt mot mycket måste när nu och "
        "också om oss på samma sedan sig sin sina sitt ska skulle som så sådan sådana till under upp ut utan vad var vara varit "
        "varje vem vid vilka vilken vilket vår våra åt än är över"
    ),
    "danish": (
        "ad af alle alt anden andet andre at blev blive bliver da de dem den denne der deres det dette dig din disse dog du "
        "efter eller en end er et for fordi fra før gennem ham han hans har havde have hen hende hendes her hos hun hvad hvem "
        "hver hvilke hvilken hvis hvor hvordan hvorfor i ikke ind jeg jer jo kan kunne man mange med meget mellem men mere mig "
        "min mine mit mod må når nogen noget nogle nu og også om op os over på samme selv sig sin sine skal skulle som sådan så "
        "til ud uden under var ved vi vil ville vor være været"
    ),
    "norwegian": (
        "alle andre at av bare begge ble bli blir blitt både da de deg dem den denne der deres det dette di din disse du eller "
        "en enn er et ett etter flere for fordi fra før gjennom ha hadde han hans har hennes her hos hun hva hvem hver hvilke "
        "hvilken hvis hvor hvordan hvorfor i ikke ingen inn jeg kan kunne man mange med meg mellom men mer min mot må når noe "
        "noen nå og også om opp oss over på samme seg selv sin sine sitt skal skulle slik som så til ut uten under var ved vi "
        "vil ville vår være vært"
    ),
    "finnish": (
        "ei eikä eivät emme en ennen entä että eräs he heidän hän hänen hänet ilman itse ja jo joka joiden joissa jolla jolle "
        "jonka jos joskus jossa josta jota jotka jotta kaikki kanssa keskellä koska kuin kuinka kuka kun kuten lisäksi me "
        "meidän mikä mikäli miksi millä minkä minun minä missä mitä molemmat mukaan mutta muun muut muuta myös ne niiden niin "
        "niitä no noin nuo nyt näiden näin nämä ole olemme olen olevan oli olisi olivat olla olleet ollut on ovat se sekä sen "
        "siellä siinä siis siitä silloin sillä sinä sitten sitä tai tämä tämän tässä tästä tätä te tuo tämän vaan vaikka vain "
        "vielä voi vuoksi"
    ),
    "russian": (
        "а без более больше будет будто бы был была были было быть в вам вас во вот все всего всех вы где да даже для до его "
        "ее её если есть еще ещё же за здесь и из или им их к как какая какой когда который которая которое которые которых ко "
        "кто ли между меня мне может можно мой мы на над надо нас не него нее ней нет ни них но ну о об однако он она они оно "
        "от очень по под после потом потому почти при про с сам свою себе себя со так также такой там тем то того тоже той "
        "только том тот ту ты у уже хотя чего чем через что чтобы эта эти этих это этого этой этом этот эту я"
    ),
    "polish": (
        "a aby albo ale ani bardzo bez bo by być był była było były co czy czyli dla do gdy gdzie go i ich ile im innych iż ja "
        "jak jako je jednak jego jej jest jeśli jeszcze już każdy kiedy kto która które którego której który których którym lub "
        "ma mają mi może można my na nad nas nie niej niż o od on ona one oni oraz po pod ponieważ przed przez przy również są "
        "się ta tak taki także tam te tego tej ten to tu tych tylko tym u w wszystkie wszystko z za zawsze ze że"
    ),
    "czech": (
        "a aby aj ale ani až bez bude budou by byl byla byli bylo být co či další do i jak jako je jeho její jejich jen ještě "
        "již jsem jsme jsou k kde kdo kdy kdyby když ke která které kterou který kteří mezi mi mít může my na nad ne nebo než "
        "nejsou není o od on ona oni podle pokud po pod proto protože pro před při s se si své svůj ta tak také tato tedy ten "
        "tento této tím to toho tohoto tom tomto tu ty tyto u už v však ve více vše z za ze že"
    ),
    "hungarian": (
        "a abban ahhoz ahogy ahol aki akik akkor alatt amely amelyek amelyet ami amikor arra arról át az azok azon azonban azt "
        "azután be benne csak de e ebben egy egyéb egyes egyik előtt ennek én erre és ez ezek ezen ezért ezt fel ha hanem hogy "
        "hogyan ide ill így is ki kívül le lehet lenne lesz lett maga már más meg mely melyek mert mi mikor mind minden mint "
        "mintha mivel most nagyon ne nekem nélkül nem nincs ő ők olyan össze pedig s saját sem se sokkal számára szemben szerint "
        "szinte te tehát után vagy vagyis való valamint van vannak volna volt voltak"
    ),
    "turkish": (
        "acaba ama ancak artık aslında ayrıca bana bazı belki ben beni benim bile bir biri birkaç birçok biz bize bizi bizim bu "
        "buna bunda bundan bunlar bunu bunun çok çünkü da daha de değil diye en fakat gibi göre hangi hatta hem henüz hep her "
        "hiç için ile ise kadar karşı kendi kez ki kim mı mi mu mü nasıl ne neden nerede niçin niye o olan olarak oldu olduğu "
        "olması olmak olur ona onlar onu onun öyle oysa pek sadece sanki sen siz şey şu tarafından tüm üzere var ve veya ya "
        "yani yok zaten"
    ),
    "romanian": (
        "a acea aceasta această aceea acest aceste acestea acestei acești acestui acum ai aici al ale am ar are asupra aș așa "
        "atât au avea ba că când care căreia căror către ce cel cele celor cei cu cum da dacă dar de deci decât deja deși din "
        "dintre doar după ea ei el ele era este eu face fără fi fie fiecare fiind foarte fost iar îi îl în înainte încă între "
        "își la le li lor lui mai mult nici nu o ori pe pentru peste prin sa să sale sau se si și spre sub sunt toate toți tot "
        "un una unde unei unele unor unui"
    ),
    "catalan": (
        "a al als algun alguna algunes alguns amb aquell aquella aquelles aquells aquest aquesta aquestes aquests així això "
        "cada com d de del dels des després doncs dues el ella elles ells els em en encara ens entre era eren és està estan fins "
        "foren fou ha haver havia hem hi ho i igual l la les li llavors llur malgrat mentre més meu molt n ni no nosaltres nostre "
        "o on pel pels per però perquè poc pot quan què qual quals que qui s sa se segons sense ser ses seu seus seva seves si "
        "sobre sols són també tan tant te tot tota totes tots un una unes uns va van vosaltres"
    ),
    "indonesian": (
        "ada adalah agar akan antara apa apabila atau bagi bahwa baik banyak beberapa belum berbagai bila bisa bukan dalam dan "
        "dapat dari daripada dengan di dia hal hanya harus hingga ia ini itu jadi jika juga kami kamu karena ke kembali kepada "
        "ketika kita lain lalu lebih maka masih melalui mereka namun oleh orang pada para paling per pernah pun saat saja sangat "
        "saya sebagai sebelum sebuah secara sedang sehingga sejak selain selama seluruh semua seorang seperti serta setelah "
        "setiap suatu sudah supaya tapi telah tentang terhadap tersebut tetapi tidak untuk yaitu yakni yang"
    ),
}

STOP_WORDS: Mapping[str, frozenset[str]] = MappingProxyType({name: frozenset(words.split()) for name, words in _WORDS.items()})
