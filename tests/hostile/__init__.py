"""Attacks, run by make test-hostile."""
