"""Retrieval data sets of the Hugging Face Hub, as MTEB has them: Parquet files of queries and qrels, in folders by their names.

``queries/`` and ``qrels/`` (or ``default/``, or ``data/``) hold files such as ``test-00000-of-00001.parquet``; ``queries.parquet``
and ``qrels.parquet`` are the same in one file each. ``de-queries/`` and ``de-qrels/`` belong together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from searchmark.errors import FormatError, UsageError
from searchmark.files.parquet import EXTENSION, parquet_columns, parquet_frame, parquet_rows
from searchmark.judging.spelling import nfc
from searchmark.records import Case, Judgment, Suite
from searchmark.records.shown import listed, quoted
from searchmark.suites.checks import check_cases
from searchmark.suites.gradings import Gradings
from searchmark.suites.source import Entry, Source, folder_name

PREFERRED = "test"
QRELS, QUERIES = ("qrels", "default", "data"), ("queries", "query")
COLUMNS = ("query-id", "corpus-id", "score")
SHOWN = 10
_SHARD = re.compile(r"(?P<split>.+?)-(?P<number>\d{5})-of-(?P<of>\d{5})")


@dataclass(frozen=True)
class Split:
    """One split of a table, in one file or several."""

    name: str
    files: tuple[Path, ...]


def mteb_qrels(folder: Path) -> list[Path]:
    """The folders and files of judgments in a folder of Parquet files; several where it has several languages."""
    for name in QRELS:
        found = [folder / name, folder / f"{name}{EXTENSION}"]
        there = next((path for path in found if path.is_file() or (path.is_dir() and _parquet_files(path))), None)
        if there is not None:
            return [there]
    return sorted(path for path in folder.glob("*-qrels") if path.is_dir() and _parquet_files(path))


def is_mteb_qrels(path: Path) -> bool:
    """Whether this is a folder or a file with judgments alone, which have their queries beside them."""
    if path.is_dir():
        files = [] if mteb_qrels(path) else _parquet_files(path)
        return bool(files) and {*COLUMNS[:2]} <= {*parquet_columns(files[0])}
    return path.suffix.lower() == EXTENSION and {*COLUMNS[:2]} <= {*parquet_columns(path)}


def read_mteb(source: Source) -> Suite:
    """The split ``test`` or the only one; another is chosen by naming its file, a language by naming its folder of qrels."""
    given = source.path
    table = given if is_mteb_qrels(given) else _only_qrels(given)
    table, split = (table.parent, _split_of(table)) if _is_split(table) else (table, None)
    chosen = _chosen(table, split)
    gradings = Gradings(source)
    judged = _judgments(chosen, gradings)
    gradings.check()
    asked = _queries(table, chosen.name)
    cases = [_case(case, asked.get(nfc(case)), judgments) for case, judgments in judged.items()]
    check_cases(given, cases)
    unjudged = tuple(sorted(asked.keys() - set(map(nfc, judged))))
    dropped = {"queries_without_judgments": len(unjudged)} if unjudged else {}
    name = folder_name(table.absolute().parent)
    return Suite.from_cases(name, cases, metadata={"split": chosen.name}, dropped=dropped, unjudged=unjudged)


def _only_qrels(folder: Path) -> Path:
    found = mteb_qrels(folder)
    if len(found) != 1:
        known = listed([path.name for path in found], SHOWN) or "none"
        raise FormatError(folder, None, f"has not exactly one folder of qrels ({known}); name the one that is meant")
    return found[0]


def _is_split(path: Path) -> bool:
    """Whether a file is one split of a folder, and not a table of its own such as ``qrels.parquet``."""
    return path.is_file() and path.stem not in QRELS


def _split_of(file: Path) -> str:
    found = _SHARD.fullmatch(file.stem)
    return found["split"] if found else file.stem


def _parquet_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob(f"*{EXTENSION}") if path.is_file())


def _splits(table: Path) -> dict[str, Split]:
    if table.is_file():
        return {table.stem: Split(table.stem, (table,))}
    splits: dict[str, list[Path]] = {}
    for file in _parquet_files(table):
        splits.setdefault(_split_of(file), []).append(file)
    for name, files in splits.items():
        found = _SHARD.fullmatch(files[0].stem)
        if found and int(found["of"]) != len(files):
            raise FormatError(table, name, f"is split into {int(found['of'])} files, of which {len(files)} are there")
    return {name: Split(name, tuple(files)) for name, files in splits.items()}


def _chosen(table: Path, wanted: str | None) -> Split:
    """The split that was asked for, ``test``, or the only one."""
    splits = _splits(table)
    name = wanted or (PREFERRED if PREFERRED in splits else next(iter(splits)))
    if name not in splits or (wanted is None and name != PREFERRED and len(splits) > 1):
        known = listed(list(splits), SHOWN)
        raise FormatError(table, None, f"has no split {wanted or PREFERRED!r} and not exactly one other ({known}); name a file")
    return splits[name]


def _judgments(split: Split, gradings: Gradings) -> dict[str, list[Judgment]]:
    import polars as pl

    judged: dict[str, list[Judgment]] = {}
    seen: set[tuple[str, str]] = set()
    for file in split.files:
        missing = [name for name in COLUMNS if name not in parquet_columns(file)]
        if missing:
            raise FormatError(file, None, f"has no column {missing[0]!r}; it has {listed(parquet_columns(file), SHOWN)}")
        frame = parquet_frame(file, COLUMNS).with_columns(pl.col(COLUMNS[:2]).cast(pl.String))
        for number, (query, document, score) in enumerate(frame.iter_rows(), 1):
            entry = Entry(file, f"row {number}", {"query-id": query, "corpus-id": document, "score": score})
            key = entry.text("query-id"), entry.text("corpus-id")
            if key in seen:
                raise entry.error("corpus-id", f"{quoted(key[1])} is judged a second time for query {quoted(key[0])}")
            seen.add(key)
            judged.setdefault(key[0], []).append(gradings.judgment(entry, key[1], "score"))
    if not judged:
        raise FormatError(split.files[0], None, "holds no judgments")
    return judged


def _queries(table: Path, split: str) -> dict[str, Entry]:
    """The queries beside the judgments: of the same split, or all that there are."""
    queries: dict[str, Entry] = {}
    for entry in _query_rows(table, split):
        query = nfc(entry.text("_id", "id", "query_id"))
        if query in queries:
            raise entry.error("_id", f"duplicate id {query!r}")
        queries[query] = entry
    return queries


def _query_rows(table: Path, split: str) -> Iterator[Entry]:
    folder, language = table.absolute().parent, table.name.removesuffix("qrels") if table.name.endswith("-qrels") else ""
    named = [folder / f"{language}{name}{ending}" for name in QUERIES for ending in ("", EXTENSION)]
    found = next((path for path in named if path.is_file() or (path.is_dir() and _parquet_files(path))), None)
    if found is None:
        raise UsageError(f"{folder} has no queries beside {table.name}; they are expected in {named[0].name} or {named[1].name}")
    splits = _splits(found)
    for each in [splits[split]] if split in splits else splits.values():
        for file in each.files:
            yield from (Entry.of(file, f"row {number}", row) for number, row in enumerate(parquet_rows(file), 1))


def _case(case: str, entry: Entry | None, judgments: list[Judgment]) -> Case:
    if entry is None:
        return Case(case, judgments=tuple(judgments))
    rest = entry.rest("_id", "id", "query_id", "text", "query")
    fields = {name: value for name, value in rest.items() if value != ""}
    return Case(case, entry.known_text("text", "query"), tuple(judgments), fields=fields)
