"""The first files of a project: what it has is looked at, and a config, a suite and a CI workflow are written for it.

Private: what is meant for others is a name of `searchmark`.
"""
