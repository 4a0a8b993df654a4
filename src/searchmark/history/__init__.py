"""A Git repository over time: its log, its trees, its objects, and files checked out of it.

Private: what is meant for others is a name of `searchmark`.
"""
