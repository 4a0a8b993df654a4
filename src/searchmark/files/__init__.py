"""Files as such: written whole or not at all, read strictly; YAML, TREC text, SQLite, private folders.

Private: what is meant for others is a name of `searchmark`.
"""
