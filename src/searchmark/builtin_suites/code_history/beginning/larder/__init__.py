"""The back end of a grocery shop."""

__version__ = "0.1.0"
