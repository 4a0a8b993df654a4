"""Counting looks at builds for rules that are sequential, and saying when a baseline has been left behind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from searchmark.analysis.scores import Scores
from searchmark.analysis.sequential import Look, sequential_verdict
from searchmark.analysis.verdicts import Difference, Judgement, PairedEvidence
from searchmark.findings import Finding, finding
from searchmark.gates.looks import Build, LookFile, WatchedMeasure, answers_digest, far_above, open_looks
from searchmark.gates.segments import CaseSegment, rows_of
from searchmark.records import Run


@dataclass(frozen=True)
class LookBook:
    """Where looks are counted; without a file every look is the first."""

    path: Path | None = None

    def look(
        self, before: Scores, after: Scores, segment: CaseSegment, measure: str, min_effect: float, family: int
    ) -> tuple[Look, Judgement, tuple[Finding, ...]]:
        """One look at a build and its verdict, written down; and a finding if builds have been far above the baseline for long."""
        column, rows = after.names.index(measure), rows_of(after.judged.suite, segment)
        if self.path is None:
            return *sequential_verdict(before, after, column, 1, min_effect, rows, family), ()
        subject, build = _subject(before, measure, segment), _build(after.judged.run)
        with open_looks(self.path) as looks:
            number = looks.number_of(subject, build)
            look, judgement = sequential_verdict(before, after, column, number, min_effect, rows, family)
            looks.record(subject, build, look.evidence)
            return look, judgement, _left_behind(looks, subject, min_effect)

    def next_number(self, before: Scores, measure: str, segment: CaseSegment) -> int:
        """Which look the next new build will be."""
        if self.path is None or not self.path.exists():
            return 1
        with open_looks(self.path) as looks:
            return looks.next_number(_subject(before, measure, segment))

    def note(
        self, before: Scores, after: Scores, segment: CaseSegment, found: Difference, min_effect: float
    ) -> tuple[Finding, ...]:
        """Write down a look of a rule that does not count them, for the finding alone."""
        if self.path is None:
            return ()
        subject = _subject(before, found.measure, segment)
        evidence = PairedEvidence(found.cases, found.difference, found.low, found.high, p=found.p)
        with open_looks(self.path) as looks:
            looks.record(subject, _build(after.judged.run), evidence)
            return _left_behind(looks, subject, min_effect)


def _left_behind(looks: LookFile, subject: WatchedMeasure, min_effect: float) -> tuple[Finding, ...]:
    said = far_above(looks.looks_at(subject), min_effect)
    return () if said is None else (finding("baseline-left-behind", said),)


def _subject(before: Scores, measure: str, segment: CaseSegment) -> WatchedMeasure:
    """Its values rest on the answers of the baseline and on today's judgments."""
    judgments = before.judged.suite.hashes["judgments"]
    return WatchedMeasure(
        f"{answers_digest(before.judged.run)} {judgments}", measure, "" if segment.by is None else f"{segment.by}={segment.value}"
    )


def _build(run: Run) -> Build:
    answers = answers_digest(run)
    return Build(run.provenance.id or answers, answers, run.provenance.ended or datetime.now(UTC))
