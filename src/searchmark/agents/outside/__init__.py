"""Searches that are already there: programs, services over HTTP and MCP servers, asked as they are."""
