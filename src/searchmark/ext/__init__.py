"""Optional features, each loaded by name when it is used. Nothing in the rest of the program imports this package.

Internal: the names for others are those of `searchmark`.
"""
