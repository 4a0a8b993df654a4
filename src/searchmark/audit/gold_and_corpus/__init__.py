"""Gold against its corpus."""
