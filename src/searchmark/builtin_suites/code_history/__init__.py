"""The history of a fictional grocery shop's back end, written as data: `repository` makes a Git repository of it."""
