"""The machinery of lexical agents: words, counts, postings."""
