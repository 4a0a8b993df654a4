"""The agent `http`: one request per query, as the config describes it.

Also lookups before the first search, and requests that cases bring along.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, quote_plus, urlencode

from searchmark.agents.outside.options import HttpSettings
from searchmark.agents.outside.presets import Preset, preset_of, preset_options
from searchmark.agents.outside.results import ParsedAnswer, ResultReader, UnreadableAnswer
from searchmark.agents.outside.templates import AddressTemplate, fill_data, fill_template, has_placeholder
from searchmark.agents.protocol import RetrievalAgent, RetrievalResult, Usage
from searchmark.agents.vectors import embedder_settings, load_embedder
from searchmark.errors import UsageError
from searchmark.io.http import (
    ACCEPTED_ENCODING,
    ClientSettings,
    HttpAnswer,
    HttpClient,
    PreparedRequest,
    Refusal,
    build_request,
    check_address,
    json_content,
    parse_url,
)
from searchmark.io.secrets import SHORTEST_SECRET, forms_of, variable_value, variables_in, without_credentials
from searchmark.io.store import BOM
from searchmark.io.text import replace_surrogates

if TYPE_CHECKING:
    import httpx

    from searchmark.agents.vectors.embedder import Embedder
    from searchmark.formats.corpora.corpus import Changes, Corpus


# The request that a config describes, made for one query after the other.

REQUEST_PLACEHOLDERS = ("query", "escaped", "k", "vector", "corpus", "found")

_FORM_CONTENT_TYPE = "application/x-www-form-urlencoded"


class RequestTemplate:
    """Makes the request for a query. ``accept``: the type of answer that is asked for. ``searches``: it must hold the query."""

    def __init__(self, config: HttpSettings, accept: str, *, searches: bool = True) -> None:
        self._parts = (config.url, config.parameters, config.headers, config.body, config.form)
        _check_request(config, self._parts, searches=searches)
        self._config = config
        self.method = config.method or ("POST" if config.body is not None or config.form else "GET")
        self._address = AddressTemplate(config.url or "", REQUEST_PLACEHOLDERS)
        headers = _with_default_headers(config, accept)
        self._placeholders = {
            name: value for name, value in headers.items() if any(has_placeholder(value, each) for each in REQUEST_PLACEHOLDERS)
        }
        self._headers = {
            name: fill_template(value, {}, variables=True) for name, value in headers.items() if name not in self._placeholders
        }
        self._parsed: httpx.URL | None = None  # of the last request; most services have one address for all
        self._parsed_text = ""
        self._secrets = _request_secrets(self._parts)
        check_address(self._address.fill(dict.fromkeys(REQUEST_PLACEHOLDERS, "")))

    def names(self, placeholder: str) -> bool:
        """Whether the request holds a placeholder."""
        return has_placeholder(list(self._parts), placeholder)

    def prepare(self, values: Mapping[str, Any], body: Any = None) -> PreparedRequest:
        """The request for these values of its placeholders; ``body`` is sent as it stands in the place of its own."""
        values = {name: replace_surrogates(value) if isinstance(value, str) else value for name, value in values.items()}
        texts = {name: _form_text(value) for name, value in values.items()}
        values_of = {name: fill_template(value, texts, variables=True) for name, value in self._placeholders.items()}
        content = self._content(values) if body is None else json_content(body)
        url = self._url(self._text(values, texts))
        return PreparedRequest(build_request(self.method, url, self._headers | values_of, content), self._secrets)

    def _url(self, text: str) -> httpx.URL:
        if self._parsed is None or text != self._parsed_text:
            self._parsed, self._parsed_text = parse_url(text), text
        return self._parsed

    def _text(self, values: Mapping[str, Any], texts: Mapping[str, str]) -> str:
        address = self._address.fill(texts)
        if not self._config.parameters:
            return address
        pairs = urlencode(list(_form_pairs(self._config.parameters, values)), quote_via=quote)
        return f"{address}{'&' if '?' in address else '?'}{pairs}"

    def _content(self, values: Mapping[str, Any]) -> bytes | None:
        if self._config.form:
            return urlencode(list(_form_pairs(self._config.form, values)), quote_via=quote_plus).encode()
        body = self._config.body
        return None if body is None else json_content(fill_data(body, values, variables=True))


def _check_request(config: HttpSettings, parts: tuple[Any, ...], *, searches: bool) -> None:
    if not config.url:
        raise UsageError("the agent has no url; say which address is asked, with {query} in it, in its parameters, body or form")
    if config.body is not None and config.form:
        raise UsageError("body and form exclude each other; set one of them")
    if config.form and config.method == "GET":
        raise UsageError("a form is sent by POST; use parameters with GET")
    if searches and not any(has_placeholder(list(parts), name) for name in ("query", "escaped", "vector")):
        raise UsageError(f"{config.url!r} is asked without the query; write {{query}} into url, parameters, headers, body or form")
    if has_placeholder(list(parts), "vector") and config.embedder is None:
        raise UsageError("{vector} needs an embedder; say which, as embedder: wordllama")


def _request_secrets(parts: tuple[Any, ...]) -> frozenset[str]:
    """Whatever the variables hold, in each form in which a service might repeat it; every one of them must be set."""
    values = [variable_value(name) for name in variables_in(list(parts))]
    return frozenset(form for value in values for form in forms_of(value) if len(form) >= SHORTEST_SECRET)


def _with_default_headers(config: HttpSettings, accept: str) -> dict[str, str]:
    """The headers, those of the config before ours whatever their capitals."""
    headers = {"Accept": accept, "Accept-Encoding": ACCEPTED_ENCODING, "User-Agent": "searchmark"}
    if config.form or config.body is not None:
        headers["Content-Type"] = _FORM_CONTENT_TYPE if config.form else "application/json"
    names = {name.lower() for name in config.headers}
    return {name: value for name, value in headers.items() if name.lower() not in names} | dict(config.headers)


def _form_pairs(fields: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values as a form has them; a list is its name once for each element, and None is left out."""
    for name, template in fields.items():
        value = fill_data(template, values, variables=True)
        repeated = isinstance(template, list | tuple)
        for each in value if repeated else [value]:
            if each is not None:
                yield str(name), _form_text(each)


def _form_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)


# Requests of cases, as those of ``_rank_eval``: sent as they stand, with the number of hits that is wanted.

_INDEX_AND_ID = "join('/', [_index, _id])"


@dataclass(frozen=True)
class CaseRequest:
    """The body of a search, or of a search by template; ``ids``: whether judged ids hold the index."""

    body: Mapping[str, Any]
    template: bool = False
    ids: Literal["id", "index/id"] = "id"

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> CaseRequest:
        """Read the request of a case."""
        unknown = sorted(plain.keys() - {"body", "template", "ids"})
        if unknown or not isinstance(plain.get("body"), Mapping):
            raise UsageError(
                f"the request of the case has a body, and may have template and ids; it has {', '.join(map(str, plain))}"
            )
        return cls(plain["body"], plain.get("template") is True, "index/id" if plain.get("ids") == "index/id" else "id")

    def with_size(self, k: int) -> dict[str, Any]:
        """The body, with the number of hits and without documents unless it says that itself.

        A template that is stored, or written as text, is sent as it is: there it says itself how many hits it wants.
        """
        if not self.template:
            return {"size": k, "_source": False, **self.body}
        source = self.body.get("source")
        overrides = {"source": {"size": k, "_source": False, **source}} if isinstance(source, Mapping) else {}
        return {**self.body, **overrides}


class CaseSearch:
    """Asks an engine by the requests of cases."""

    def __init__(self, config: HttpSettings) -> None:
        self._search = RequestTemplate(config, "application/json")
        self._by_template = RequestTemplate(replace(config, url=f"{config.url}/template"), "application/json")
        self._reader = ResultReader(config.results, "json")
        with_index = replace(config.results, id=_INDEX_AND_ID) if config.results.id == "_id" else config.results
        self._reader_with_index = ResultReader(with_index, "json")

    @classmethod
    def of(cls, config: HttpSettings, preset: Preset | None) -> CaseSearch | None:
        """For engines to which cases may bring requests; None for others."""
        return cls(config) if preset is not None and preset.case_requests else None

    def prepare(self, case: CaseRequest, values: Mapping[str, Any]) -> PreparedRequest:
        """The request of a case; ``values`` are for parameters and headers of the config."""
        return (self._by_template if case.template else self._search).prepare(values, case.with_size(values["k"]))

    def reader(self, case: CaseRequest) -> ResultReader:
        """Reads hits under the ids that the case is judged by."""
        return self._reader_with_index if case.ids == "index/id" else self._reader


# What has to be looked up in an engine before it can be searched.


@dataclass(frozen=True)
class ServiceLookup:
    """One GET, and where in its answer the value is; ``shown_url`` is its address in errors."""

    request: RequestTemplate
    path: str
    shown_url: str

    @classmethod
    def of(cls, config: HttpSettings, preset: Preset | None) -> ServiceLookup | None:
        """That of a preset, with the headers of the config; None if it needs none."""
        if preset is None or preset.lookup is None:
            return None
        lookup = replace(config, url=preset.lookup.url, method="GET", parameters={}, body=None, form={})
        return cls(
            RequestTemplate(lookup, "application/json", searches=False), preset.lookup.path, without_credentials(preset.lookup.url)
        )

    def find(self, options: ClientSettings) -> str:
        """Ask for the value."""
        import jmespath

        with closing(HttpClient(self.shown_url, options)) as client:
            text = client.ask(self.request.prepare({})).text
        try:
            value = jmespath.search(self.path, json.loads(text))
        except ValueError:
            value = None
        if not isinstance(value, str):
            raise UnreadableAnswer(f"the answer about the index has no {self.path!r}", text)
        return value


# Asks a service over HTTP: any search that answers a request, as its config describes it.

TOKENS_STATED_BY = "the service"

_USER = re.compile(r"(?<=://)[^/?#]*@")

_CHARSET = re.compile(r"(?i)charset=\"?([\w.:-]+)")

_PAGE_OR_BINARY = re.compile(r"(?i)\s*(text/html|application/(xhtml|pdf|zip|gzip|octet-stream)|image/|audio/|video/|multipart/)")

_PAGE = re.compile(r"(?i)\s*(<\?xml[^>]*>\s*)?<(!doctype\s+html|html)\b")


class HttpAgent(RetrievalAgent):
    """One request per query, again where that may help; the time of a search is all that passes, waits included."""

    Config = HttpSettings

    def __init__(self, config: HttpSettings | None = None) -> None:
        self._preset = preset_of(config or HttpSettings())
        self._config = preset_options(config or HttpSettings())
        self._reader = ResultReader(self._config.results, "json")
        self._request = RequestTemplate(self._config, "application/json" if self._reader.format == "json" else "*/*")
        self._options = None if self._config.embedder is None else embedder_settings(self._config.embedder)
        self._embedder: Embedder | None = None
        self._corpus: str | None = None
        self.needs_corpus = self._request.names("corpus")
        self._uses = {name for name in ("k", "vector", "corpus") if self._request.names(name)}
        shown_url, options = _printable_url(self._config.url or ""), ClientSettings.of(self._config)
        self._client = HttpClient(shown_url, options, error_in=self._reader.error_in)
        self._lookup = ServiceLookup.of(self._config, self._preset)
        self._lookup_value: str | None = None
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
            self._lookup_value = self._lookup.find(ClientSettings.of(self._config))

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
        http_request = self._outgoing(query, k, case)
        embedding_cost = self._spent() - before
        answer = self._client.ask(http_request)
        parsed_answer = self._read(answer, http_request, case)
        parsed_answer = replace(parsed_answer, cost=(parsed_answer.cost or 0) + embedding_cost) if embedding_cost else parsed_answer
        tokens_by = None if parsed_answer.tokens is None else TOKENS_STATED_BY
        return parsed_answer.result(Usage(parsed_answer.tokens, tokens_by, answer.attempts - 1, answer.waited_seconds * 1000))

    def _spent(self) -> float:
        """What vectors have cost so far."""
        return 0.0 if self._embedder is None else self._embedder.cost()

    def close(self) -> None:
        self._client.close()
        if self._embedder is not None:
            self._embedder.close()

    def describe(self) -> Mapping[str, Any]:
        results = {name: value for name, value in vars(self._config.results).items() if value not in (None, False)}
        description = {
            "url": self._client.shown_url,
            "method": self._request.method,
            "preset": self._config.preset,
            "index": self._config.index,
            "embedder": None if self._embedder is None else self._embedder.name,
            "results": {**results, "format": self._reader.format},
        }
        return {name: value for name, value in description.items() if value is not None}

    def _outgoing(self, query: str, k: int, case: CaseRequest | None) -> PreparedRequest:
        values = self._values(query, k)
        if case is None or self._case_search is None or self._config.requests == "query":
            return self._request.prepare(values)
        return self._case_search.prepare(case, values)

    def _values(self, query: str, k: int) -> dict[str, Any]:
        values: dict[str, Any] = {"query": query, "k": k}
        if self._preset is not None and self._preset.escape is not None:
            values["escaped"] = self._preset.escape(query)
        if self._lookup is not None:
            values["found"] = self._lookup_value or self._lookup.find(ClientSettings.of(self._config))
        if "corpus" in self._uses:
            values["corpus"] = self._corpus
        if "vector" in self._uses and self.embedder is not None:
            values["vector"] = self.embedder.embed_query(query).tolist()
        return values

    def _read(self, answer: HttpAnswer, request: PreparedRequest, case: CaseRequest | None) -> ParsedAnswer:
        reader = self._reader if case is None or self._case_search is None else self._case_search.reader(case)
        try:
            return reader.read(self._text(answer))
        except UnreadableAnswer as error:
            kind = answer.content_type.partition(";")[0].strip()
            reason = f"gave {kind or 'an answer'} that cannot be read: {error.sentence}"
            failure = Refusal(reason, status=answer.status, instead=error.answer)
        raise self._client.error(failure, request, answer.attempts)

    def _text(self, answer: HttpAnswer) -> str:
        """The answer as text; what is no text, or a page instead of hits, is not read as if it were."""
        text = _decode_body(answer)
        if not text.strip() and not self._reader.says_nothing(text):
            raise UnreadableAnswer(f"it is empty (status {answer.status}); if that means no hits, say so with results.nothing: ^$")
        if self._reader.format in ("lines", "jsonl") and (_PAGE_OR_BINARY.match(answer.content_type) or _PAGE.match(text)):
            raise UnreadableAnswer(f"it is a page or the like, and not {self._reader.format}; it begins", text)
        return text


def _printable_url(url: str) -> str:
    """The address as sentences have it: with the names of variables, and without a user."""
    return without_credentials(_USER.sub("", url))


def _decode_body(answer: HttpAnswer) -> str:
    match = _CHARSET.search(answer.content_type)
    try:
        return answer.content.removeprefix(BOM).decode(match[1] if match else "utf-8").strip()
    except (LookupError, UnicodeDecodeError):
        raise UnreadableAnswer(f"it is not text in {match[1] if match else 'UTF-8'}", ascii(answer.content[:80])) from None
