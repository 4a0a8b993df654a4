"""A server on the official SDK that tests start: ``mcp_server.py MODE [FOLDER [PORT]]``. Its tools answer in all the shapes there are.

MODE: ``stdio``, ``one`` (the same with a single tool), or ``http``, which prints its port.
"""

import json
import socket
import sys
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp_types import (
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

MODE = sys.argv[1]
FOLDER = Path(sys.argv[2] if len(sys.argv) > 2 else ".")
PORT = int(sys.argv[3]) if len(sys.argv) > 3 else 0
server = MCPServer("files", version="1.2", log_level="ERROR")


def found(query: str, folder: Path = FOLDER) -> list[str]:
    """The files that hold a word of the query, those with most of them first."""
    words = query.lower().split()
    texts = {file.relative_to(folder).as_posix(): file.read_text().lower() for file in folder.rglob("*.*") if file.is_file()}
    counts = {name: sum(word in text for word in words) for name, text in texts.items()}
    return sorted((name for name in counts if counts[name]), key=lambda name: (-counts[name], name))


@server.tool()
def search(query: str, limit: int = 10) -> list[dict[str, Any]]:
    """Find files that hold words.

    More than one line is said here."""
    return [{"path": name, "score": 1.0 / (rank + 1)} for rank, name in enumerate(found(query)[:limit])]


if MODE != "one":

    def answer(*texts: str, **rest: Any) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text=text) for text in texts], **rest)

    @server.tool()
    def in_folder(query: str, folder: str) -> list[str]:
        """Files below a folder."""
        return found(query, Path(folder))

    @server.tool()
    def nested(query: str) -> dict[str, Any]:
        return {"hits": [{"doc": {"file": name}} for name in found(query)], "usage": {"tokens": 321}}

    @server.tool()
    def echo(query: str) -> list[str]:
        return [query]

    @server.tool()
    def text_limit(query: str, limit: str) -> list[str]:
        """Wants a number as text."""
        return [limit]

    @server.tool()
    def lines(query: str) -> CallToolResult:
        return answer("\n".join(found(query)) or "No matches found")

    @server.tool()
    def ranges(query: str) -> CallToolResult:
        named = [f"## {name}:{rank + 1}-{rank + 3} (file)\nsome code" for rank, name in enumerate(found(query))]
        return answer("Results:\n" + "\n".join(named))

    @server.tool()
    def json_text(query: str) -> CallToolResult:
        return answer(json.dumps({"results": [{"file_path": name, "score": 2} for name in found(query)]}))

    @server.tool()
    def json_blocks(query: str) -> CallToolResult:
        return answer(*[json.dumps({"path": name}) for name in found(query)])

    @server.tool()
    def blocks(query: str) -> CallToolResult:
        return answer(*found(query))

    @server.tool()
    def links(query: str) -> CallToolResult:
        shown = [ResourceLink(type="resource_link", name=name, uri=(FOLDER / name).absolute().as_uri()) for name in found(query)]
        return CallToolResult(content=[TextContent(type="text", text="Found these:"), *shown])

    @server.tool()
    def embedded(query: str) -> CallToolResult:
        texts = [TextResourceContents(uri=f"repo://{name}", text=(FOLDER / name).read_text()) for name in found(query)]
        return CallToolResult(content=[EmbeddedResource(type="resource", resource=text) for text in texts])

    @server.tool()
    def picture(query: str) -> CallToolResult:
        return CallToolResult(content=[ImageContent(type="image", data="AAAA", mime_type="image/png")])

    @server.tool()
    def stated(query: str) -> CallToolResult:
        return answer("\n".join(found(query)), _meta={"usage": {"output_tokens": 77}})

    @server.tool()
    def fails(query: str) -> CallToolResult:
        return answer(f"the index for {query!r} is locked", is_error=True)

    @server.tool()
    def raises(query: str) -> str:
        raise ValueError("the index is broken")

    @server.tool(description="\x1b[31mred\x1b[0m\x07 words")
    def coloured(query: str) -> list[str]:
        return []


def serve_http() -> None:
    import uvicorn

    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", PORT))
        listening.listen()
        sys.stdout.write(f"{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        app = server.streamable_http_app()
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])


if MODE == "http":
    serve_http()
else:
    server.run()
