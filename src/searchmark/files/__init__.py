"""Files as such: written whole or not at all, read strictly; YAML, TREC text, SQLite, private folders."""
