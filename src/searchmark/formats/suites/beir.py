"""BEIR folders and MTEB data sets: queries and qrels in folders."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path

from searchmark.errors import FormatError, UsageError
from searchmark.formats.input_file import placed_parquet_rows
from searchmark.formats.suites.checks import GradeReader, check_cases, lost_fields, refuse_breaking_ids
from searchmark.formats.suites.source import Entry, Source, folder_name
from searchmark.io.packed import find_file, inner_stem, inner_suffix
from searchmark.io.rows import PARQUET_EXTENSION, is_parquet, parquet_columns, parquet_frame
from searchmark.io.store import read_text, write_text
from searchmark.records.document import Document
from searchmark.records.judgments import Judgment
from searchmark.records.matching import nfc
from searchmark.records.sentences import list_first, quote_name
from searchmark.records.suite import Case, Suite

# BEIR folders: ``queries.jsonl``, ``qrels/<split>.tsv``, and ``corpus.jsonl`` beside them.

BEIR_QRELS_HEADER = ("query-id", "corpus-id", "score")

PREFERRED_BEIR_SPLIT = "test.tsv"


def has_queries(source: Source) -> bool:
    return find_file(source.path / "queries.jsonl") is not None


def has_header(source: Source) -> bool:
    return tuple(source.first_line.split("\t")) == BEIR_QRELS_HEADER


def read_beir(source: Source) -> Suite:
    """A folder, of which the split ``test`` or the only one counts; or one of its qrels files, which is that split."""
    if source.path.is_dir():
        folder, qrels = source.path, _only_split(source.path)
    else:
        folder, qrels = source.path.absolute().parent.parent, source.path
    judged = _read_beir_judgments(qrels, source)
    queries = _queries_by_id(Source(find_file(folder / "queries.jsonl") or folder / "queries.jsonl").entries(), "_id", "id")
    cases = [_beir_case(case, queries.get(nfc(case)), judgments) for case, judgments in judged.items()]
    return _suite(qrels, folder_name(folder), inner_stem(qrels), cases, queries)


def _suite(path: Path, name: str, split: str, cases: list[Case], queries: Mapping[str, Entry]) -> Suite:
    """The queries with judgments; the others are counted."""
    check_cases(path, cases)
    unjudged = tuple(sorted(queries.keys() - {nfc(case.id) for case in cases}))
    counts = {"queries_without_judgments": len(unjudged)} if unjudged else {}
    return Suite.from_cases(name, cases, metadata={"split": split}, dropped=counts, unjudged=unjudged)


def _queries_by_id(entries: Iterable[Entry], *id_names: str) -> dict[str, Entry]:
    queries: dict[str, Entry] = {}
    for entry in entries:
        query = nfc(entry.text(*id_names))
        if query in queries:
            raise entry.error("_id", f"duplicate id {query!r}")
        queries[query] = entry
    return queries


def _beir_case(case: str, entry: Entry | None, judgments: list[Judgment]) -> Case:
    if entry is None:
        return Case(case, judgments=tuple(judgments))
    metadata = entry.values.get("metadata")
    metadata_fields = metadata if isinstance(metadata, dict) else {}
    fields = entry.rest("_id", "id", "text", "query", *(["metadata"] if isinstance(metadata, dict) else [])) | metadata_fields
    return Case(case, entry.known_text("text", "query"), tuple(judgments), fields=fields)


def _only_split(folder: Path) -> Path:
    splits = sorted(path for path in (folder / "qrels").glob("*.tsv*") if inner_suffix(path) == ".tsv")
    default_split = find_file(folder / "qrels" / PREFERRED_BEIR_SPLIT)
    if default_split is not None:
        return default_split
    if len(splits) != 1:
        names = ", ".join(path.name for path in splits) or "none"
        raise FormatError(
            folder, "qrels", f"has no {PREFERRED_BEIR_SPLIT} and not exactly one other split ({names}); name the file itself"
        )
    return splits[0]


def _read_beir_judgments(path: Path, source: Source) -> dict[str, list[Judgment]]:
    gradings = GradeReader(source)
    judgments: dict[str, dict[str, Judgment]] = {}
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip() or (number == 1 and tuple(line.strip().split("\t")) == BEIR_QRELS_HEADER):
            continue
        columns, place, header = line.strip("\r").split("\t"), f"line {number}", " ".join(BEIR_QRELS_HEADER)
        if len(columns) != len(BEIR_QRELS_HEADER):
            raise FormatError(path, place, f"has {len(columns)} columns instead of {len(BEIR_QRELS_HEADER)} ({header})")
        entry = Entry(path, place, dict(zip(("query", "document", "score"), columns, strict=True)))
        query, document = entry.text("query"), entry.text("document")
        if document in judgments.setdefault(query, {}):
            raise FormatError(path, place, f"document {document!r} is judged a second time for query {query!r}")
        judgments[query][document] = gradings.judgment(entry, document, "score")
    gradings.check()
    if not judgments:
        raise FormatError(path, None, f"holds no lines of '{' '.join(BEIR_QRELS_HEADER)}'")
    return {query: list(by_document.values()) for query, by_document in judgments.items()}


def _joined_corpus(suite: Suite) -> dict[str, Document]:
    """The documents of all cases together; two that share an id and not their text cannot be."""
    documents: dict[str, Document] = {}
    for case in suite.cases:
        for document in case.documents:
            if documents.setdefault(document.id, document) != document:
                raise UsageError(f"duplicate document id {document.id!r}; a BEIR folder has one corpus for all cases")
    return documents


def write_beir(suite: Suite, folder: str | PathLike[str]) -> Iterator[str]:
    """Write queries and qrels, and a corpus from inline documents; yields what the folder could not hold."""
    folder = Path(folder)
    refuse_breaking_ids(suite, "\t\n\r", "a line of a BEIR qrels file")
    documents = _joined_corpus(suite)
    rows = [{"_id": case.id, "text": case.query or "", "metadata": dict(case.fields)} for case in suite.cases]
    write_text(folder / "queries.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    lines = [f"{case.id}\t{j.target}\t{j.grade if j.gain is None else j.gain}" for case in suite.cases for j in case.judgments]
    write_text(folder / "qrels" / PREFERRED_BEIR_SPLIT, "\n".join(["\t".join(BEIR_QRELS_HEADER), *lines]) + "\n")
    if documents:
        corpus = [{"_id": d.id, "title": d.title or "", "text": d.text, "metadata": dict(d.fields)} for d in documents.values()]
        write_text(folder / "corpus.jsonl", "".join(json.dumps(row) + "\n" for row in corpus))
    return lost_fields(suite, "queries", "grades", "gains", "fields", "documents")


# Retrieval data sets of the Hugging Face Hub, as MTEB has them: Parquet files of queries and qrels, in folders by their names.
#
# ``queries/`` and ``qrels/`` (or ``default/``, or ``data/``) hold files such as ``test-00000-of-00001.parquet``;
# ``queries.parquet``
# and ``qrels.parquet`` are the same in one file each. ``de-queries/`` and ``de-qrels/`` belong together.

PREFERRED_MTEB_SPLIT = "test"

QRELS_FOLDERS, QUERIES_FOLDERS = ("qrels", "default", "data"), ("queries", "query")

MTEB_QRELS_COLUMNS = ("query-id", "corpus-id", "score")

LANGUAGES_SHOWN = 10

_SHARD = re.compile(r"(?P<split>.+?)-(?P<number>\d{5})-of-(?P<of>\d{5})")


def mteb_qrels(folder: Path) -> list[Path]:
    """The folders and files of judgments in a folder of Parquet files; several where it has several languages."""
    for name in QRELS_FOLDERS:
        paths = [folder / name, folder / f"{name}{PARQUET_EXTENSION}"]
        there = next((path for path in paths if path.is_file() or (path.is_dir() and _parquet_files(path))), None)
        if there is not None:
            return [there]
    return sorted(path for path in folder.glob("*-qrels") if path.is_dir() and _parquet_files(path))


def is_mteb_qrels(path: Path) -> bool:
    """Whether this is a folder or a file with judgments alone, which have their queries beside them."""
    if path.is_dir():
        files = [] if mteb_qrels(path) else _parquet_files(path)
        return bool(files) and {*MTEB_QRELS_COLUMNS[:2]} <= {*parquet_columns(files[0])}
    return is_parquet(path) and {*MTEB_QRELS_COLUMNS[:2]} <= {*parquet_columns(path)}


def has_parquet_qrels(source: Source) -> bool:
    return (source.path.is_dir() and bool(mteb_qrels(source.path))) or is_mteb_qrels(source.path)


def read_mteb(source: Source) -> Suite:
    """The split ``test`` or the only one; another is chosen by naming its file, a language by naming its folder of qrels."""
    path = source.path
    table = path if is_mteb_qrels(path) else _only_qrels(path)
    table, asked_split = (table.parent, _split_of(table)) if _is_split(table) else (table, None)
    split, files = _choose_split(table, asked_split)
    gradings = GradeReader(source)
    judged = _read_mteb_judgments(files, gradings)
    gradings.check()
    queries = _queries_by_id(_query_rows(table, split), "_id", "id", "query_id")
    cases = [_mteb_case(case, queries.get(nfc(case)), judgments) for case, judgments in judged.items()]
    return _suite(path, folder_name(table.absolute().parent), split, cases, queries)


def _only_qrels(folder: Path) -> Path:
    paths = mteb_qrels(folder)
    if len(paths) != 1:
        names = list_first([path.name for path in paths], LANGUAGES_SHOWN) or "none"
        raise FormatError(folder, None, f"has not exactly one folder of qrels ({names}); name the one that is meant")
    return paths[0]


def _is_split(path: Path) -> bool:
    """Whether a file is one split of a folder, and not a separate table such as ``qrels.parquet``."""
    return path.is_file() and path.stem not in QRELS_FOLDERS


def _split_of(file: Path) -> str:
    shard = _SHARD.fullmatch(file.stem)
    return shard["split"] if shard else file.stem


def _parquet_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob(f"*{PARQUET_EXTENSION}") if path.is_file())


def _splits(table: Path) -> dict[str, list[Path]]:
    """The splits of a table by name, each in one file or several."""
    if table.is_file():
        return {table.stem: [table]}
    splits: dict[str, list[Path]] = {}
    for file in _parquet_files(table):
        splits.setdefault(_split_of(file), []).append(file)
    for name, files in splits.items():
        shard = _SHARD.fullmatch(files[0].stem)
        if shard and int(shard["of"]) != len(files):
            raise FormatError(table, name, f"is split into {int(shard['of'])} files, of which {len(files)} are there")
    return splits


def _choose_split(table: Path, split_name: str | None) -> tuple[str, list[Path]]:
    """The split that was asked for, ``test``, or the only one."""
    splits = _splits(table)
    name = split_name or (PREFERRED_MTEB_SPLIT if PREFERRED_MTEB_SPLIT in splits else next(iter(splits)))
    if name not in splits or (split_name is None and name != PREFERRED_MTEB_SPLIT and len(splits) > 1):
        names = list_first(list(splits), LANGUAGES_SHOWN)
        raise FormatError(
            table, None, f"has no split {split_name or PREFERRED_MTEB_SPLIT!r} and not exactly one other ({names}); name a file"
        )
    return name, splits[name]


def _read_mteb_judgments(files: list[Path], gradings: GradeReader) -> dict[str, list[Judgment]]:
    import polars as pl

    judged: dict[str, dict[str, Judgment]] = {}
    for file in files:
        columns = parquet_columns(file)
        missing = next((name for name in MTEB_QRELS_COLUMNS if name not in columns), None)
        if missing is not None:
            raise FormatError(file, None, f"has no column {missing!r}; it has {list_first(columns, LANGUAGES_SHOWN)}")
        frame = parquet_frame(file, MTEB_QRELS_COLUMNS).with_columns(pl.col(MTEB_QRELS_COLUMNS[:2]).cast(pl.String))
        for number, row in enumerate(frame.iter_rows(named=True), 1):
            entry = Entry(file, f"row {number}", row)
            query, document = entry.text("query-id"), entry.text("corpus-id")
            if document in judged.setdefault(query, {}):
                raise entry.error("corpus-id", f"{quote_name(document)} is judged a second time for query {quote_name(query)}")
            judged[query][document] = gradings.judgment(entry, document, "score")
    if not judged:
        raise FormatError(files[0], None, "holds no judgments")
    return {query: list(by_document.values()) for query, by_document in judged.items()}


def _query_rows(table: Path, split: str) -> Iterator[Entry]:
    folder, language = table.absolute().parent, table.name.removesuffix("qrels") if table.name.endswith("-qrels") else ""
    paths = [folder / f"{language}{name}{ending}" for name in QUERIES_FOLDERS for ending in ("", PARQUET_EXTENSION)]
    queries_path = next((path for path in paths if path.is_file() or (path.is_dir() and _parquet_files(path))), None)
    if queries_path is None:
        raise UsageError(f"{folder} has no queries beside {table.name}; they are expected in {paths[0].name} or {paths[1].name}")
    splits = _splits(queries_path)
    for each in [splits[split]] if split in splits else splits.values():
        for file in each:
            yield from (Entry.of(file, place, row) for place, row in placed_parquet_rows(Source(file)))


def _mteb_case(case: str, entry: Entry | None, judgments: list[Judgment]) -> Case:
    if entry is None:
        return Case(case, judgments=tuple(judgments))
    rest = entry.rest("_id", "id", "query_id", "text", "query")
    fields = {name: value for name, value in rest.items() if value != ""}
    return Case(case, entry.known_text("text", "query"), tuple(judgments), fields=fields)
