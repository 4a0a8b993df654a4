"""Advice about what the answers of runs show: targets that never come, a poor order of good hits, scores that hardly differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from searchmark.analysis.exact_tests import binomial_tail
from searchmark.errors import shortened
from searchmark.measures.grammar import Measure
from searchmark.records import ERROR, STATUSES
from searchmark.reports.advice import Recommendation, percent, recommendation
from searchmark.reports.case_arrays import CaseArrays, Marks
from searchmark.reports.group_advice import FEWEST_CASES, LEVEL, Answered
from searchmark.reports.measured import known_measure

RARE = 0.05  # a share of the cases that is not worth a word
GOOD_RECALL = 0.8
POOR_ORDER = 0.5
NARROW = 0.03
MOSTLY = 0.8
FEWEST_FAILURES = 3
LONGEST_REASON = 240


def clearly(count: int, total: int, tests: int = 1) -> bool:
    """Whether a count is more than a rare event among so many cases, and not by chance."""
    return count >= FEWEST_CASES and binomial_tail(count, total, RARE) <= LEVEL / tests


def never_found(runs: Sequence[Answered], rel: int, missing: int, cut: Collection[str]) -> Iterator[Recommendation]:
    """Targets that no run returned at any rank, and those that did not exist.

    ``missing`` of the suite are not in the corpus. ``cut`` are the runs with answers that end at the depth that was asked for.
    """
    wanted = _wanted(runs[0].cases, rel)
    nowhere, absent = wanted.copy(), np.zeros(len(wanted), bool)
    for run in runs:
        asked = run.measured[run.cases.case_of_target]
        nowhere &= asked & (run.cases.ranks == 0)
        absent |= asked & run.cases.unreachable
    name = runs[0].run if len(runs) == 1 else None
    yield from _unreachable(name, runs[0].cases, wanted & absent)
    yield from _not_returned(name, runs, nowhere & ~absent, wanted, missing, cut)


def _wanted(cases: CaseArrays, rel: int) -> Marks:
    return cases.grades >= rel


def _unreachable(name: str | None, cases: CaseArrays, absent: Marks) -> Iterator[Recommendation]:
    found = _with_targets(cases, absent)
    count = int(found.sum())
    if count:
        seen = f"{int(absent.sum())} relevant targets of {_cases(count)} did not exist where they were searched"
        advice = "Correct these judgments or search the corpus that they belong to: no search can find these targets."
        yield recommendation("targets-unreachable", name, seen, advice, cases.named(found), count)


def _not_returned(
    name: str | None, runs: Sequence[Answered], nowhere: Marks, wanted: Marks, missing: int, cut: Collection[str]
) -> Iterator[Recommendation]:
    cases, measured = runs[0].cases, np.logical_and.reduce([run.measured for run in runs])
    found = _with_targets(cases, nowhere)
    count, total = int(found.sum()), int((measured & ~cases.unanswerable).sum())
    if not clearly(count, total):
        return
    who = "the run" if len(runs) == 1 else f"any of the {len(runs)} runs"
    targets = int((wanted & measured[cases.case_of_target]).sum())
    seen = (
        f"{int(nowhere.sum())} of {targets} relevant targets, in {count} of {total} cases, were not returned at any rank by {who}"
    )
    if missing:
        seen += f"; {missing} relevant targets of the suite are not in the corpus"
    deeper = any(run.run in cut and 2 * int((found & _at_full_length(run)).sum()) >= count for run in runs)
    more = ", and ask for more hits with --depth" if deeper else ""
    advice = f"Check that these documents are indexed{more}: reranking cannot bring them up."
    yield recommendation("targets-never-returned", name, seen, advice, cases.named(found), count)


def _at_full_length(run: Answered) -> Marks:
    """The answers of which as many hits are shown as of any: shorter ones ended by themselves."""
    full: Marks = run.cases.shown == run.cases.shown.max(initial=0)
    return full


def _with_targets(cases: CaseArrays, targets: Marks) -> Marks:
    """The cases that have any of these targets."""
    found: Marks = np.bincount(cases.case_of_target[targets], minlength=len(cases.ids)) > 0
    return found


def others_succeed(runs: Sequence[Answered], agents: Mapping[str, str], fusing: Collection[str] = ()) -> Iterator[Recommendation]:
    """Cases in which the agent that succeeds most often fails and another succeeds; ``agents`` names the agent of every run.

    That a better agent succeeds where a worse one fails is no advice: the comparison says so already. ``fusing`` are the runs
    that join the answers of others: they are the result of what would be suggested.
    """
    pairs = [(run, other) for run in runs for other in runs if agents[run.run] != agents[other.run]]
    if pairs:
        best = max(runs, key=lambda run: int((run.measured & ~run.failed).sum()))
        others = [other for one, other in pairs if one is best]
        others = [other for other in others if other.run not in fusing] or others
        other = max(others, key=lambda other: int(_only(other, best).sum()))
        yield from _other_succeeds(best, other, [run for run in runs if run.run in fusing], len(pairs))


def _only(one: Answered, other: Answered) -> Marks:
    """Where one succeeds and the other fails."""
    return one.measured & ~one.failed & other.failed


def _other_succeeds(run: Answered, other: Answered, fused: Sequence[Answered], tests: int) -> Iterator[Recommendation]:
    found, both = _only(other, run), run.measured & other.measured
    count, total = int(found.sum()), int(both.sum())
    if clearly(count, total, tests):
        back = int(_only(run, other).sum())
        failing = int((run.failed & both).sum())
        seen = f"{other.run} succeeds in {count} of the {failing} cases in which {run.run} fails; the other way round it is {back}"
        advice = " ".join(_both_together(run, other, fused, tests))
        yield recommendation("other-agent-succeeds", run.run, seen, advice, run.cases.named(found), count)


def _both_together(run: Answered, other: Answered, fused: Sequence[Answered], tests: int) -> Iterator[str]:
    """What fusion could give, where both together reach clearly more cases than the better one, and what it gave."""
    both = run.measured & other.measured
    alone = [int((both & ~each.failed).sum()) for each in (run, other)]
    union, total = int((both & ~(run.failed & other.failed)).sum()), int(both.sum())
    tried = next((each for each in sorted(fused, key=lambda each: int(each.failed.sum())) if each not in (run, other)), None)
    more = clearly(union - max(alone), total, tests)
    yield "Try to fuse both (agent hybrid)." if more and not fused else f"See what {other.run} does with these cases."
    if more:
        yield (
            f"At best, knowing in each case which of the two is right, {union} of {total} cases would succeed; "
            f"the better one alone succeeds in {max(alone)}."
        )
    if tried is not None:
        asked = both & tried.measured
        yield f"{tried.run}, which fuses, succeeds in {int((asked & ~tried.failed).sum())} of {int(asked.sum())}."


def poor_order(run: Answered, tests: int) -> Iterator[Recommendation]:
    """Cases in which nearly all targets are found, and ranked low."""
    measures = [each for name in run.cases.names if isinstance(each := known_measure(name), Measure)]
    recalls = [each for each in measures if each.definition.name == "R"]
    orders = [each for each in measures if each.definition.name in ("nDCG", "RR")]
    if not recalls or not orders:
        return
    recall = max(recalls, key=lambda each: each.cutoff or np.inf).name
    order = min(orders, key=lambda each: each.definition.name != "nDCG").name
    found, ranked = run.cases.column(recall), run.cases.column(order)
    poor = run.measured & (ranked < POOR_ORDER)
    shown = poor & (found >= GOOD_RECALL)
    count, total = int(shown.sum()), int((run.measured & ~np.isnan(found) & ~np.isnan(ranked)).sum())
    if clearly(count, total, tests) and 2 * count >= int(poor.sum()):
        means = f"{recall} {found[shown].mean():.2f}, {order} {ranked[shown].mean():.2f}"
        seen = f"in {count} of {total} cases nearly all targets are found and ranked low (mean {means})"
        advice = "Rerank the first hits (agent rerank), or tune the weights of the ranking: what is right is there."
        yield recommendation("rerank", run.run, seen, advice, run.cases.named(shown), count)


def compressed_scores(run: Answered, *, normalised: bool) -> Iterator[Recommendation]:
    """Answers of an embedding model in which the first ten hits score nearly the same."""
    known = run.measured & ~np.isnan(run.cases.narrowness)
    narrow = known & (np.abs(run.cases.narrowness) < NARROW)
    count, total = int(narrow.sum()), int(known.sum())
    if total >= 2 * FEWEST_CASES and count >= MOSTLY * total:
        typical = 100 * float(np.median(np.abs(run.cases.narrowness[known])))
        seen = (
            f"in {count} of {total} answers the last of the first ten hits scores less than {percent(NARROW)} below the first "
            f"(median {typical:.2g} %)"
        )
        first = "Check" if normalised else "Normalise the vectors, check"
        advice = f"{first} pooling and prefixes of the model, or try another; set no threshold on such scores."
        yield recommendation("scores-compressed", run.run, seen, advice, run.cases.named(narrow), count)


def common_failure(run: str, cases: CaseArrays) -> Iterator[Recommendation]:
    """Errors and time-outs that have one reason in common."""
    reasons = {row: (int(cases.status[row]), shortened(reason, LONGEST_REASON)) for row, reason in cases.failures.items()}
    if not reasons:
        return
    ((status, reason), count), *_ = Counter(reasons.values()).most_common(1)
    if count >= FEWEST_FAILURES and 2 * count >= len(reasons):
        seen = f"{count} of {len(reasons)} cases that failed ended with the same {STATUSES[status]}: {reason}"
        slow = "Make these searches faster or raise --timeout" if status != ERROR else "Fix this first"
        which = (cases.ids[row] for row in sorted(reasons) if reasons[row] == (status, reason))
        yield recommendation("common-failure", run, seen, f"{slow}, then ask these cases again with --retry-errors.", which, count)


def _cases(count: int) -> str:
    return f"{count} case{'' if count == 1 else 's'}"
