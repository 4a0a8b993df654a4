"""The archive: every report that is worth remembering, with its raw runs, in a folder of its own.

Private: what is meant for others is a name of `searchmark`.
"""
