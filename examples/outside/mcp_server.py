"""An MCP server with one tool, ``python mcp_server.py FOLDER``."""

from __future__ import annotations

import sys

from folder_search import FolderSearch
from mcp.server import MCPServer

server = MCPServer("folder-search")
folder = FolderSearch(sys.argv[1])


@server.tool()
def search_files(query: str, limit: int = 10) -> list[str]:
    """The files that fit a query best."""
    return [file for file, _ in folder.find(query, limit)]


if __name__ == "__main__":
    server.run()
