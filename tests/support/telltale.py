"""A program that tells its environment wherever it can: as a command, or as an MCP server (``--serve``)."""

from __future__ import annotations

import os
import sys


def told() -> list[str]:
    return [value for name, value in os.environ.items() if name.startswith("PLANTED_")]


def serve() -> None:
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("telltale")
    sys.stderr.write(f"starting with {told()}\n")

    @server.tool()
    def search(query: str) -> list[str]:
        """Find it."""
        if query == "hits":
            return told()
        raise ValueError(f"cannot search: {told()}")

    server.run()


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve()
    else:
        sys.stderr.write(f"trouble: {told()}\n")
        sys.stdout.write("\n".join(told()))
        sys.exit(0 if sys.argv[1] == "hits" else 3)
