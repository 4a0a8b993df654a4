"""Vectors to neighbours.

Private: what is meant for others is a name of `searchmark`.
"""
