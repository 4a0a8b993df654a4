"""What is searched."""
