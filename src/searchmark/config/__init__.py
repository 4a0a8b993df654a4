"""Every setting of Searchmark: options, the sections of the config file, and how that file is found and read.

Internal: the names for others are those of `searchmark`.
"""
