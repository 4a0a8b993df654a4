"""Vectors from a server that speaks as OpenAI's does: OpenAI itself, Ollama, vLLM and many others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from searchmark.embedders.embedder import EmbedderOptions, Model, Vectors
from searchmark.options.sensitive import Address, KeyVariable
from searchmark.services.exchange import ApiKey, ClientOptions, Request, Unusable
from searchmark.services.json_client import JsonClient
from searchmark.services.own_keys import key_variable_for
from searchmark.services.secret_forms import without_credentials

OPENAI = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"  # sent there and nowhere else, unless it is named beside the address


@dataclass(frozen=True, kw_only=True)
class OpenAIOptions(EmbedderOptions):
    """Options of ``openai``.

    ``model``: its name on the server, such as ``text-embedding-3-small``. ``url``: the address before ``/embeddings``;
    Ollama is at ``http://localhost:11434/v1``. ``key_variable``: the environment variable with the key;
    ``OPENAI_API_KEY`` for OpenAI itself, none for any other address unless it is named. ``dimensions``: asked from the
    server, which not every model allows (``dimension`` cuts here). ``price_per_million_tokens``: what the cost of a query is
    computed from. ``revision``: changes when the weights do, as a name alone cannot tell.
    """

    model: str
    url: Address = OPENAI
    key_variable: KeyVariable | None = None
    dimensions: int | None = None
    batch: int = 128
    retries: int = 5
    timeout_seconds: float = 60.0
    requests_per_second: float | None = None
    price_per_million_tokens: float = 0.0
    revision: str = ""

    def load_model(self) -> Model:
        return ServedModel(self)


class ServedModel(Model):
    """A model behind an address. How many numbers it gives is known after the first request."""

    def __init__(self, options: OpenAIOptions) -> None:
        self.name = f"{without_credentials(options.url).rstrip('/')}:{options.model}"
        self.revision = f"{options.revision}/{options.dimensions}"
        self.batch = options.batch
        self._options = options
        self._client = JsonClient(options.url, _client_options(options))
        try:
            self.dimension = options.dimensions or self.encode(["how many numbers?"]).shape[1]
        except BaseException:
            self.close()  # whoever asked for a model gets none to close
            raise

    def encode(self, texts: Sequence[str]) -> Vectors:
        body: dict[str, Any] = {"model": self._options.model, "input": [text or " " for text in texts], "encoding_format": "float"}
        if self._options.dimensions is not None:
            body["dimensions"] = self._options.dimensions
        return self._client.send(Request(path="/embeddings", body=body), lambda answer: _vectors(answer, len(texts))).value

    def cost(self) -> float:
        return self._client.budget.tokens * self._options.price_per_million_tokens / 1e6

    def close(self) -> None:
        self._client.close()


def _client_options(options: OpenAIOptions) -> ClientOptions:
    variable = key_variable_for(options.url, options.key_variable, OPENAI, OPENAI_KEY)
    return ClientOptions(
        key=ApiKey(variable) if variable else None,
        timeout_seconds=options.timeout_seconds,
        retries=options.retries,
        requests_per_second=options.requests_per_second,
    )


def _vectors(answer: Any, expected: int) -> Vectors:
    try:
        rows = sorted(answer["data"], key=lambda row: int(row["index"]))
        vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise Unusable(f"gave an answer without vectors: {_shape(answer)}") from None
    if len(vectors) != expected:
        raise Unusable(f"gave {len(vectors)} vectors for {expected} texts")
    return vectors


def _shape(answer: object) -> str:
    return f"keys {sorted(answer)}" if isinstance(answer, Mapping) else type(answer).__name__
