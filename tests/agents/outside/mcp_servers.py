"""The servers of these tests: one for all shapes of answers, and one that misbehaves, started by those who need it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from searchmark.agents.outside.mcp import McpAgent
from searchmark.agents.outside.options import McpSettings

FOLDER = Path(__file__).parent
SERVER, MISBEHAVING = str(FOLDER / "mcp_server.py"), str(FOLDER / "mcp_misbehaving.py")


def stdio_agent(mode: str, folder: Path, **options: Any) -> McpAgent:
    return McpAgent(McpSettings(argv=(sys.executable, SERVER, mode, str(folder)), **options))


def misbehaving_agent(mode: str = "", **options: Any) -> McpAgent:
    return McpAgent(McpSettings(argv=(sys.executable, MISBEHAVING, mode), **options))
