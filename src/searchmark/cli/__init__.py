"""The command line: one module per verb, loaded when it is called.

Internal: the names for others are those of `searchmark`.
"""

from __future__ import annotations

COMPLETION = "_SEARCHMARK_COMPLETE"  # set by a shell that completes a command; click makes the name from that of the program
