"""Variants of queries as people type them, and cases in which words point to the wrong document.

Private: what is meant for others is the verb ``searchmark perturb``.
"""
