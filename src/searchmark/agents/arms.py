"""Agents that ask other agents: how these are named in a config, and how they are kept up to date together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from searchmark.agents.agent import NO_USAGE, AgentChoice, AgentSpec, RetrievalAgent, RetrievalResult, Usage
from searchmark.errors import UsageError

if TYPE_CHECKING:
    from searchmark.corpora.corpus import Changes, Corpus
    from searchmark.records import VectorStatistics

N = TypeVar("N", int, float)

ArmChoice = Annotated[str | dict[str, Any], AgentChoice]  # a name, or {name, source, config}; `class` is read as `source`


class AgentWithArms(RetrievalAgent):
    """Initialises, updates, resets and closes its arms as it is told to itself. One that fails is a failure of all."""

    def __init__(self, choices: list[ArmChoice]) -> None:
        self._specs: dict[str, AgentSpec] = {}
        for spec in (AgentSpec.from_plain(choice, "arm") for choice in choices):
            if spec.name in self._specs:
                raise UsageError(f"duplicate arm name {spec.name!r}; give one of them a different name, and its agent as source")
            if spec.modes:
                raise UsageError(f"the arm {spec.name!r} has modes, and an arm is asked in one way: write that into its config")
            self._specs[spec.name] = spec
        self._arms: dict[str, RetrievalAgent] = {}

    def arms(self) -> Mapping[str, AgentSpec]:
        return self._specs

    def connect(self, arms: Mapping[str, RetrievalAgent]) -> None:
        self._arms = {name: arms[name] for name in self._specs}
        self.needs_corpus = any(arm.needs_corpus for arm in self._arms.values())

    def initialize(self, corpus: Corpus) -> None:
        if not self._arms:
            raise UsageError(f"{type(self).__name__} was initialised before it was connected with its arms")
        for arm in self._arms.values():
            arm.initialize(corpus)

    def start(self) -> None:
        for arm in self._arms.values():
            arm.start()

    def update(self, changes: Changes) -> bool:
        for arm in self._arms.values():
            if not arm.update(changes):
                arm.initialize(changes.corpus)
        return bool(self._arms)

    def reset(self) -> None:
        for arm in self._arms.values():
            arm.reset()

    def close(self) -> None:
        for arm in self._arms.values():
            arm.close()

    def index_bytes(self) -> int | None:
        sizes = [size for size in (arm.index_bytes() for arm in self._arms.values()) if size is not None]
        return sum(sizes) if sizes else None

    def vectors(self) -> Sequence[VectorStatistics]:
        named = [(name, each) for name, arm in self._arms.items() for each in arm.vectors()]
        return [replace(each, arm=name if each.arm is None else f"{name}.{each.arm}") for name, each in named]

    def describe(self) -> Mapping[str, Any]:
        return {"arms": {name: dict(arm.describe()) for name, arm in self._arms.items()}}

    def usage_of_last(self) -> Usage:
        """The recall of the one arm whose index has any: of several there is no single number."""
        measured = [usage for arm in self._arms.values() if (usage := arm.usage_of_last()).ann_k is not None]
        one = measured[0] if len(measured) == 1 else NO_USAGE
        return Usage(ann_k=one.ann_k, ann_recall=one.ann_recall, ann_overlap=one.ann_overlap)

    def ask(self, name: str, query: str, k: int) -> RetrievalResult:
        """The answer of one arm. If it fails, this fails: the answer of the others alone would pass for that of all."""
        try:
            found: RetrievalResult = self._arms[name].retrieve(query, k)
        except Exception as error:
            raise UsageError(f"the arm {name!r} failed: {type(error).__name__}: {error}") from error
        return found


def with_tail(head: Sequence[tuple[str, float]], tail: Iterable[str], k: int) -> list[tuple[str, float]]:
    """The first ``k`` of a ranking that continues in an order without comparable scores: each is one less than the last.

    What is asked for beyond the candidates is added below them, and changes nothing about them.
    """
    found = list(head)
    if k > len(found):
        known = {name for name, _ in found}
        lowest = min((score for _, score in found), default=0.0)
        rest = [name for name in dict.fromkeys(tail) if name not in known]
        found += [(name, lowest - place) for place, name in enumerate(rest, 1)]
    return found[: max(k, 0)]


def remembered(results: list[RetrievalResult]) -> dict[str, str]:
    """What arms say about their caches: one that remembered the query makes the whole answer a warm one."""
    told = [result.metadata["query_cache"] for result in results if "query_cache" in result.metadata]
    return {"query_cache": "hit" if "hit" in told else "miss"} if told else {}


def total_dropped(results: list[RetrievalResult]) -> dict[str, int]:
    """What was left out of the answers of all arms, by kind."""
    kinds = dict.fromkeys(kind for result in results for kind in result.dropped)
    return {kind: sum(result.dropped.get(kind, 0) for result in results) for kind in kinds}


def total_usage(results: list[RetrievalResult]) -> Usage:
    """What the arms took beside time together; the tokens of their answers are not those of the answer made of them."""
    return Usage(
        retries=_total([result.usage.retries for result in results]),
        waited_ms=_total([result.usage.waited_ms for result in results]),
        start_ms=_total([result.usage.start_ms for result in results]),
    )


def total_index_ms(results: list[RetrievalResult]) -> float | None:
    """What the indexes of the arms took together; None if none of them says it."""
    return _total([result.index_ms for result in results])


def _total(amounts: Iterable[N | None]) -> N | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known[1:], known[0]) if known else None


def total_cost(results: list[RetrievalResult]) -> float | None:
    """What the arms have cost together; None if none of them knows."""
    costs = [result.cost for result in results if result.cost is not None]
    return sum(costs) if costs else None
