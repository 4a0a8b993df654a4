"""What the numbers can be."""
