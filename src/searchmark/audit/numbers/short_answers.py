"""Runs that were cut above the cutoff of a measure: P@10 of three hits is at most .3, and R@10 is R@3."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from searchmark.analysis.scores import Scores
from searchmark.audit.subject import Subject
from searchmark.comparability import depth_reached
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.measures.formulas import Ints
from searchmark.measures.grammar import AnyMeasure
from searchmark.records import OK

FEWEST_CASES = 10
CUT = 0.5  # share of answers that have exactly as many hits as the longest: a search that finds little ends at different lengths


def short_answers(subject: Subject) -> Iterator[Finding]:
    """Runs whose answers end above a cutoff that other runs reach, or that the corpus has documents for."""
    longest = {name: int(_lengths(scores).max(initial=0)) for name, scores in subject.scores.items()}
    for name, scores in subject.scores.items():
        others = max((each for other, each in longest.items() if other != name), default=_corpus_size(subject))
        blind = [each.name for each in scores.measures if each.tells_quality and _cutoff(each) > longest[name]]
        if blind and 0 < longest[name] < others and _is_cut(scores, longest[name]):
            before = f"{name}: " if len(longest) > 1 else ""
            beside = f"those of other runs up to {others}" if len(longest) > 1 else f"of {others} documents"
            seen = f"{', '.join(blind)} see no more"
            yield finding("short-answers", f"{before}answers have at most {counted(longest[name], 'hit')}, {beside}: {seen}")


def _cutoff(measure: AnyMeasure) -> int:
    return max((part.cutoff or 0 for part in measure.parts), default=0)


def _lengths(scores: Scores) -> Ints:
    """Hits of every answer that has any."""
    judged = scores.judged
    lengths: Ints = judged.matches.returned[judged.status == OK]
    return lengths


def _is_cut(scores: Scores, longest: int) -> bool:
    """Whether most answers end where the longest does; that a depth was asked for is said elsewhere."""
    lengths = _lengths(scores)
    return len(lengths) >= FEWEST_CASES and depth_reached(scores.judged.run) is None and float(np.mean(lengths == longest)) >= CUT


def _corpus_size(subject: Subject) -> int:
    """Documents that all cases choose from, as far as they are known."""
    return len(subject.ids) if subject.ids is not None and subject.suite.table.documents is None else 0
