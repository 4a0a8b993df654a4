"""What a run must meet: rules become a verdict.

Internal: the names for others are those of `searchmark`.
"""
