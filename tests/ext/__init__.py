"""The plug-in as users have it: pytest in a process of its own, on files of their project."""
