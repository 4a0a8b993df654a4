"""Is the gold, the gate, the number trustworthy? Everything that makes findings.

Private: what is meant for others is the verb ``searchmark audit``, and the findings of every report.
"""
