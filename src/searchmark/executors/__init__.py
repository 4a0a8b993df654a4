"""Work that runs elsewhere: picklable functions on picklable tasks, in processes of this machine or of a cluster.

Private: what is meant for others is a name of `searchmark`.
"""
