"""A server that repeats all that it was told, in whatever it answers: ``python -m tests.support.echo`` says its port.

The query decides how: as hits, as an error, as a page, as broken JSON, in headers, or as another address.
"""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlsplit


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.echo("")

    def do_POST(self) -> None:
        self.echo(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())

    def echo(self, body: str) -> None:
        told = [self.path, unquote_plus(self.path), body, *self.headers.values(), *self.values(body), *self.unpacked()]
        query = parse_qs(urlsplit(self.path).query).get("q", [""])[0]
        match query:
            case "hits":
                hits = [{"id": text, "score": 1.0} for text in told]
                self.answer(200, json.dumps({"hits": hits, "cost": 1.0, "told": told}))
            case "refused":
                self.answer(401, json.dumps({"error": "; ".join(told)}))
            case "page":
                self.answer(200, f"<h1>{' '.join(told)}</h1>", "text/html")
            case "broken":
                self.answer(200, "{" + " ".join(told))
            case "headers":
                self.answer(200, "[", f"application/json; told={told[1].encode('ascii', 'replace').decode()}", self.path)
            case _:
                self.answer(307, "", location=f"http://127.0.0.1:1{self.path}")

    def values(self, body: str) -> list[str]:
        try:
            return [str(each) for each in json.loads(body).values()]
        except ValueError:
            return []

    def unpacked(self) -> list[str]:
        kind, _, coded = self.headers.get("Authorization", "").partition(" ")
        return [b64decode(coded).decode()] if kind == "Basic" else []

    def answer(self, status: int, text: str, kind: str = "application/json", location: str | None = None) -> None:
        data = text.encode()
        self.send_response(status, text[:80].replace("\n", " ").encode("ascii", "replace").decode() or None)
        for name, value in {"Content-Length": str(len(data)), "Content-Type": kind, "Location": location}.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        sys.stdout.write(f"{server.server_port}\n")
        sys.stdout.flush()
        server.serve_forever()
