"""A program that tries what it should not reach, and prints a hit for each thing that it did: as a command or an MCP server."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

GOLD, HOME, BESIDE, PORT, READ = sys.argv[1].split(os.pathsep)  # one word, since a file among the words may be read


def reached() -> list[str]:
    found = [name for name, path in (("gold", GOLD), ("home", HOME), ("beside", BESIDE), ("read", READ)) if can_read(path)]
    found += ["network"] if can_connect(int(PORT)) else []
    return [*found, *(name for name in ("PLANTED_API_KEY", "PLANTED_WORD") if name in os.environ)]


def can_read(path: str) -> bool:
    try:
        Path(path).read_bytes()
    except OSError:
        return False
    return True


def can_connect(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


def serve() -> None:
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("spy")

    @server.tool()
    def search(query: str) -> list[str]:
        """What is within reach."""
        return reached() or ["nothing"]

    server.run()


if __name__ == "__main__":
    if sys.argv[2] == "--serve":
        serve()
    else:
        sys.stdout.write("\n".join(reached() or ["nothing"]))
