"""The first files of a project."""
