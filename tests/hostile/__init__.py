"""Input that means harm: files, pipes and texts that nobody would write on purpose."""
