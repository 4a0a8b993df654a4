"""Optional features that use public names only, as a package of others would. Nothing in the rest of the program imports this.

Internal: the names for others are those of `searchmark`.
"""
