"""An HTTP peer on plain sockets that does what no good server does. The first part of a path says how it behaves.

It remembers every request as it came, byte by byte. As a proxy it passes on what has a whole address.
"""

from __future__ import annotations

import gzip
import json
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread
from urllib.parse import parse_qsl, unquote, urlsplit

HITS = json.dumps({"hits": [{"id": "red.txt", "score": 2.0}, {"id": "blue.txt", "score": 1.0}], "cost": 0.5, "tokens": 7}).encode()
DRIP = 0.01  # seconds between two bytes of a slow answer
PIECE = b" " * 65536


@dataclass(frozen=True)
class Heard:
    """A request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def parameters(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True, strict_parsing=True))

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True, strict_parsing=True))

    @property
    def last_part(self) -> str:
        return unquote(self.path.rpartition("/")[2])


def response(body: bytes = HITS, status: str = "200 OK", **headers: str) -> bytes:
    named = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in named.items()), "", ""]
    return "\r\n".join(lines).encode() + body


def hung_up(connection: socket.socket, seconds: float) -> bool:
    """Whether the client has gone, waiting for that at most so long."""
    return bool(select.select([connection], [], [], seconds)[0])


@dataclass
class Peer:
    """``other``: the address of another peer, to which redirects point. ``asked``: how often each path was."""

    other: str = "http://127.0.0.1:9"
    heard: list[Heard] = field(default_factory=list)
    connections: int = 0
    url: str = ""

    def serve(self, listener: socket.socket) -> None:
        with suppress(OSError):  # closed
            while True:
                connection, _ = listener.accept()
                self.connections += 1
                Thread(target=self.converse, args=(connection,), daemon=True).start()

    def converse(self, connection: socket.socket) -> None:
        with connection, suppress(OSError), connection.makefile("rb") as stream:
            while (heard := read_request(stream)) is not None:
                self.heard.append(heard)
                name = "proxy" if heard.target.startswith("http://") else heard.path.split("/")[1]
                if not BEHAVIOURS[name](self, heard, connection):
                    return

    def times(self, heard: Heard) -> int:
        """How often this path has been asked for, this time included."""
        return sum(each.path == heard.path for each in self.heard)


def read_request(stream) -> Heard | None:
    first = stream.readline().decode().split()
    if len(first) != 3:
        return None
    headers = {}
    while line := stream.readline().strip().decode("latin-1"):
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return Heard(first[0], first[1], headers, stream.read(int(headers.get("content-length", 0))))


@contextmanager
def hostile_peer(**options: str) -> Iterator[Peer]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        peer = Peer(**options)
        peer.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        Thread(target=peer.serve, args=(listener,), daemon=True).start()
        yield peer
        listener.shutdown(socket.SHUT_RDWR)


Behaviour = Callable[[Peer, Heard, socket.socket], bool]  # gives whether the connection stays open


def says(answer: bytes, *, stays: bool = True) -> Behaviour:
    def behave(_: Peer, __: Heard, connection: socket.socket) -> bool:
        connection.sendall(answer)
        return stays

    return behave


def drips(before: bytes) -> Behaviour:
    """Sends the beginning at once and then a byte at a time, until the client has had enough."""

    def behave(_: Peer, __: Heard, connection: socket.socket) -> bool:
        connection.sendall(before)
        while not hung_up(connection, DRIP):
            connection.sendall(b"a")
        return False

    return behave


def endless(before: bytes, piece: bytes) -> Behaviour:
    def behave(_: Peer, __: Heard, connection: socket.socket) -> bool:
        connection.sendall(before)
        while not hung_up(connection, 0):
            connection.sendall(piece)
        return False

    return behave


def at_first(times: int, answer: bytes, *, stays: bool = True) -> Behaviour:
    """So many times this answer, and then a good one."""

    def behave(peer: Peer, heard: Heard, connection: socket.socket) -> bool:
        early = peer.times(heard) <= times
        connection.sendall(answer if early else response())
        return stays or not early

    return behave


def redirects(status: str, where: Callable[[Peer, Heard], str]) -> Behaviour:
    def behave(peer: Peer, heard: Heard, connection: socket.socket) -> bool:
        connection.sendall(response(b"", status, Location=where(peer, heard)))
        return True

    return behave


def quotes(_: Peer, heard: Heard, connection: socket.socket) -> bool:
    """Repeats all that it was told, in a header and in its answer."""
    told = f"{heard.target} {heard.headers} {heard.body.decode()}".encode()
    echoed = heard.headers.get("authorization", "nothing")
    connection.sendall(response(told, "400 Bad Request", X_Echo=echoed, Set_Cookie=f"key={echoed}"))
    return True


def proxies(_: Peer, heard: Heard, connection: socket.socket) -> bool:
    """Passes a request on, as it came but for its target, to port 1 of the number in its host name, ``to-8080.invalid``."""
    target = urlsplit(heard.target)
    port = int((target.hostname or "").removeprefix("to-").removesuffix(".invalid"))
    with socket.create_connection(("127.0.0.1", port)) as onward:
        headers = "".join(f"{name}: {value}\r\n" for name, value in heard.headers.items())
        onward.sendall(f"{heard.method} {target.path}?{target.query} HTTP/1.1\r\n{headers}\r\n".encode() + heard.body)
        onward.settimeout(5)
        connection.sendall(onward.recv(1 << 16))
    return True


def busy_then_deaf(peer: Peer, heard: Heard, connection: socket.socket) -> bool:
    behave = at_first(1, response(b"quota for today used up", BUSY, Retry_After="0")) if peer.times(heard) == 1 else drips(b"")
    return behave(peer, heard, connection)


BOMB = gzip.compress(b'{"hits": ["' + b"0" * (64 << 20) + b'"]}')
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
BUSY = "429 Too Many Requests"
PAGE = b"<!DOCTYPE html><html><body>Please log in</body></html>"

BEHAVIOURS: dict[str, Behaviour] = {
    "good": says(response()),
    "empty-list": says(response(b'{"hits": []}')),
    "lines": says(response(b"red.txt\nblue.txt\n", Content_Type="text/plain")),
    "latin": says(response("stra\xdfe.txt\n".encode("latin-1"), Content_Type="text/plain; charset=latin-1")),
    "not-text": says(response(b"\xff\xfe\x00.txt\n", Content_Type="text/plain")),
    "mislabelled": says(response(Content_Type="text/html")),
    "slow-headers": drips(b"HTTP/1.1 200 OK\r\nX-Slow: "),
    "slow-body": drips(b'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{"hits": ["'),
    "deaf": drips(b""),
    "endless": endless(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", PIECE),
    "endless-chunks": endless(CHUNKED, b"10000\r\n" + PIECE + b"\r\n"),
    "endless-headers": endless(b"HTTP/1.1 200 OK\r\n", b"X-More: " + b"x" * 4096 + b"\r\n"),
    "endless-error": endless(b"HTTP/1.1 500 Oh\r\n\r\n", PIECE),
    "page": says(response(PAGE, Content_Type="text/html; charset=utf-8")),
    "page-as-text": says(response(b"\n<HTML><body>\nPlease log in\n</body></HTML>\n", Content_Type="text/plain")),
    "part": says(response(status="206 Partial Content", Content_Range="bytes 0-40/4000")),
    "promise": says(response(status="202 Accepted")),
    "created": says(response(status="201 Created")),
    "invalid": says(response(b'{"hits": [')),
    "deep": says(response(b"[" * 100_000)),
    "nothing": says(response(b"")),
    "204": says(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "other-shape": says(response(b'{"error": "no such index"}')),
    "bomb": says(response(BOMB, Content_Encoding="gzip")),
    "bomb-in-bomb": says(response(gzip.compress(BOMB), Content_Encoding="gzip, gzip")),
    "brotli": says(response(b"abc", Content_Encoding="br")),
    "dropped": says(b"", stays=False),
    "cut": says(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"hits"', stays=False),
    "too-long": says(response() + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"),
    "garbage": says(b"\x16\x03\x01 what?\r\n\r\n", stays=False),
    "bad-chunks": says(CHUNKED + b"zz\r\nwhat\r\n", stays=False),
    "two-lengths": says(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n[]", stays=False),
    "closes": says(response(), stays=False),
    "storm": says(response(b'{"error": "slow down"}', BUSY)),
    "storm-later": says(response(b"slow down", BUSY, Retry_After="0")),
    "storm-much-later": says(response(b"slow down", BUSY, Retry_After="86400")),
    "used-up": says(response(b"quota for today used up", BUSY, Retry_After="60")),
    "busy-then-deaf": busy_then_deaf,
    "busy-twice": at_first(2, response(b"slow down", BUSY, Retry_After="0.02")),
    "down-once": at_first(1, response(PAGE, "503 Service Unavailable", Content_Type="text/html")),
    "lost-once": at_first(1, b"", stays=False),
    "refuses": says(response(b'{"error": {"reason": "unknown field [titel]"}}', "400 Bad Request")),
    "quotes": quotes,
    "away": redirects("302 Found", lambda peer, _: f"{peer.other}/good/stolen?key=told"),
    "downgraded": redirects("307 Temporary Redirect", lambda peer, _: peer.url.replace("http://127.0.0.1", "http://localhost") + "/good"),
    "within": redirects("308 Permanent Redirect", lambda _, heard: heard.target.replace("/within", "/good", 1)),
    "moved": redirects("301 Moved Permanently", lambda _, heard: heard.target.replace("/moved", "/good", 1)),
    "see": redirects("303 See Other", lambda _, __: "/good/seen"),
    "circle": redirects("302 Found", lambda _, heard: heard.target),
    "proxy": proxies,
}  # fmt: skip
