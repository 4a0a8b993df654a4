"""Asks a service over HTTP: any search that answers a request, as its config describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from searchmark.agents.agent import RetrievalAgent, RetrievalResult, Usage
from searchmark.agents.outside.options import HttpConfig
from searchmark.agents.outside.presets import preset_of, preset_options
from searchmark.agents.outside.presets.case_requests import CaseRequest, CaseSearch
from searchmark.agents.outside.presets.lookups import ServiceLookup
from searchmark.agents.outside.requests import RequestTemplate
from searchmark.agents.outside.results import ReadAnswer, ResultReader, UnreadableAnswer
from searchmark.embedders import check_embedder, load_embedder
from searchmark.errors import UsageError
from searchmark.files.store import BOM
from searchmark.services.exchange import ClientOptions
from searchmark.services.http_client import HttpAnswer, HttpClient, Refusal
from searchmark.services.secret_forms import without_credentials

if TYPE_CHECKING:
    from searchmark.corpora.corpus import Changes, Corpus
    from searchmark.embedders.embedder import Embedder
    from searchmark.services.outgoing import Outgoing

TOKENS_BY = "the service"
_USER = re.compile(r"(?<=://)[^/?#]*@")
_CHARSET = re.compile(r"(?i)charset=\"?([\w.:-]+)")
_PAGE_OR_BINARY = re.compile(r"(?i)\s*(text/html|application/(xhtml|pdf|zip|gzip|octet-stream)|image/|audio/|video/|multipart/)")
_PAGE = re.compile(r"(?i)\s*(<\?xml[^>]*>\s*)?<(!doctype\s+html|html)\b")


class HttpAgent(RetrievalAgent):
    """One request per query, again where that may help; the time of a search is all that passes, waits included."""

    Config = HttpConfig

    def __init__(self, config: HttpConfig | None = None) -> None:
        self._preset = preset_of(config or HttpConfig())
        self._config = preset_options(config or HttpConfig())
        self._reader = ResultReader(self._config.results, "json")
        self._request = RequestTemplate(self._config, "application/json" if self._reader.format == "json" else "*/*")
        self._options = None if self._config.embedder is None else check_embedder(self._config.embedder)
        self._embedder: Embedder | None = None
        self._corpus: str | None = None
        self.needs_corpus = self._request.names("corpus")
        self._uses = {name for name in ("k", "vector", "corpus") if self._request.names(name)}
        shown_url, options = _shown(self._config.url or ""), _client_options(self._config)
        self._client = HttpClient(shown_url, options, error_in=self._reader.error_in)
        self._lookup = ServiceLookup.of(self._config, self._preset)
        self._found: str | None = None
        self._case_search = CaseSearch.of(self._config, self._preset)
        self.takes_request = self._case_search is not None

    @property
    def embedder(self) -> Embedder | None:
        """Loaded when it is first needed."""
        if self._embedder is None and self._options is not None:
            self._embedder = load_embedder(self._options)
        return self._embedder

    def start(self) -> None:
        """Load the model and find out what the address needs here, and not in the first search."""
        if "vector" in self._uses:
            _ = self.embedder
        if self._lookup is not None:
            self._found = self._lookup.found(_client_options(self._config))

    def initialize(self, corpus: Corpus) -> None:
        """A service has its own corpus; where the request names ours, it is that folder."""
        self.start()
        if self.needs_corpus:
            if corpus.folder is None:
                raise UsageError(f"{{corpus}} is a folder, and the corpus {corpus.name!r} has none")
            self._corpus = str(corpus.folder)

    def update(self, changes: Changes) -> bool:  # noqa: ARG002  # whatever has changed, it is in the same folder or not ours
        return not self.needs_corpus

    def retrieve(self, query: str, k: int, request: Mapping[str, Any] | None = None) -> RetrievalResult:
        case = None if request is None else CaseRequest.read(request)
        before = self._spent()
        sent = self._outgoing(query, k, case)
        spent = self._spent() - before
        answer = self._client.ask(sent)
        read = self._read(answer, sent, case)
        read = replace(read, cost=(read.cost or 0) + spent) if spent else read
        tokens_by = None if read.tokens is None else TOKENS_BY
        return read.result(Usage(read.tokens, tokens_by, answer.attempts - 1, answer.waited_seconds * 1000))

    def _spent(self) -> float:
        """What vectors have cost so far."""
        return 0.0 if self._embedder is None else self._embedder.cost()

    def close(self) -> None:
        self._client.close()
        if self._embedder is not None:
            self._embedder.close()

    def describe(self) -> Mapping[str, Any]:
        results = {name: value for name, value in vars(self._config.results).items() if value not in (None, False)}
        said = {
            "url": self._client.shown_url,
            "method": self._request.method,
            "preset": self._config.preset,
            "index": self._config.index,
            "embedder": None if self._embedder is None else self._embedder.name,
            "results": {**results, "format": self._reader.format},
        }
        return {name: value for name, value in said.items() if value is not None}

    def _outgoing(self, query: str, k: int, case: CaseRequest | None) -> Outgoing:
        values = self._values(query, k)
        if case is None or self._case_search is None or self._config.requests == "query":
            return self._request.outgoing(values)
        return self._case_search.outgoing(case, values)

    def _values(self, query: str, k: int) -> dict[str, Any]:
        values: dict[str, Any] = {"query": query, "k": k}
        if self._preset is not None and self._preset.escape is not None:
            values["escaped"] = self._preset.escape(query)
        if self._lookup is not None:
            values["found"] = self._found or self._lookup.found(_client_options(self._config))
        if "corpus" in self._uses:
            values["corpus"] = self._corpus
        if "vector" in self._uses and self.embedder is not None:
            values["vector"] = self.embedder.embed_query(query).tolist()
        return values

    def _read(self, answer: HttpAnswer, sent: Outgoing, case: CaseRequest | None) -> ReadAnswer:
        reader = self._reader if case is None or self._case_search is None else self._case_search.reader(case)
        try:
            return reader.read(self._text(answer))
        except UnreadableAnswer as error:
            kind = answer.content_type.partition(";")[0].strip()
            reason = f"gave {kind or 'an answer'} that cannot be read: {error.sentence}"
            failure = Refusal(reason, status=answer.status, instead=error.said)
        raise self._client.error(failure, sent, answer.attempts)

    def _text(self, answer: HttpAnswer) -> str:
        """The answer as text; what is no text, or a page instead of hits, is not read as if it were."""
        text = _decoded(answer)
        if not text.strip() and not self._reader.says_nothing(text):
            raise UnreadableAnswer(f"it is empty (status {answer.status}); if that means no hits, say so with results.nothing: ^$")
        if self._reader.format in ("lines", "jsonl") and (_PAGE_OR_BINARY.match(answer.content_type) or _PAGE.match(text)):
            raise UnreadableAnswer(f"it is a page or the like, and not {self._reader.format}; it begins", text)
        return text


def _shown(url: str) -> str:
    """The address as sentences have it: with the names of variables, and without a user."""
    return without_credentials(_USER.sub("", url))


def _decoded(answer: HttpAnswer) -> str:
    named = _CHARSET.search(answer.content_type)
    try:
        return answer.content.removeprefix(BOM).decode(named[1] if named else "utf-8").strip()
    except (LookupError, UnicodeDecodeError):
        raise UnreadableAnswer(f"it is not text in {named[1] if named else 'UTF-8'}", ascii(answer.content[:80])) from None


def _client_options(config: HttpConfig) -> ClientOptions:
    return ClientOptions(
        timeout_seconds=config.timeout_seconds,
        retries=config.retries,
        backoff_seconds=config.backoff_seconds,
        requests_per_second=config.requests_per_second,
        max_response_bytes=config.max_response_bytes,
        connections=config.connections,
        follow_redirects=config.follow_redirects,
    )
