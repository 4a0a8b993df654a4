"""All that is to be said of a run beside its numbers; of several runs, what is said of which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from searchmark.analysis.scores import Scores, Summary
from searchmark.audit.run_findings import corpus_difference, depth_findings, run_findings
from searchmark.audit.score_findings import score_findings, trust_findings
from searchmark.corpora.corpus import Survey
from searchmark.findings import Finding


def about_run(
    scores: Scores, corpus: Survey | None, dropped: Mapping[str, int | None], measures: Mapping[str, Summary]
) -> Iterator[Finding]:
    """What is to be known of one run: whether it can be trusted, how it went, what was left out of its scores."""
    judged = scores.judged
    yield from trust_findings(scores)
    yield from run_findings(judged.run, judged.suite.table.index)
    yield from depth_findings(scores)
    yield from corpus_difference(judged.run, corpus)
    yield from score_findings(scores, dropped.items(), measures.items())


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
