"""Gold against itself."""
