"""A web server on the loopback address that serves what a test gives it, and remembers what it was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class FileServer:
    """What is served, by path; a text is where the path redirects to."""

    address: str
    files: Mapping[str, bytes | str]
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)


@contextmanager
def serving(files: Mapping[str, bytes | str]) -> Iterator[FileServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append((self.path, dict(self.headers)))
            found = files.get(self.path)
            self.send_response(404 if found is None else 302 if isinstance(found, str) else 200)
            if isinstance(found, str):
                self.send_header("Location", found)
            content = found if isinstance(found, bytes) else b""
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing: a test looks at what was asked."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served = FileServer(f"http://127.0.0.1:{server.server_port}", files)
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield served
        finally:
            server.shutdown()
