"""What people and machines get to read: one report, several renderers.

Internal: the names for others are those of `searchmark`.
"""
