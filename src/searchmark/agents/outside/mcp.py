"""To be written."""

from __future__ import annotations

from searchmark.agents.agent import RetrievalAgent
from searchmark.agents.outside.options import McpConfig


class McpAgent(RetrievalAgent):
    """To be written."""

    Config = McpConfig
