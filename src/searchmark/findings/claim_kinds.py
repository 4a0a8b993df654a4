"""Kinds of findings about published numbers."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

_OTHER = "the numbers belong to other cases, other cutoffs or another definition than the table says"
_DEFINITION = (
    "Look for a precision that divides by the results returned, not by k, for means over different cases, or a wrong cutoff."
)
_RECOUNT = "Compute both numbers again from the rankings, over the same cases, and print them with more decimals."

KINDS: tuple[FindingKind, ...] = (
    FindingKind(
        "claim-outside-range",
        "error",
        "A published value, interval or p lies outside what its measure can be.",
        why="No ranking has such a value: the formula or the unit is another one.",
        fix="Check the ideal list of nDCG (all relevant documents, cut at k), and mark percentages with a % in the cell or column.",
    ),
    FindingKind(
        "claim-precision-above-hit-rate",
        "error",
        "A published P@k is higher than its hit rate allows: a case without a hit adds nothing to P@k.",
        why="P@k is at most 1 for a case with a hit and 0 for one without: its mean cannot exceed the share of cases with a hit.",
        fix=_DEFINITION,
    ),
    FindingKind(
        "claim-precision-below-hit-rate",
        "error",
        "A published P@k is lower than HitRate@k / k: every case with a hit has at least one of k.",
        why=f"Each case with a hit adds at least 1/k to P@k: {_OTHER}.",
        fix=_DEFINITION,
    ),
    FindingKind(
        "claim-rr-above-hit-rate",
        "error",
        "A published MRR is higher than its hit rate allows.",
        why="A case with a hit adds at most 1, and one without a hit among the first k at most 1/(k + 1).",
        fix=_RECOUNT,
    ),
    FindingKind(
        "claim-rr-below-hit-rate",
        "error",
        "A published MRR is lower than HitRate@k / k.",
        why="A case with a hit among the first k has a reciprocal rank of at least 1/k.",
        fix=_RECOUNT,
    ),
    FindingKind(
        "claim-above-hit-rate",
        "warning",
        "A published mean of recall, F1, average precision, Acc or nDCG is higher than the hit rate at its cutoff.",
        why="All of them are 0 for a case without a hit, so that no mean exceeds the hit rate. A recall pooled over all "
        "targets may, and an nDCG that counts lower grades than the hit rate does.",
        fix="Say whether numbers are means over cases or pooled over all targets, and from which grade on a hit counts.",
    ),
    FindingKind(
        "claim-part-above-whole",
        "warning",
        "A published Acc@k is above R@k, or an AP above the recall at its cutoff.",
        why="Acc@k that asks for all targets is at most R@k; Acc@k that asks for one of them is a hit rate and may be above. "
        "AP that divides by all targets is at most the recall; one that divides by at most k may be above.",
        fix="Say which of both is meant (a hit rate is best called HitRate@k); if it is the first, compute both numbers again.",
    ),
    FindingKind(
        "claim-first-rank",
        "error",
        "Published P@1, HitRate@1 and MRR@1 differ.",
        why="With one hit, all three are 1 if it is relevant and 0 if it is not.",
        fix=_DEFINITION,
    ),
    FindingKind(
        "claim-hit-rate-falls",
        "error",
        "A published hit rate (or Acc) falls as k grows.",
        why="A case with a hit among the first 5 has one among the first 10.",
        fix=_RECOUNT,
    ),
    FindingKind(
        "claim-recall-falls",
        "error",
        "A published recall falls as k grows.",
        why="What was found among the first 5 is found among the first 10, and the relevant targets are the same.",
        fix="Compute it again; a recall that divides by at most k is another measure and needs another name.",
    ),
    FindingKind(
        "claim-rr-falls",
        "error",
        "A published MRR falls as its cutoff grows.",
        why="A larger cutoff only adds first hits that a smaller one did not see.",
        fix=_RECOUNT,
    ),
    FindingKind(
        "claim-precision-counts",
        "error",
        "The counts of relevant hits behind two published P@k contradict each other.",
        why="k * P@k counts the relevant hits: it cannot fall as k grows, nor grow by more than there are further hits.",
        fix=_DEFINITION,
    ),
    FindingKind(
        "claim-no-count",
        "error",
        "A published share is one that no whole number of cases (or hits) over n gives, rounded or truncated.",
        why="A hit rate is a number of cases divided by n, and P@k a number of hits divided by k * n. Others are not of n cases.",
        fix="State the n that the number was divided by, and whether failed or unjudged cases were left out.",
    ),
    FindingKind(
        "claim-no-rank-sum",
        "error",
        "A published MRR is one that no n reciprocal ranks give.",
        why="MRR is a sum of n values 1, 1/2, 1/3 … or 0, divided by n; not every number is such a sum.",
        fix="State the n that the number was divided by, and whether failed or unjudged cases were left out.",
    ),
    FindingKind(
        "claim-f1",
        "error",
        "A published F1 lies outside what its precision and recall allow.",
        why="The F1 of two means is 2PR / (P + R), and a mean of F1 lies between P + R - 1 and that.",
        fix="Compute all three over the same cases and at the same cutoff, and say whether F1 is a mean or the F1 of means.",
    ),
    FindingKind(
        "claim-difference-too-small",
        "warning",
        "A published difference of means that no exact two-sided test of means shows with n cases.",
        why="Whichever cases moved, a randomisation of the means gives p > 0.05; for hit rates, so do the sign test and McNemar's. "
        "For other measures a sign test may differ: it ignores how far cases moved.",
        fix="Do not call one better by this mean, or measure with more cases.",
    ),
    FindingKind(
        "claim-difference-open",
        "note",
        "A published difference is within what chance gives two independent samples of n cases.",
        why="Whether it can be shown depends on how far the two agree case by case, which a table of means does not tell.",
        fix="Publish the paired results (wins, losses, interval of the difference), or compare the runs with `searchmark compare`.",
    ),
    FindingKind(
        "claim-interval",
        "error",
        "A published interval does not hold its own value.",
        why="An interval of a mean is built around it; this one belongs to another number.",
        fix="Compute value and interval from the same cases.",
    ),
    FindingKind(
        "claim-interval-narrow",
        "warning",
        "A published 95 % interval is narrower than n cases allow.",
        why="The value and n fix the smallest standard error; repeated or dependent measurements may have been counted as cases.",
        fix="Resample queries, not single results or repetitions, and say what the interval covers.",
    ),
    FindingKind(
        "claim-p-too-small",
        "warning",
        "A published p is smaller than n cases give by any test of which cases moved.",
        why="Two systems can be swapped on n cases in 2^n ways: an exact p is at least 1/2^n. A t-test goes below by assumption.",
        fix="Use a randomisation or sign test, with queries as the units.",
    ),
    FindingKind(
        "claim-without-n",
        "note",
        "A published number without the number of cases behind it.",
        why="Without n it cannot be known which shares are possible and which differences mean anything.",
        fix="Add a column n: the cases that the means are over.",
    ),
    FindingKind(
        "claim-read-as-per-cent",
        "note",
        "Columns that were read as per cent without a sign that says so.",
        why="All their values are 1 or more, and none of these measures can exceed 1.",
        fix="Write a % into the cells or the name of the column.",
    ),
    FindingKind(
        "claim-columns-skipped",
        "note",
        "Columns of the table that are not known as measures and were not checked.",
        why="What was not read was not checked.",
        fix="`searchmark measures` lists the names that are read; remove the other columns or rename them.",
    ),
)
