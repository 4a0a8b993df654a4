"""Services over HTTP: one client that all who ask a service stand on, and what they share.

Private: what is meant for others is a name of `searchmark`.
"""
