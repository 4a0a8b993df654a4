"""Published numbers: what no data could have given."""
