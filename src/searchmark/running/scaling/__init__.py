"""A run on more than one process or machine: blocks of cases go out, answers come home, and nothing depends on the order.

Private: what is meant for others is a name of `searchmark`.
"""
