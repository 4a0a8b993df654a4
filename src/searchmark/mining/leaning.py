"""Rules about messages that lean on what a reader does not see: the commit before, a list that was cut, the author's day.

They complete the rules of `messages`: those ask what a message is about, these whether it can be understood alone.
"""

from __future__ import annotations

import re

from searchmark.corpora.file_kinds import words
from searchmark.mining.messages import Wording, telling_words
from searchmark.mining.queries import sentences_of

_FEW = 2  # telling words that do not make a follow-up a question of its own
_A_PLACE = 3  # telling words that say where, and no more
_FORGOTTEN = words("missed forgot")
_EARLIER = re.compile(
    r"\b(?:prev(?:ious)?|last|latest|earlier|preceding|prior|above)\s+(?:commit|change|changeset|patch|fix|merge|pr|pull\ request"
    r"|attempt|util|refactor(?:ing)?)s?\b|\b(?:second|third|another|next)\s+(?:attempt|try|take|pass|go|round)\b|\btake\s+(?:2|two|3)\b"
    r"|\btr(?:y|ies)\s+again\b|\bfollow(?:ing)?[- ]?ups?\b",
    re.IGNORECASE | re.VERBOSE,
)
_TO_PLEASE = words(
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

_SPECS = words("spec specs specification specifications")
_HANGING = words(
    "a an the of to in on at by for from with without into onto and or but via per since when where which that than as if because "
    "introduced caused see using between about also is are was were be like such due should"
)
_TAIL = re.compile(r"(?:^|[\s(])([A-Za-z]+)[\s.,;:!)]*$")
_NUMBER_AT_THE_END = re.compile(r"(?:\s*\([^()]*#\d+\))+\s*$")
_CUT_OFF = re.compile(r"(?:…|\.\.\.)$")
_MARKS = " .,;:!"

# "Some changes to X", "fixed minor bugs in X": where, and not what.
_ONLY_SIZE = re.compile(
    r"""^(?:\S+:\s+)?(?:(?:do|did|make|made|apply|add|added|fix|fixe[sd]|fixing)\s+)?(?:a\s+)?(?:(?:some|minor|small|tiny|slight|few|couple|several
        |various|more|further|little|trivial|other|additional|general|misc)\s+(?:of\s+)?)+(?:internal\s+|code\s+|little\s+)?
        (?:changes?|tweaks?|adjustments?|improvements?|updates?|refactor(?:ing)?s?|edits?|fix(?:es)?|bugs?|issues?|problems?|errors?
        |cleanups?|modifications?|enhancements?|optimi[sz]ations?|things)\s*(?:$|[.,;]|(?:to|in|on|for|with|of|at|around|and|from)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
_CLAUSES = words("that when which where if how because")
_PLEASES_TOOLS = re.compile(
    r"""\b(?:clippy|mypy|pylint|lint(?:er|ing)?|golint|golangci(?:-lint)?|staticcheck|vet|tslint|eslint|tsc|pyright|sonar\w*|codeql|deepsource
        |lgtm|rubocop|phpstan|cppcheck|coverity)\b
      | \b(?:fix|fixed|fixes|silence[sd]?|avoid|resolve[sd]?|remove[sd]?)\s+(?:all|some|the|a|few|more|remaining|several|\s)*\s*
        (?:(?:compil\w+|build|typing|rustc)\s+(?:errors?|warnings?|issues?|failures?)|warnings)\b
      | \b(?:cargo|go|deno|mix|terraform|zig)\ fmt\b | \b(?:rustfmt|gofumpt|goimports)\b
      | \b(?:run|re-?ran|apply|applying|applied|reappl?ying|use)\s+black\b""",
    re.IGNORECASE | re.VERBOSE,
)


def is_follow_up(wording: Wording) -> bool:
    """Whether it finishes another commit and says little of its own."""
    if wording.first in _FORGOTTEN:
        return True
    subject = wording.query.subject
    if _EARLIER.search(subject) or _CONTINUES.match(subject):
        return len(telling_words(_EARLIER.sub(" ", subject))) <= _FEW
    return False


def is_edition_bump(wording: Wording) -> bool:
    """Whether it moves the code to another edition of its language: what changes by the way answers no question."""
    return bool(_EDITION.search(wording.query.subject))


def is_diary(wording: Wording) -> bool:
    """Whether it tells how the author's work goes: in the first person, or as a state that is not the code's."""
    return bool(_FIRST_PERSON.search(wording.query.subject) or _STATE_OF_WORK.search(wording.query.subject))


def is_torso(wording: Wording) -> bool:
    """Whether what is left when tickets, hashes and links are gone breaks off."""
    subject, head = wording.query.subject, _NUMBER_AT_THE_END.sub("", wording.query.head)
    if _CUT_OFF.search(subject) or (subject.count("(") > subject.count(")") and head.count("(") <= head.count(")")):
        return True
    tail = _TAIL.search(subject)
    if tail is None or tail[1] not in _HANGING:
        return False
    # A small word that the author put last was meant; one that is last since something was cut away is not.
    return not any(sentence.rstrip(_MARKS).endswith(tail[1]) for sentence in (head, *sentences_of(head)))


def is_about_specs(wording: Wording) -> bool:
    """Whether it is about a "spec": a test, where one is changed, and elsewhere what a program has to do."""
    return wording.topic in _SPECS


def says_only_size(wording: Wording) -> bool:
    """Whether it says where something small was done, and not what."""
    if not _ONLY_SIZE.match(wording.query.subject) or not _CLAUSES.isdisjoint(wording.tokens):
        return False
    return len(telling_words(wording.query.subject)) <= _A_PLACE


def pleases_tools(wording: Wording) -> bool:
    """Whether it does what a linter, a type checker or a compiler asked for."""
    return wording.first in _TO_PLEASE and bool(_PLEASES_TOOLS.search(wording.query.subject))
