"""How runs are compared, and what is decided by it: the section ``compare`` of the config file."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Le

from searchmark.options.option import Option, Setting, check_fields
from searchmark.options.strict import strict_record

SMALLEST_EFFECT = 1e-6


@strict_record
class DecisionRule:
    """One line of a decision table.

    ``above`` and ``below`` bound the relative gain over the baseline (0.1 is 10 %), or the gain itself where the baseline
    has nothing. ``categories``: empty for the suite as a whole, ["all"] for every category, or those that must all fulfil
    it, by name or number. ``evidence``: whether the whole interval of the gain must lie on the right side of the line, or
    the mean alone will do.
    """

    decision: str
    above: float | None = None
    below: float | None = None
    categories: tuple[str | int, ...] = ()
    evidence: Literal["interval", "mean"] = "interval"


@strict_record
class DecisionTable:
    """What to decide about one arm, measured against another; the first rule with evidence wins."""

    candidate: str
    baseline: str
    rules: tuple[DecisionRule, ...]
    measure: str | None = None
    otherwise: str = "no clear gain"


@strict_record
class CompareOptions:
    """How a comparison is made. Without a ``baseline`` every pair of runs is compared."""

    min_effect: Annotated[float, Ge(SMALLEST_EFFECT), Le(1), Option("Smallest difference of means that matters.")] = 0.01
    margin: Annotated[float, Ge(0), Le(1), Option("Largest loss that still counts as not inferior.")] = 0.02
    baseline: Annotated[str | None, Option("Compare every other run with this one, and no other pair.", metavar="NAME")] = None
    primary: Annotated[
        str | None,
        Option(
            "The measure that the comparison is made for. Others, and segments, get a verdict once it is IMPROVED or REGRESSED.",
            metavar="MEASURE",
            default="the first one",
        ),
    ] = None
    decisions: Annotated[tuple[DecisionTable, ...], Setting("Tables that turn differences into decisions.")] = ()

    def __post_init__(self) -> None:
        check_fields(self)
