"""What lines cost a reader: tokens, by a count that needs no model and no package, and how much of an answer is ever counted.

A line is a quarter as many tokens as it has bytes in UTF-8, its end included, rounded up. Files are cut into lines at line
feeds alone, as Git counts them.
"""

from __future__ import annotations

TOKENIZER = "bytes/4"
BYTES_PER_TOKEN = 4

# The largest budgets that a measure takes. Answers are counted so far and no further, which bounds what a run holds.
MOST_TOKENS, MOST_LINES = 32_000, 3_200


def tokens_of_lines(text: str) -> tuple[int, ...]:
    """The tokens of every line of a text."""
    lines = text.encode("utf-8", "surrogatepass").split(b"\n")
    if not lines[-1]:  # behind the end of the last line is no line
        lines.pop()
    return tuple(len(line) // BYTES_PER_TOKEN + 1 for line in lines)
