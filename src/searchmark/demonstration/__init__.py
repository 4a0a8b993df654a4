"""What ``searchmark demo`` shows: the main job in a few commands, each as a user types it.

Private: what is meant for others is a name of `searchmark`.
"""
