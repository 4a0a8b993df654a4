"""Keys do not belong in a config: a request that holds one is refused before it is sent or stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from searchmark.errors import UsageError
from searchmark.services.redaction import secrets_in
from searchmark.services.secret_names import looks_secret

_FILLED = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}|\{[a-z]+\}")
_VALUE = re.compile(r"(?<!\$)\{[a-z]+\}")
_SCHEME = re.compile(r"(?i)^(bearer|basic|token|apikey|api-key)\s+")
_VARIABLE = re.compile(r"[^A-Za-z0-9]+")


def check_no_literal_secret(part: str, value: Any) -> None:
    """Refuse what is named or looks like a secret unless it is in ``${NAME}``; a value with a placeholder is filled later."""
    for path, text in _texts(value, part):
        name = path.rpartition(".")[2]
        if not _FILLED.search(text) and text.strip() and ((name != part and looks_secret(name)) or secrets_in(text)):
            raise _literal(path, name, text)
        if part == "url" and secrets_in(_VALUE.sub("", text)):
            raise _literal(path, "password", "")


def _literal(path: str, name: str, text: str) -> UsageError:
    scheme = _SCHEME.match(text)
    variable = _VARIABLE.sub("_", name).strip("_").upper() or "KEY"
    written = f"{scheme[0] if scheme else ''}${{MY_{variable}}}"
    return UsageError(
        f"{path} holds a secret, which would be stored with the config; put it into an environment variable and write {written}"
    )


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every text below a part of a request, with where it is."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts(each, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each, path)
