"""Letters to customers."""
