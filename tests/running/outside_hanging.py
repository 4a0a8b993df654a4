"""A program that starts children which outlive it if they can, and searches forever until all is calm: command or MCP server."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path


def hang(query: str) -> list[str]:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    with Path("asked").open("a") as file:
        file.write(f"{query}\n")
    if query == "quick" or Path("calm").exists():
        return ["d1"]
    time.sleep(600)
    return []


def serve() -> None:
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("hanging")

    @server.tool()
    def search(query: str) -> list[str]:
        """Search."""
        return hang(query)

    server.run()


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve()
    else:
        sys.stdout.write("\n".join(hang(sys.argv[1])))
