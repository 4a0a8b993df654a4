"""Settings of gates, comparisons and drift: what a run must meet, and how runs are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import isfinite
from typing import Annotated, Literal, get_args

from annotated_types import Ge, Gt, Le

from searchmark.config.option import Option, Setting, check_fields
from searchmark.config.permissions import PathBeside
from searchmark.config.strict import STRICT, Number, Positive, Whole, strict_record
from searchmark.errors import UsageError

# How runs are compared, and what is decided by it: the section ``compare`` of the config file.

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
    above: Number | None = None
    below: Number | None = None
    categories: tuple[str | Whole, ...] = ()
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
class CompareSettings:
    """How a comparison is made. Without a ``baseline`` every pair of runs is compared."""

    min_effect: Annotated[float, Ge(SMALLEST_EFFECT), Le(1), STRICT, Option("Smallest difference of means that matters.")] = 0.01
    margin: Annotated[float, Ge(0), Le(1), STRICT, Option("Largest loss that still counts as not inferior.")] = 0.02
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


# What counts as drift: the section ``drift`` of the config file.

DRIFT_LIMIT = 0.05


@strict_record
class DriftSettings:
    """How far a number may be from that of earlier runs; 0.05 is 5 %."""

    limit: Annotated[
        float,
        Gt(0),
        STRICT,
        Option("Change from the runs of the last seven days that counts as drift: 0.05 is 5 %.", ("--drift-limit",), "SHARE"),
    ] = DRIFT_LIMIT

    def __post_init__(self) -> None:
        check_fields(self)
        if not isfinite(self.limit):
            raise UsageError(f"limit must be a number, such as 0.05 for 5 %, not {self.limit}")


# What a run must meet: the section ``gates`` of the config file. docs/gates.md explains every field.

GatePolicy = Literal["no-evidence-of-harm", "non-inferior", "sequential"]

GATE_POLICIES: tuple[GatePolicy, ...] = get_args(GatePolicy)

NumberBound = Literal["at_least", "above", "at_most", "below"]

NUMBER_BOUNDS: tuple[NumberBound, ...] = ("at_least", "above", "at_most", "below")

FixtureMetric = Literal["ndcg", "mrr", "precision"]

FIXTURE_METRICS: tuple[FixtureMetric, ...] = get_args(FixtureMetric)

BASELINE_FILE = "searchmark-baseline.jsonl"

PinBound = Literal["must_be_first", "must_contain", "must_not_contain", "before"]

PIN_BOUNDS: tuple[PinBound, ...] = get_args(PinBound)

_QUANTITIES = ("measure", "latency", "cost", "tokens", "retries", "index", "memory", "ann_recall", "own_k")

_LATENCY = ({"cold", "warm", "first_hit", "index_only"}, {"p50", "p90", "p95", "p99"})


_PARTS_OF_QUANTITIES = {
    "cost": ("total", "per_query"),
    "tokens": ("mean", "p50", "p95", "total"),
    "retries": ("attempts", "searches", "share"),
    "index": ("bytes", "seconds"),
    "memory": ("bytes",),
    "own_k": FIXTURE_METRICS,
}


@strict_record
class GateRule:
    """One condition: a quantity, the cases that it is taken over, and a bound, or a policy against the baseline.

    It names exactly one of the quantities, ``measure`` to ``own_k``.
    """

    measure: str | None = None
    latency: str | None = None  # warm.p95 and the like, in milliseconds
    cost: str | None = None  # total or per_query
    tokens: str | None = None  # per answer: mean, p50, p95 or total
    retries: str | None = None  # further attempts, searches that were retried, or their share
    index: str | None = None  # bytes or seconds
    memory: str | None = None  # bytes
    ann_recall: Positive | None = None  # its k
    own_k: FixtureMetric | None = None  # of fixtures: each case cut at the number of documents that it ranks, or at its field k
    where: Mapping[str, str | Whole] | None = None  # a category, a tag or another field of the cases, and its value
    at_least: Number | None = None
    above: Number | None = None
    at_most: Number | None = None
    below: Number | None = None
    warn_above: Number | None = None  # warnings are reported and never fail
    warn_below: Number | None = None
    against: Literal["baseline"] | None = None
    policy: GatePolicy | None = None
    margin: Annotated[float, Ge(0), STRICT] | None = None

    def __post_init__(self) -> None:
        quantities = [name for name in _QUANTITIES if getattr(self, name) is not None]
        if len(quantities) != 1:
            raise UsageError(
                f"a rule of a gate is about one of {', '.join(_QUANTITIES)}, not {' and '.join(quantities) or 'none of them'}"
            )
        self._check_part(quantities[0])
        if self.where is not None and len(self.where) != 1:
            raise UsageError("'where' names one field and its value, such as {category: crud}")
        if self.policy is not None or self.against is not None:
            self._check_relative()
        else:
            self._check_bounds()

    @property
    def bounds(self) -> dict[NumberBound, float]:
        """Every bound that is given."""
        return {name: value for name in NUMBER_BOUNDS if (value := getattr(self, name)) is not None}

    def _check_part(self, quantity: str) -> None:
        value = getattr(self, quantity)
        kind, _, percentile = str(value).partition(".")
        if quantity == "latency" and (kind not in _LATENCY[0] or percentile not in _LATENCY[1]):
            choices = (" or ".join(sorted(each)) for each in _LATENCY)
            raise UsageError("latency {!r} cannot be read; write it like warm.p95: {}, then {}".format(value, *choices))
        if quantity in _PARTS_OF_QUANTITIES and value not in _PARTS_OF_QUANTITIES[quantity]:
            raise UsageError(f"{quantity} must be {' or '.join(_PARTS_OF_QUANTITIES[quantity])}, not {value!r}")

    def _check_bounds(self) -> None:
        bounds = self.bounds
        if not bounds:
            raise UsageError("a rule of a gate needs a bound: at_least, above, at_most or below; or 'against: baseline'")
        if self.margin is not None:
            raise UsageError("a margin belongs to rules with 'against: baseline'")
        if not all(map(isfinite, bounds.values())):
            raise UsageError("a bound must be a finite number")

    def _check_relative(self) -> None:
        if self.measure is None:
            raise UsageError("'against: baseline' is for measures; latency and the like take a bound")
        if self.bounds:
            raise UsageError("a rule has a bound, or 'against: baseline', not both; write two rules")
        if self.warn_above is not None or self.warn_below is not None:
            raise UsageError("a warning belongs to rules with a bound, not to 'against: baseline'")
        if self.margin is not None and self.policy != "non-inferior":
            raise UsageError("a margin belongs to the policy non-inferior")


@strict_record
class Pin:
    """What one case must show, whatever the means are: which document is first, in or not in the first ``k``, before another."""

    case: str
    must_be_first: str | None = None
    must_contain: str | tuple[str, ...] = ()
    must_not_contain: str | tuple[str, ...] = ()
    before: tuple[str, str] | None = None
    k: Positive = 10

    def __post_init__(self) -> None:
        if not any(getattr(self, name) for name in PIN_BOUNDS):
            raise UsageError(f"the pin on case {self.case!r} asks for nothing; it takes {', '.join(PIN_BOUNDS)}")


@strict_record
class KnownFailure:
    """A case that fails today, and says so when it starts to pass: its pins, or else ``measure`` at least ``at_least``."""

    case: str
    measure: str = "Success@10"
    at_least: Number = 1.0
    reason: str | None = None


@strict_record
class GateSettings:
    """What a run must meet. Without anything in it there is no gate."""

    preset: Annotated[str | None, Setting("Rules that come with Searchmark; those below are added.")] = None
    thresholds: Annotated[Mapping[str, Number], Setting("Lowest means, by measure.")] = field(default_factory=dict)
    rules: Annotated[tuple[GateRule, ...], Setting("Conditions, each with a bound or a policy.")] = ()
    each_case: Annotated[Mapping[str, Number], Setting("Lowest values that every single case must reach.")] = field(
        default_factory=dict
    )
    baseline: Annotated[PathBeside | None, Setting("File that runs are held against, and that 'against: baseline' means.")] = None
    looks: Annotated[bool, Setting("Write every look down beside the baseline; rules with the policy sequential always do.")] = (
        False
    )
    pins: Annotated[tuple[Pin, ...], Setting("What single cases must show.")] = ()
    known_failures: Annotated[tuple[str | KnownFailure, ...], Setting("Cases that fail today.")] = ()
