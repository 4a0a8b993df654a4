"""What can be set: one record per section of the config file, from which the command line and the environment follow.

Private: what is meant for others is a name of `searchmark`.
"""
