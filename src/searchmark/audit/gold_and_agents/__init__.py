"""Gold against the agents."""
