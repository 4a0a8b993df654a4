"""Tables with vectors that are already there, in PostgreSQL and in SQLite; they are read and never written.

Private: what is meant for others is a name of `searchmark`.
"""
