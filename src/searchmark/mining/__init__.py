"""Suites from Git history: which commits make cases, what they ask, and what can be found.

Private: what is meant for others is a name of `searchmark`.
"""
