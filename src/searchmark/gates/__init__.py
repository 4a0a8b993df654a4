"""Gates: what a build must meet, and the verdict that makes it red.

Private: what is meant for others is a name of `searchmark`.
"""
