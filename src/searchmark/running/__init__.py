"""Running agents over a suite, safely and measurably: order, isolation, deadlines, journal.

Workers import this package at every start, so it imports nothing.

Internal: the names for others are those of `searchmark`.
"""
