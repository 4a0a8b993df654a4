"""The history of Searchmark itself up to a fixed commit: `repository` finds a full clone of it."""
