"""What tests in Python are given."""
