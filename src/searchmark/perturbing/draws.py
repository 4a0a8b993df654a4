"""Numbers that look drawn and are the same on every machine: digests of what is being varied, counted on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator


class Draws:
    """A series of numbers of its own for each seed, case and kind, so that no other case or kind changes it."""

    def __init__(self, seed: int, case: str, kind: str) -> None:
        self._key = hashlib.blake2b(json.dumps([seed, kind, case]).encode("ascii"), digest_size=16).digest()
        self._count = 0

    def below(self, bound: int) -> int:
        """The next number from 0 up to ``bound``, without that."""
        drawn = hashlib.blake2b(self._key + self._count.to_bytes(8, "little"), digest_size=8).digest()
        self._count += 1
        return int.from_bytes(drawn, "little") * bound >> 64

    def order(self, count: int) -> Iterator[int]:
        """The numbers from 0 up to ``count``, each once, in a drawn order; what is not asked for is not drawn."""
        moved: dict[int, int] = {}  # Fisher and Yates' shuffle, which keeps only what it has moved
        for place in range(count):
            other = place + self.below(count - place)
            yield moved.get(other, other)
            moved[other] = moved.get(place, place)
