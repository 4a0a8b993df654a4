"""The files of a directory as documents: the id is the path below it, whatever bytes that is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from searchmark.corpora.document_source import DocumentSource
from searchmark.errors import FormatError
from searchmark.files.walking import walk
from searchmark.options.experiment_options import OUR_FOLDER
from searchmark.records import Document

SKIPPED_FOLDERS = {".git", OUR_FOLDER}
LOOKED_AT = 8192


@dataclass(frozen=True)
class DirectorySource(DocumentSource):
    """The files below a folder, which is named in messages as it was given."""

    path: Path

    def __reduce__(self) -> tuple[type[DirectorySource], tuple[Path]]:
        return DirectorySource, (self.path.absolute(),)  # another process may have another working directory

    def stream(self) -> Iterator[Document | None]:
        return stream_directory(self.path)

    def names(self) -> Iterator[str]:
        return (path.relative_to(self.path).as_posix() for path in files_below(self.path))

    def folder(self) -> Path:
        return self.path.resolve()


def stream_directory(folder: Path) -> Iterator[Document | None]:
    """Text files in path order; None for a binary file, a link or a file that cannot be read."""
    for path in files_below(folder):  # links to folders included, which are skipped like links to files
        text = _text(path)
        yield None if text is None else Document(path.relative_to(folder).as_posix(), text)


def files_below(folder: Path) -> Iterator[Path]:
    """Everything that is no folder, and links to folders; nothing of Git's or ours."""

    def refuse(error: OSError) -> None:
        raise FormatError(folder, None, f"cannot be read: {error.strerror}") from error

    for parent, folders, names in walk(folder, onerror=refuse):
        links = [name for name in folders if Path(parent, name).is_symlink()]
        folders[:] = sorted(set(folders) - SKIPPED_FOLDERS - set(links))
        yield from (Path(parent, name) for name in sorted([*names, *links]))


def _text(path: Path) -> str | None:
    """The text of a file; None if it has none or cannot be read."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return decoded(content)


def decoded(content: bytes) -> str | None:
    """Content as text, undecodable bytes replaced; None for anything binary."""
    return None if b"\0" in content[:LOOKED_AT] else content.decode("utf-8", "replace")
