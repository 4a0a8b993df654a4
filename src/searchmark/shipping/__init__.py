"""What machines of an executor must have, and how each of them comes by it: repositories, files, code, and our own version.

Private: what is meant for others is a name of `searchmark`.
"""
