"""For every code a mutation of the clean suite that makes it fire. One module per theme."""
