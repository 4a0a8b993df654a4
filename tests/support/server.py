"""A small server in a process of its own that speaks as hosted models do: `python -m tests.support.server` says its port.

The first part of a path says how it behaves: `/ok`, `/busy` (refuses every first and second request), `/down` (always
refuses), `/denied`, `/nonsense` (no JSON), `/odd` (JSON of another shape), `/short` (one result too few).
"""

from __future__ import annotations

import json
import sys
import zlib
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

seen: list[dict] = []
count: Counter[str] = Counter()


def vector(text: str) -> list[float]:
    return [float(zlib.crc32(f"{place} {text}".encode()) % 1000) - 500 for place in range(8)]


def overlap(query: str, document: str) -> float:
    return len(set(query.lower().split()) & set(document.lower().split())) / 10


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(200, seen)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        behaviour, kind = self.path.split("/")[1], self.path.rsplit("/", 1)[1]
        seen.append({"path": self.path, "key": self.headers["Authorization"], "body": body})
        count[behaviour] += 1
        if behaviour == "busy" and count["busy"] % 3:
            self.answer(429 if count["busy"] % 3 == 1 else 503, {"error": "busy"}, {"Retry-After": "0"})
        elif behaviour == "down":
            self.answer(503, {"error": "down"}, {"Retry-After": "0"})
        elif behaviour == "denied":
            self.answer(401, {"error": "no such key"})
        elif behaviour == "nonsense":
            self.answer(200, b"<html>")
        elif behaviour == "odd":
            self.answer(200, {"result": 3})
        else:
            self.answer(200, getattr(self, kind)(body, short=behaviour == "short"))

    def embeddings(self, body: dict, short: bool) -> dict:
        rows = [{"index": place, "embedding": vector(text)} for place, text in enumerate(body["input"])]
        return {"data": rows[::-1][short:], "usage": {"total_tokens": sum(len(text.split()) for text in body["input"])}}

    def rerank(self, body: dict, short: bool) -> dict:
        """As Cohere and Jina do: sorted by score."""
        scores = [overlap(body["query"], text) for text in body["documents"]]
        rows = [{"index": place, "relevance_score": score} for place, score in enumerate(scores)]
        return {"results": sorted(rows, key=lambda row: -row["relevance_score"])[short:]}

    def tei(self, body: dict, short: bool) -> list[dict]:
        """As text-embeddings-inference does: a plain list."""
        return [{"index": place, "score": overlap(body["query"], text)} for place, text in enumerate(body["texts"])][short:]

    def answer(self, status: int, content: object, headers: dict[str, str] | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
