"""What the agent of a first config scores, so that its gate begins with a number that was measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from searchmark.agents.agent import AgentSpec
from searchmark.corpora.case_locations import Where
from searchmark.errors import SearchmarkError
from searchmark.experiments import Experiment, score_runs
from searchmark.options.run_options import RunOptions
from searchmark.records import Suite
from searchmark.records.shown import counted

if TYPE_CHECKING:
    from searchmark.running.request import Ran

MOST_CASES = 500  # a suite that is larger is measured by evaluate, which shows how long it takes
Run = Callable[[Experiment], "Ran"]


@dataclass(frozen=True)
class FirstNumbers:
    """The mean of one measure, and its interval where there are cases enough for one."""

    agent: str
    measure: str
    mean: float
    low: float | None
    high: float | None
    cases: int

    @property
    def threshold(self) -> float | None:
        """The lower end of the interval, or else the mean, rounded down; None where that would be 0, which nothing is below."""
        rounded = math.floor((self.mean if self.low is None else self.low) * 100) / 100
        return rounded if rounded > 0 else None

    @property
    def sentence(self) -> str:
        """What was measured."""
        interval = "" if self.low is None or self.high is None else f" (95 % interval {self.low:.4f} to {self.high:.4f})"
        return f"{self.agent} has {self.measure} {self.mean:.4f}{interval} on {counted(self.cases, 'case')}"


def first_numbers(suite: Suite, spec: AgentSpec, where: Where, measure: str, run: Run) -> FirstNumbers | str:
    """What the agent scores; or why that is not known, in a sentence without its end."""
    if len(suite) > MOST_CASES:
        return f"the suite has {len(suite)} cases, more than the {MOST_CASES} that init measures"
    try:
        ran = run(Experiment(suite, (spec,), where, options=RunOptions(num_runs=1)))
        (scores,) = score_runs(ran.suite, ran.runs, [measure], corpus=ran.survey)
    except SearchmarkError as error:
        return str(error)
    from searchmark.analysis.scores import distrust

    doubt = next(iter(distrust(scores)), None)
    (name, summary), *_ = scores.summaries().items()
    if doubt is not None or summary.mean is None:
        return "not a single case has a value" if doubt is None else doubt.message
    return FirstNumbers(spec.name, name, summary.mean, summary.low, summary.high, summary.cases)
