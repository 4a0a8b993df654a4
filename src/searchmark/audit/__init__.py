"""Whether gold, gate and numbers can be trusted. Everything that makes findings.

Internal: the names for others are those of `searchmark`.
"""
