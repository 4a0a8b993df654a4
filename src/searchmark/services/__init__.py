"""Services over HTTP: one client for all that ask a service, and what they share.

Private: what is meant for others is a name of `searchmark`.
"""
