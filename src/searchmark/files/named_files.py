"""Files whose write errors name them: what else goes wrong while a file is open is not its fault."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_BUFFER = 1 << 18


class NamedFile(io.FileIO):
    """An opened file that turns an error of its own writing into a sentence for the user."""

    def __init__(self, opened: int, sentence: Callable[[OSError], Exception]) -> None:
        super().__init__(opened, "r+b")
        self._sentence = sentence

    def buffered(self) -> io.BufferedRandom:
        return io.BufferedRandom(self, _BUFFER)

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise self._sentence(error) from error
