"""Files, HTTP, secrets and network permission. Below everything but the errors.

Internal: the names for others are those of `searchmark`.
"""
