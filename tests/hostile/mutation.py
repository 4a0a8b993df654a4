"""Mutations of real files that keep enough of their structure to get past the first check."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

DEEP: Any = "x"
for _ in range(600):
    DEEP = [DEEP]

NASTY: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 1.5, -0.0, 5e-324, 1e308, -1e308, 10**12, 2**63, -(2**63) - 1, 10**400, 10**4000,
    float("nan"), float("inf"), -float("inf"), "", " ", "\x00", "a\x00b", "a\nb", "\r", "\udcff", "\ud800", "é", "e\u0301", "\u202e", "\x1b[31m", "#",
    "inf", "nan", "1", "-1", "1e999", "true", "0x10", "9" * 400, "9" * 5000, "x" * 300, "x" * 5000, "a/b", "../..", "/", "/dev/zero", "/etc", ".", "~", "-h", "*",
    "{a,b}", "[", "[!", "{", "**/" * 40, "{a,b}" * 20, "=1+1", "::error::x", "<script>", "|", "`", "2024-01-01", "2024-01-01T00:00:00", "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59", [], {}, [[]], [{}], {"a": {}}, {"": ""}, [None], [True], [1, "a", None], {"path": 5}, {"path": "/etc"}, ["a"] * 50, DEEP, {"a": DEEP},
    "nDCG@10", "0.5*P@5 + 0.5*RR", "P@0", "P@" + "9" * 30, "http://[", "command:", "a:b", "x=y", "@@ -1 +1 @@", "--- a/x\n+++ b/x", "@@ -1," + "9" * 5000 + " +1 @@",
)  # fmt: skip
TOKENS = (
    b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n", b"\t", b" ", b'"', b"'", b"\\", b"{", b"}", b"[", b"]", b":", b",", b"#", b"<", b">", b"</", b"-->", b"<!--",
    b"<top>", b"<![CDATA[", b"&#55555;", b"&#xD800;", b"&lt;", b"- ", b"? ", b"<<: ", b"*a", b"&a ", b"!!int ", b"!!binary ", b"!!set ", b"!!python/name:os.system ", b"|\n", b">\n", b"---\n", b"...\n", b"%YAML 1.1\n",
    b"~", b"null", b"true", b"NaN", b"Infinity", b"-inf", b"1e999", b"1e400", b"0x" + b"f" * 5000, b"9" * 5000, b"9" * 400, b"-1", b"1_0", b"(", b")", b"@", b"*", b"+", b"=", b".", b"." * 200, b"a." * 200,
    b"[" * 300, b"{" * 300, b'{"a":' * 300, b"(" * 300, b"**/" * 30, b"{a,b}" * 12, b"[a-", b"[z-a]", b"[!]", b"\\x", b'"\\ud800"', b"$query", b"@@ -1,9 +1,9 @@\n", b"diff --git ", b"\x00SMK", b"\xff\xff\xff\xff",
    b'"event"', b'"case"', b"0001-01-01", b"9999-99-99",
)  # fmt: skip

Mutate = Callable[[Random, bytes, bytes], bytes]


def places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in plain data."""
    yield here
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*here, key))


def at(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def changed(random: Random, data: Any, other: Any) -> Any:
    """Plain data with one thing changed; what replaces it may come from another file."""
    data = json.loads(json.dumps(data))
    place = random.choice(list(places(data))[1:] or [()])
    if not place:
        return random.choice(NASTY)
    parent, key = at(data, place[:-1]), place[-1]
    match random.randrange(8):
        case 0 if isinstance(parent, dict):
            del parent[key]
        case 1 if isinstance(parent, dict):
            parent[str(random.choice(NASTY))[:5100]] = parent.pop(key)
        case 2 if isinstance(parent, list):
            parent.extend([parent[key]] * random.choice((1, 1, 2, 300)))
        case 3:
            parent[key] = [parent[key]] if random.random() < 0.5 else {"a": parent[key]}
        case 4:
            parent[key] = at(other, random.choice(list(places(other))))
        case 5 if isinstance(parent[key], dict):
            parent[key][random.choice(("path", "id", "kinds", "metadata", "options", "", "\udcff"))] = random.choice(NASTY)
        case _:
            parent[key] = random.choice(NASTY)
    return data


def in_bytes(random: Random, content: bytes, other: bytes) -> bytes:
    """Bytes flipped, cut out, repeated, or replaced by what readers look for."""
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 4))):
        start = random.randrange(len(data) + 1)
        end = min(len(data), start + random.choice((0, 1, 3, 20, 200)))
        match random.randrange(6):
            case 0 if data[start:end]:
                data[start] ^= 1 << random.randrange(8)
            case 1:
                del data[start:end]
            case 2:
                data[start:start] = data[start:end] * random.choice((1, 2, 50))
            case 3:
                cut = random.randrange(len(other) + 1)
                data[start:end] = other[cut : cut + 200]
            case 4:
                del data[random.randrange(len(data) + 1) :]
            case _:
                data[start:end] = random.choice(TOKENS)
    return bytes(data)


def _text(data: Any) -> bytes:
    return json.dumps(data).encode()


def _changed_often(random: Random, data: Any, other: Any) -> Any:
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        try:
            deeper = changed(random, data, other)
            json.dumps(deeper)
        except RecursionError:  # deep enough: not even we can look into it
            break
        data = deeper
    return data


def in_json(random: Random, content: bytes, other: bytes) -> bytes:
    if random.random() < 0.25:
        return in_bytes(random, content, other)
    return _text(_changed_often(random, json.loads(content), json.loads(other)))


def in_lines(random: Random, content: bytes, other: bytes) -> bytes:
    if random.random() < 0.25:
        return in_bytes(random, content, other)
    rows, more = ([json.loads(line) for line in text.splitlines()] for text in (content, other))
    rows = _changed_often(random, rows, more)
    return b"\n".join(map(_text, rows if isinstance(rows, list) else [rows]))


def in_yaml(random: Random, content: bytes, other: bytes) -> bytes:
    """Structured half of the time: a line for each key at the top, with its value in YAML's flow style, which JSON is."""
    if random.random() < 0.5:
        return in_bytes(random, content, other)
    data = changed(random, _plain_yaml(content), _plain_yaml(other))
    if not isinstance(data, dict):
        return _text(data)
    return b"".join(_text(str(key)) + b": " + _text(value) + b"\n" for key, value in data.items())


def _plain_yaml(content: bytes) -> Any:
    from ruamel.yaml import YAML

    return YAML(typ="safe", pure=True).load(content.decode())


def in_toml(random: Random, content: bytes, other: bytes) -> bytes:
    """Values are replaced by others as TOML writes them."""
    if random.random() < 0.5:
        return in_bytes(random, content, other)
    lines = content.decode().splitlines()
    chosen = random.randrange(len(lines))
    key = lines[chosen].partition("=")[0]
    value = (
        json.dumps(random.choice(NASTY)).replace("NaN", "nan").replace("Infinity", "inf").replace(": ", "=").replace("null", "[]")
    )
    lines[chosen] = f"{key}= {value}"
    return "\n".join(lines).encode("utf-8", "surrogateescape")
