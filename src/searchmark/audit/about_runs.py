"""All that is to be said of a run beside its numbers; of several runs, what is said of which."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from searchmark.analysis.scores import Scores, Summary
from searchmark.audit.hit_findings import hit_findings
from searchmark.audit.run_findings import corpus_difference, depth_findings, run_findings
from searchmark.audit.score_findings import score_findings, trust_findings
from searchmark.corpora.corpus import Survey
from searchmark.findings import Finding


def about_run(
    scores: Scores,
    corpus: Survey | None,
    dropped: Mapping[str, int | None],
    measures: Mapping[str, Summary],
    *,
    compared: bool = False,
) -> Iterator[Finding]:
    """What is to be known of one run: whether it can be trusted, how it went, what was left out of its scores.

    ``compared``: others are held against it, so that it matters whether it has searched at all.
    """
    judged = scores.judged
    yield from trust_findings(scores)
    yield from run_findings(judged.run, judged.suite.table.index)
    yield from depth_findings(scores)
    yield from corpus_difference(judged.run, corpus)
    yield from hit_findings(judged, corpus)
    yield from score_findings(scores, dropped.items(), measures.items(), compared=compared)


# What is said of runs, and the findings on their suite that say the same and more.
_SAID_BETTER = {
    "unreachable-targets": {"unreachable-targets", "renamed-targets", "most-targets-missing", "all-targets-missing"},
    "most-targets-missing": {"most-targets-missing", "all-targets-missing"},
    "all-targets-missing": {"all-targets-missing"},
    "topics-without-judgments": {"partial-join", "nothing-joined"},
    "queries-without-judgments": {"partial-join", "nothing-joined"},
}


# What is said of a suite, and the findings on single runs that say the same and more.
_NO_HIT_FITS = {"all-hits-invalid", "hits-in-other-spelling"}
_SAID_OF_RUNS = {
    "hardly-judged": {"no-hit-judged", *_NO_HIT_FITS},
    "no-better-than-random": _NO_HIT_FITS,
    "short-answers": _NO_HIT_FITS,
}


def said_once(of_runs: Iterable[Finding], of_suite: Collection[Finding]) -> list[Finding]:
    """Findings on runs, then those on their suite, each without those that one of the others makes unnecessary."""
    codes = {each.code for each in of_suite}
    left = [each for each in of_runs if not _SAID_BETTER.get(each.code, set()) & codes]
    said = {each.code for each in left}
    return [*left, *(each for each in of_suite if not _SAID_OF_RUNS.get(each.code, set()) & said)]


def told_apart(findings: Mapping[str, Sequence[Finding]]) -> list[Finding]:
    """Every finding with the names of the runs that it is about, said once; those that hold for all runs come last."""
    names: dict[Finding, list[str]] = {}
    for name, found in findings.items():
        for each in dict.fromkeys(found):
            names.setdefault(each, []).append(name)
    shared = {each: len(runs) == len(findings) for each, runs in names.items()}
    return [_of("all runs" if shared[each] else ", ".join(names[each]), each) for each in sorted(names, key=shared.__getitem__)]


def _of(runs: str, each: Finding) -> Finding:
    return replace(each, message=f"{runs}: {each.message}")
