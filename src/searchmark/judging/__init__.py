"""The only room that knows how a hit meets a judgment.

Private: what is meant for others is a name of `searchmark`.
"""
