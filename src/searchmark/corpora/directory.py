"""The files of a directory as documents: the id is the path below it, whatever bytes that is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from searchmark.corpora.document_source import DocumentSource
from searchmark.corpora.folder_files import FolderFiles
from searchmark.records import Document

LOOKED_AT = 8192


@dataclass(frozen=True)
class DirectorySource(DocumentSource):
    """The files below a folder, which is named in messages as it was given."""

    path: Path
    files: FolderFiles = FolderFiles()  # noqa: RUF009  # frozen

    def __reduce__(self) -> tuple[type[DirectorySource], tuple[Path, FolderFiles]]:
        return DirectorySource, (self.path.absolute(), self.files)  # another process may have another working directory

    def stream(self) -> Iterator[Document | None]:
        """Text files in path order; None for a binary file, a link or a file that cannot be read."""
        for file, path in self.files.below(self.path):  # links to folders included, which are skipped like links to files
            text = _text(file)
            yield None if text is None else Document(path, text)

    def names(self) -> Iterator[str]:
        return (path for _, path in self.files.below(self.path))

    def folder(self) -> Path:
        return self.path.resolve()

    @property
    def chosen_files(self) -> FolderFiles:
        return self.files


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
