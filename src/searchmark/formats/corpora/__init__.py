"""Corpora: documents from files, folders, commits and addresses."""
