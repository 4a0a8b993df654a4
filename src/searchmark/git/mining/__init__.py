"""Gold sets from Git history: which commits become cases, what they ask, and what can be found."""
