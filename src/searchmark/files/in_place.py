"""Files that are changed in place, in the lines that change and no others."""

from __future__ import annotations

from os import PathLike

from searchmark.errors import UsageError
from searchmark.files.packed import packing_of
from searchmark.files.store import read_bytes
from searchmark.files.text_encoding import wide_encoding


def read_to_change(path: str | PathLike[str]) -> bytes:
    """The bytes of a file that is to be changed: what is read otherwise than it is stored would be written otherwise."""
    content = read_bytes(path, stored=True)
    if packing := packing_of(content):
        raise UsageError(f"{path} is packed by {packing}, and cannot be changed in place; unpack it first")
    if encoding := wide_encoding(content):
        raise UsageError(f"{path} is {encoding[:6].upper()}, and cannot be changed in place; convert it to UTF-8 first")
    return content
