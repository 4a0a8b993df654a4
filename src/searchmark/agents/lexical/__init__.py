"""Search by words: tokens, postings, and the agents bm25, fts5 and keyword."""
