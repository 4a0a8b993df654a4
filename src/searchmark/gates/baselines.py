"""The run that others are held against, kept in a file of the project and judged again whenever it is used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from searchmark.records import Run
from searchmark.runs import load_run

BASELINE = "the baseline"


@dataclass(frozen=True, eq=False)
class Baseline:
    """The baseline of a gate, or why there is none."""

    run: Run | None = None
    missing: str = "there is none"


NO_BASELINE = Baseline()


def load_baseline(path: str | Path) -> Baseline:
    """The saved run in a file; a file that is not there is told when a rule asks for it."""
    file = Path(path)
    if not file.exists():
        advice = "name it with --against FILE, or make it with 'searchmark baseline update RUN'"
        return Baseline(missing=f"there is no file {file}; {advice}")
    return named_baseline(load_run(file))


def named_baseline(run: Run) -> Baseline:
    """A run as the baseline, under a name that no other run has."""
    return Baseline(replace(run, label=replace(run.label, agent=BASELINE)))
