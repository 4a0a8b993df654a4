"""Secrets that a config may hold: found by their names and looks, and kept out of everything that is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from searchmark.services.secret_names import looks_secret

HIDDEN = "(removed)"
SHORTEST = 4  # characters; anything shorter occurs in ordinary words

_LOOKS_SECRET = re.compile(
    r"^(sk-|ghp_|gho_|ghs_|github_pat_|glpat-|hf_|xox[abprs]-|AKIA|ASIA|AIza|eyJ[\w-]+\.)|^(?i:bearer|basic|token) \S"
)
_IN_URL = (
    re.compile(r"(?<=://)[^/\s]+(?=@)"),  # up to the last @ before the path
    re.compile(r"(?i)(?<=[?&])((?:[\w-]*(?:key|token|secret|password|pwd|sig|signature))=)[^&#\s]+"),
)

T = TypeVar("T")


def without_secrets(value: Any, name: str = "") -> Any:
    """A config as it may be written down: what is named or looks like a secret is removed, whatever is below it too."""
    if value is None or isinstance(value, bool):
        return value
    if looks_secret(name):
        return HIDDEN
    if isinstance(value, Mapping):
        return {str(key): without_secrets(each, str(key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(each, name) for each in value]
    return _without_secret_parts(value) if isinstance(value, str) else value


def _without_secret_parts(text: str) -> str:
    return HIDDEN if _LOOKS_SECRET.search(text) else without_credentials(text)


def without_credentials(text: str) -> str:
    """A text whose addresses show no user, no password and no key among their parameters."""
    user, parameter = _IN_URL
    return parameter.sub(rf"\1{HIDDEN}", user.sub(HIDDEN, text))


def secrets_in(value: Any, name: str = "", *, below: bool = False) -> frozenset[str]:
    """The texts that `without_secrets` would remove, to look for them elsewhere."""
    return frozenset(text for text in _secrets(value, name, below) if len(text) >= SHORTEST)


def _secrets(value: Any, name: str, below: bool) -> Iterator[str]:
    secret = below or looks_secret(name)
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _secrets(each, str(key), secret)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _secrets(each, name, secret)
    elif isinstance(value, bool) or value is None:
        return
    elif secret or (isinstance(value, str) and _LOOKS_SECRET.search(value)):
        yield str(value)
    elif isinstance(value, str):
        user, parameter = _IN_URL
        yield from (part for found in user.findall(value) for part in found.split(":"))
        yield from (found.group(0).partition("=")[2] for found in parameter.finditer(value))


def scrubbed(value: T, secrets: frozenset[str]) -> T:
    """The same with every one of these texts replaced, wherever it occurs."""
    return _scrubbed(value, sorted(secrets, key=len, reverse=True)) if secrets else value


def _scrubbed(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, HIDDEN)
        return value
    if isinstance(value, Mapping):
        return {_scrubbed(key, secrets): _scrubbed(each, secrets) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_scrubbed(each, secrets) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: _scrubbed(getattr(value, each.name), secrets) for each in fields(value)})
    return value
