"""A small service with OpenAI's chat interface, run as a process of its own: ``python -m tests.support.chat_service LOG``.

It prints its port, writes every request that it gets to LOG, one JSON line each, and behaves as the model's name says.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer


class Handler(BaseHTTPRequestHandler):
    """Answers one request after the other; what it answers depends on the name of the model."""

    seen: dict[str, int] = {}

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with Path(sys.argv[1]).open("a") as log:
            log.write(json.dumps({"path": self.path, "key": self.headers.get("Authorization"), "body": body}) + "\n")
        count = self.seen[body["model"]] = self.seen.get(body["model"], 0) + 1
        asked = body["messages"][-1]["content"].rsplit("\n", 1)[-1]
        answer = {"choices": [{"message": {"content": f'"Where is this: {asked}?"\n'}}], "usage": {"total_tokens": 100}}
        if body["model"] == "flaky" and count < 3:
            self.reply(429 if count == 1 else 503, b"busy", {"Retry-After": "0"})
        elif body["model"] == "refuses":
            self.reply(401, b"no")
        elif body["model"] == "down":
            self.reply(500, b"no")
        elif body["model"] == "garbled":
            self.reply(200, b"<html>")
        elif body["model"] == "silent":
            self.reply(200, json.dumps({"choices": [{"message": {"content": "  "}}]}).encode())
        elif body["model"] == "odd":
            self.reply(200, b"[1]")
        elif body["model"] == "endless":
            self.reply(200, json.dumps({"choices": [{"message": {"content": "x " * 2000}}]}).encode())
        else:
            self.reply(200, json.dumps(answer).encode())

    def reply(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing on stderr: the test reads stdout."""


if __name__ == "__main__":
    server = TCPServer(("127.0.0.1", 0), Handler)  # HTTPServer would ask the network for its own name
    print(server.server_address[1], flush=True)  # noqa: T201  # how the test learns the port
    server.serve_forever()
