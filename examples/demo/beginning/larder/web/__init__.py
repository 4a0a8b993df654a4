"""The shop over HTTP."""
