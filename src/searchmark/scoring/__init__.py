"""From a suite and runs to numbers and verdicts: matching, scores, statistics, comparisons, decisions.

Internal: the names for others are those of `searchmark`.
"""
