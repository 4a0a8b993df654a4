"""A small server in a process of its own that speaks as hosted models do: `python -m tests.support.server` says its port.

The last part of a path says what is asked for: `completions` (OpenAI's chat), `messages` (Anthropic's), `embeddings`, `rerank`
(Cohere), `tei` or `echo` (the request itself). The first part says how the server behaves; see `BEHAVIOURS` and `ANSWERS`.
`/log` tells every request that came.
"""

from __future__ import annotations

import gzip
import json
import select
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

PIECE = b" " * 65536


def requests_to(server: str, path: str) -> list[dict[str, Any]]:
    """What the server was asked below a path."""
    return [request for request in httpx.get(f"{server}/log").json() if request["path"].startswith(path)]


def vector(text: str) -> list[float]:
    return [float(zlib.crc32(f"{place} {text}".encode()) % 1000) - 500 for place in range(8)]


def overlap(query: str, document: str) -> float:
    return len(set(query.lower().split()) & set(document.lower().split())) / 10


def embeddings(body: dict) -> dict:
    rows = [{"index": place, "embedding": vector(text)} for place, text in enumerate(body["input"])]
    return {"data": rows[::-1], "usage": {"total_tokens": sum(len(text.split()) for text in body["input"])}}


def rerank(body: dict) -> dict:
    """As Cohere and Jina do: sorted by score."""
    scores = [overlap(body["query"], text) for text in body["documents"]]
    rows = [{"index": place, "relevance_score": score} for place, score in enumerate(scores)]
    return {"results": sorted(rows, key=lambda row: -row["relevance_score"])}


def tei(body: dict) -> list[dict]:
    """As text-embeddings-inference does: a list and nothing around it."""
    return [{"index": place, "score": overlap(body["query"], text)} for place, text in enumerate(body["texts"])]


def question(body: dict) -> str:
    return f'"Where is this: {body["messages"][-1]["content"].rsplit(chr(10), 1)[-1]}?"\n'


def completions(body: dict) -> dict:
    choice = {"message": {"role": "assistant", "content": question(body), "refusal": None}, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}}


def messages(body: dict) -> dict:
    """As Anthropic does: blocks of several types, and what a service of that kind demands is demanded."""
    if not isinstance(body.get("max_tokens"), int) or any(message["role"] == "system" for message in body["messages"]):
        return {"type": "error", "error": {"type": "invalid_request_error", "message": "max_tokens: Field required"}}
    blocks = [{"type": "thinking", "thinking": "Hm."}, *({"type": "text", "text": half} for half in halves(question(body)))]
    return {"content": blocks, "stop_reason": "end_turn", "usage": {"input_tokens": 90, "output_tokens": 10}}


def halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


KINDS: dict[str, Callable[[dict], Any]] = {
    "embeddings": embeddings, "rerank": rerank, "tei": tei, "completions": completions, "messages": messages,
}  # fmt: skip


def changed(**fields: object) -> Callable[[Any], Any]:
    """An answer with other fields, in the first of its choices or in itself."""

    def change(answer: Any) -> Any:
        (answer["choices"][0] if "choices" in answer else answer).update(fields)
        return answer

    return change


def said(text: str) -> Callable[[Any], Any]:
    """An answer with another text."""
    return changed(message={"content": text}, content=[{"type": "text", "text": text}])


def shortened(answer: Any) -> Any:
    rows = answer if isinstance(answer, list) else answer.get("data") or answer["results"]
    del rows[0]
    return answer


def enormous(answer: Any) -> Any:
    """An answer whose numbers no float can hold."""
    for row in answer if isinstance(answer, list) else answer.get("data") or answer["results"]:
        row.update({name: 10**400 for name in ("score", "relevance_score") if name in row})
        row.update({name: [10**400] * 8 for name in ("embedding",) if name in row})
    return answer


# Answers with status 200 that are not what was asked for.
ANSWERS: dict[str, Callable[[Any], Any]] = {
    "odd": lambda _: {"result": 3},
    "list": lambda _: [1],
    "short": shortened,
    "enormous": enormous,
    "silent": said("  "),
    "endless": said("x " * 2000),
    "cut": changed(finish_reason="length", stop_reason="max_tokens"),
    "refused": changed(finish_reason="content_filter", stop_reason="refusal"),
    "tool": changed(finish_reason="tool_calls", stop_reason="tool_use"),
    "untold": lambda answer: {name: value for name, value in answer.items() if name != "usage"},
    "blockless": lambda answer: {**answer, "content": [], "choices": [{"message": {"content": None}}]},
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: list[dict] = []
    count: Counter[str] = Counter()

    def do_GET(self) -> None:
        if self.path == "/log":
            self.answer(200, self.seen)
        else:
            self.behave(None)

    def do_POST(self) -> None:
        if self.path.startswith("/deaf/"):
            self.deaf()
            return
        self.behave(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def behave(self, body: Any) -> None:
        names = {name.lower(): value for name, value in self.headers.items()}
        self.request_seen = {"method": self.command, "path": self.path, "headers": names, "body": body}
        self.seen.append(self.request_seen)
        self.count[self.path] += 1
        path = urlsplit(self.path).path  # a client that takes us for its proxy names the whole address
        behaviour, kind = path.split("/")[1], path.rsplit("/", 1)[1]
        if behaviour in BEHAVIOURS:
            BEHAVIOURS[behaviour](self)
        else:
            self.answer(200, ANSWERS.get(behaviour, lambda answer: answer)(self.good(kind, body)))

    def good(self, kind: str, body: Any) -> Any:
        return self.request_seen if kind == "echo" else KINDS[kind](body)

    def fails_before(self, *failures: tuple[int, dict[str, str]]) -> None:
        """Refuse with these, one after the other, then answer, then begin again."""
        place = (self.count[self.path] - 1) % (len(failures) + 1)
        if place < len(failures):
            status, headers = failures[place]
            self.answer(status, {"error": "busy"}, headers)
        else:
            self.answer(200, self.good(self.path.rsplit("/", 1)[1], self.request_seen["body"]))

    def answer(self, status: int, content: object, headers: dict[str, str] | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def denied(self) -> None:
        """Quotes what it was given, as some services do."""
        headers = self.request_seen["headers"]
        self.answer(401, {"error": f"no such key: {headers.get('authorization')} {headers.get('x-api-key')} {self.path}"})

    def truncated(self) -> None:
        self.answer(200, b'{"data": [', {"Content-Length": "1000"})
        self.close_connection = True

    def huge(self) -> None:
        """32 MiB of blanks: more than sockets hold, and bounded, so that a client without a limit fails and does not swell."""
        self.pieces(PIECE, 512)

    def slow(self) -> None:
        """No answer at all until the client has gone."""
        self.rfile.read(1)
        self.close_connection = True

    def trickle(self) -> None:
        """An answer that comes piece by piece, each soon after the other, for ten seconds."""
        self.pieces(b" ", 500, pause=0.02)

    def slow_headers(self) -> None:
        """Headers that come byte by byte, each soon after the other, for ten seconds."""
        self.raw(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a", 500, pause=0.02)

    def endless_headers(self) -> None:
        """32 MiB of one header."""
        self.raw(b"HTTP/1.1 200 OK\r\nX-Long: ", PIECE, 512)

    def wait_more(self) -> None:
        """Interim answers, each soon after the other, for ten seconds."""
        self.raw(b"", b"HTTP/1.1 102 Processing\r\n\r\n", 500, pause=0.02)

    def deaf(self) -> None:
        """Takes a byte of the request now and then, for ten seconds."""
        self.close_connection = True
        with suppress(OSError):
            for _ in range(500):
                select.select([], [], [], 0.02)
                self.rfile.read(1)

    def bomb(self) -> None:
        self.answer(200, gzip.compress(PIECE * 100), {"Content-Encoding": "gzip"})

    def nested_bomb(self) -> None:
        """Packed twice, so that each byte may become a million: httpx would unpack both layers before anybody could look."""
        self.answer(200, gzip.compress(gzip.compress(PIECE * 100)), {"Content-Encoding": "gzip, gzip"})

    def packed_nothing(self) -> None:
        """32 MiB of gzip data that unpack to nothing at all."""
        packer = zlib.compressobj(wbits=31)
        head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
        empty = b"\x00\x00\x00\xff\xff" * 13107  # stored blocks of no bytes
        self.raw(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + head, empty, 512)

    def pieces(self, piece: bytes, number: int, pause: float = 0.0) -> None:
        self.raw(b"HTTP/1.1 200 OK\r\n\r\n", piece, number, pause)

    def raw(self, beginning: bytes, piece: bytes, number: int, pause: float = 0.0) -> None:
        self.close_connection = True
        with suppress(OSError):  # the client has gone
            self.wfile.write(beginning)
            for _ in range(number):
                select.select([self.connection], [], [], pause)
                self.wfile.write(piece)
                self.request_seen["pieces"] = self.request_seen.get("pieces", 0) + 1

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


NOW = {"Retry-After": "0"}

# Answers that are none, or that come late.
BEHAVIOURS: dict[str, Callable[[Handler], None]] = {
    "busy": lambda self: self.fails_before((429, NOW), (503, NOW)),
    "later": lambda self: self.fails_before((429, {"Retry-After": "7"}), (529, {"Retry-After": formatdate(time.time() + 100, usegmt=True)}), (500, {})),
    "down": lambda self: self.answer(503, {"error": "down"}, NOW),
    "status": lambda self: self.answer(int(self.path.split("/")[2]), {"error": "as you like"}, NOW),
    "after": lambda self: self.fails_before((429, {"Retry-After": unquote(self.path.split("/")[2])})),
    "denied": Handler.denied,
    "nonsense": lambda self: self.answer(200, b"<html>"),
    "nan": lambda self: self.answer(200, b'{"data": [NaN]}'),
    "twice": lambda self: self.answer(200, b'{"data": 1, "data": 2}'),
    "terminal": lambda self: self.answer(400, b"\x1b[31mred\x1b[0m\n::error::x"),
    "moved": lambda self: self.answer(302, b"", {"Location": "http://me:hidden@127.0.0.1/elsewhere"}),
    "truncated": Handler.truncated,
    "huge": Handler.huge,
    "slow": Handler.slow,
    "trickle": Handler.trickle,
    "slow-headers": Handler.slow_headers,
    "endless-headers": Handler.endless_headers,
    "wait-more": Handler.wait_more,
    "bomb": Handler.bomb,
    "nested-bomb": Handler.nested_bomb,
    "packed-nothing": Handler.packed_nothing,
    "damaged": lambda self: self.answer(200, b"\x1f\x8b no gzip", {"Content-Encoding": "gzip"}),
    "cut-gzip": lambda self: self.answer(200, gzip.compress(b"{}" * 999)[:20], {"Content-Encoding": "gzip"}),
    "far-away": lambda self: self.answer(302, b"", {"Location": "http://h/" + "a" * 90_000}),
}  # fmt: skip


def main() -> None:
    server = ThreadingTCPServer(("127.0.0.1", 0), Handler)  # HTTPServer would ask the network for its own name
    server.daemon_threads = True
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    sys.stdin.read()  # ends with the process that started this one, however that ends


if __name__ == "__main__":
    main()
