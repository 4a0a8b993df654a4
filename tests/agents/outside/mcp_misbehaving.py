"""A server that speaks MCP by hand, and misbehaves: ``mcp_misbehaving.py MODE``, or as the query of a search asks it to.

It is no SDK's, since those keep their servers from most of this; and it starts at once.
"""

import json
import os
import sys
import time
from typing import TextIO

MODE = sys.argv[1]
SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "txet" if MODE == "wrong-schema" else "string"}},
    "required": ["query"],
}
TOOLS = [] if MODE == "no-tools" else [{"name": "search", "inputSchema": SCHEMA}]


def say(text: str, stream: TextIO = sys.stdout) -> None:
    stream.write(f"{text}\n")
    stream.flush()


def searched(query: str) -> object:
    match query.split():
        case ["hang"]:
            say("about to hang", sys.stderr)
            time.sleep(3600)
        case ["die"]:
            say("out of luck", sys.stderr)
            os._exit(7)
        case ["garbage"]:
            say("what is JSON?")
            return None
        case ["babble"]:
            say("searching ...")
        case ["huge"]:
            return [{"type": "text", "text": "x" * 3_000_000}]
        case ["key"]:
            return [{"type": "text", "text": os.environ.get("PLANTED_API_KEY", "withheld")}]
        case ["orphan", pipe]:
            if not os.fork():
                os.open(pipe, os.O_WRONLY)
                time.sleep(3600)
    return [{"type": "text", "text": f"{os.getpid()}\n{query}\n{MODE}"}]


if MODE == "exits":
    sys.exit("no licence found")
if MODE == "babbles":
    say("Welcome!")

for line in sys.stdin:
    request = json.loads(line)
    if MODE == "silent" or "id" not in request:
        continue
    match request["method"]:
        case "initialize":
            version = request["params"]["protocolVersion"]
            info = {"name": "by-hand", "version": "0"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            result = {"tools": TOOLS}
        case "tools/call":
            content = searched(request["params"]["arguments"]["query"])
            if content is None:
                continue
            result = {"content": content}
        case _:
            say(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no such method"}}))
            continue
    say(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}))
