"""One short module per verb."""
