"""Secrets that a config may hold: found by their names and looks, and kept out of everything that is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from itertools import count, islice
from typing import Any, TypeVar

from searchmark.services.secret_forms import HIDDEN, credentials_in, is_secret_flag, only_names, without_credentials
from searchmark.services.secret_names import is_secret_field

SHORTEST = 4  # characters; anything shorter occurs in ordinary words

_LOOKS_SECRET = re.compile(
    r"^(sk-|ghp_|gho_|ghs_|github_pat_|glpat-|hf_|xox[abprs]-|AKIA|ASIA|AIza|eyJ[\w-]+\.)\S*$|^(?i:bearer|basic|token) \S+$"
)
_AT_ONCE = 1 << 16  # texts that are looked through together: bounds the memory that this takes
_TORN, _LONG = 12, 20  # characters: a text that was cut may hold so many of a secret that has so many

T = TypeVar("T")


def without_secrets(value: Any, name: str = "") -> Any:
    """A config as it may be written down: what is named or looks like a secret is removed, whatever is below it too."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and only_names(value):
        return value
    if is_secret_field(name, value):
        return HIDDEN
    if isinstance(value, Mapping):
        return {str(key): without_secrets(each, str(key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [HIDDEN if is_secret_flag(before) else without_secrets(each, name) for before, each in _with_previous(value)]
    return _without_secret_parts(value) if isinstance(value, str) else value


def _without_secret_parts(text: str) -> str:
    return HIDDEN if _LOOKS_SECRET.search(text) else without_credentials(text)


def _with_previous(values: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return zip((None, *values), values, strict=False)


def secrets_in(value: Any, name: str = "", *, below: bool = False) -> frozenset[str]:
    """The texts that `without_secrets` would remove, to look for them elsewhere."""
    return frozenset(text for text in _secrets(value, name, below) if len(text) >= SHORTEST)


def _secrets(value: Any, name: str, below: bool) -> Iterator[str]:
    secret = below or is_secret_field(name, value)
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _secrets(each, str(key), secret)
    elif isinstance(value, list | tuple):
        for before, each in _with_previous(value):
            yield from _secrets(each, name, secret or is_secret_flag(before))
    elif isinstance(value, bool) or value is None or (isinstance(value, str) and only_names(value)):
        return
    elif secret or (isinstance(value, str) and _LOOKS_SECRET.search(value)):
        yield str(value)
    elif isinstance(value, str):
        yield from credentials_in(value)


@dataclass(frozen=True)
class Scrubber:
    """Removes secrets from whatever it is given; ``exact`` are whole texts that become something else, or stay what they are.

    The secrets are the longest first, and ``signs`` the shortest list of texts one of which is in every text that holds a secret.
    """

    secrets: tuple[str, ...]
    signs: tuple[str, ...]
    exact: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(secrets: frozenset[str]) -> Scrubber:
        return _scrubber(secrets)

    def clean(self, value: T) -> T:
        """The same with every secret replaced, wherever it occurs, also where only its beginning or its end is left."""
        cleaned: T = self._clean(value)
        return cleaned

    def concerns(self, text: str) -> bool:
        """Whether a text may hold a secret or a piece of one."""
        for sign in self.signs:  # noqa: SIM110  # asked for every text of every answer; a generator takes twice as long
            if sign in text:
                return True
        return False

    def concerns_any(self, texts: Iterable[str]) -> bool:
        """Whether one of many texts may, which are looked through many at once."""
        left = iter(texts)
        return any(self.concerns("\n".join(some)) for some in iter(lambda: list(islice(left, _AT_ONCE)), []))

    def _clean(self, value: Any) -> Any:
        """The very same object where nothing had to be replaced, which is nearly always."""
        if value is None or value == () or isinstance(value, float | int):  # most fields of most records
            return value
        if isinstance(value, str):
            return self._clean_text(value)
        if isinstance(value, Mapping):
            return self._clean_mapping(value) if value else value
        if isinstance(value, list | tuple):
            return self._clean_items(value) if self._may_concern(value) else value
        if is_dataclass(value) and not isinstance(value, type):
            before = {each.name: getattr(value, each.name) for each in fields(value)}
            after = {name: self._clean(each) for name, each in before.items()}
            return value if all(after[name] is before[name] for name in before) else replace(value, **after)
        return value

    def _clean_mapping(self, value: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """No entry is lost: keys that were different stay different."""
        keys, values = [self._clean(key) for key in value], [self._clean(each) for each in value.values()]
        if _same(keys, value) and _same(values, value.values()):
            return value
        return dict(zip(keys if _same(keys, value) else distinct(keys), values, strict=True))

    def _clean_items(self, values: Sequence[Any]) -> Any:
        cleaned = [self._clean(each) for each in values]
        if _same(cleaned, values):
            return values
        return values._make(cleaned) if hasattr(values, "_make") else type(values)(cleaned)  # type: ignore[call-arg]  # of a list or a tuple

    def _may_concern(self, values: Sequence[Any]) -> bool:
        """Whether one of these needs a look; many texts are looked through at once, since an answer may have thousands of hits."""
        if all(isinstance(each, str) for each in values):
            return self.concerns("\n".join(values))
        return not all(isinstance(each, float | int | None) for each in values)

    def _clean_text(self, text: str) -> str:
        if not self.concerns(text):
            return text
        if text in self.exact:
            return self.exact[text]
        for secret in self.secrets:
            text = text.replace(secret, HIDDEN)
        for secret in (each for each in self.secrets if len(each) >= _LONG):
            text = _without_torn(text, secret, HIDDEN)
            text = _without_torn(text[::-1], secret[::-1], HIDDEN[::-1])[::-1]
        return text


@lru_cache(maxsize=8)
def _scrubber(secrets: frozenset[str]) -> Scrubber:
    whole = tuple(sorted(secrets, key=lambda secret: (-len(secret), secret)))
    signs = {part for each in whole for part in ((each[:_TORN], each[-_TORN:]) if len(each) >= _LONG else (each,))}
    return Scrubber(whole, tuple(sorted(signs)))


def scrubbed(value: T, secrets: frozenset[str]) -> T:
    """The same with every one of these texts replaced, wherever it occurs, also where only its beginning or its end is left."""
    return Scrubber.of(secrets).clean(value) if secrets else value


def distinct(names: Iterable[T]) -> list[T | str]:
    """The names, a number behind those that have become the same."""
    taken: dict[T | str, None] = {}
    for name in names:
        free = (name if number == 1 else f"{name} ({number})" for number in count(1))
        taken[next(each for each in free if each not in taken)] = None
    return list(taken)


def _same(some: Iterable[Any], others: Iterable[Any]) -> bool:
    return all(one is other for one, other in zip(some, others, strict=True))


def unless_known(secrets: frozenset[str], known: Iterable[str]) -> frozenset[str]:
    """The secrets that are no part of what is measured: ids and queries must not change because a variable says the same."""
    said = "\n".join(known)
    return frozenset(secret for secret in secrets if secret not in said)


def _without_torn(text: str, secret: str, hidden: str) -> str:
    """The text without beginnings of a secret: long messages are cut before they come here."""
    parts, start = [], 0
    while (found := text.find(secret[:_TORN], start)) >= 0:
        parts += [text[start:found], hidden]
        start = next(
            (found + at for at, letter in enumerate(secret) if text[found + at : found + at + 1] != letter), found + len(secret)
        )
    return "".join([*parts, text[start:]]) if parts else text
