"""Which ranks of a table of runs can be told apart, by the verdicts of the comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from string import ascii_letters

import numpy as np

from searchmark.analysis.comparison import compare, primary_column, unique_names
from searchmark.analysis.scores import Scores
from searchmark.audit.once import once
from searchmark.audit.result import AuditTable
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import three_digits
from searchmark.records import Run
from searchmark.records.shown import listed

MOST_RUNS = 26
LETTERS = ascii_letters  # of groups; runs that need more of them get none
EXAMPLES = 3


@dataclass(frozen=True)
class RankedRuns:
    """Runs by their mean of the primary measure, the best first, and the pairs of them that differ for sure.

    Those that are ``alike`` have the same value in every case, and ``repeats`` are runs of one agent.
    """

    measure: str
    means: tuple[tuple[str, float], ...]
    apart: frozenset[frozenset[str]]
    alike: frozenset[frozenset[str]] = frozenset()
    repeats: frozenset[frozenset[str]] = frozenset()

    def are_apart(self, first: str, second: str) -> bool:
        return frozenset((first, second)) in self.apart

    @property
    def groups(self) -> dict[str, str]:
        """Letters such that two runs share one if and only if they do not differ for sure; none where that takes too many."""
        names = [name for name, _ in self.means]
        members = _groups(names, [(a, b) for a, b in combinations(names, 2) if self.are_apart(a, b)])
        return {name: "".join(letter for letter, group in zip(LETTERS, members, strict=False) if name in group) for name in names}


def _groups(names: Sequence[str], apart: Sequence[tuple[str, str]]) -> list[frozenset[str]]:
    """Insert and absorb (Piepho, 2004): a group with two runs that differ becomes two, and those within another one go."""
    groups = [frozenset(names)]
    for pair in apart:
        parts = [part for group in groups for part in ([group - {each} for each in pair] if group >= {*pair} else [group])]
        parts = list(dict.fromkeys(parts))
        groups = [part for part in parts if not any(part < other for other in parts)]
        if len(groups) > len(LETTERS):
            return []
    return sorted(groups, key=lambda group: [n for n, name in enumerate(names) if name in group])


@once
def ranked_runs(subject: Subject) -> RankedRuns | None:
    """The runs in their order; None if there are not two with a mean."""
    scores = list(subject.scores.values())
    if not 1 < len(scores) <= MOST_RUNS:
        return None
    measure = scores[0].names[primary_column(scores[0], subject.options.primary)]
    means = {name: each.mean(measure) for name, each in zip(unique_names(scores), scores, strict=True)}
    ordered = sorted((each for each in means.items() if not np.isnan(each[1])), key=lambda each: -each[1])
    pairs = compare(scores, (), replace(subject.options, baseline=None, decisions=()))
    told = {frozenset((pair.baseline, pair.candidate)) for pair in pairs if pair.main.verdict in ("IMPROVED", "REGRESSED")}
    named = dict(zip(unique_names(scores), scores, strict=True))
    neighbours = list(pairwise(name for name, _ in ordered))
    alike = {frozenset(pair) for pair in neighbours if _equal_in_all_cases(measure, *(named[name] for name in pair))}
    repeats = {frozenset(pair) for pair in neighbours if _are_repeats(*(named[name].judged.run for name in pair))}
    return RankedRuns(measure, tuple(ordered), frozenset(told), frozenset(alike), frozenset(repeats)) if len(ordered) > 1 else None


def _equal_in_all_cases(measure: str, one: Scores, other: Scores) -> bool:
    first, second = (each.values[:, each.names.index(measure)] for each in (one, other))
    return np.array_equal(first, second, equal_nan=True)


def _are_repeats(one: Run, other: Run) -> bool:
    """Whether one agent was asked twice about the same: a difference between them is noise, whatever its size."""
    labels = [replace(each.label, repeat=1) for each in (one, other)]
    agents = [each.provenance.agent for each in (one, other)]
    return labels[0] == labels[1] and agents[0] is not None and agents[0] == agents[1]


def about_ranks(subject: Subject) -> Iterator[Finding]:
    """Neighbours that share a rank as far as these cases can tell."""
    found = ranked_runs(subject)
    if found is None:
        return
    pairs = {frozenset((one[0], other[0])): (one, other) for one, other in pairwise(found.means)}
    unproven = {key: pair for key, pair in pairs.items() if key not in found.apart | found.repeats}
    same = [pair for key, pair in unproven.items() if key in found.alike]
    others = [pair for key, pair in unproven.items() if key not in found.alike]
    differ = [f"{a} ({three_digits(x)}) and {b} ({three_digits(y)})" for (a, x), (b, y) in others]
    alike = [f"{a} and {b} ({three_digits(x)})" for (a, x), (b, _) in same]
    parts = (
        f"without a proven difference: {listed(differ, EXAMPLES)}" if differ else "",
        f"answered alike, with the same value in every case: {listed(alike, EXAMPLES)}" if alike else "",
    )
    if any(parts):
        yield finding("ranks-not-apart", f"neighbours by {found.measure} {'; '.join(filter(None, parts))}")


def ranks_table(subject: Subject) -> AuditTable | None:
    """Runs by rank; those that share a letter cannot be told apart."""
    found = ranked_runs(subject)
    if found is None:
        return None
    rows = tuple((rank, name, mean, found.groups[name]) for rank, (name, mean) in enumerate(found.means, 1))
    title = "Runs by rank: those that share a letter cannot be told apart"
    return AuditTable("ranks", title, ("rank", "run", found.measure, "group"), rows)
