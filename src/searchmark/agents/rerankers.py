"""Who looks at hits more closely: the words and how near they are to each other, a cross-encoder, or a server."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import Annotated, Any, Literal, cast

from searchmark.agents.agent import RetrievalAgent
from searchmark.agents.bm25 import Bm25Agent
from searchmark.agents.lexical.analyser import AnalyserOptions
from searchmark.agents.lexical.collection import Collection, Weighting
from searchmark.corpora.corpus import Changes, Corpus
from searchmark.errors import UsageError
from searchmark.files.store import check_shape
from searchmark.files.text_encoding import encodable
from searchmark.options.sensitive import Address, Described, KeyVariable, ModelName, Nested
from searchmark.options.strict import strict_record
from searchmark.services.exchange import ApiKey, ClientOptions, Request, Unusable
from searchmark.services.json_client import JsonClient
from searchmark.services.network import network_allowed


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
class ProximityOptions:
    """Options of ``proximity``: ``k1`` and ``b`` are those of BM25."""

    k1: float = 1.2
    b: float = 0.5

    def load(self) -> Reranker:
        return Proximity(self)


class Proximity(Reranker):
    """BM25 with term proximity (Büttcher, Clarke and Lushman, SIGIR 2006).

    Neighbouring occurrences of two different words of the query lend each other weight, less with the square of their
    distance. Terms, idf and mean length are those of the whole collection: among candidates alone the telling words, which
    all of them hold, would weigh least. An arm that is ``bm25`` has them; for any other a collection is indexed here.
    """

    def __init__(self, options: ProximityOptions) -> None:
        self._k1, self._b = options.k1, options.b
        self._own = Collection(AnalyserOptions(), Weighting())
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
        found = []
        for text in texts:
            terms = analyser.positions(text)
            places = [(place, term) for place, term in enumerate(terms) if term in idf]
            length = len(terms) - terms.count(None)
            found.append(self._score(cast("list[tuple[int, str]]", places), idf, length / mean))
        return found

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
class CrossEncoderOptions:
    """Options of ``cross-encoder``: ``model`` is a name on the hub or a folder; ``batch`` is texts at a time."""

    model: ModelName = "cross-encoder/ms-marco-MiniLM-L6-v2"
    batch: int = 32
    longest_text: int = 8000
    offline: bool = False

    def load(self) -> Reranker:
        reason = cross_encoder_problem()
        if reason is not None:
            raise UsageError(reason)
        return CrossEncoderReranker(self)


class CrossEncoderReranker(Reranker):
    """A model that reads query and text together, on the CPU."""

    def __init__(self, options: CrossEncoderOptions) -> None:
        from sentence_transformers import CrossEncoder  # type: ignore[import-not-found,unused-ignore]  # an extra

        try:
            self._model: Any = CrossEncoder(options.model, device="cpu", local_files_only=options.offline or not network_allowed())
        except (OSError, ValueError) as error:
            name = type(error).__name__
            raise UsageError(
                f"the model {options.model!r} is not a folder, and cannot be downloaded from the hub ({name})"
            ) from error
        self._options = options

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        pairs = [(encodable(query), encodable(text[: self._options.longest_text])) for text in texts]
        found = self._model.predict(pairs, batch_size=self._options.batch, show_progress_bar=False)
        return [float(score) for score in found]


@strict_record
class ServedOptions:
    """Options of ``http``.

    ``url``: the whole address. ``style``: what is sent and expected; ``cohere`` (also Jina, vLLM and others):
    ``{model, query, documents}`` to ``{results: [{index, relevance_score}]}``; ``tei`` (text-embeddings-inference):
    ``{query, texts}`` to ``[{index, score}]``. ``key_variable``: the environment variable with the key, if one is needed.
    """

    url: Address
    style: Literal["cohere", "tei"] = "cohere"
    model: str | None = None
    key_variable: KeyVariable | None = None
    batch: int = 100
    longest_text: int = 8000
    retries: int = 5
    timeout_seconds: float = 60.0
    requests_per_second: float | None = None

    def load(self) -> Reranker:
        return ServedReranker(self)


class ServedReranker(Reranker):
    """Any server that scores documents for a query."""

    def __init__(self, options: ServedOptions) -> None:
        self._options = options
        self._client = JsonClient(
            options.url,
            ClientOptions(
                key=ApiKey(options.key_variable) if options.key_variable else None,
                timeout_seconds=options.timeout_seconds,
                retries=options.retries,
                requests_per_second=options.requests_per_second,
            ),
        )

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        sent = [text[: self._options.longest_text] or " " for text in texts]
        found: list[float] = []
        for start in range(0, len(sent), self._options.batch):
            found += self._ask(query, sent[start : start + self._options.batch])
        return found

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
            raise Unusable(f"did not score every text: {type(error).__name__} {error}") from None


RerankerOptions = ProximityOptions | CrossEncoderOptions | ServedOptions
RERANKERS: dict[str, type[RerankerOptions]] = {
    "proximity": ProximityOptions,
    "cross-encoder": CrossEncoderOptions,
    "http": ServedOptions,
}


def _read_choice(choice: Any) -> tuple[Nested, ...]:
    name, options = _name_and_options(choice) if isinstance(choice, str | Mapping) else (None, {})
    record = RERANKERS.get(str(name))
    return () if record is None else (Nested(record, options),)


RerankerChoice = Annotated[str | dict[str, Any], Described(_read_choice)]  # a name, or {name, ...} with options


def _name_and_options(choice: str | Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    options = {"name": choice} if isinstance(choice, str) else dict(choice)
    return options.pop("name", None), options


def check_reranker(choice: str | Mapping[str, Any]) -> RerankerOptions:
    """The options of a reranker that was named (``proximity``) or described (``{name: http, url: ...}``)."""
    name, options = _name_and_options(choice)
    record = RERANKERS.get(str(name))
    if record is None:
        raise UsageError(f"there is no reranker {name!r}; available: {', '.join(RERANKERS)}")
    from pydantic import TypeAdapter

    return check_shape(f"reranker {name}", TypeAdapter(record), options)
