"""The command line: one short module per verb, loaded when it is called.

Private: what is meant for others is a name of `searchmark`.
"""
