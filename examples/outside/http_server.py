"""A search service, ``python http_server.py FOLDER``: prints its address and answers ``/search?q=WORDS&n=10`` in the background.

It ends by itself after a minute without a request.
"""
# ruff: noqa: T201  # printing is how it tells its address

from __future__ import annotations

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

from folder_search import FolderSearch

SECONDS = 60


class Handler(BaseHTTPRequestHandler):
    """Answers a search with JSON."""

    search: FolderSearch

    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        found = self.search.find(asked["q"][0], int(asked["n"][0]))
        body = json.dumps({"results": [{"file": file, "count": count} for file, count in found]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: there is no terminal."""


class Server(HTTPServer):
    """Knows when it has waited long enough."""

    timeout = SECONDS
    idle = False

    def handle_timeout(self) -> None:
        self.idle = True


if __name__ == "__main__":
    Handler.search = FolderSearch(sys.argv[1])
    server = Server(("127.0.0.1", 0), Handler)  # any port that is free
    print(f"http://127.0.0.1:{server.server_port}/search", flush=True)
    if os.fork():
        os._exit(0)
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    while not server.idle:
        server.handle_request()
