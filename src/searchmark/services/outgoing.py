"""A request as it is sent, and the texts in it that must not be shown."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from searchmark.errors import UsageError
from searchmark.files.text_encoding import encodable
from searchmark.services.content import ENCODING
from searchmark.services.exchange import Request
from searchmark.services.redaction import secrets_in
from searchmark.services.secret_forms import without_credentials

if TYPE_CHECKING:
    import httpx

_HEADERS = {"Accept": "application/json", "Accept-Encoding": ENCODING, "User-Agent": "searchmark"}

_LONGEST_ADDRESS = 1 << 16  # characters; httpx takes no more


@dataclass(frozen=True)
class Outgoing:
    """A request that is ready to be sent, as often as need be. Neither it nor its secrets are shown."""

    request: httpx.Request = field(repr=False)
    secrets: frozenset[str] = field(repr=False)


def outgoing(address: str, request: Request, headers: Mapping[str, str]) -> Outgoing:
    """The request to this address with these headers, which may hold a key."""
    content = None if request.body is None else json_content(request.body)
    types = _HEADERS | ({} if content is None else {"Content-Type": "application/json"})
    sent = made(request.method, _url(address, request), types | dict(headers), content)
    return Outgoing(sent, _secrets(address, headers, request.parameters))


def parsed_url(text: str) -> httpx.URL:
    """An address in its parts."""
    import httpx

    if len(text) > _LONGEST_ADDRESS:
        raise UsageError(
            f"the address has {len(text)} characters, more than {_LONGEST_ADDRESS}: send the query in a body or a form"
        )
    try:
        return httpx.URL(text)
    except httpx.InvalidURL:
        raise _no_address(text) from None  # its text may quote the password


def made(method: str, url: httpx.URL, headers: Mapping[str, str], content: bytes | None) -> httpx.Request:
    """A request in all its parts; user and password of the address become a header, as in every client."""
    import httpx

    _check_headers(headers)
    request = httpx.Request(method, url, headers=headers, content=content)
    if url.userinfo and "authorization" not in request.headers:
        request.headers["Authorization"] = _basic(url)
    return request


def _basic(url: httpx.URL) -> str:
    return f"Basic {b64encode(f'{url.username}:{url.password}'.encode()).decode()}"


def check_address(address: str) -> None:
    """Refuse what is not an http or https address."""
    try:
        parts = urlsplit(address)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, brackets that do not close
        valid = False
    if not valid:
        raise _no_address(address)


def _no_address(address: str) -> UsageError:
    return UsageError(f"{without_credentials(address)!r} is not an http or https address")


def _check_headers(headers: Mapping[str, str]) -> None:
    """Refuse what would be refused further down, where the sentence would quote the value, which may be a key."""
    for name, value in headers.items():
        if not value.isascii() or not value.isprintable():
            raise UsageError(f"the header {name} holds characters that HTTP does not allow")


def json_content(body: Any) -> bytes:
    """A body as JSON; a lone surrogate, which no encoding has, becomes a question mark."""
    return encodable(json.dumps(body, ensure_ascii=False, allow_nan=False)).encode()


def _url(address: str, request: Request) -> httpx.URL:
    """Address and path, with the parameters of both."""
    base = parsed_url(address)
    path = f"{base.path.rstrip('/')}{request.path}" if request.path else base.path
    return base.copy_with(path=path, fragment=None).copy_merge_params(dict(request.parameters))


def _secrets(address: str, headers: Mapping[str, str], parameters: Mapping[str, str]) -> frozenset[str]:
    """Every text that must not be shown, in each form in which a service might quote it."""
    found = secrets_in([address, dict(headers), dict(parameters)]) | _credentials(address)
    words = {value.split()[-1] for value in found if value.split()}  # of "Bearer KEY"
    known = found | words | {unquote(value) for value in found}
    return known | {quote(value, safe="") for value in known} | {json.dumps(value)[1:-1] for value in known}


def _credentials(address: str) -> frozenset[str]:
    """The password of an address, and how httpx sends it."""
    parts = urlsplit(address)
    if not parts.password:
        return frozenset()
    password = unquote(parts.password)
    return frozenset({password, b64encode(f"{unquote(parts.username or '')}:{password}".encode()).decode()})
