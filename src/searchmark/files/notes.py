"""What users should know about a file that was read all the same: said once, by whoever talks to the user."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


def _logged(sentence: str) -> None:
    """As a library says things: on stderr, unless the program that uses it wants them elsewhere."""
    import logging

    logging.getLogger("searchmark").warning("%s", sentence)


_say: Callable[[str], None] = _logged
_said: set[str] = set()


def note(sentence: str) -> None:
    """Say something about a file; a file is opened several times, and it is said the first time."""
    if sentence not in _said:
        _said.add(sentence)
        _say(sentence)


@contextmanager
def notes_told_by(say: Callable[[str], None]) -> Iterator[None]:
    """Have notes said by another; each is news to it."""
    global _say, _said  # files are read by threads too, and these talk to the same user
    before = _say, _said
    _say, _said = say, set()
    try:
        yield
    finally:
        _say, _said = before
