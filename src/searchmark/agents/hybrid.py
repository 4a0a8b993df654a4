"""Agents that ask other agents: keeping the arms up to date, and fusing their rankings into one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from math import fsum, isfinite
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from searchmark.agents.protocol import NO_USAGE, RetrievalAgent, RetrievalResult, Usage
from searchmark.config.agents import AgentEntry, AgentSpec
from searchmark.config.strict import Number, Whole, strict_record
from searchmark.errors import UsageError

if TYPE_CHECKING:
    from searchmark.formats.corpora.corpus import Changes, Corpus
    from searchmark.records.provenance import VectorStatistics


# Agents that ask other agents: how these are named in a config, and how they are kept up to date together.

Amount = TypeVar("Amount", int, float)

ArmEntry = Annotated[str | dict[str, Any], AgentEntry]  # a name, or {name, source, config}; `class` is read as `source`


class CombiningAgent(RetrievalAgent):
    """Initialises, updates, resets and closes its arms as it is told to itself. One that fails is a failure of all."""

    def __init__(self, choices: list[ArmEntry]) -> None:
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
        statistics = [(name, each) for name, arm in self._arms.items() for each in arm.vectors()]
        return [replace(each, arm=name if each.arm is None else f"{name}.{each.arm}") for name, each in statistics]

    def describe(self) -> Mapping[str, Any]:
        return {"arms": {name: dict(arm.describe()) for name, arm in self._arms.items()}}

    def usage_of_last(self) -> Usage:
        """The recall of the one arm whose index has any: of several there is no single number."""
        usages = [usage for arm in self._arms.values() if (usage := arm.usage_of_last()).ann_k is not None]
        one = usages[0] if len(usages) == 1 else NO_USAGE
        return Usage(ann_k=one.ann_k, ann_recall=one.ann_recall, ann_overlap=one.ann_overlap)

    def ask(self, name: str, query: str, k: int) -> RetrievalResult:
        """The answer of one arm. If it fails, this fails: the answer of the others alone would pass for that of all."""
        try:
            answer: RetrievalResult = self._arms[name].retrieve(query, k)
        except Exception as error:
            raise UsageError(f"the arm {name!r} failed: {type(error).__name__}: {error}") from error
        return answer


def append_tail(head: Sequence[tuple[str, float]], tail: Iterable[str], k: int) -> list[tuple[str, float]]:
    """The first ``k`` of a ranking that continues in an order without comparable scores: each is one less than the last.

    What is asked for beyond the candidates is added below them, and changes nothing about them.
    """
    ranking = list(head)
    if k > len(ranking):
        names = {name for name, _ in ranking}
        lowest = min((score for _, score in ranking), default=0.0)
        rest = [name for name in dict.fromkeys(tail) if name not in names]
        ranking += [(name, lowest - place) for place, name in enumerate(rest, 1)]
    return ranking[: max(k, 0)]


def joint_answer(results: list[RetrievalResult]) -> dict[str, Any]:
    """What the answers of arms say together beside their hits, by the fields of an answer; None where none of them knows.

    Of their caches: one arm that remembered the query makes the whole answer a warm one. The tokens of their answers are not
    those of the answer made of them.
    """
    caches = [result.metadata["query_cache"] for result in results if "query_cache" in result.metadata]
    kinds = dict.fromkeys(kind for result in results for kind in result.dropped)
    return {
        "metadata": {"query_cache": "hit" if "hit" in caches else "miss"} if caches else {},
        "cost": _sum_known(result.cost for result in results),
        "usage": Usage(
            retries=_sum_known(result.usage.retries for result in results),
            waited_ms=_sum_known(result.usage.waited_ms for result in results),
            start_ms=_sum_known(result.usage.start_ms for result in results),
        ),
        "index_ms": _sum_known(result.index_ms for result in results),
        "dropped": {kind: sum(result.dropped.get(kind, 0) for result in results) for kind in kinds},
    }


def _sum_known(amounts: Iterable[Amount | None]) -> Amount | None:
    summands = [amount for amount in amounts if amount is not None]
    return sum(summands[1:], summands[0]) if summands else None


# One ranking from several. Pure functions: lists of ids and scores in, a score per id out.

Ranking = Mapping[str, float]  # ids, best first, each with its score

SMALLEST = 1e-9  # what a spread is at least taken for, so that equal scores do not divide by zero


def reciprocal_ranks(ids: Iterable[str], k: float = 60.0) -> dict[str, float]:
    """1 / (k + rank) for each id, ranks from 1 (Cormack, Clarke and Büttcher, SIGIR 2009); nothing for nothing."""
    return {name: 1 / (k + rank) for rank, name in enumerate(ids, 1)}


def min_max(scores: Ranking) -> dict[str, float]:
    """The lowest score becomes 0 and the highest 1; if all are the same, all become 0."""
    if not scores:
        return {}
    low = min(scores.values())
    spread = max(max(scores.values()) - low, SMALLEST)
    return {name: (score - low) / spread for name, score in scores.items()}


def z_score(scores: Ranking) -> dict[str, float]:
    """The mean becomes 0 and the standard deviation (of all, not of a sample) 1; if all are the same, all become 0."""
    if not scores:
        return {}
    mean = fsum(scores.values()) / len(scores)
    deviation = (fsum((score - mean) ** 2 for score in scores.values()) / len(scores)) ** 0.5
    return {name: (score - mean) / max(deviation, SMALLEST) for name, score in scores.items()}


NORMALIZATIONS: dict[str, Callable[[Ranking], dict[str, float]]] = {"min-max": min_max, "z-score": z_score}


def weighted_sum(rankings: Sequence[Ranking], weights: Sequence[float]) -> dict[str, float]:
    """Per id, the sum over all rankings of weight times score; an id that a ranking does not have gets 0 from it."""
    names = dict.fromkeys(name for ranking in rankings for name in ranking)
    return {name: sum(weight * ranking.get(name, 0.0) for ranking, weight in zip(rankings, weights, strict=True)) for name in names}


# Several agents, one answer: their rankings are fused.


@strict_record
class HybridSettings:
    """Options of ``hybrid``.

    ``arms``: names of agents, or ``{name, source, config}`` each. ``fusion``: by reciprocal ranks (``rrf``) or by
    ``scores``, which are brought to one scale by ``normalization``. ``weights``: by the name of the arm, 1 for those
    not named. ``rrf_k``: how little the first ranks stand out. ``candidates``: hits of each arm that are fused, however
    many are wanted; what arms have beyond them comes after, by reciprocal ranks.
    """

    arms: list[ArmEntry] = field(default_factory=lambda: ["bm25", "semantic"])
    fusion: Literal["rrf", "scores"] = "rrf"
    normalization: Literal["min-max", "z-score"] = "min-max"
    weights: dict[str, Number] = field(default_factory=dict)
    rrf_k: Number = 60.0
    candidates: Whole = 100

    def __post_init__(self) -> None:
        if self.candidates < 1 or not self.rrf_k >= 0:
            raise ValueError("candidates must be 1 or more, and rrf_k must not be negative")
        if not all(weight >= 0 and isfinite(weight) for weight in self.weights.values()):
            raise ValueError("weights must be finite and not negative")


class HybridAgent(CombiningAgent):
    """Asks every arm and fuses what they answer; equal scores are ordered by id."""

    Config = HybridSettings

    def __init__(self, config: HybridSettings | None = None) -> None:
        self._config = config or self.Config()
        super().__init__(self._config.arms)
        unknown = sorted(set(self._config.weights) - set(self._specs))
        if unknown:
            raise UsageError(f"there is a weight for {unknown[0]!r}, which is not an arm; the arms are {', '.join(self._specs)}")
        if not self._specs:
            raise UsageError("hybrid needs at least one arm")

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        depth = max(k, self._config.candidates)
        results = {name: _without_repeated_hits(self.ask(name, query, depth)) for name in self._arms}
        weights = [self._config.weights.get(name, 1.0) for name in results]
        scores = weighted_sum([self._scores(name, result) for name, result in results.items()], weights)
        head = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        best = append_tail(head, self._beyond(results, weights) if k > len(head) else (), k)
        answers = list(results.values())
        ids, joint = [name for name, _ in best], joint_answer(answers)
        joint["metadata"] = {"arms": {name: len(result.files) for name, result in results.items()}, **joint["metadata"]}
        return RetrievalResult(ids, [score for _, score in best], lines=_lines_of_first_arm(ids, answers), **joint)

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
class Fts5VectorSettings(HybridSettings):
    """Options of ``fts5+vector``: those of ``hybrid``, with the arms ``fts5`` and ``vector``, which is ``semantic``."""

    arms: list[ArmEntry] = field(default_factory=lambda: ["fts5", "vector"])


class Fts5VectorAgent(HybridAgent):
    """Asks full text search (fts5) and vector search (semantic) and fuses what they answer, as hybrid does."""

    Config = Fts5VectorSettings


def _without_repeated_hits(result: RetrievalResult) -> RetrievalResult:
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


def _lines_of_first_arm(ids: list[str], answers: list[RetrievalResult]) -> list[tuple[int, int] | None] | None:
    """The lines that the first arm with any has given."""
    if all(answer.lines is None for answer in answers):
        return None
    lines_by_id: dict[str, tuple[int, int]] = {}
    for answer in answers:
        for name, lines in zip(answer.files, answer.lines or (), strict=False):
            if lines is not None:
                lines_by_id.setdefault(name, lines)
    return [lines_by_id.get(name) for name in ids]
