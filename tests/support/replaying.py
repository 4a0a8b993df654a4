"""A service on loopback that gives recorded answers, and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True)
class Heard:
    """One request as it arrived."""

    method: str
    path: str
    parameters: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    data: Any
    status: int = 200


@dataclass
class Replay:
    """What was heard, and where it listens."""

    url: str
    heard: list[Heard] = field(default_factory=list)


@contextmanager
def replaying(answer: Callable[[Heard], Reply]) -> Iterator[Replay]:
    """Listens until the end of the block; each request is answered by ``answer``."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            parts = urlsplit(self.path)
            pairs = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            heard = Heard(self.command, unquote(parts.path), pairs, headers, body)
            replay.heard.append(heard)
            self._send(answer(heard))

        do_POST = do_GET  # noqa: N815  # the name that http.server looks for

        def _send(self, reply: Reply) -> None:
            content = json.dumps(reply.data).encode()
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        replay = Replay(f"http://127.0.0.1:{server.server_address[1]}")
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield replay
        finally:
            server.shutdown()
            thread.join()
