"""Agents that ask an existing search: a program, an HTTP service, or an MCP server."""
