"""What a number means: formulas, the catalogue of measures, and the grammar of their names."""
