"""What the catalogue says of a measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from searchmark.measures.formulas import Floats
from searchmark.measures.parameters import PARAMETERS, Value

RANKED = "the run's order decides; equal scores in TREC files are ordered by id, descending"
NOT_FOUND = "a target that was not returned is not found; no relevant target: 0, as in trec_eval"
PAYS_NOTHING = "only what was returned pays"


@dataclass(frozen=True)
class Definition:
    """What a name means.

    ``of_sets``: looks at an answer as a set, so that a cutoff makes another measure of it. ``needs_targets``: meaningless
    unless every target is known by id. ``unanswerable``: looks at the cases
    without an answer, and only at those. ``undefined``: why the formula itself can come out undefined.
    ``tells``: what it tells where that is not how good answers are, so that it cannot be the reason of a verdict.
    ``at``: the option that follows @, ``needs_at`` whether it must be said. ``sees_hits``: whether hits can change it.
    ``over_cases``: the measure that a case has instead, where this one is a single number for all cases: the geometric mean
    of what ``compute`` gives. ``own_defaults``: defaults of options that differ from those of other measures. ``needs_lines``:
    meaningless unless lines are judged, and what the lines of hits cost is known. ``budgets``: options of which one must be said.
    """

    name: str
    compute: Callable[..., Floats]
    summary: str
    missing: str
    parameters: tuple[str, ...] = ()
    cutoff: bool = True
    of_sets: bool = False
    ties: str = RANKED
    empty: str = "0"
    low: float = 0.0
    high: float = 1.0
    needs_targets: bool = True
    unanswerable: bool = False
    tells: str = ""
    at: str = "cutoff"
    needs_at: bool = False
    sees_hits: bool = True
    over_cases: str = ""
    own_defaults: tuple[tuple[str, Value], ...] = ()
    needs_lines: bool = False
    budgets: tuple[str, ...] = ()
    undefined: str = "a grade is too high for exponential gain"

    @property
    def tells_quality(self) -> bool:
        return not self.tells

    def default(self, option: str) -> Value:
        """What an option of this measure is where nobody says it."""
        return dict(self.own_defaults).get(option, PARAMETERS[option].default)
