"""What comes out of asking agents. It loads nothing of the runner, since saved runs are scored in the same form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from searchmark.errors import Missing
from searchmark.formats.corpora.corpus import Survey
from searchmark.records.provenance import RunLabel
from searchmark.records.run import Run
from searchmark.records.suite import Suite


@dataclass(frozen=True, eq=False)
class RunResult:
    """What came out: one run per agent, and what was seen of the corpus, if there was one for all cases."""

    suite: Suite
    runs: tuple[Run, ...]
    survey: Survey | None
    missing: Mapping[RunLabel, str] = field(default_factory=dict)  # of agents that lack something here: why they did not start

    def without_missing(self, least: int) -> RunResult:
        """The same without the runs of agents that lack something here; refused where fewer than ``least`` are left."""
        runs = tuple(run for run in self.runs if run.label not in self.missing)
        if self.missing and len(runs) < least:
            raise Missing("; ".join(dict.fromkeys(self.missing.values())))
        return replace(self, runs=runs)
