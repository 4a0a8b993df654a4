"""The library calls behind the verbs.

Internal: the names for others are those of `searchmark`.
"""
