"""Which runs may be compared: every check, in one place, for every verb and every notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from searchmark.errors import Incomparable, NothingEvaluated, UsageError, shortened
from searchmark.measures.grammar import AnyMeasure
from searchmark.records.answers import NOT_RUN, TIMEOUT
from searchmark.records.digests import query_digest
from searchmark.records.merge import cut_run, with_missing_cases, with_suite_case_ids
from searchmark.records.provenance import PARENT, WORK_TREE, AgentIdentity
from searchmark.records.run import Run
from searchmark.records.suite import Suite
from searchmark.scoring.match import MatchedRun

LEFT_OUT = "cases_not_in_all_runs"


# A run that shares less than this with a suite, of the smaller of both, was made for something else.
LEAST_OVERLAP = 0.1


@dataclass(frozen=True, eq=False)
class ComparableRuns:
    """Runs that may be compared, and the suite with the cases on which that is done.

    ``depth`` is where the answers of all of them end, None if they do not, or not at the same rank.
    """

    suite: Suite
    runs: tuple[Run, ...]
    depth: int | None = None


def comparable(suite: Suite, runs: Sequence[Run], *, intersect: bool = False, same_depth: bool = False) -> ComparableRuns:
    """These runs on this suite, with what each did not run marked as such.

    With ``intersect`` on the cases that all of them answer, with ``same_depth`` with answers cut to the smallest depth.
    """
    runs = [with_suite_case_ids(suite, run) for run in runs]
    for run in runs:
        check_queries(suite, run)
    depth = _smallest_depth(runs) if same_depth else _common_depth(runs)
    if same_depth and depth is not None:
        runs = [cut_run(run, depth) for run in runs]
    if intersect:
        return ComparableRuns(_common_cases(suite, runs), tuple(runs), depth)
    for run in runs:
        _refuse_foreign_run(suite, run)
    return ComparableRuns(suite, tuple(with_missing_cases(run, suite.table.ids) for run in runs), depth)


def check_queries(suite: Suite, run: Run) -> None:
    """A run that knows what it was asked must have been asked this, case by case."""
    table = suite.table
    if run.details is None or table.queries is None:
        return
    for case, details in zip(run.case_ids, run.details, strict=True):
        row = table.index.get(case)
        query = None if row is None else table.queries[row]
        request = None if row is None or table.requests is None else table.requests[row]
        if query is not None and details.asked not in (None, query_digest(query, request)):
            raise Incomparable(
                f"the run {run.agent!r} was asked different queries than those of the suite {suite.name!r}: {case!r} is one of them"
            )


def _refuse_foreign_run(suite: Suite, run: Run) -> None:
    """Runs often answer more or fewer cases than are judged; one that has hardly any in common is about something else."""
    suite_ids, answered_ids = set(suite.table.ids), run.index.keys()
    common, foreign = len(suite_ids & answered_ids), len(answered_ids - suite_ids)
    if 0 < common < LEAST_OVERLAP * min(len(suite_ids), len(answered_ids)):
        raise Incomparable(
            f"the run {run.agent!r} answers {common} of the {len(suite_ids)} cases of the suite and {foreign} others: "
            "it was made for a different suite; name the right one, or compare on the common cases with --intersect"
        )


def _common_cases(suite: Suite, runs: Sequence[Run]) -> Suite:
    """The cases that every run was asked."""
    common = set(suite.table.ids).intersection(*map(_cases_run, runs))
    if not common:
        raise NothingEvaluated("no case of the suite is answered by all runs")
    return replace(suite.only(common), dropped={**suite.dropped, LEFT_OUT: len(suite) - len(common)})


def _cases_run(run: Run) -> set[str]:
    return {case for case, status in zip(run.case_ids, run.status.tolist(), strict=True) if status != NOT_RUN}


def depth_reached(run: Run) -> int | None:
    """The depth that a run was asked for, if an answer has that many hits, so that it may have been cut there."""
    depth = run.provenance.options.get("depth")
    return depth if isinstance(depth, int) and run.longest >= depth else None


def _common_depth(runs: Sequence[Run]) -> int | None:
    depth = min(filter(None, map(depth_reached, runs)), default=None)
    return None if depth is None or any(run.longest > depth for run in runs) else depth


def _smallest_depth(runs: Sequence[Run]) -> int | None:
    """The smallest depth that a run was cut at; the longest answer of an imported run is all that is known of its depth."""
    depths = [depth_reached(run) if run.provenance.is_ours else run.longest for run in runs]
    return min(filter(None, depths), default=None)


MismatchKind = Literal["snapshot", "candidates", "corpus", "depth", "time_limit", "missing"]


@dataclass(frozen=True)
class Mismatch:
    """One thing besides the agents in which two runs differ, why that spoils a comparison, and what to do about it.

    Only measures that look ``below`` this rank are concerned; None for all measures.
    """

    kind: MismatchKind
    sentence: str
    fix: str
    below: int | None = None

    def concerns(self, measure: AnyMeasure) -> bool:
        return self.below is None or measure.looks_below(self.below)


@dataclass(frozen=True, eq=False)
class _Side:
    """One of two runs, with the name that a reader knows it by."""

    name: str
    run: Run


def mismatches(one: Run, other: Run, names: tuple[str, str]) -> tuple[Mismatch, ...]:
    """All that makes a difference between two runs say nothing of their agents; ``names`` are for the sentences."""
    first, second = _Side(names[0], one), _Side(names[1], other)
    return (
        *_searched_mismatches(first, second),
        *_depth_mismatches(first, second),
        *_depth_mismatches(second, first),
        *_time_limit_mismatches(first, second),
    )


def _searched_mismatches(one: _Side, other: _Side) -> Iterator[Mismatch]:
    """Two snapshots are what a comparison of snapshots is about; anything else that was searched must be the same."""
    first, second = one.run.label.snapshot, other.run.label.snapshot
    out_of_time = _time_mismatches(one, other) or _time_mismatches(other, one)
    if out_of_time:
        yield from out_of_time
    elif first == second:
        yield from _candidate_mismatches(one, other) or _corpus_mismatches(one, other)
    elif first and second and not is_same_agent(one.run, other.run):
        words = f"{one.name} searched the snapshot {first} and {other.name} {second}"
        sentence = f"{words}: whether that or the agent makes the difference cannot be told"
        yield Mismatch("snapshot", sentence, "run both on the same snapshot")
    elif not (first and second) and (other if first else one).run.provenance.corpora:
        snapshot_side, corpus_side = (one, other) if first else (other, one)
        sentence = f"{snapshot_side.name} searched the snapshot {first or second}, and {corpus_side.name} a corpus"
        yield Mismatch("corpus", sentence, "run both on the same corpus or the same snapshot")


def _time_mismatches(timeless_side: _Side, snapshot_side: _Side) -> list[Mismatch]:
    """A service may have an index of today, which holds the answers, where others search a commit from before them."""
    snapshot, both = snapshot_side.run.label.snapshot, _is_timeless(timeless_side.run) and _is_timeless(snapshot_side.run)
    alike = both and (timeless_side.run.label.snapshot == snapshot or is_same_agent(timeless_side.run, snapshot_side.run))
    if not _is_timeless(timeless_side.run) or not snapshot or alike:
        return []
    sentence = (
        f"{timeless_side.name} searched what it has, in whatever state that is, and {snapshot_side.name} the snapshot {snapshot}"
    )
    return [Mismatch("snapshot", sentence, "run both on the same files: --snapshot worktree, or --corpus")]


def _is_timeless(run: Run) -> bool:
    """Whether it searched what it has, in whatever state, and not what was named as it lies there."""
    in_place = run.provenance.service is None and run.label.snapshot in (None, WORK_TREE)
    return run.provenance.own_corpus and not in_place


def is_same_agent(one: Run, other: Run) -> bool:
    """Whether two runs are known to be of one agent with the same code and options; what it says of itself may differ."""
    return one.label.agent == other.label.agent and _code_identity(one.provenance.agent) == _code_identity(other.provenance.agent)


def _code_identity(agent: AgentIdentity | None) -> AgentIdentity | None:
    return None if agent is None else replace(agent, description={})


def _candidate_mismatches(one: _Side, other: _Side) -> list[Mismatch]:
    first, second = one.run.provenance, other.run.provenance
    if not (first.is_ours and second.is_ours) or first.candidates == second.candidates:
        return []
    sentences = (f"{side.name} searched {_kinds_text(side.run)}" for side in (one, other))
    return [
        Mismatch(
            "candidates", " and ".join(sentences), "run both with the same --candidates, --include, --exclude, --kinds and --ignore"
        )
    ]


LONGEST_CHOICE = 300


def _kinds_text(run: Run) -> str:
    candidates = run.provenance.candidates
    return "every file" if candidates is None else shortened(str(candidates), LONGEST_CHOICE)


def _corpus_mismatches(one: _Side, other: _Side) -> list[Mismatch]:
    different = _different_corpora(one.run, other.run)
    if not different:
        return []
    sentence = f"{one.name} and {other.name} searched different corpora: {different}"
    return [Mismatch("corpus", sentence, "run both on the same corpus")]


def _different_corpora(one: Run, other: Run) -> str | None:
    """What is known to differ of what two runs searched; each may have searched what the other has not."""
    first, second = one.provenance.corpora, other.provenance.corpora
    changed_names = [name for name in first if name in second and first[name] != second[name]]
    if changed_names:
        return f"the contents of {', '.join(changed_names)} differ"
    if len(first) == len(second) == 1 and set(first.values()) != set(second.values()):
        return " and ".join((*first, *second))  # two names for what all cases search
    return "the documents of the cases differ" if not first and not second and _has_other_documents(one, other) else None


def _has_other_documents(one: Run, other: Run) -> bool:
    """Whether cases that bring documents along brought other ones; at its parent every case has a different corpus."""
    first, second = one.provenance.suite, other.provenance.suite
    if first is None or second is None or one.label.snapshot == PARENT or None in (first.corpus, second.corpus, first.queries):
        return False
    return (first.name, first.queries) == (second.name, second.queries) and first.corpus != second.corpus


def _depth_mismatches(shallow: _Side, deep: _Side) -> Iterator[Mismatch]:
    """An agent that had no more to give was not cut, however deep it was asked."""
    depth = depth_reached(shallow.run)
    if depth is not None and deep.run.longest > depth:
        sentence = f"the answers of {shallow.name} end after {depth} hits, and those of {deep.name} have up to {deep.run.longest}"
        fix = f"cut all answers alike with --same-depth, name a cutoff of at most {depth}, or run again with one --depth"
        yield Mismatch("depth", sentence, fix, depth)


def _time_limit_mismatches(one: _Side, other: _Side) -> Iterator[Mismatch]:
    """Different limits make no difference unless one of them was reached."""
    for short, long in ((one, other), (other, one)):
        limit, more = (side.run.provenance.options.get("timeout_seconds") for side in (short, long))
        late = int((short.run.status == TIMEOUT).sum())
        if limit is not None and more is not None and limit < more and late:
            sentence = f"{short.name} timed out in {late} cases after {limit:g} s, and {long.name} had {more:g} s"
            yield Mismatch("time_limit", sentence, "run both with the same --timeout")


MOST_MISSING = 0.05  # of the cases, that one of two runs may lack


def missing_mismatches(one: MatchedRun, other: MatchedRun, names: tuple[str, str]) -> Iterator[Mismatch]:
    """Too many cases that only one of two runs has: whether the other was asked is not known."""
    of = len(one.mentioned)
    lacking = zip(names, (other.mentioned & ~one.mentioned, one.mentioned & ~other.mentioned), strict=True)
    counts = {name: int(cases.sum()) for name, cases in lacking if cases.any()}
    if sum(counts.values()) > MOST_MISSING * of:
        sides = " and ".join(f"{count} are missing from {name}" for name, count in counts.items())
        sentence = f"{sum(counts.values())} of {of} cases are in one of the two runs alone ({sides})"
        fix = "compare on the common cases with --intersect, or say with --missing zero that a missing case is an empty answer"
        yield Mismatch("missing", sentence, fix)


def is_proven_repeat(one: Run, other: Run) -> bool:
    """Whether it is proven that these are two runs of one agent, asked the same about the same; names prove nothing."""
    first, second = one.provenance, other.provenance
    if first.agent is None or first.agent.code is None or first.suite is None or first.id == second.id:
        return False
    same = ("agent", "suite", "options", "corpora", "service", "candidates", "version")
    return one.label.snapshot == other.label.snapshot and all(getattr(first, key) == getattr(second, key) for key in same)


def check_matched(matched: Sequence[MatchedRun], measures: Sequence[Sequence[str]]) -> None:
    """Two runs at least, each judged on the same suite and scored by the same measures."""
    if len(matched) < 2:  # noqa: PLR2004  # a comparison takes two
        raise UsageError("a comparison needs at least two runs")
    first = matched[0].suite.hashes
    if any(other.suite.hashes != first for other in matched) or any(names != measures[0] for names in measures):
        raise Incomparable("runs can only be compared on the same suite and by the same measures")
    if not measures[0]:
        raise NothingEvaluated("there is no measure to compare by")
