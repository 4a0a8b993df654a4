"""Globs and symbols held against the ids of the corpus, and against each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.judging.described import DescribedIds
from searchmark.judging.matching import fits, is_pattern
from searchmark.records import Case, Judgment

BROAD = 0.5  # share of all documents: a random ranking then has this precision
FEWEST_DOCUMENTS = 10  # of which half is more than a handful
SHOWN = 3


@dataclass(frozen=True)
class DescribedTarget:
    """A glob or symbol, the case that has it, and what it is worth there."""

    case: str
    judgment: Judgment

    @property
    def name(self) -> tuple[str, str]:
        return self.judgment.match, self.judgment.target


def pattern_findings(subject: Subject) -> Iterator[Finding]:
    """Descriptions of relevant targets that fit nothing, or only if case is ignored, or half of the corpus.

    Beside a report only those of cases that have no target for it: looking all of them up again would take too long.
    """
    described = list(_described(subject, None if subject.corpus is not None else _without_target(subject)))
    if subject.ids is None or not described:
        return
    ignoring = subject.suite.defaults.ignore_case
    ids = DescribedIds(subject.ids, ignore_case=ignoring)
    idle = [each for each in described if not ids.meant_by(each.judgment)]
    any_case = DescribedIds(subject.ids, ignore_case=True)
    other_case = [] if ignoring else [each for each in idle if any_case.meant_by(each.judgment)]
    in_other_case = {each.name for each in other_case}
    nothing = [each for each in idle if each.name not in in_other_case]
    most = BROAD * len(subject.ids)
    broad = [each for each in described if len(subject.ids) >= FEWEST_DOCUMENTS and len(ids.meant_by(each.judgment)) >= most]
    of = len({each.name for each in described})
    # Where nothing else is relevant, whatever is returned scores 0.
    is_all = len(nothing) == int((subject.suite.judgments.grades > 0).sum())
    code = "no-pattern-fits" if is_all else "patterns-without-match"
    yield from _about(nothing, of, code, "fit no document", lambda judgment: repr(judgment.target))
    yield from _about(
        other_case, of, "patterns-in-other-case", "fit documents only if case is ignored",
        lambda judgment: f"{judgment.target!r} ({any_case.meant_by(judgment)[0]!r} is there)",
    )  # fmt: skip
    yield from _about(
        broad, of, "broad-patterns", f"fit {BROAD:.0%} of the documents or more",
        lambda judgment: f"{judgment.target!r} ({len(ids.meant_by(judgment))} of {len(subject.ids or ())})",
    )  # fmt: skip


def symbols_outside_patterns(subject: Subject) -> Iterator[Finding]:
    """Symbols of cases that have patterns too, none of which fits them: neither as it is written nor in the corpus."""
    if not subject.suite.judgments.described.any():
        return
    ids = None if subject.ids is None else DescribedIds(subject.ids, ignore_case=subject.suite.defaults.ignore_case)
    outside, symbols, by_case_alone = list[DescribedTarget](), 0, 0
    for case in subject.suite.cases:
        globs = [each for each in case.judgments if each.match == "glob" and each.grade > 0]
        for symbol in (each for each in case.judgments if each.match == "symbol" and each.grade > 0 and globs):
            symbols += 1
            names = [symbol.target] if ids is None else [symbol.target, *ids.meant_by(symbol)]
            if not _any_fits(globs, names, ignore_case=subject.suite.defaults.ignore_case):
                outside.append(DescribedTarget(case.id, symbol))
                by_case_alone += _any_fits(globs, names, ignore_case=True)
    if outside:
        shown = ", ".join(repr(each.judgment.target) for each in outside[:SHOWN])
        why = f"; {by_case_alone} of them only because of upper and lower case" if by_case_alone else ""
        message = f"{len(outside)} of {counted(symbols, 'symbol')} fit no pattern of their own case: {shown}{why}"
        yield finding("symbols-outside-patterns", message, dict.fromkeys(each.case for each in outside))


def _any_fits(globs: Sequence[Judgment], names: Sequence[str], *, ignore_case: bool) -> bool:
    return any(fits(glob, name, ignore_case=ignore_case) for glob in globs for name in names)


def _described(subject: Subject, among: Collection[str] | None) -> Iterator[DescribedTarget]:
    """Of all cases, or only those that are named."""
    if subject.suite.judgments.described.any() and (among is None or among):
        cases = (case for case in subject.suite.cases if among is None or case.id in among)
        yield from (DescribedTarget(case.id, each) for case in cases for each in _relevant(case))


def _without_target(subject: Subject) -> set[str]:
    """Cases that have nothing relevant once their patterns are looked up, which has been done where runs were judged."""
    judged = next((each.judged.suite for each in subject.scores.values()), None)
    if judged is None or subject.ids is None:
        return set()
    relevant = np.bincount(judged.judgments.case[judged.judgments.grades > 0], minlength=len(judged))
    return {judged.table.ids[row] for row in np.flatnonzero(relevant == 0).tolist()}


def _relevant(case: Case) -> Iterator[Judgment]:
    return (each for each in case.judgments if is_pattern(each) and each.grade > 0)


def _about(found: Sequence[DescribedTarget], of: int, code: str, words: str, shown: Callable[[Judgment], str]) -> Iterator[Finding]:
    if found:
        distinct = {each.name: each.judgment for each in found}
        examples = ", ".join(map(shown, list(distinct.values())[:SHOWN]))
        message = f"{len(distinct)} of {counted(of, 'glob or symbol', 'globs and symbols')} {words}: {examples}"
        yield finding(code, message, dict.fromkeys(each.case for each in found))
