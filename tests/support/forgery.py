"""Damage and forgery of Git repositories, by hand: git's own tools refuse to make them."""

from __future__ import annotations

import hashlib
from pathlib import Path

_HASH = 20


def flip(file: Path, position: int, mask: int = 1) -> None:
    """Change bits of one byte of a file that may be write-protected."""
    content = bytearray(file.read_bytes())
    content[position] ^= mask
    overwrite(file, content)


def overwrite(file: Path, content: bytes | bytearray) -> None:
    file.chmod(0o644)
    file.write_bytes(content)


def forge_graph(file: Path) -> None:
    """Rotate the root trees of all commits of a commit-graph by one, and renew its checksum."""
    content = bytearray(file.read_bytes())
    chunks = {bytes(content[at : at + 4]): int.from_bytes(content[at + 4 : at + 12]) for at in range(8, 8 + 12 * content[6], 12)}
    count = int.from_bytes(content[chunks[b"OIDF"] + 255 * 4 : chunks[b"OIDF"] + 256 * 4])
    rows = [chunks[b"CDAT"] + number * (_HASH + 16) for number in range(count)]
    trees = [bytes(content[row : row + _HASH]) for row in rows]
    for row, tree in zip(rows, trees[1:] + trees[:1], strict=True):
        content[row : row + _HASH] = tree
    content[-_HASH:] = hashlib.sha1(content[:-_HASH], usedforsecurity=False).digest()
    overwrite(file, content)
