"""The analyser: prose is found by its stems, code by its words, and documents and queries are treated alike."""

from __future__ import annotations

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from searchmark import Corpus, Document
from searchmark.agents.lexical.analyser import LANGUAGES, STOP_WORDS, WORD_TOKENISER, Analyser, AnalyserSettings, tokenize
from searchmark.agents.lexical.bm25 import Bm25Agent, Bm25Settings
from searchmark.agents.lexical.fts5 import Fts5Agent
from tests.agents.corpora import FILES, corpus_from
from tests.agents.reference import bm25_by_the_book

PROSE = {
    "n1": "The connections of the network are kept open for as long as they are needed by those who use it.",
    "n2": "A window is what you see when you look at it, and it can be moved to where it is wanted.",
    "n3": "This is about the storing of files: how they were stored, and which of them have been lost since then.",
}
GERMAN = {
    "n1": "Die Verbindungen des Netzes werden so lange offen gehalten, wie sie von denen gebraucht werden, die sie nutzen.",
    "n2": "Ein Fenster ist das, was man sieht, wenn man es ansieht, und es kann dahin bewegt werden, wo es sein soll.",
}


def bm25(files: dict[str, str], **options: object) -> Bm25Agent:
    agent = Bm25Agent(Bm25Settings(cache=False, **options))
    agent.initialize(corpus_from(files))
    return agent


def fts5(files: dict[str, str], **options: object) -> Fts5Agent:
    agent = Fts5Agent(Fts5Agent.Config(**options))
    agent.initialize(corpus_from(files))
    return agent


@pytest.mark.parametrize("made", [bm25, fts5])
@pytest.mark.parametrize(("query", "found"), [("connection", "n1"), ("CONNECTED", "n1"), ("windows", "n2"), ("stores", "n3")])
def test_prose_is_found_by_another_form_of_its_words(made, query: str, found: str) -> None:
    assert made(PROSE).retrieve(query, 3).files == [found]
    assert made(PROSE, language="none").retrieve(query, 3).files == []


def test_german_prose_is_taken_for_german() -> None:
    agent = bm25(GERMAN)
    assert agent.describe()["language"] == "german"
    assert agent.retrieve("der Verbindung", 3).files == ["n1"]


@pytest.mark.parametrize("query", ["the of and are", "it"])
def test_stop_words_alone_find_nothing_in_prose_unless_they_are_kept(query: str) -> None:
    assert bm25(PROSE).retrieve(query, 3).files == []
    assert bm25(PROSE, stop_words=False).retrieve(query, 3).files


def test_stop_words_of_a_query_do_not_count_in_fts5_unless_there_is_nothing_else() -> None:
    agent = fts5(PROSE)
    assert agent.retrieve("the connection of it", 3) == agent.retrieve("connection", 3)
    assert agent.retrieve("the of it", 3).files == fts5(PROSE, stop_words=False).retrieve("the of it", 3).files != []


@pytest.mark.parametrize("made", [bm25, fts5])
def test_a_question_about_code_does_not_ask_for_its_function_words_unless_it_has_no_others(made) -> None:
    files = {"a.py": "with open(path) as file: pass", "b.py": "# the path of the thing that is in the way of it", "c.py": "x"}
    assert made(files).retrieve("what is the file of it", 3).files == ["a.py"]
    assert made(files).retrieve("with", 3).files == ["a.py"]
    assert set(made(files, stop_words=False).retrieve("what is the file of it", 3).files) == {"a.py", "b.py"}


@pytest.mark.parametrize("query", ["check_password", "logout user", "sessions", "the password is checked once", "PALETTE"])
def test_code_is_searched_by_its_words_as_they_are(query: str) -> None:
    found = bm25(FILES).retrieve(query, 9)
    by_the_book = bm25_by_the_book([Document(*file) for file in FILES.items()], query, 9, stop_words=STOP_WORDS["english"])
    assert list(found.files) == [name for name, _ in by_the_book]
    assert list(found.scores or ()) == pytest.approx([score for _, score in by_the_book])


def test_scores_are_those_of_the_formula_over_terms() -> None:
    """The length of a document is that of its terms: stop words count neither in it nor in the mean."""
    analyser = AnalyserSettings().analyser("english")
    found = bm25(PROSE).retrieve("how are windows stored", 3)
    analysed = [Document(name, " ".join(analyser.terms(text))) for name, text in PROSE.items()]
    expected = bm25_by_the_book(analysed, " ".join(analyser.terms("how are windows stored")), 3)
    assert list(zip(found.files, found.scores or (), strict=True)) == [(name, pytest.approx(score)) for name, score in expected]


def test_forms_of_a_word_in_one_document_are_one_term() -> None:
    agent = bm25({"a": "connect connected connecting", "b": "other"}, language="english")
    one = bm25({"a": "connect connect connect", "b": "other"}, language="english")
    assert agent.retrieve("connection", 1) == one.retrieve("connect", 1)


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("english", "The connections of getUsers", ["connect", "get", "user", "getus"]),
        ("english", "user_names and sha256", ["user", "name", "user_names", "sha", "256", "sha256"]),
        ("porter", "generically the skies", ["gener", "ski"]),
        ("german", "Die Häuser der Straße", ["haus", "strass"]),
        ("none", "The connections", ["the", "connections"]),
    ],
)
def test_a_text_has_these_terms(language: str, text: str, terms: list[str]) -> None:
    assert AnalyserSettings().analyser(language).terms(text) == terms


def test_identifiers_may_stay_whole() -> None:
    assert WORD_TOKENISER.tokens("getHTTPResponse _end_session sha256 Größe 用户登录 __") == [
        "gethttpresponse", "end_session", "sha256", "größe", "用户", "户登", "登录",
    ]  # fmt: skip
    agent = bm25({"a.py": "def getUser(): pass", "b.py": "user = 1"}, identifiers=False)
    assert (agent.retrieve("user", 3).files, agent.retrieve("GetUser", 3).files) == (["b.py"], ["a.py"])


def test_every_language_of_the_library_can_be_asked_for() -> None:
    assert sorted(LANGUAGES) == sorted(Stemmer.algorithms())
    assert set(STOP_WORDS) <= set(LANGUAGES)
    assert all(AnalyserSettings().analyser(language).terms("words") for language in LANGUAGES)


def test_stop_words_are_tokens() -> None:
    assert {word for words in STOP_WORDS.values() for word in words if tokenize(word) != [word]} == set()


@given(st.text(), st.sampled_from(LANGUAGES))
def test_any_text_has_terms(text: str, language: str) -> None:
    analyser = Analyser(language, stop_words="left out", stemming=True)
    assert all(analyser.terms(text))
    assert len(analyser.positions(text)) == len(tokenize(text))


def test_words_and_identifiers_do_not_share_a_cache(cache) -> None:
    corpus = Corpus.of("c", [Document("a.py", "getUser")])
    for identifiers, found in ((True, ["a.py"]), (False, []), (True, ["a.py"])):
        agent = Bm25Agent(Bm25Settings(cache=True, identifiers=identifiers))
        agent.initialize(corpus)
        assert agent.retrieve("user", 1).files == found


@pytest.mark.parametrize("first", ["none", "english", "german"])
def test_what_one_language_has_cached_serves_every_other(cache, first: str) -> None:
    corpus = Corpus.of("c", [Document(*entry) for entry in PROSE.items()])
    Bm25Agent(Bm25Settings(cache=True, language=first)).initialize(corpus)
    agent = Bm25Agent(Bm25Settings(cache=True, language="english"))
    agent.initialize(corpus)
    assert agent.chunks_tokenised == 0
    assert agent.retrieve("the connection was stored", 3) == bm25(PROSE, language="english").retrieve(
        "the connection was stored", 3
    )
