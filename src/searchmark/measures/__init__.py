"""What a number means: formulas, the catalogue of measures, and the grammar of their names.

Internal: the names for others are those of `searchmark`.
"""
