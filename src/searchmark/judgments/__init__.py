"""Cases and their judgments: look at them, approve, label, review, vary, and choose what to judge next.

Internal: the names for others are those of `searchmark`.
"""
