"""Somebody else's search system, measured safely: order, isolation, deadlines, journal.

Only `searchmark.running.runner` is meant for the rest of the program. The worker imports this package too, at
every start, so nothing is imported here.

Private: what is meant for others is a name of `searchmark`.
"""
