"""People who shop here."""
