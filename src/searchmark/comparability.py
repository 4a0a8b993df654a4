"""What may be held against what: every check, in one place, for every verb and every notebook.

A case that was not run is not a zero: a run of ours that lacks cases has not run them, and is untrusted. An imported
run that lacks cases has answered them with nothing. A run that was made for something else is refused, and what not all
runs have can be left out on request.

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from searchmark.errors import Incomparable, NothingEvaluated, UsageError
from searchmark.judging.judge import Judged
from searchmark.records import NOT_RUN, Run, Suite, query_digest
from searchmark.runs.join import completed

LEFT_OUT = "cases_not_in_all_runs"


@dataclass(frozen=True, eq=False)
class Comparable:
    """Runs that may be held against each other, and the suite with the cases on which that is done."""

    suite: Suite
    runs: tuple[Run, ...]


def comparable(suite: Suite, runs: Sequence[Run], *, intersect: bool = False) -> Comparable:
    """These runs on this suite, with what each did not run marked as such, or on the cases that all of them answer."""
    for run in runs:
        check_asked(suite, run)
    if intersect:
        return Comparable(_common_cases(suite, runs), tuple(runs))
    for run in runs if len(runs) > 1 else ():  # one run alone is held against nothing: what is foreign is counted and said
        _refuse_foreign(suite, run)
    return Comparable(suite, tuple(completed(run, suite.table.ids) for run in runs))


def check_asked(suite: Suite, run: Run) -> None:
    """A run that knows what it was asked must have been asked this, case by case."""
    table = suite.table
    if run.details is None or table.queries is None:
        return
    for case, details in zip(run.case_ids, run.details, strict=True):
        query = table.queries[table.index[case]] if case in table.index else None
        if query is not None and details.asked not in (None, query_digest(query)):
            raise Incomparable(
                f"the run {run.agent!r} was asked different queries than those of the suite {suite.name!r}: {case!r} is one of them"
            )


def _refuse_foreign(suite: Suite, run: Run) -> None:
    """A run that answers other cases and lacks some of these was made for another suite."""
    known = set(suite.table.ids)
    foreign, missing = len(run.index.keys() - known), len(known - run.index.keys())
    if foreign and missing and missing < len(known):
        raise Incomparable(
            f"the run {run.agent!r} lacks {missing} cases of the suite and answers {foreign} that are not in it: "
            "it was made for a different suite (--intersect compares on the cases that all runs answer)"
        )


def _common_cases(suite: Suite, runs: Sequence[Run]) -> Suite:
    """The cases that every run was asked."""
    common = set(suite.table.ids).intersection(*map(_cases_run, runs))
    if not common:
        raise NothingEvaluated("no case of the suite is answered by all runs")
    return replace(suite.only(common), dropped={**suite.dropped, LEFT_OUT: len(suite) - len(common)})


def _cases_run(run: Run) -> set[str]:
    return {case for case, status in zip(run.case_ids, run.status.tolist(), strict=True) if status != NOT_RUN}


def check_judged(judged: Sequence[Judged], measures: Sequence[Sequence[str]]) -> None:
    """Two runs at least, each judged on the same suite and scored by the same measures."""
    if len(judged) < 2:  # noqa: PLR2004  # a comparison takes two
        raise UsageError("a comparison needs at least two runs")
    first = judged[0].suite.hashes
    if any(other.suite.hashes != first for other in judged) or any(names != measures[0] for names in measures):
        raise Incomparable("runs can only be compared on the same suite and by the same measures")
    if not measures[0]:
        raise NothingEvaluated("there is no measure to compare by")
