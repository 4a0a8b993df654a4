"""What a sweep found: one row per setting, the settings that none beats, and one sentence. None is what was not measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from searchmark.analysis.latencies import Latency
from searchmark.analysis.non_inferiority import NonInferiority
from searchmark.analysis.verdicts import Verdict
from searchmark.files.schemas import Schema

SWEEP_SCHEMA = Schema("sweep", 1)
Deciding = Literal["index only", "end to end, cold"]


@dataclass(frozen=True)
class MeanValue:
    """The mean of a measure with its 95 % interval, over so many cases."""

    mean: float | None
    low: float | None
    high: float | None
    cases: int


@dataclass(frozen=True)
class AgainstBaseline:
    """GridSetting minus baseline on the deciding measure, with its 95 % interval; ``p_holm`` is adjusted for the whole grid."""

    difference: float | None
    low: float | None
    high: float | None
    p_holm: float | None
    family: int
    wins: int
    ties: int
    losses: int
    verdict: Verdict
    reason: str
    non_inferior: NonInferiority


@dataclass(frozen=True)
class SweepRow:
    """One setting.

    ``failure`` says why it has no numbers. ``ann_recall`` and ``ann_overlap``, at ``ann_k``, are means over cases.
    ``index_ms`` is the time in the index alone; ``cold_ms`` and ``warm_ms`` are end to end. ``failures`` counts
    the cases that ended in an error or a time-out. ``started``, ``ended``: when it was measured, which may have been in an
    earlier sweep. ``build_seconds`` is what making the index ready took; vectors that are in the cache are not embedded again.
    ``hosts`` are those that measured it, as far as they are known: of several, there are no times together. ``workers``: how many
    searched at the same time.
    ``on_frontier``: of the settings that search the same vectors, those with the same number in ``vectors_group``, none has as much
    recall as quickly, and more of one of them; ``on_quality_frontier``: the same by the deciding measure, of all settings.
    """

    name: str
    choices: Mapping[str, Any]
    is_baseline: bool = False
    added: bool = False
    failure: str | None = None
    measures: Mapping[str, MeanValue] = field(default_factory=dict)
    ann_k: int | None = None
    ann_recall: float | None = None
    ann_overlap: float | None = None
    index_ms: Latency | None = None
    cold_ms: Latency | None = None
    warm_ms: Latency | None = None
    build_seconds: float | None = None
    index_bytes: int | None = None
    vectors: int | None = None
    cases: int = 0
    failures: int = 0
    started: datetime | None = None
    ended: datetime | None = None
    against_baseline: AgainstBaseline | None = None
    vectors_group: int = 1
    on_frontier: bool | None = None
    on_quality_frontier: bool | None = None
    hosts: tuple[str, ...] = ()
    workers: int | None = None


@dataclass(frozen=True)
class Equivalence:
    """Two settings that should rank alike, on vectors of length one by two distances; ``differing`` names the first that do not."""

    first: str
    second: str
    cases: int
    same: int
    differing: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        counts = f"{self.first} and {self.second} on normalised vectors: same ranking in {self.same} of {self.cases} cases"
        if self.same == self.cases:
            return counts
        more = self.cases - self.same - len(self.differing)
        return f"{counts}; different in {', '.join(self.differing)}{f' and {more} more' if more else ''}"


@dataclass(frozen=True)
class SweepSuite:
    """What the settings were measured on."""

    name: str
    cases: int
    corpus: str | None


@dataclass(frozen=True)
class Sweep:
    """All rows, in the order of the grid. ``decided_by`` says whose p95 tells which setting is cheaper.

    ``not_compared`` is why no p95 tells it: a sentence, where the rows were measured on different hosts.

    ``cheapest`` is the name of the setting that the sentence is about, ``best`` that of the one with the highest mean, if that is
    not the baseline; None if there is none.
    """

    suite: SweepSuite
    agent: str
    options: Mapping[str, Any]
    measure: str
    margin: float
    depth: int
    decided_by: Deciding
    duplicates: int
    rows: tuple[SweepRow, ...]
    cheapest: str | None
    sentence: str
    best: str | None = None
    notes: tuple[str, ...] = ()
    equivalences: tuple[Equivalence, ...] = ()
    version: str | None = None
    not_compared: str | None = None

    @property
    def baseline(self) -> SweepRow:
        return next(row for row in self.rows if row.is_baseline)

    def p95(self, row: SweepRow) -> float | None:
        """The one that tells which setting is cheaper; none does where the rows were measured on different hosts."""
        if self.not_compared is not None:
            return None
        found = row.index_ms if self.decided_by == "index only" else row.cold_ms
        return None if found is None else found.p95
