"""BEIR folders: ``queries.jsonl``, ``qrels/<split>.tsv``, and ``corpus.jsonl`` beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from searchmark.errors import FormatError, UsageError
from searchmark.files.packed import found_file
from searchmark.files.store import inner_stem, inner_suffix, read_text, write_text
from searchmark.judging.spelling import nfc
from searchmark.records import Case, Document, Judgment, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.gradings import Gradings
from searchmark.suites.losses import losses, refuse_blanks
from searchmark.suites.source import Entry, Source, folder_name

HEADER = ("query-id", "corpus-id", "score")
PREFERRED = "test.tsv"


def read_beir(source: Source) -> Suite:
    """A folder, of which the split ``test`` or the only one counts; or one of its qrels files, which is that split."""
    if source.path.is_dir():
        folder, qrels = source.path, _only_split(source.path)
    else:
        folder, qrels = source.path.absolute().parent.parent, source.path
    judgments = _judgments(qrels, source)
    queries = _queries(found_file(folder / "queries.jsonl") or folder / "queries.jsonl")
    cases = [_case(case, queries.get(nfc(case)), judgments[case]) for case in judgments]
    check_cases(qrels, cases)
    unjudged = tuple(sorted(queries.keys() - set(map(nfc, judgments))))
    dropped = {"queries_without_judgments": len(unjudged)} if unjudged else {}
    return Suite.from_cases(folder_name(folder), cases, metadata={"split": inner_stem(qrels)}, dropped=dropped, unjudged=unjudged)


def _queries(path: Path) -> dict[str, Entry]:
    queries: dict[str, Entry] = {}
    for entry in Source(path).entries():
        query = nfc(entry.text("_id", "id"))
        if query in queries:
            raise entry.error("_id", f"duplicate id {query!r}")
        queries[query] = entry
    return queries


def _case(case: str, entry: Entry | None, judgments: list[Judgment]) -> Case:
    if entry is None:
        return Case(case, judgments=tuple(judgments))
    metadata = entry.values.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    fields = entry.rest("_id", "id", "text", "query", *(["metadata"] if isinstance(metadata, dict) else [])) | known
    return Case(case, entry.known_text("text", "query"), tuple(judgments), fields=fields)


def _only_split(folder: Path) -> Path:
    splits = sorted(path for path in (folder / "qrels").glob("*.tsv*") if inner_suffix(path) == ".tsv")
    preferred = found_file(folder / "qrels" / PREFERRED)
    if preferred is not None:
        return preferred
    if len(splits) != 1:
        known = ", ".join(path.name for path in splits) or "none"
        raise FormatError(folder, "qrels", f"has no {PREFERRED} and not exactly one other split ({known}); name the file itself")
    return splits[0]


def _judgments(path: Path, source: Source) -> dict[str, list[Judgment]]:
    gradings = Gradings(source)
    judgments: dict[str, list[Judgment]] = {}
    seen: set[tuple[str, str]] = set()
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip() or (number == 1 and tuple(line.strip().split("\t")) == HEADER):
            continue
        columns = line.strip("\r").split("\t")
        if len(columns) != len(HEADER):
            raise FormatError(path, f"line {number}", f"has {len(columns)} columns instead of {len(HEADER)} ({' '.join(HEADER)})")
        entry = Entry(path, f"line {number}", dict(zip(("query", "document", "score"), columns, strict=True)))
        key = entry.text("query"), entry.text("document")
        if key in seen:
            raise FormatError(path, f"line {number}", f"document {key[1]!r} is judged a second time for query {key[0]!r}")
        seen.add(key)
        judgments.setdefault(key[0], []).append(gradings.judgment(entry, key[1], "score"))
    gradings.check()
    if not judgments:
        raise FormatError(path, None, f"holds no lines of '{' '.join(HEADER)}'")
    return judgments


def _one_corpus(suite: Suite) -> dict[str, Document]:
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
    refuse_blanks(suite, "\t\n\r", "a line of a BEIR qrels file")
    documents = _one_corpus(suite)
    rows = [{"_id": case.id, "text": case.query or "", "metadata": dict(case.fields)} for case in suite.cases]
    write_text(folder / "queries.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    lines = [f"{case.id}\t{j.target}\t{j.grade if j.gain is None else j.gain}" for case in suite.cases for j in case.judgments]
    write_text(folder / "qrels" / PREFERRED, "\n".join(["\t".join(HEADER), *lines]) + "\n")
    if documents:
        corpus = [{"_id": d.id, "title": d.title or "", "text": d.text, "metadata": dict(d.fields)} for d in documents.values()]
        write_text(folder / "corpus.jsonl", "".join(json.dumps(row) + "\n" for row in corpus))
    return losses(suite, queries=True, grades=True, gains=True, fields=True, documents=True, unjudged=False)
