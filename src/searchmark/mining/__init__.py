"""Suites from Git history: which commits make cases, what they ask, and what can be found."""
