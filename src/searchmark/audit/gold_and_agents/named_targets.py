"""Queries that name what they look for: its id, path or symbol, in one word or several, singular or plural."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from typing import Literal, get_args
from weakref import WeakKeyDictionary

import numpy as np

from searchmark.analysis.scores import Scores
from searchmark.audit.result import AuditTable
from searchmark.audit.subject import Subject
from searchmark.corpora.file_kinds import classify
from searchmark.findings import Finding, finding
from searchmark.judging.matching import is_pattern, names_lines, path_of_lines
from searchmark.labelling.words import words
from searchmark.records import Case

Naming = Literal["the id", "the name", "all words of the name", "half of the words", "nothing of it"]
NAMINGS: tuple[Naming, ...] = get_args(Naming)
_TELLING = NAMINGS[:3]
FEWEST_CASES = 10
HALF = 0.5
NAMED = 0.5  # share of the cases from which on a search for names decides on the mean
_SHORTEST = 3  # letters of a name that is told from a word by chance
_NUMBERED = re.compile(r"[a-z]*[\W_]*\d+|(?=.*\d)[a-f0-9-]{8,}", re.IGNORECASE)  # doc12, a digest
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class RunTogether:
    """Words written as one, and where each of them begins and ends."""

    text: str
    edges: frozenset[int]

    @classmethod
    def of(cls, parts: Sequence[str]) -> RunTogether:
        return cls("".join(parts), frozenset(accumulate(map(len, parts), initial=0)))

    def has(self, parts: Sequence[str]) -> bool:
        """Whether these words are there, from the beginning of a word to the end of one."""
        name = "".join(parts)
        start = self.text.find(name)
        while start >= 0 and not (start in self.edges and start + len(name) in self.edges):
            start = self.text.find(name, start + 1)
        return start >= 0 and bool(name)


@dataclass(frozen=True)
class Said:
    """The words of a text or a name, once in the singular and once as stems."""

    singulars: tuple[str, ...]
    stems: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Said:
        from searchmark.mining.tree_names import words_of_name  # every report would wait for it

        spoken = words_of_name(text)
        return cls(tuple(map(_singular, spoken)), tuple(words(" ".join(spoken))))

    def says(self, name: Said) -> bool:
        """Whether the words of a name follow each other, whichever of them are written as one: "issue types" is ``issuetype``."""
        return self._singular.has(name.singulars) or self._stems.has(name.stems)

    def share_of(self, name: Said) -> float:
        """The share of the words of a name that are said anywhere."""
        found = [self._singular.has([one]) or self._stems.has([two]) for one, two in zip(name.singulars, name.stems, strict=False)]
        return sum(found) / len(found) if found else 0.0

    @cached_property
    def _singular(self) -> RunTogether:
        return RunTogether.of(self.singulars)

    @cached_property
    def _stems(self) -> RunTogether:
        return RunTogether.of(self.stems)


@cache
def _singular(word: str) -> str:
    """An English word without the ending of its plural; stems alone do not see that "issue types" is ``issuetypes``."""
    if word.endswith("ies") and len(word) > len("ties"):
        return f"{word[:-3]}y"
    if re.search(r"(?:[sxz]|ch|sh)es$", word):
        return word[:-2]
    return word[:-1] if len(word) > _SHORTEST and re.search(r"[^suio]s$", word) else word


def naming_of(query: str, targets: Iterable[str]) -> Naming | None:
    """How much the query names of at least half of the targets that have a name; None if none of them has.

    One of twenty targets that is called like a word of the query does not give the answer away.
    """
    named = [(target, names) for target in targets if (names := list(_names(target))) or "/" in target]
    if not named:
        return None
    said, lowered = Said.of(query), f" {query.lower()} "
    levels = sorted(NAMINGS.index(_naming(said, lowered, target, names)) for target, names in named)
    return NAMINGS[levels[(len(levels) - 1) // 2]]


def _naming(said: Said, lowered: str, target: str, names: list[Said]) -> Naming:
    if re.search(rf"(?<!\w){re.escape(target.lower())}(?!\w)", lowered):
        return "the id"
    if any(map(said.says, names)):
        return "the name"
    share = max(map(said.share_of, names), default=0.0)
    return "all words of the name" if share == 1 else "half of the words" if share >= HALF else "nothing of it"


def _names(target: str) -> Iterator[Said]:
    """What a target is called: a path by its file, a symbol with its module and without. A number is no name."""
    from searchmark.mining.tree_names import stem_of, words_of_name  # as above

    path = path_of_lines(target) if names_lines(target) else target
    last = path.rstrip("/").rpartition("/")[2]
    is_file = last != path or classify(last) != "other"
    symbol = re.split(r"[.:#]+", path)[-1]
    own = [symbol] if len(words_of_name(symbol)) > 1 else []  # the last word of issue.create alone is that of many
    for name in dict.fromkeys([stem_of(last)] if is_file else [path, *own]):
        if len(_LETTER.findall(name)) >= _SHORTEST and not _NUMBERED.fullmatch(name):
            yield Said.of(name)


_KNOWN: WeakKeyDictionary[Subject, dict[Naming, list[int]]] = WeakKeyDictionary()


def _strata(subject: Subject) -> dict[Naming, list[int]]:
    """The cases by how much of a target their query names; those whose targets have no names are left out."""
    if subject not in _KNOWN:
        strata: dict[Naming, list[int]] = {naming: [] for naming in NAMINGS}
        for row, case in enumerate(subject.expanded.cases if subject.suite.table.queries is not None else ()):
            naming = naming_of(case.query, _targets(case, subject.suite.defaults.rel)) if case.query else None
            if naming is not None:
                strata[naming].append(row)
        _KNOWN[subject] = strata
    return _KNOWN[subject]


def _targets(case: Case, rel: int) -> Iterator[str]:
    """The best targets of a case, which decide on most measures."""
    best = max((each.grade for each in case.judgments), default=0)
    return (each.target for each in case.judgments if each.grade == best >= rel and not is_pattern(each))


def queries_name_targets(subject: Subject) -> Iterator[Finding]:
    """That a large share of the queries names a target."""
    strata = _strata(subject)
    named, known = sorted(row for naming in _TELLING for row in strata[naming]), sum(map(len, strata.values()))
    if known < FEWEST_CASES or len(named) < NAMED * known:
        return
    ids = subject.suite.table.ids
    others = [row for naming in NAMINGS if naming not in _TELLING for row in strata[naming]]
    means = [text for name, scores in subject.scores.items() if (text := _apart(name, scores, named, others))]
    shown = f"; {', '.join(means[:3])}" if means else ""
    yield finding("queries-name-targets", f"{len(named)} of {known} queries name a target{shown}", [ids[row] for row in named])


def _apart(name: str, scores: Scores, named: Sequence[int], others: Sequence[int]) -> str | None:
    there, elsewhere = _mean(scores, named), _mean(scores, others)
    if there is None or elsewhere is None:
        return None
    return f"{name} has {scores.names[0]} {there:.3f} on these and {elsewhere:.3f} on the others"


def _mean(scores: Scores, rows: Sequence[int]) -> float | None:
    """The mean of the first measure over some cases; None where it is undefined in all of them."""
    values = scores.values[np.array(rows, np.int64), 0] if scores.measures else np.zeros(0)
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else None


def naming_table(subject: Subject) -> AuditTable | None:
    """How many queries name how much of a target, and the mean of each run in each of these groups."""
    strata = {naming: cases for naming, cases in _strata(subject).items() if cases}
    if not strata:
        return None
    known = sum(map(len, strata.values()))
    runs: list[tuple[str, Scores]] = [(name, scores) for name, scores in subject.scores.items() if scores.measures]
    groups = [(naming, len(cases), len(cases) / known) for naming, cases in strata.items()]
    title, columns = "Queries that name what they look for", ("the query names", "cases", "share")
    if not runs:
        return AuditTable("named_targets", title, columns, tuple(groups))
    rows = tuple((*group, name, _mean(scores, strata[group[0]])) for group in groups for name, scores in runs)
    return AuditTable("named_targets", title, (*columns, "run", runs[0][1].names[0]), rows)
