"""What keeps an agent from everything that it does not need: its environment, its view of the files, and who enforces that.

Private: what is meant for others is a name of `searchmark`.
"""
