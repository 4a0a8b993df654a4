"""From judged hits to verdicts: scores, intervals, paired statistics, comparisons, decisions and gates.

Private: what is meant for others is a name of `searchmark`.
"""
