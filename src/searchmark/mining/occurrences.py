"""Which identifiers occur in which contents, for the thousands of versions that the files of a history have.

One version of a file differs from the next in a few lines, so most of it is never looked at twice.
"""

from __future__ import annotations

from collections.abc import Iterable

from searchmark.history.repository import Repository, TreeEntry

NONE: frozenset[bytes] = frozenset()
_NO_NAME = bytes(code if bytes([code]).isalnum() or code == ord("_") else ord(" ") for code in range(256))
_LETTERS = frozenset(bytes([code]) for code in range(256) if _NO_NAME[code] != ord(" "))
_LARGEST = 1_000_000  # bytes of a file that is searched for identifiers
_KEPT = 32_000_000  # bytes of contents that later versions are compared with
_REMEMBERED = 10_000  # contents whose identifiers are known, some kilobytes each


def identifiers_in(content: bytes, wanted: frozenset[bytes]) -> frozenset[bytes]:
    """Those of the wanted identifiers that occur in this content as whole words."""
    return wanted.intersection(content[:_LARGEST].translate(_NO_NAME).split()) if wanted else NONE


def few_identifiers_in(content: bytes, wanted: frozenset[bytes]) -> frozenset[bytes]:
    """The same for a handful of identifiers, each of which is looked for: that is faster than to read the whole content."""
    return frozenset(name for name in wanted if _has_word(content[:_LARGEST], name))


class Occurrences:
    """The wanted identifiers in contents, by the name of the content."""

    def __init__(self, repository: Repository, wanted: frozenset[bytes]) -> None:
        self._repository = repository
        self._wanted = wanted
        self._known: dict[str, frozenset[bytes]] = {}
        self._versions = _LastVersions(wanted)

    def read(self, entries: Iterable[TreeEntry]) -> None:
        """Read all contents that are not known, in the order of their paths' history; they are asked for next."""
        if not self._wanted:
            return
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        unknown = {entry.blob: entry.path for entry in entries if entry.blob not in self._known}
        for (blob, path), content in zip(unknown.items(), self._repository.contents(unknown), strict=True):
            if content is None:  # a count without it would be lower, and nothing would say so
                raise self._repository.lacks("content", blob)
            self._known[blob] = self._versions.identifiers_in(path, content[:_LARGEST])

    def of(self, blob: str) -> frozenset[bytes]:
        return self._known[blob] if self._wanted else NONE


class _LastVersions:
    """The last contents of paths, as many as memory can bear, so that the next one is read only where it differs."""

    def __init__(self, wanted: frozenset[bytes]) -> None:
        self._wanted = wanted
        self._last: dict[bytes, tuple[bytes, frozenset[bytes]]] = {}  # the one that was not seen for longest first
        self._size = 0

    def identifiers_in(self, path: bytes, content: bytes) -> frozenset[bytes]:
        before = self._last.pop(path, None)
        if before is None:
            found = identifiers_in(content, self._wanted)
        else:
            self._size -= len(before[0])
            found = self._compared(*before, content)
        self._last[path] = (content, found)
        self._size += len(content)
        while self._size > _KEPT:
            self._size -= len(self._last.pop(next(iter(self._last)))[0])
        return found

    def _compared(self, before: bytes, known: frozenset[bytes], after: bytes) -> frozenset[bytes]:
        """What is found in the later of two versions, if it is known what is in the earlier one."""
        old, new = (set(lines.split(b"\n")) for lines in differing_lines(before, after))
        gone = identifiers_in(b"\n".join(old - new), known)
        come = identifiers_in(b"\n".join(new - old), self._wanted)
        lost = {name for name in gone - come if not _has_word(after, name)}
        return known if not lost and come <= known else (known - lost) | come


def _has_word(content: bytes, name: bytes) -> bool:
    """Whether a name occurs in a content as a whole word."""
    start = content.find(name)
    while start >= 0:
        end = start + len(name)
        if content[max(start - 1, 0) : start] not in _LETTERS and content[end : end + 1] not in _LETTERS:
            return True
        start = content.find(name, start + 1)
    return False


def differing_lines(one: bytes, other: bytes) -> tuple[bytes, bytes]:
    """What is between the first and the last line in which two contents differ, in either of them."""
    same = _common_start(one, other)
    start = one.rfind(b"\n", 0, same) + 1
    behind = _common_end(one, other, min(len(one), len(other)) - same)
    end = one.find(b"\n", len(one) - behind)
    end = len(one) if end < 0 else end
    return one[start:end], other[start : len(other) - len(one) + end]


def _common_start(one: bytes, other: bytes) -> int:
    """How many bytes are the same from the start, by halving: slices are compared at the speed of memory."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(one: bytes, other: bytes, most: int) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low
