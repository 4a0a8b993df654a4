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
    yield from score_findings(scores, dropped.items(), measures.items(), compared=compared)


def told_apart(findings: Mapping[str, Sequence[Finding]]) -> list[Finding]:
    """Every finding with the name of the run that it is about; one that holds for all runs is said once."""
    first = next(iter(findings.values()))
    shared = [each for each in first if all(each in found for found in findings.values())]
    own = [_of(name, each) for name, found in findings.items() for each in found if each not in shared]
    return [*own, *(_of("all runs", each) for each in shared)]


def _of(name: str, each: Finding) -> Finding:
    return replace(each, message=f"{name}: {each.message}")
