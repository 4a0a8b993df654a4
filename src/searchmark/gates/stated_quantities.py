"""The numbers that a bound may be about and that only the agent can state: tokens and further attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from searchmark.analysis.scores import Scores
from searchmark.analysis.usage import Stated, tokens_in, usage_in
from searchmark.gates.quantities import details_at, extreme_cases
from searchmark.gates.segments import Rows
from searchmark.measures.grammar import AnyMeasure
from searchmark.records import AnswerDetails
from searchmark.records.shown import counted


@dataclass(frozen=True)
class TokensOf:
    """Tokens per answer, where all answers have them and one counter has counted them; a search that failed need not have any."""

    part: str
    unit: str = " tokens"
    measures: tuple[AnyMeasure, ...] = ()

    def subject(self, scores: Scores | None) -> str:  # noqa: ARG002  # the same of every run
        return "tokens in all" if self.part == "total" else f"tokens per answer ({self.part})"

    words = subject

    def value(self, scores: Scores, rows: Rows) -> float | None:
        details = details_at(scores, rows)
        found = list(tokens_in(details).values())
        known = sum(each.tokens is not None or each.failure is not None for each in details)
        return float(getattr(found[0], self.part)) if len(found) == 1 and known == len(details) else None

    def why_missing(self, scores: Scores) -> str:
        details = details_at(scores, np.arange(len(scores.judged.suite)))
        found = tokens_in(details)
        if len(found) > 1:
            return f"they were counted by {' and '.join(found)}, which cannot be put together"
        known = sum(each.searches for each in found.values())
        return f"they are known for {known} of {len(details)} answers" if known else "the agent does not say what its answers take"

    def worst(self, scores: Scores, rows: Rows, *, high_is_bad: bool) -> tuple[str, ...]:
        return extreme_cases(scores, rows, lambda each: each.tokens, high_is_bad)

    def amounts(self, scores: Scores, cases: Sequence[str]) -> tuple[str, ...]:
        """What each of some cases has of it, in words."""
        return tuple(counted(each.tokens or 0, "token") for each in _details_of(scores, cases))


@dataclass(frozen=True)
class RetriesOf:
    """Further attempts of searches, where the agent states them of all; a search that failed need not have any."""

    part: str
    unit: str = ""  # its name says what is counted
    measures: tuple[AnyMeasure, ...] = ()

    def subject(self, scores: Scores | None) -> str:  # noqa: ARG002  # the same of every run
        return {"attempts": "further attempts", "searches": "retried searches", "share": "share of retried searches"}[self.part]

    words = subject

    def value(self, scores: Scores, rows: Rows) -> float | None:
        details = details_at(scores, rows)
        found = usage_in(details).retries
        known = sum(each.retries is not None or each.failure is not None for each in details)
        return None if found is None or known < len(details) else _part_of_retries(found, self.part)

    def why_missing(self, scores: Scores) -> str:
        details = details_at(scores, np.arange(len(scores.judged.suite)))
        known = sum(each.retries is not None for each in details)
        return f"it is known for {known} of {len(details)} searches" if known else "the agent does not say whether it tries again"

    def worst(self, scores: Scores, rows: Rows, *, high_is_bad: bool) -> tuple[str, ...]:
        return extreme_cases(scores, rows, lambda each: each.retries or None, high_is_bad)

    def amounts(self, scores: Scores, cases: Sequence[str]) -> tuple[str, ...]:
        """What each of some cases has of it, in words."""
        return tuple(counted(each.retries or 0, "further attempt") for each in _details_of(scores, cases))


def _details_of(scores: Scores, cases: Sequence[str]) -> list[AnswerDetails]:
    run = scores.judged.run
    return [run.details_of(run.index[case]) for case in cases]


def _part_of_retries(found: Stated, part: str) -> float:
    return {"attempts": found.total, "searches": found.positive, "share": found.positive / found.searches}[part]
