"""Folders that hold a collection as others hand it out, and not one document per file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from searchmark.corpora.folder_files import SKIPPED_FOLDERS, TOOLS
from searchmark.corpora.trec_docs import begins_a_document
from searchmark.files.walking import walk

BEIR = ("corpus.jsonl", "corpus.jsonl.gz", "corpus.jsonl.zst", "corpus.jsonl.zip", "corpus.parquet")
LOOKED_AT = 20  # files, of which most must be of a kind
_BESIDE = ("read", "licen", "notice")  # what lies beside a collection


def documents_in(folder: Path) -> Path | None:
    """The file or folder with the documents of a collection; None for a folder whose files are documents themselves."""
    named = next((folder / name for name in BEIR if (folder / name).is_file()), None)
    if named is not None:
        return named
    for each in (folder / "corpus", folder):
        if each.is_dir() and any(each.glob("*.parquet")) and not _others(each, ".parquet"):
            return each
    return folder if _is_trec(folder) else None


def collection_files(folder: Path) -> list[Path]:
    """The files of a collection in a folder: its Parquet files, or those with TREC documents, in path order."""
    tables = sorted(folder.glob("*.parquet"))
    return tables or sorted(path for path in _files(folder) if begins_a_document(path))


def _others(folder: Path, suffix: str) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file() and path.suffix.lower() != suffix and not _is_beside(path)]


def _is_trec(folder: Path) -> bool:
    """Whether most of the first files begin as a TREC document."""
    first = list(islice((path for path in _files(folder) if not _is_beside(path)), LOOKED_AT))
    return sum(map(begins_a_document, first)) * 2 > len(first)


def _is_beside(path: Path) -> bool:
    return path.name.startswith(".") or path.name.lower().startswith(_BESIDE)


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder, one folder after the other: often only the first of a hundred thousand are wanted."""
    for parent, folders, names in walk(folder):
        folders[:] = sorted(set(folders) - SKIPPED_FOLDERS - TOOLS)
        paths = (Path(parent, name) for name in sorted(names))
        yield from (path for path in paths if path.is_file() and not path.is_symlink())
