"""The request that a config describes, made for one query after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus, urlencode

from searchmark.agents.outside.addresses import AddressTemplate
from searchmark.agents.outside.options import HttpConfig
from searchmark.agents.outside.templates import filled, filled_data, names
from searchmark.errors import UsageError
from searchmark.files.text_encoding import encodable
from searchmark.services.content import ENCODING
from searchmark.services.environment_secrets import forms_of
from searchmark.services.outgoing import Outgoing, check_address, json_content, made, parsed_url
from searchmark.services.redaction import SHORTEST
from searchmark.services.variables import variable_value, variables_in

if TYPE_CHECKING:
    import httpx

PLACEHOLDERS = ("query", "escaped", "k", "vector", "corpus", "found")
_FORM = "application/x-www-form-urlencoded"


class RequestTemplate:
    """Makes the request for a query. ``accept``: the type of answer that is asked for. ``searches``: it must hold the query."""

    def __init__(self, config: HttpConfig, accept: str, *, searches: bool = True) -> None:
        self._parts = (config.url, config.parameters, config.headers, config.body, config.form)
        _check(config, self._parts, searches=searches)
        self._config = config
        self.method = config.method or ("POST" if config.body is not None or config.form else "GET")
        self._address = AddressTemplate(config.url or "", PLACEHOLDERS)
        headers = _with_defaults(config, accept)
        self._changing = {name: value for name, value in headers.items() if any(names(value, each) for each in PLACEHOLDERS)}
        self._headers = {name: filled(value, {}, variables=True) for name, value in headers.items() if name not in self._changing}
        self._parsed: httpx.URL | None = None  # of the last request; most services have one address for all
        self._parsed_text = ""
        self._secrets = _secrets(self._parts)
        check_address(self._address.filled(dict.fromkeys(PLACEHOLDERS, "")))

    def names(self, placeholder: str) -> bool:
        """Whether the request holds a placeholder."""
        return names(list(self._parts), placeholder)

    def outgoing(self, values: Mapping[str, Any], body: Any = None) -> Outgoing:
        """The request for these values of its placeholders; ``body`` is sent as it stands in the place of its own."""
        known = {name: encodable(value) if isinstance(value, str) else value for name, value in values.items()}
        texts = {name: _text(value) for name, value in known.items()}
        changing = {name: filled(value, texts, variables=True) for name, value in self._changing.items()}
        content = self._content(known) if body is None else json_content(body)
        url = self._url(self._text(known, texts))
        return Outgoing(made(self.method, url, self._headers | changing, content), self._secrets)

    def _url(self, text: str) -> httpx.URL:
        if self._parsed is None or text != self._parsed_text:
            self._parsed, self._parsed_text = parsed_url(text), text
        return self._parsed

    def _text(self, known: Mapping[str, Any], texts: Mapping[str, str]) -> str:
        address = self._address.filled(texts)
        if not self._config.parameters:
            return address
        pairs = urlencode(list(_pairs(self._config.parameters, known)), quote_via=quote)
        return f"{address}{'&' if '?' in address else '?'}{pairs}"

    def _content(self, known: Mapping[str, Any]) -> bytes | None:
        if self._config.form:
            return urlencode(list(_pairs(self._config.form, known)), quote_via=quote_plus).encode()
        body = self._config.body
        return None if body is None else json_content(filled_data(body, known, variables=True))


def _check(config: HttpConfig, parts: tuple[Any, ...], *, searches: bool) -> None:
    if not config.url:
        raise UsageError("the agent has no url; say which address is asked, with {query} in it, in its parameters, body or form")
    if config.body is not None and config.form:
        raise UsageError("body and form exclude each other; set one of them")
    if config.form and config.method == "GET":
        raise UsageError("a form is sent by POST; use parameters with GET")
    if searches and not any(names(list(parts), name) for name in ("query", "escaped", "vector")):
        raise UsageError(f"{config.url!r} is asked without the query; write {{query}} into url, parameters, headers, body or form")
    if names(list(parts), "vector") and config.embedder is None:
        raise UsageError("{vector} needs an embedder; say which, as embedder: wordllama")


def _secrets(parts: tuple[Any, ...]) -> frozenset[str]:
    """Whatever the variables hold, in each form in which a service might repeat it; every one of them must be set."""
    values = [variable_value(name) for name in variables_in(list(parts))]
    return frozenset(form for value in values for form in forms_of(value) if len(form) >= SHORTEST)


def _with_defaults(config: HttpConfig, accept: str) -> dict[str, str]:
    """The headers, those of the config before ours whatever their capitals."""
    headers = {"Accept": accept, "Accept-Encoding": ENCODING, "User-Agent": "searchmark"}
    if config.form or config.body is not None:
        headers["Content-Type"] = _FORM if config.form else "application/json"
    given = {name.lower() for name in config.headers}
    return {name: value for name, value in headers.items() if name.lower() not in given} | dict(config.headers)


def _pairs(fields: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values as a form has them; a list is its name once for each element, and None is left out."""
    for name, template in fields.items():
        value = filled_data(template, values, variables=True)
        repeated = isinstance(template, list | tuple)
        for each in value if repeated else [value]:
            if each is not None:
                yield str(name), _text(each)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
