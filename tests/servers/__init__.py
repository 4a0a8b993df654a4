"""Real search servers and retrievers, in their own processes."""
