"""Folders that hold a collection as others hand it out, and not one document per file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from searchmark.corpora.tool_folders import TOOLS
from searchmark.corpora.trec_docs import names_a_document
from searchmark.files.walking import walk

BEIR = ("corpus.jsonl", "corpus.jsonl.gz", "corpus.jsonl.zst", "corpus.jsonl.zip", "corpus.parquet")
LOOKED_AT = 20  # files, of which most must be of a kind
FOLDERS_LOOKED_AT = 1000  # in which these are looked for
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
    return tables or sorted(path for path in _files(folder) if names_a_document(path))


def files_beside(folder: Path) -> int:
    """How many files there are in the folder of a collection that hold none of its documents."""
    held = set(collection_files(folder))
    others = (path for path in _files(folder) if path not in held and not _is_beside(path))
    return sum(not any(part.startswith(".") for part in path.relative_to(folder).parts) for path in others)


def _others(folder: Path, suffix: str) -> list[Path]:
    """What speaks against a folder of such files alone: other files, and folders, which may hold a program."""
    return [path for path in folder.iterdir() if (path.is_dir() or path.suffix.lower() != suffix) and not _is_beside(path)]


def _is_trec(folder: Path) -> bool:
    """Whether most of the first files begin as a TREC document."""
    found = (path for path in _files(folder, FOLDERS_LOOKED_AT) if not _is_beside(path))
    first = list(islice(found, LOOKED_AT))
    return sum(map(names_a_document, first)) * 2 > len(first)


def _is_beside(path: Path) -> bool:
    return path.name.startswith(".") or path.name.lower().startswith(_BESIDE)


def _files(folder: Path, most_folders: int | None = None) -> Iterator[Path]:
    """The files below a folder in path order, found one by one: it may be a whole work tree, of which only the first are wanted."""
    for parent, folders, names in islice(walk(folder), most_folders):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in TOOLS)
        paths = (Path(parent, name) for name in sorted(names))
        yield from (path for path in paths if path.is_file() and not path.is_symlink())
