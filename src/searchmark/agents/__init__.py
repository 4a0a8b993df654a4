"""Agents: the search systems under test.

Here are the protocol, the registry that makes agents from names, and the agents that come with Searchmark.
"""
