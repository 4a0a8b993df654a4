"""Values of the environment that must not be shown: agents, services and libraries may repeat them in whatever they say."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from math import ceil
from urllib.parse import quote, quote_plus

from searchmark.services.secret_forms import credentials_in
from searchmark.services.secret_names import is_secret_variable

SHORTEST_VALUE = 12  # characters; anything shorter occurs in digests, names and words
_LONG_VALUE = 20  # characters; keys have as many, and hardly anything else that is said by chance
_SHORTEST_PIECE = 8  # of a value in base64
_LONGEST_VALUE = 1 << 16
_SHORTEST_LINE = 16

# What names of variables end in that hold no secret themselves: an address, a file, a way to do it.
_NO_SECRET_NAME = re.compile(
    r"(?i)(?:^|_)(?:file|path|dir|home|sock|socket|url|uri|host|port|name|id|user|username|type|method|mode|enabled|disabled|ttl|seconds"
    r"|timeout|limit|env|variable|algorithm|version|region|provider|backend|parallelism)$|max_tokens|known_hosts"
)
_NUMBER = re.compile(r"[\d.,:_+-]+")
_MIXED = re.compile(r"\d.*[A-Za-z]|[A-Za-z].*\d", re.DOTALL)
_PATH = re.compile(r"~?[/\\].*|\.{1,2}[/\\].*|[A-Za-z]:[/\\].*|(?:[a-z_.-]+/)+[a-z_.-]*", re.DOTALL)
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]*://\S*")


def environment_secrets(environment: Mapping[str, str] = os.environ) -> frozenset[str]:
    """Every secret of the environment, in each form in which something may repeat it."""
    values = {value.strip() for name, raw in environment.items() for value in _values(name, raw[:_LONGEST_VALUE])}
    return frozenset(form for value in values if _is_telling(value) for form in forms_of(value))


def _values(name: str, value: str) -> Iterator[str]:
    """What of a variable is secret: all of it, or the credentials in it."""
    yield from credentials_in(value)
    if is_secret_variable(name) and not _NO_SECRET_NAME.search(name) and not _ADDRESS.fullmatch(value.strip()):
        yield value
        yield from (line for line in _lines(value) if len(line) >= _SHORTEST_LINE and not line.startswith("-----"))


def _lines(value: str) -> Iterable[str]:
    """The lines of a key that has several; in JSON, as cloud services hand them out, line breaks are written as ``\\n``."""
    lines = value.replace("\\n", "\n").splitlines()
    return lines if len(lines) > 1 else ()


def _is_telling(value: str) -> bool:
    """Whether a value can be looked for in other texts: words, names, numbers and paths occur there without being a secret."""
    if len(value) < SHORTEST_VALUE or _NUMBER.fullmatch(value) or _PATH.fullmatch(value):
        return False
    return len(value) >= _LONG_VALUE or bool(_MIXED.search(value))


def forms_of(value: str) -> Iterator[str]:
    """A value in each form in which something may repeat it."""
    yield value
    yield from {
        quote(value, safe=""),
        quote(value),
        quote_plus(value),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
    }
    yield from _in_base64(value.encode("utf-8", "surrogateescape"))


def _in_base64(value: bytes) -> Iterator[str]:
    """What is the same in the base64 of every text that holds the value, as ``user:password`` does in basic authentication."""
    for before in range(3):
        coded = b64encode(b"\0" * before + value).decode()
        whole = (before + len(value)) * 8 // 6  # characters that no later byte changes
        inner = coded[ceil(before * 8 / 6) : whole]
        if len(inner) >= _SHORTEST_PIECE:
            yield inner
