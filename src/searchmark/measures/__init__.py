"""What a number means: formulas, the catalogue of measures, and the grammar of their names.

Private: what is meant for others is a name of `searchmark`.
"""
