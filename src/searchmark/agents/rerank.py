"""Two-stage agents: one finds candidates, a reranker orders them by word proximity, a cross-encoder, or a server."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from searchmark.agents.chunks import document_name
from searchmark.agents.hybrid import ArmEntry, CombiningAgent, append_tail, joint_answer
from searchmark.agents.lexical.analyser import AnalyserSettings
from searchmark.agents.lexical.bm25 import Bm25Agent, Bm25Weights, IndexedCollection
from searchmark.agents.protocol import RetrievalAgent, RetrievalResult
from searchmark.agents.vectors import VectorPart, VectorParts
from searchmark.config.permissions import Address, KeyVariable, ModelName, OptionsMark
from searchmark.config.strict import Number, Whole, strict_record
from searchmark.errors import Missing, UsageError
from searchmark.formats.corpora.corpus import Changes, Corpus
from searchmark.io.http import ApiKey, ClientSettings, Request, UnusableAnswer
from searchmark.io.json_service import JsonClient
from searchmark.io.network import network_allowed
from searchmark.io.text import replace_surrogates

if TYPE_CHECKING:
    from searchmark.records.document import Document


# Who looks at hits more closely: the words and how near they are to each other, a cross-encoder, or a server.


class Reranker:
    """Scores texts for a query; more is better."""

    def initialize(self, corpus: Corpus, arm: RetrievalAgent) -> None:
        """Learn what there is to know about a corpus whose candidates this agent finds, which is ready for it."""

    def update(self, changes: Changes) -> None:
        """Follow the corpus to its next state, as the agent has already done."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score per text."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of connections."""


@strict_record
class ProximitySettings:
    """Options of ``proximity``: ``k1`` and ``b`` are those of BM25."""

    k1: Number = 1.2
    b: Number = 0.5

    def load(self) -> Reranker:
        return ProximityReranker(self)


class ProximityReranker(Reranker):
    """BM25 with term proximity (Büttcher, Clarke and Lushman, SIGIR 2006).

    Neighbouring occurrences of two different words of the query lend each other weight, less with the square of their
    distance. Terms, idf and mean length are those of the whole collection: among candidates alone the telling words, which
    all of them hold, would weigh least. An arm that is ``bm25`` has them; for any other a collection is indexed here.
    """

    def __init__(self, options: ProximitySettings) -> None:
        self._k1, self._b = options.k1, options.b
        self._own = IndexedCollection(AnalyserSettings(), Bm25Weights())
        self._collection = self._own

    def initialize(self, corpus: Corpus, arm: RetrievalAgent) -> None:
        self._collection = arm.collection if isinstance(arm, Bm25Agent) else self._own
        if self._collection is self._own:
            self._own.initialize(corpus)

    def update(self, changes: Changes) -> None:
        if self._collection is self._own:
            self._own.update(changes)

    def close(self) -> None:
        self._own.close()

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        analyser, mean = self._collection.analyser, self._collection.mean_length
        idf = self._collection.idf(dict.fromkeys(analyser.query_terms(query)))
        scores = []
        for text in texts:
            terms = analyser.positions(text)
            places = [(place, term) for place, term in enumerate(terms) if term in idf]
            length = len(terms) - terms.count(None)
            scores.append(self._score(cast("list[tuple[int, str]]", places), idf, length / mean))
        return scores

    def _score(self, places: list[tuple[int, str]], idf: Mapping[str, float], length: float) -> float:
        penalty = self._k1 * (1 - self._b + self._b * length)
        near: dict[str, float] = defaultdict(float)
        for (first, one), (second, other) in pairwise(places):
            if one != other:
                near[one] += idf[other] / (second - first) ** 2
                near[other] += idf[one] / (second - first) ** 2
        counts = Counter(word for _, word in places)
        alone = sum(idf[word] * count * (self._k1 + 1) / (count + penalty) for word, count in sorted(counts.items()))
        together = sum(min(1.0, idf[word]) * value * (self._k1 + 1) / (value + penalty) for word, value in sorted(near.items()))
        return float(alone + together)


def cross_encoder_problem() -> str | None:
    """Why no cross-encoder can be used here, and what to do about it; None if one can."""
    if find_spec("sentence_transformers") is None:
        return "sentence-transformers is not installed; install the extra: pip install 'searchmark[transformers]'"
    return None


@strict_record
class CrossEncoderSettings:
    """Options of ``cross-encoder``: ``model`` is a name on the hub or a folder; ``batch`` is texts at a time."""

    model: ModelName = "cross-encoder/ms-marco-MiniLM-L6-v2"
    batch: Whole = 32
    longest_text: Whole = 8000
    offline: bool = False

    def load(self) -> Reranker:
        reason = cross_encoder_problem()
        if reason is not None:
            raise Missing(reason)
        return CrossEncoderReranker(self)


class CrossEncoderReranker(Reranker):
    """A model that reads query and text together, on the CPU."""

    def __init__(self, options: CrossEncoderSettings) -> None:
        from sentence_transformers import CrossEncoder  # type: ignore[import-not-found,unused-ignore]  # an extra

        try:
            self._model: Any = CrossEncoder(options.model, device="cpu", local_files_only=options.offline or not network_allowed())
        except (OSError, ValueError) as error:
            name = type(error).__name__
            raise Missing(f"the model {options.model!r} is not a folder, and cannot be downloaded from the hub ({name})") from error
        self._options = options

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        pairs = [(replace_surrogates(query), replace_surrogates(text[: self._options.longest_text])) for text in texts]
        scores = self._model.predict(pairs, batch_size=self._options.batch, show_progress_bar=False)
        return [float(score) for score in scores]


@strict_record
class ServedRerankerSettings:
    """Options of ``http``.

    ``url``: the whole address. ``style``: what is sent and expected; ``cohere`` (also Jina, vLLM and others):
    ``{model, query, documents}`` to ``{results: [{index, relevance_score}]}``; ``tei`` (text-embeddings-inference):
    ``{query, texts}`` to ``[{index, score}]``. ``key_variable``: the environment variable with the key, if one is needed.
    """

    url: Address
    style: Literal["cohere", "tei"] = "cohere"
    model: str | None = None
    key_variable: KeyVariable | None = None
    batch: Whole = 100
    longest_text: Whole = 8000
    retries: Whole = 5
    timeout_seconds: Number = 60.0
    requests_per_second: Number | None = None

    def load(self) -> Reranker:
        return ServedReranker(self)


class ServedReranker(Reranker):
    """Any server that scores documents for a query."""

    def __init__(self, options: ServedRerankerSettings) -> None:
        self._options = options
        key = ApiKey(options.key_variable) if options.key_variable else None
        self._client = JsonClient(options.url, ClientSettings.of(options, key=key))

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        excerpts = [text[: self._options.longest_text] or " " for text in texts]
        scores: list[float] = []
        for start in range(0, len(excerpts), self._options.batch):
            scores += self._ask(query, excerpts[start : start + self._options.batch])
        return scores

    def close(self) -> None:
        self._client.close()

    def _ask(self, query: str, texts: list[str]) -> list[float]:
        name = "texts" if self._options.style == "tei" else "documents"
        body: dict[str, Any] = {"query": query, name: texts}
        if self._options.model is not None:
            body["model"] = self._options.model
        return self._client.send(Request(body=body), lambda answer: self._read(answer, len(texts))).value

    def _read(self, answer: Any, expected: int) -> list[float]:
        try:
            rows = answer if self._options.style == "tei" else answer["results"]
            score = "score" if self._options.style == "tei" else "relevance_score"
            by_index = {int(row["index"]): float(row[score]) for row in rows}
            return [by_index[place] for place in range(expected)]
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise UnusableAnswer(f"did not score every text: {type(error).__name__} {error}") from None


_HERE = "searchmark.agents.rerank"

RERANKERS = VectorParts(
    "reranker",
    None,
    VectorPart("proximity", f"{_HERE}:ProximitySettings"),
    VectorPart("cross-encoder", f"{_HERE}:CrossEncoderSettings", problem=f"{_HERE}:cross_encoder_problem"),
    VectorPart("http", f"{_HERE}:ServedRerankerSettings"),
)

RerankerEntry = Annotated[str | dict[str, Any], OptionsMark(RERANKERS.nested_settings)]  # a name, or {name, ...} with options


# Two stages: an agent finds candidates, a reranker looks at them more closely and puts them in order.


@strict_record
class RerankSettings:
    """Options of ``rerank``.

    ``arm``: the agent that finds candidates, by name or as ``{name, source, config}``. ``reranker``: ``proximity``,
    ``cross-encoder`` or ``http``, by name or with its options (``{name: http, url: ...}``). ``candidates``: how
    many hits are scored, however many are wanted; those after them keep the order of the arm. ``names``: the title of a
    document, or else its id, is put before its text.
    """

    arm: ArmEntry = "bm25"
    reranker: RerankerEntry = "proximity"
    candidates: Whole = 50
    names: bool = True

    def __post_init__(self) -> None:
        if self.candidates < 1:
            raise ValueError("candidates must be 1 or more")


class RerankAgent(CombiningAgent):
    """Ranks the hits of another agent again; equal scores keep the order that they came in."""

    Config = RerankSettings

    def __init__(self, config: RerankSettings | None = None) -> None:
        self._config = config or self.Config()
        super().__init__([self._config.arm])
        self._options = RERANKERS.settings(self._config.reranker)
        self._reranker: Reranker | None = None
        self._corpus: Corpus | None = None
        self._texts: dict[str, str] | None = None

    def connect(self, arms: Mapping[str, RetrievalAgent]) -> None:
        super().connect(arms)
        self.needs_corpus = True  # for the texts that are ranked, wherever they are found

    def initialize(self, corpus: Corpus) -> None:
        if self._reranker is None:
            self._reranker = self._options.load()
        super().initialize(corpus)
        self._reranker.initialize(corpus, *self._arms.values())
        self._look_at(corpus)

    def update(self, changes: Changes) -> bool:
        is_updated = super().update(changes)
        if self._reranker is not None:
            self._reranker.update(changes)
        self._look_at(changes.corpus)
        return is_updated

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        if self._reranker is None or self._corpus is None:
            raise UsageError("rerank was asked before it was initialised")
        (arm,) = self._arms
        answer = self.ask(arm, query, max(k, self._config.candidates))
        every = list(dict.fromkeys(answer.files))
        candidates = every[: self._config.candidates]
        scores = self._reranker.scores(query, self._texts_of(self._corpus, candidates)) if candidates else []
        if len(scores) != len(candidates) or not all(map(isfinite, scores)):
            raise UsageError(f"the reranker did not give a usable score to each of {len(candidates)} candidates")
        head = sorted(zip(candidates, scores, strict=True), key=lambda hit: -hit[1])
        best = append_tail(head, every, k)
        lines = dict(zip(reversed(answer.files), reversed(answer.lines), strict=True)) if answer.lines is not None else None
        joint = joint_answer([answer])
        joint["metadata"] = {"candidates": len(candidates), **joint["metadata"]}
        lines_of_best = None if lines is None else [lines[name] for name, _ in best]
        return RetrievalResult([name for name, _ in best], [score for _, score in best], lines=lines_of_best, **joint)

    def describe(self) -> Mapping[str, Any]:
        reranker = {"name": self._config.reranker} if isinstance(self._config.reranker, str) else self._config.reranker
        return {
            "ranking": "reranked",
            "reranker": {"name": reranker["name"], **asdict(self._options)},
            "candidates": self._config.candidates,
            "names": self._config.names,
            **super().describe(),
        }

    def close(self) -> None:
        super().close()
        if self._reranker is not None:
            self._reranker.close()
        self._reranker = self._corpus = self._texts = None

    def _look_at(self, corpus: Corpus) -> None:
        """A corpus that cannot be read by id is held, since every query would otherwise pass over all of it."""
        self._corpus = corpus
        self._texts = None if corpus.reads_by_id else {document.id: self._text(document) for document in corpus}

    def _texts_of(self, corpus: Corpus, ids: list[str]) -> list[str]:
        texts = self._texts
        if texts is None:
            texts = {document.id: self._text(document) for document in corpus.read(ids)}
        return [texts.get(name, name) for name in ids]

    def _text(self, document: Document) -> str:
        return f"{document_name(document)}\n{document.text}" if self._config.names else document.text


@strict_record
class Fts5VectorRerankerSettings(RerankSettings):
    """Options of ``fts5+vector+reranker``: those of ``rerank``, with the arm ``fts5+vector``."""

    arm: ArmEntry = "fts5+vector"


class Fts5VectorRerankerAgent(RerankAgent):
    """Ranks the hits of fts5+vector again, as rerank does."""

    Config = Fts5VectorRerankerSettings
