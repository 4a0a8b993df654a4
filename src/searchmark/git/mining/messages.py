"""Rules about the wording of commit messages. They look at words, not at code."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

from searchmark.git.mining.queries import Query, sentences_of
from searchmark.records.file_kinds import word_set

# Rules about how a message reads. They look at words, not at code.
#
# Most of them ask what a message is *about*: the last word of the first noun phrase behind its verb. "Fixed a typo in the
# admin" is about a typo, "Added test client support" about support and not about tests.

_OPENING_WORDS = 4  # words in which talk among colleagues says "I"

_ENOUGH_WORDS = 3  # telling words that make up for a missing one

_FEWEST_LETTERS = 8  # fewer in a whole query say nothing

_FILE_NAME = re.compile(r"(?:update|create|delete|rename|add|edit)d? \S+\.[a-z]{1,4}\.?", re.IGNORECASE)  # as web pages put it

_NAME = re.compile(r"\b[A-Z]{3,}\b")

_LETTERED = re.compile(r"[^\W\d_]+(?:'[a-z]+)?")

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_TOKEN = re.compile(r"(?<![\w'+#.-])[\w'+#.-]*\w|[,;:()]")  # a run is entered at its start: dots alone are not tried one by one


_VERBS = word_set(
    "add adds added adding fix fixes fixed fixing update updates updated updating improve improves improved improving correct "
    "corrects corrected correcting clarify clarifies clarified clean cleans cleaned cleaning tidy tidied remove removes removed "
    "removing refactor refactors refactored refactoring extend extends extended expand expanded tweak tweaks tweaked move moves "
    "moved moving adjust adjusts adjusted reword reworded rewrite rewrote simplify simplified mention mentioned write wrote split "
    "skip skips skipped enable enabled disable disabled use uses used using make makes made run runs ran apply applies applied "
    "change changes changed changing reorganize reorganized create creates created include included modify modified format "
    "formatted reformat reformatted delete deletes deleted drop drops dropped replace replaced edit edited sort sorted start "
    "finish complete completed standardize standardized consolidate restore restored rename renamed port ported address addresses "
    "addressed incorporate incorporated bump bumped prepare prepared preparing release released set increase upgrade upgraded pin "
    "kill kills killed killing unpin polish polished satisfy silence silenced appease please resolve resolved forgot exclude"
)


_FILLERS = word_set(
    "a an the some more another few several missing failing broken new old basic initial simple additional extra further better "
    "various minor small tiny little own our all most first last also up out my its this that these now really finally again "
    "just and or two three couple major full general slight quick trivial misc miscellaneous other many too"
)


_ENDS_OF_PHRASE = word_set(
    "wrt in of for to from with without on at by when where while if that which so as because since after before into about during "
    'via instead due per and or but until not is are was be via than , ; : . ( ) " `'
)


_DOCS = word_set(
    "doc docs documentation docstring docstrings readme changelog changelogs comment comments license licence licenses copyright "
    "authors tutorial tutorials wording grammar examples faq versionadded versionchanged docblock annotations notes note"
)

_EXPLAINS = word_set("document documents documented documenting docs doc explain explains explained describe describes described")

_DOCSTRINGS = word_set("docstring docstrings")

_ALSO_CODE = word_set("comment comments note notes examples license licenses annotations")  # documents only where a verb says so


_TESTS = word_set(
    "test tests unittest unittests unit-tests testcase testcases testsuite coverage tox travis ci appveyor testdata regression-test"
)


_STYLE = word_set(
    "ws coding-style typo typos misspelling misspellings spelling spellings whitespace whitespaces white-space indentation indent "
    "formatting newline newlines import imports semicolons commas quotes nit nits pep8 pep-8 pep257 flake8 pyflakes pylint "
    "isort black ruff mypy lint linting linter linters prettier eslint gofmt clang-format pgindent rustfmt yapf autopep8 "
    "codestyle style pre-commit typing pyupgrade codespell cleanup cleanups clean-up clean-ups cosmetic cosmetics "
    "reformatting"
)


_STYLE_TOOLS = word_set(
    "pep8 pep-8 pep257 flake8 pyflakes pylint isort ruff eslint prettier gofmt clang-format yapf autopep8 pyupgrade codespell "
    "python-modernize modernize 2to3 automated"
)

_IDLE = word_set(
    "code variable variables line lines space spaces parentheses brackets statement statements"
)  # with _UNUSED in front


_UNUSED = word_set(
    "unused unneeded unnecessary redundant dead obsolete superfluous unreachable blank trailing stray leftover commented-out long "
    "deprecated useless needless temporary extraneous pointless"
)

_REVIEW = word_set("review reviews reviewer reviewers feedback suggestion suggestions nits nit nitpicks code-review comments")

_ANSWERS = word_set(
    "address addresses addressed addressing apply applied applies incorporate incorporated resolve resolved respond"
)


_DEPENDENCIES = word_set(
    "dependency dependencies deps requirement requirements pins lockfile submodule submodules hooks vendored bundled pre-commit"
)

_UPGRADES = word_set("bump bumps bumped bumping update updates updated upgrade upgrades upgraded pin pinned unpin vendor vendored")


_VERSION_VERBS = word_set(
    "bump bumps bumped bumping update updates updated increment incremented set prepare prepares prepared preparing release "
    "released releasing tag start begin cut mark finalize finalise post-release pre-release new next back version final"
)

_MERGES = word_set("merge merges merged merging automerge auto-merge")


_BRANCHES = word_set(
    "branch branches pull remote remote-tracking tag master main trunk default upstream develop conflict conflicts pr head heads "
    "mainline stable tip"
)

_NUMBERED = re.compile(r"^v?\d+(?:\.\d+)+\w*\.?$|^v\d+$")

_IN_THE_DOCS = re.compile(r"\b(?:docs|documentation|docstrings?)\W*$", re.IGNORECASE)

_BUMPS_VERSION = re.compile(r"\bbump(?:ed|ing)? (?:the )?version\b|\bversion bump\b|\bbump(?:ed|ing)? to \d", re.IGNORECASE)

_REVERTS_BODY = re.compile(r"^This reverts (?:commit|changeset) ", re.MULTILINE)


_BACKPORTS = re.compile(
    r"\A(?:\[\d+(?:\.(?:\d+|x))+\]|\W*back-?port)|\(cherry picked from commit |^Backport of [0-9a-f]{7,}",
    re.IGNORECASE | re.MULTILINE,
)


_UNFINISHED = re.compile(
    r"^(?:fixup|squash|amend)!|^\W*wip\b|\[wip\]|^\W*work in progress|^\W*(?:checkpoint|temp(?:orary)? commit)\b", re.IGNORECASE
)


# These only close a phrase, and the word before them is what it is about: "doc fixes" are about documentation.
_LIGHT = word_set(
    "fix fixes fixup fixups correction corrections tweak tweaks update updates change changes improvement improvements stuff"
)

_HOUSEKEEPING = word_set("support version versions compat compatibility eol")

_GRAB_BAGS = word_set("various several misc miscellaneous assorted")

_POINTERS = word_set("this that these those it there")  # to something that the reader of a query does not see

_TALK = word_set("i i'm i'd i've i'll im whoop whoops oops ooops argh hmm doh sigh")

_KINDS_OF_WORK = word_set("test tests doc docs typo style lint ci build release")  # before a colon: not a part of the code

_TOPICS = _DOCS | _TESTS | _STYLE | _REVIEW


# Words that say that something was done, and not what it was about.
_VAGUE = word_set(
    "any much no it i we me us you do does did done get gets let bug bugs bugfix bugfixes issue issues problem problems error "
    "errors stuff thing things bit bits part parts file files line lines code function functions method methods class classes "
    "module modules variable variables name names work works working worked try tries tried trying pass passes passing version "
    "release pull request branch merge commit commits according still should must can could would will internal internals py src "
    "repo project step todo here there correctly properly right ok okay oops obvious stupid silly wrong support feature features "
    "change improvement improvements implementation fully handle handling proper hopefully hack hacky attempt refactorings tweak "
    "tweaks only even have has had been renames renaming redundant kill killing duplicate duplicated duplication argument go "
    "functional factorize loop declaration constant constants cautious accidentally"
).union(_VERBS, _FILLERS, _ENDS_OF_PHRASE, _TOPICS)


class MessageWords:
    """The words of a first sentence, taken apart once for all rules."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.tokens_as_written = _TOKEN.findall(query.subject)
        tokens = [token.lower() for token in self.tokens_as_written]
        area = len(tokens) > 2 and tokens[1] == ":" and tokens[0] not in _KINDS_OF_WORK  # noqa: PLR2004  # "area: what was done"
        self.tokens = tokens[2:] if area else tokens

    @cached_property
    def first(self) -> str:
        return self.tokens[0] if self.tokens else ""

    @cached_property
    def whole_words(self) -> list[str]:
        """The words in lower case letters alone, which have no parts: enough of them make a closer look needless."""
        return [token for token in self.tokens_as_written if token.isalpha() and token.islower()]

    @cached_property
    def phrase(self) -> list[str]:
        """The first noun phrase: what follows verbs and fillers, up to the next small word."""
        phrase: list[str] = []
        for number, token in enumerate(self.tokens):
            # The last word is never skipped as a verb: "prepare release" is about a release.
            if not phrase and (token in _FILLERS or (token in _VERBS and number < len(self.tokens) - 1)):
                continue
            if token in _ENDS_OF_PHRASE:
                if phrase:
                    break
                continue  # "in" or "(" before the phrase has begun
            phrase.append(token)
        return phrase

    @cached_property
    def topic(self) -> str:
        """What the message is about, as far as a list of verbs can tell: "count quotes" might be about anything."""
        phrase = self.phrase
        if not phrase:
            return ""
        # Without a verb that we know, the noun phrase may as well begin in the middle of the sentence: no verdict then.
        if not (self.first in _VERBS or self.first in _FILLERS or phrase[0] in _TOPICS or phrase == self.tokens):
            return ""
        return next((word for word in reversed(phrase) if word not in _LIGHT), phrase[-1])


def is_revert(wording: MessageWords, message: str) -> bool:
    if wording.first in ("revert", "reverts", "reverted", "reverting") or wording.query.head.lower().startswith("revert"):
        return True
    backed_out = wording.tokens[:2] in (["back", "out"], ["backed", "out"], ["backing", "out"]) or wording.first == "backout"
    return backed_out or ("This reverts" in message and bool(_REVERTS_BODY.search(message)))


def is_merge_message(wording: MessageWords) -> bool:
    if wording.first not in _MERGES:
        return False
    rest = wording.tokens[1:]
    return not rest or not _BRANCHES.isdisjoint(rest) or any("/" in token or "#" in token for token in rest)


def is_unfinished(wording: MessageWords) -> bool:
    return bool(_UNFINISHED.search(wording.query.head))


def is_backport(message: str) -> bool:
    # The pattern is searched through whole messages, so it is tried only where one of its signs is.
    suspicious = message.startswith("[") or "ackport" in message or "cherry picked" in message
    return suspicious and bool(_BACKPORTS.search(message))


def is_dependency_bump(wording: MessageWords) -> bool:
    if wording.query.type == "deps" or wording.query.scope == "deps":
        return True
    if wording.first in ("drop", "drops", "dropped", "remove", "removed") and "python" in wording.tokens:
        return not _HOUSEKEEPING.isdisjoint(wording.tokens) and "fixed" not in wording.tokens
    if wording.first not in _UPGRADES:
        return False
    has_version = bool(_NUMBERED.match(wording.tokens[-1])) and len(wording.tokens) > 2  # noqa: PLR2004  # "bump 1.2" has no name
    return has_version or not _DEPENDENCIES.isdisjoint(wording.phrase)


def is_version_bump(wording: MessageWords) -> bool:
    tokens = wording.tokens
    if not tokens:
        return False
    if _BUMPS_VERSION.search(wording.query.subject):
        return True
    if _NUMBERED.match(tokens[0]) or tokens[:2] in (["initial", "commit"], ["initial", "import"], ["first", "commit"]):
        return True
    if wording.first not in _VERSION_VERBS:
        return wording.phrase == ["version", "bump"]
    return wording.topic in ("version", "release", "development", "tag") or any(map(_NUMBERED.match, wording.phrase))


def is_formatting(wording: MessageWords) -> bool:
    if wording.topic == "formatting":  # of code, and not of numbers or dates
        return set(wording.phrase) <= {"formatting", "code", "source", "python"}
    if wording.topic in ("import", "imports") and wording.first in ("add", "added", "adds") and "missing" not in wording.tokens:
        return False
    if wording.topic in _STYLE or not _STYLE_TOOLS.isdisjoint(wording.phrase) or wording.query.type == "style":
        return True
    if wording.topic not in _IDLE or _UNUSED.isdisjoint(wording.phrase):
        return False
    return not any("_" in token or "." in token or token.startswith("(") for token in wording.tokens)  # code that has a name


def is_review(wording: MessageWords) -> bool:
    if wording.topic not in _REVIEW:
        return False
    return wording.topic != "comments" or wording.first in _ANSWERS


def is_about_docs(wording: MessageWords) -> bool:
    if wording.query.type in ("docs", "doc") or wording.first in _EXPLAINS:
        return True
    if "doc" in wording.query.subject.lower() and _edits_docs(wording):
        return True
    return wording.topic in _DOCS and (wording.topic not in _ALSO_CODE or wording.first in _VERBS)


def _edits_docs(wording: MessageWords) -> bool:
    if any(token in ("docs", "documentation") or token.startswith("docs.") for token in wording.phrase):
        return True
    if _IN_THE_DOCS.search(wording.query.subject):
        return True
    return wording.first in _VERBS and not wording.first.startswith("us") and not _DOCSTRINGS.isdisjoint(wording.tokens)


def is_about_tests(wording: MessageWords) -> bool:
    return wording.topic in _TESTS or " test suite" in " ".join(["", *wording.phrase]) or wording.query.type in ("test", "tests")


def is_short(wording: MessageWords, least: int) -> bool:
    """Whether too few words are left to ask anything; one may be missing where three of the others tell something."""
    if len(wording.whole_words) >= least and sum(map(len, wording.whole_words)) >= _FEWEST_LETTERS:
        return False
    subject = wording.query.subject
    if _FILE_NAME.fullmatch(subject):
        return True
    words = identifier_parts(subject)
    if len(words) == least - 1 and _has_telling_words(subject, _ENOUGH_WORDS):
        return False
    return len(words) < least or sum(map(len, words)) < _FEWEST_LETTERS


def is_vague(wording: MessageWords) -> bool:
    """Whether fewer than two words say what the message is about, or it is talk among colleagues or a grab bag."""
    if wording.first in _GRAB_BAGS or wording.first in _POINTERS or wording.tokens[:2] in (["a", "few"], ["a", "couple"]):
        return True
    if wording.first in ("some", "more") and wording.phrase and wording.phrase[-1] in _LIGHT:
        return True
    if not _TALK.isdisjoint(wording.query.subject.lower().replace(",", " ").split()[:_OPENING_WORDS]):
        return True
    if len(set(wording.whole_words) - _VAGUE) > 2:  # noqa: PLR2004  # one more than needed: single letters do not count
        return False
    return not _has_telling_words(wording.query.subject, 2) and not _has_telling_words(wording.query.clean, 2)


def telling_words(text: str) -> set[str]:
    """The words of a text that say what it is about, in lower case."""
    return {part for part in identifier_parts(text) if len(part) > 1} - _VAGUE


def _has_telling_words(text: str, least: int) -> bool:
    """Whether enough words tell something; a name in capitals or of code tells as much as two words."""
    words = telling_words(text)
    return len(words) + any(name.lower() in words for name in _NAME.findall(text)) >= least


def is_telling(word: str) -> bool:
    """Whether a word in lower case says what a message is about."""
    return len(word) > 1 and word not in _VAGUE


def identifier_parts(text: str) -> list[str]:
    """Words in lower case, identifiers in their parts."""
    return [part.lower() for name in _LETTERED.findall(text) for part in _HUMP.split(name) if part]


# Rules about messages that lean on what a reader does not see: the commit before, a list that was cut, the author's day.
#
# They complete the rules of `messages`: those ask what a message is about, these whether it can be understood alone.

_FEW_WORDS = 2  # telling words that do not make a follow-up a question of its own

_WORDS_OF_A_PLACE = 3  # telling words that say where, and no more

_FORGOTTEN = word_set("missed forgot")


_EARLIER = re.compile(
    r"\b(?:prev(?:ious)?|last|latest|earlier|preceding|prior|above)\s+(?:commit|change|changeset|patch|fix|merge|pr|pull\ request"
    r"|attempt|util|refactor(?:ing)?)s?\b|\b(?:second|third|another|next)\s+(?:attempt|try|take|pass|go|round)\b|\btake\s+(?:2|two|3)\b"
    r"|\btr(?:y|ies)\s+again\b|\bfollow(?:ing)?[- ]?ups?\b",
    re.IGNORECASE | re.VERBOSE,
)


_TO_PLEASE = word_set(
    "fix fixes fixed fixing silence silenced resolve resolved address addressed satisfy appease please make made run ran apply "
    "applied reapply reapplying reaplying clippy lint linting linter mypy use reformat reformatted format formatted clean "
    "cleanup remove removed avoid ignore some"
)


_CONTINUES = re.compile(
    r"^(?:continu(?:e|ed|ing)|(?:more|further|additional|start(?:ed)?|began|begin) (?:some )?work)\b", re.IGNORECASE
)


_LANGUAGE = (
    r"rust|go|golang|python|py|node(?:\.?js)?|typescript|ts|java|jdk|kotlin|swift|php|ruby|scala|c\+\+|c\#|\.net|dotnet"
    r"|ecmascript|es"
)


_EDITION = re.compile(
    rf"""\bmsrv\b | \bminimum\ (?:supported\ )?(?:{_LANGUAGE})\ version\b
       | ^(?:(?:{_LANGUAGE})\s*:\s*)?(?:move|switch|migrate|upgrade|update|bump|require|raise|target|convert|use|port|set)e?[sd]?\s+
         (?:(?:all|the|code|codebase|crates?|minimum|required|min|version|from|of|to|our)\s+)*
         (?: (?:{_LANGUAGE})(?:\s+versions?)?(?:\s+from\s+v?\d[\d.]*)?(?:\s+to)?\s*v?\d[\d.]*\+?\s*(?:$|[.,;(])
           | (?:(?:{_LANGUAGE})[\ -]?)?(?:edition\ )?(?:to\ )?20\d\d
             (?:\s+(?:edition|idioms|language\ features))?\s*(?:$|[.,;(]) )""",
    re.IGNORECASE | re.VERBOSE,
)

_FIRST_PERSON = re.compile(r"(?<![\w/.'`\"-])(?:I|I'm|I've|I'd|I'll|i'm|i've|i'd|i'll)(?![\w/.'`\"-])")


_STATE_OF_WORK = re.compile(
    r"""\b(?:works?|working|done|finished|there|compiles|builds|passes)\ (?:and|but)\b | \b(?:kind|sort)(?:\ of|a)\ work
      | \b(?:seems?|appears?)\ to\ (?:be\ )?work(?:ing)?\b | \b(?:works?|working)\ (?:now|fine|well|great|nicely|mostly|better)\W*$
      | \bgetting\ (?:there|closer|somewhere)\b | \balmost\ (?:there|done|works?|working|finished)\b | \bin\ progress\b
      | \bhalf[- ]?(?:done|way|working)\b | \b(?:not|isn't|aren't)\ (?:yet\ )?(?:finished|done|complete|working)\ yet\b
      | \b(?:more\ progress | progress\ (?:on|with|towards?))\b | \bstill\ (?:a\ |some\ )?(?:needs?|work\ to|missing|todo|wip)
      | ^(?:began|started|begin)\ (?:on|to|adding|work\w*|impl\w*|port\w*)\b | \bbegan\s\w+$
      | \bfirst\ (?:stab|cut|pass|shot|go|draft|attempt)\b | \bplay(?:ing)?\ (?:around|with)\b | \bexperiment(?:ing|s)?\ with\b
      | \bcheck(?:ing)?[- ]?in\b.{1,40}\bbefore\b""",
    re.IGNORECASE | re.VERBOSE,
)

_SPECS = word_set("spec specs specification specifications")


_HANGING = word_set(
    "a an the of to in on at by for from with without into onto and or but via per since when where which that than as if because "
    "introduced caused see using between about also is are was were be like such due should"
)

_TAIL = re.compile(r"(?:^|[\s(])([A-Za-z]+)[\s.,;:!)]*$")

_NUMBER_AT_THE_END = re.compile(r"(?:\s*\([^()]*#\d+\))+\s*$")

_ELLIPSIS = re.compile(r"(?:…|\.\.\.)$")

_FINAL_MARKS = " .,;:!"


# "Some changes to X", "fixed minor bugs in X": where, and not what.
_ONLY_SIZE = re.compile(
    r"""^(?:\S+:\s+)?(?:(?:do|did|make|made|apply|add|added|fix|fixe[sd]|fixing)\s+)?(?:a\s+)?(?:(?:some|minor|small|tiny|slight|few|couple|several
        |various|more|further|little|trivial|other|additional|general|misc)\s+(?:of\s+)?)+(?:internal\s+|code\s+|little\s+)?
        (?:changes?|tweaks?|adjustments?|improvements?|updates?|refactor(?:ing)?s?|edits?|fix(?:es)?|bugs?|issues?|problems?|errors?
        |cleanups?|modifications?|enhancements?|optimi[sz]ations?|things)\s*(?:$|[.,;]|(?:to|in|on|for|with|of|at|around|and|from)\b)""",
    re.IGNORECASE | re.VERBOSE,
)

_CLAUSES = word_set("that when which where if how because")


_PLEASES_TOOLS = re.compile(
    r"""\b(?:clippy|mypy|pylint|lint(?:er|ing)?|golint|golangci(?:-lint)?|staticcheck|vet|tslint|eslint|tsc|pyright|sonar\w*|codeql|deepsource
        |lgtm|rubocop|phpstan|cppcheck|coverity)\b
      | \b(?:fix|fixed|fixes|silence[sd]?|avoid|resolve[sd]?|remove[sd]?)\s+(?:all|some|the|a|few|more|remaining|several|\s)*\s*
        (?:(?:compil\w+|build|typing|rustc)\s+(?:errors?|warnings?|issues?|failures?)|warnings)\b
      | \b(?:cargo|go|deno|mix|terraform|zig)\ fmt\b | \b(?:rustfmt|gofumpt|goimports)\b
      | \b(?:run|re-?ran|apply|applying|applied|reappl?ying|use)\s+black\b""",
    re.IGNORECASE | re.VERBOSE,
)


def is_follow_up(wording: MessageWords) -> bool:
    """Whether it finishes another commit and says little of its own."""
    if wording.first in _FORGOTTEN:
        return True
    subject = wording.query.subject
    if _EARLIER.search(subject) or _CONTINUES.match(subject):
        return len(telling_words(_EARLIER.sub(" ", subject))) <= _FEW_WORDS
    return False


def is_edition_bump(wording: MessageWords) -> bool:
    """Whether it moves the code to another edition of its language: what changes by the way answers no question."""
    return bool(_EDITION.search(wording.query.subject))


def is_diary(wording: MessageWords) -> bool:
    """Whether it tells how the author's work goes: in the first person, or as a state that is not the code's."""
    return bool(_FIRST_PERSON.search(wording.query.subject) or _STATE_OF_WORK.search(wording.query.subject))


def is_cut_off(wording: MessageWords) -> bool:
    """Whether what is left when tickets, hashes and links are gone breaks off."""
    subject, head = wording.query.subject, _NUMBER_AT_THE_END.sub("", wording.query.head)
    if _ELLIPSIS.search(subject) or (subject.count("(") > subject.count(")") and head.count("(") <= head.count(")")):
        return True
    tail = _TAIL.search(subject)
    if tail is None or tail[1] not in _HANGING:
        return False
    # A small word that the author put last was meant; one that is last since something was cut away is not.
    return not any(sentence.rstrip(_FINAL_MARKS).endswith(tail[1]) for sentence in (head, *sentences_of(head)))


def is_about_specs(wording: MessageWords) -> bool:
    """Whether it is about a "spec": a test, where one is changed, and elsewhere what a program has to do."""
    return wording.topic in _SPECS


def says_only_size(wording: MessageWords) -> bool:
    """Whether it says where something small was done, and not what."""
    if not _ONLY_SIZE.match(wording.query.subject) or not _CLAUSES.isdisjoint(wording.tokens):
        return False
    return len(telling_words(wording.query.subject)) <= _WORDS_OF_A_PLACE


def pleases_tools(wording: MessageWords) -> bool:
    """Whether it does what a linter, a type checker or a compiler asked for."""
    return wording.first in _TO_PLEASE and bool(_PLEASES_TOOLS.search(wording.query.subject))


# One word for singular and plural, so that "parsers" gives ``parser.py`` away. English, by ending, and no dictionary.

_SHORTEST_PLURAL = 4  # letters of a plural: "its", "has" and "was" are none

_NO_PLURALS = word_set("this does news windows https always perhaps less series species canvas alias bias pandas axios")


_IRREGULAR = {
    "aliases": "alias", "biases": "bias", "statuses": "status", "buses": "bus", "indices": "index", "indexes": "index",
    "vertices": "vertex", "matrices": "matrix", "children": "child", "criteria": "criterion", "analyses": "analysis",
}  # fmt: skip

_SINGULAR_ENDINGS = ("ss", "us", "is")

_HISSING = ("ch", "sh", "x", "z", "ss")


@lru_cache(maxsize=20_000)
def to_singular(word: str) -> str:
    """A word in lower case as singular; "cache" and "caches" become the same, which need not be a word."""
    if word in _NO_PLURALS or len(word) < _SHORTEST_PLURAL:
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("ies") and len(word) > _SHORTEST_PLURAL:
        return f"{word[:-3]}y"
    bare = word[:-1] if word.endswith("s") and not word.endswith(_SINGULAR_ENDINGS) else word
    # "matches" is of "match" and "caches" of "cache": without the e both are found.
    return bare[:-1] if bare.endswith("e") and bare[:-1].endswith(_HISSING) else bare
