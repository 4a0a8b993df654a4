"""Values of the environment that must not be shown: agents, services and libraries may repeat them in whatever they say."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from html import escape
from math import ceil
from urllib.parse import quote, quote_plus

from searchmark.services.secret_forms import credentials_in, passwords_in
from searchmark.services.secret_names import is_secret_variable
from searchmark.services.variables import filled_from

SHORTEST_VALUE = 12  # characters; anything shorter occurs in digests, names and words
SHORTEST = 4  # of a value that is known to be secret
_LONG_VALUE = 20  # characters; keys have as many, and hardly anything else that is said by chance
_SHORTEST_PIECE = 8  # of a value in base64
_LONGEST_VALUE = 1 << 16
_LONGEST_KEY = 2048  # a certificate with more is looked for in the usual forms only, which takes less time
_SHORTEST_LINE = 16

# What names of variables end in that hold no secret themselves: an address, a file, a way to do it.
_NO_SECRET_NAME = re.compile(
    r"(?i)(?:^|_)(?:file|path|dir|home|sock|socket|url|uri|host|port|name|id|user|username|type|method|mode|enabled|disabled|ttl|seconds"
    r"|timeout|limit|env|variable|algorithm|version|region|provider|backend|parallelism)$|max_tokens|known_hosts"
)
_OF_THE_SYSTEM = frozenset(
    {"HOME", "HOSTNAME", "LANG", "LOGNAME", "OLDPWD", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}
)
_NUMBER = re.compile(r"[\d.,:_+-]+")
_MIXED = re.compile(r"\d.*[A-Za-z]|[A-Za-z].*\d", re.DOTALL)
_PATH = re.compile(r"~?[/\\].*|\.{1,2}[/\\].*|[A-Za-z]:[/\\].*|(?:[a-z_.-]+/)+[a-z_.-]*", re.DOTALL)
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]*://\S*")

_SAFE_IN_URLS = ("", "/", "!'()*")  # whole values, paths, and what browsers leave as it is
_PERCENT = re.compile(r"%[0-9A-F]{2}")
_SPECIAL = re.compile(r"[^A-Za-z0-9_.~-]")
# Nothing; what Go, PHP, Gson and .NET escape by number in JSON; and all that is no letter, digit or the like.
_HEXED_IN_JSON = (r"(?!)", r"[<>&]", r"[<>&']", r"[<>&'=]", r"[<>&'\"]", r"[<>&'\"+`]", _SPECIAL.pattern)
_DOUBLE_QUOTES, _SINGLE_QUOTES = ('"', "&quot;", "&#34;"), ("'", "&#x27;", "&#39;", "&#039;", "&apos;")
_ALSO_IN_HTML = re.compile(r"[/`=]")  # of template engines of JavaScript

_named: set[str] = set()  # variables that agents of this process send somewhere: secret by that
_addresses: set[str] = set()  # of databases, with variables as ${NAME}: the passwords in them are secret, whatever the names
_passed: set[str] = set()  # variables that are passed to agents: secret where their values look like it


def name_secrets(sent: Iterable[str], passed: Iterable[str] = ()) -> None:
    """Take the values of these variables for secrets from now on, short ones too if they are ``sent``.

    A variable whose name says that it is none, as that of a host or a user does, stays what it is.
    """
    _named.update(name for name in sent if name not in _OF_THE_SYSTEM and not _NO_SECRET_NAME.search(name))
    _passed.update(name for name in passed if name not in _OF_THE_SYSTEM)


def name_addresses(addresses: Iterable[str]) -> None:
    """Take the passwords of these addresses for secrets from now on; variables in them are written ``${NAME}``."""
    _addresses.update(addresses)


def named_secrets() -> frozenset[str]:
    """The variables that were named as sent."""
    return frozenset(_named)


def environment_with(given: frozenset[str]) -> dict[str, str]:
    """The environment for a program: without what is secret, or looks so, unless it is given to the program by name."""
    return {name: os.environ[name] for name in os.environ if name in given or not (name in _named or is_secret_variable(name))}


def environment_secrets(environment: Mapping[str, str] = os.environ) -> frozenset[str]:
    """Every secret of the environment, in each form in which something may repeat it."""
    values = {value.strip() for name, raw in environment.items() for value in _values(name, raw[:_LONGEST_VALUE])}
    sent = [environment.get(name, "").strip() for name in _named]
    addresses = [filled_from(environment, address) for address in _addresses]
    named = {*sent, *(password for value in (*sent, *addresses) for password in passwords_in(value))}
    telling = {*filter(_is_telling, values), *(value for value in named if len(value) >= SHORTEST)}
    return frozenset(form for value in telling for form in forms_of(value))


def _values(name: str, value: str) -> Iterator[str]:
    """What of a variable is secret: all of it, or the credentials in it."""
    yield from credentials_in(value)
    if (name in _passed or is_secret_variable(name)) and not _NO_SECRET_NAME.search(name) and not _ADDRESS.fullmatch(value.strip()):
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


@lru_cache(maxsize=256)
def forms_of(value: str) -> frozenset[str]:
    """A value in each form in which something may repeat it; capitals stay as they are."""
    coded = value.encode("utf-8", "surrogateescape")
    escaped = {*_in_urls(value), *_in_json(value), *_in_html(value), repr(value)[1:-1]} if _SPECIAL.search(value) else ()
    return frozenset({value, *escaped, coded.hex(), coded.hex().upper(), *_in_base64(coded)})


def _in_urls(value: str) -> Iterator[str]:
    """As libraries write it in addresses and forms, with hexadecimal digits in capitals or not."""
    whole = (quote(value, safe=safe, errors="surrogateescape") for safe in _SAFE_IN_URLS)
    for quoted in (*whole, quote_plus(value, errors="surrogateescape")):
        yield quoted
        yield _PERCENT.sub(lambda match: match[0].lower(), quoted)


def _in_json(value: str) -> Iterator[str]:
    """As libraries write it in JSON, which differ in what they escape beside quotes, backslashes and control characters."""
    for hexed in _HEXED_IN_JSON if len(value) <= _LONGEST_KEY else _HEXED_IN_JSON[:1]:
        for only_ascii in (False, True):
            for digits in ("04x", "04X"):
                escaped = re.compile(f"{hexed}|[^\\x00-\\x7e]" if only_ascii else hexed)
                units = [_units(char, digits) if escaped.fullmatch(char) else _dumped(char) for char in value]
                yield "".join(units)
                yield "".join(["\\/" if unit == "/" else unit for unit in units])


def _dumped(char: str) -> str:
    return json.dumps(char, ensure_ascii=False)[1:-1]


def _units(char: str, digits: str) -> str:
    """A character as JSON has it by number: in UTF-16, so that some are two."""
    coded = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{int.from_bytes(coded[at : at + 2], 'big'):{digits}}" for at in range(0, len(coded), 2))


def _in_html(value: str) -> Iterator[str]:
    """With entities by name, where there are such, or by number."""
    named = escape(value, quote=False)
    yield named
    for double in _DOUBLE_QUOTES:
        for single in _SINGLE_QUOTES:
            quoted = named.replace('"', double).replace("'", single)
            yield quoted
            yield _ALSO_IN_HTML.sub(lambda match: f"&#x{ord(match[0]):X};", quoted)
            yield quoted.replace("+", "&#43;")
    for form in ("&#{};", "&#x{:x};", "&#x{:X};"):
        yield "".join([form.format(ord(char)) if _SPECIAL.match(char) else char for char in value])


def _in_base64(value: bytes) -> Iterator[str]:
    """What is the same in the base64 of every text that holds the value, as ``user:password`` does in basic authentication."""
    for before in range(3):
        coded = b64encode(b"\0" * before + value).decode()
        whole = (before + len(value)) * 8 // 6  # characters that no later byte changes
        inner = coded[ceil(before * 8 / 6) : whole]
        if len(inner) >= _SHORTEST_PIECE:
            yield inner
