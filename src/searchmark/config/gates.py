"""What a run must meet: the section ``gates`` of the config file. docs/gates.md explains every field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import isfinite
from typing import Annotated, Literal, get_args

from annotated_types import Ge

from searchmark.errors import UsageError
from searchmark.options.option import Setting
from searchmark.options.sensitive import PathBeside
from searchmark.options.strict import strict_record

Policy = Literal["no-evidence-of-harm", "non-inferior", "sequential"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
NumberBound = Literal["at_least", "above", "at_most", "below"]
NUMBER_BOUNDS: tuple[NumberBound, ...] = ("at_least", "above", "at_most", "below")
FixtureMetric = Literal["ndcg", "mrr", "precision"]
FIXTURE_METRICS: tuple[FixtureMetric, ...] = get_args(FixtureMetric)
BASELINE_FILE = "searchmark-baseline.jsonl"
Pinned = Literal["must_be_first", "must_contain", "must_not_contain", "before"]
PINNED: tuple[Pinned, ...] = get_args(Pinned)
_QUANTITIES = ("measure", "latency", "cost", "tokens", "retries", "index", "memory", "ann_recall", "own_k")
_LATENCY = ({"cold", "warm", "first_hit", "index_only"}, {"p50", "p90", "p95", "p99"})
_PARTS = {
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

    Exactly one of ``measure``, ``latency`` (``warm.p95``, in milliseconds), ``cost`` (``total`` or ``per_query``), ``tokens``
    per answer (``mean``, ``p50``, ``p95`` or ``total``), ``retries`` (further ``attempts``, ``searches`` that were retried or
    their ``share``), ``index`` (``bytes`` or ``seconds``), ``memory`` (``bytes``), ``ann_recall`` (its k) and ``own_k`` (``ndcg``,
    ``mrr`` or ``precision`` of fixtures, each case cut at the number of documents that it ranks, or at its field ``k``).
    ``where`` names a category, a tag or another field of the cases, and its value. ``warn_above`` and ``warn_below`` never fail:
    they are said.
    """

    measure: str | None = None
    latency: str | None = None
    cost: str | None = None
    tokens: str | None = None
    retries: str | None = None
    index: str | None = None
    memory: str | None = None
    ann_recall: Annotated[int, Ge(1)] | None = None
    own_k: FixtureMetric | None = None
    where: Mapping[str, str | int] | None = None
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    warn_above: float | None = None
    warn_below: float | None = None
    against: Literal["baseline"] | None = None
    policy: Policy | None = None
    margin: Annotated[float, Ge(0)] | None = None

    def __post_init__(self) -> None:
        named = [name for name in _QUANTITIES if getattr(self, name) is not None]
        if len(named) != 1:
            raise UsageError(
                f"a rule of a gate is about one of {', '.join(_QUANTITIES)}, not {' and '.join(named) or 'none of them'}"
            )
        self._check_part(named[0])
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
            known = (" or ".join(sorted(each)) for each in _LATENCY)
            raise UsageError("latency {!r} cannot be read; write it like warm.p95: {}, then {}".format(value, *known))
        if quantity in _PARTS and value not in _PARTS[quantity]:
            raise UsageError(f"{quantity} must be {' or '.join(_PARTS[quantity])}, not {value!r}")

    def _check_bounds(self) -> None:
        given = self.bounds
        if not given:
            raise UsageError("a rule of a gate needs a bound: at_least, above, at_most or below; or 'against: baseline'")
        if self.margin is not None:
            raise UsageError("a margin belongs to rules with 'against: baseline'")
        if not all(map(isfinite, given.values())):
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
    k: Annotated[int, Ge(1)] = 10

    def __post_init__(self) -> None:
        if not any(getattr(self, name) for name in PINNED):
            raise UsageError(f"the pin on case {self.case!r} asks for nothing; it takes {', '.join(PINNED)}")


@strict_record
class KnownFailure:
    """A case that fails today, and says so when it starts to pass: its pins, or else ``measure`` at least ``at_least``."""

    case: str
    measure: str = "Success@10"
    at_least: float = 1.0
    reason: str | None = None


@strict_record
class GateOptions:
    """What a run must meet. Without anything in it there is no gate."""

    preset: Annotated[str | None, Setting("Rules that come with Searchmark; those below are added.")] = None
    thresholds: Annotated[Mapping[str, float], Setting("Lowest means, by measure.")] = field(default_factory=dict)
    rules: Annotated[tuple[GateRule, ...], Setting("Conditions, each with a bound or a policy.")] = ()
    each_case: Annotated[Mapping[str, float], Setting("Lowest values that every single case must reach.")] = field(
        default_factory=dict
    )
    baseline: Annotated[PathBeside | None, Setting("File that runs are held against, and that 'against: baseline' means.")] = None
    looks: Annotated[bool, Setting("Write every look down beside the baseline; rules with the policy sequential always do.")] = (
        False
    )
    pins: Annotated[tuple[Pin, ...], Setting("What single cases must show.")] = ()
    known_failures: Annotated[tuple[str | KnownFailure, ...], Setting("Cases that fail today.")] = ()
