"""Several agents, one answer: their rankings are fused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from math import isfinite
from typing import Any, Literal

from searchmark.agents.agent import RetrievalResult
from searchmark.agents.arms import (
    AgentWithArms,
    ArmChoice,
    remembered,
    total_cost,
    total_dropped,
    total_index_ms,
    total_usage,
    with_tail,
)
from searchmark.agents.fusion import NORMALIZATIONS, reciprocal_ranks, weighted_sum
from searchmark.errors import UsageError
from searchmark.options.strict import strict_record


@strict_record
class HybridConfig:
    """Options of ``hybrid``.

    ``arms``: names of agents, or ``{name, source, config}`` each. ``fusion``: by reciprocal ranks (``rrf``) or by
    ``scores``, which are brought to one scale by ``normalization``. ``weights``: by the name of the arm, 1 for those
    not named. ``rrf_k``: how little the first ranks stand out. ``candidates``: hits of each arm that are fused, however
    many are wanted; what arms have beyond them comes after, by reciprocal ranks.
    """

    arms: list[ArmChoice] = field(default_factory=lambda: ["bm25", "semantic"])
    fusion: Literal["rrf", "scores"] = "rrf"
    normalization: Literal["min-max", "z-score"] = "min-max"
    weights: dict[str, float] = field(default_factory=dict)
    rrf_k: float = 60.0
    candidates: int = 100

    def __post_init__(self) -> None:
        if self.candidates < 1 or not self.rrf_k >= 0:
            raise ValueError("candidates must be 1 or more, and rrf_k must not be negative")
        if not all(weight >= 0 and isfinite(weight) for weight in self.weights.values()):
            raise ValueError("weights must be finite and not negative")


class HybridAgent(AgentWithArms):
    """Asks every arm and fuses what they answer; equal scores are ordered by id."""

    Config = HybridConfig

    def __init__(self, config: HybridConfig | None = None) -> None:
        self._config = config or self.Config()
        super().__init__(self._config.arms)
        unknown = sorted(set(self._config.weights) - set(self._specs))
        if unknown:
            raise UsageError(f"there is a weight for {unknown[0]!r}, which is not an arm; the arms are {', '.join(self._specs)}")
        if not self._specs:
            raise UsageError("hybrid needs at least one arm")

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        wanted = max(k, self._config.candidates)
        results = {name: _once_each(self.ask(name, query, wanted)) for name in self._arms}
        weights = [self._config.weights.get(name, 1.0) for name in results]
        fused = weighted_sum([self._scores(name, result) for name, result in results.items()], weights)
        head = sorted(fused.items(), key=lambda pair: (-pair[1], pair[0]))
        best = with_tail(head, self._beyond(results, weights) if k > len(head) else (), k)
        answers = list(results.values())
        counts = {"arms": {name: len(result.files) for name, result in results.items()}}
        return RetrievalResult(
            [name for name, _ in best],
            [score for _, score in best],
            metadata={**counts, **remembered(answers)},
            lines=_lines([name for name, _ in best], answers),
            cost=total_cost(answers),
            usage=total_usage(answers),
            index_ms=total_index_ms(answers),
            dropped=total_dropped(answers),
        )

    def describe(self) -> Mapping[str, Any]:
        weights = {name: self._config.weights.get(name, 1.0) for name in self._arms}
        by = {"rrf_k": self._config.rrf_k} if self._config.fusion == "rrf" else {"normalization": self._config.normalization}
        fusion = {"fusion": self._config.fusion, **by, "weights": weights, "candidates": self._config.candidates}
        return {"ranking": "fused", **fusion, **super().describe()}

    def _scores(self, name: str, result: RetrievalResult) -> dict[str, float]:
        """What an arm has to say about each of its candidates."""
        ids = result.files[: self._config.candidates]
        if self._config.fusion == "rrf":
            return reciprocal_ranks(ids, self._config.rrf_k)
        if result.scores is None or not all(map(isfinite, result.scores)):
            raise UsageError(f"the arm {name!r} does not score every hit; fuse by ranks (fusion: rrf)")
        return NORMALIZATIONS[self._config.normalization](dict(zip(ids, result.scores, strict=False)))

    def _beyond(self, results: Mapping[str, RetrievalResult], weights: list[float]) -> list[str]:
        """Everything that the arms have found, in the order of their ranks."""
        ranks = [reciprocal_ranks(result.files, self._config.rrf_k) for result in results.values()]
        return [name for name, _ in sorted(weighted_sum(ranks, weights).items(), key=lambda pair: (-pair[1], pair[0]))]


@strict_record
class Fts5VectorConfig(HybridConfig):
    """Options of ``fts5+vector``: those of ``hybrid``, with the arms ``fts5`` and ``vector``, which is ``semantic``."""

    arms: list[ArmChoice] = field(default_factory=lambda: ["fts5", "vector"])


class Fts5VectorAgent(HybridAgent):
    """Asks full text search (fts5) and vector search (semantic) and fuses what they answer, as hybrid does."""

    Config = Fts5VectorConfig


def _once_each(result: RetrievalResult) -> RetrievalResult:
    """An answer in which every hit stands at its first rank only; scores are left out unless there is one for each."""
    first = {name: place for place, name in reversed(list(enumerate(result.files)))}
    places = sorted(first.values())
    scored = result.scores is not None and len(result.scores) == len(result.files)
    return replace(
        result,
        files=[result.files[place] for place in places],
        scores=[result.scores[place] for place in places] if scored and result.scores is not None else None,
        lines=None if result.lines is None else [result.lines[place] for place in places],
    )


def _lines(ids: list[str], answers: list[RetrievalResult]) -> list[tuple[int, int] | None] | None:
    """The lines that the first arm with any has given."""
    if all(answer.lines is None for answer in answers):
        return None
    known: dict[str, tuple[int, int]] = {}
    for answer in answers:
        for name, lines in zip(answer.files, answer.lines or (), strict=False):
            if lines is not None:
                known.setdefault(name, lines)
    return [known.get(name) for name in ids]
