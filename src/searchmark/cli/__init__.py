"""The command line: one short module per verb, loaded when it is called.

Private: what is meant for others is a name of `searchmark`.
"""

COMPLETION = "_SEARCHMARK_COMPLETE"  # set by a shell that completes a command; click makes the name from that of the program
