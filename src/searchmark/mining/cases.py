"""The second pass: commits that passed become rows of a gold set, with what they leak and what of them can be found."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from searchmark.config import DatasetConfig
from searchmark.history.repository import ObjectReader, Repository, path_bytes
from searchmark.mining.drafts import Draft, Target
from searchmark.mining.leakage import identifiers_of, leak_of, masked, overlap, rare_identifiers
from searchmark.mining.selection import Kept, Selection, draft_of, in_order_of_choice
from searchmark.mining.targets import Inspected, Lines, inspect
from searchmark.mining.tree_names import Snapshot, identifiers_in, snapshots

_BATCH = 200  # commits whose contents are in memory at a time
_SHORT_HASH = 12
_LOW, _HIGH = 2, 20  # fewer files are of low complexity, more of high
Row = dict[str, Any]


@dataclass(frozen=True)
class Rewriting:
    """What a language model made of a query; without a text it has failed, and the reason is known."""

    text: str | None
    reason: str | None = None


Rewrite = Callable[[str, str], Rewriting]  # of message and query


def build_cases(
    repository: Repository,
    name: str,
    selection: Selection,
    options: DatasetConfig,
    rewrite: Rewrite | None = None,
    on_case: Callable[[int, int], None] | None = None,
) -> Iterator[Row]:
    """The rows of a gold set in the order of the history; ``on_case`` hears how many of how many are done.

    What turns out to be binary, generated or missing is left out and goes to the ledger.
    """
    with repository.objects_reader() as reader:
        chosen = selection.kept if options.max_cases is None else _chosen(repository, reader, selection, options)
        rewritings = {} if rewrite is None else _rewritten(chosen, selection, rewrite)
        texts = (_query_text(draft_of(kept, selection.book), options, rewritings) for kept in chosen)
        names = frozenset(found.encode() for text in texts for found in identifiers_of(text))
        trees = snapshots(repository, [_parent(kept) for kept in chosen], Snapshot(reader, selection.book, names))
        inspected = _inspected(repository, reader, chosen, selection, options)
        for number, (seen, tree) in enumerate(zip(inspected, trees, strict=True), 1):
            if seen.removed_by is None:
                yield _row(name, seen, tree, options, rewritings, names)
            else:
                selection.ledger.add_late(seen.removed_by, seen.draft.commit.hash)
            if on_case is not None:
                on_case(number, len(chosen))


def _parent(kept: Kept) -> str:
    return kept.record.split(b"\0", 2)[1].split(b" ")[0].decode()


def _chosen(repository: Repository, reader: ObjectReader, selection: Selection, options: DatasetConfig) -> list[Kept]:
    """As many commits as are wanted; for one that is removed at this late stage the next in line is taken."""
    queue, limit = in_order_of_choice(selection.kept, options), options.max_cases or 0
    chosen: set[str] = set()
    while len(chosen) < limit and (batch := list(islice(queue, min(_BATCH, limit - len(chosen))))):
        for seen in inspect(repository, reader, [draft_of(kept, selection.book) for kept in batch], options, with_lines=False):
            if seen.removed_by is None:
                chosen.add(seen.draft.commit.hash)
            else:
                selection.ledger.add_late(seen.removed_by, seen.draft.commit.hash)
    return [kept for kept in selection.kept if kept.hash in chosen]


def _inspected(
    repository: Repository, reader: ObjectReader, chosen: Sequence[Kept], selection: Selection, options: DatasetConfig
) -> Iterator[Inspected]:
    for start in range(0, len(chosen), _BATCH):
        batch = [draft_of(kept, selection.book) for kept in chosen[start : start + _BATCH]]
        yield from inspect(repository, reader, batch, options)


def _rewritten(chosen: Iterable[Kept], selection: Selection, rewrite: Rewrite) -> dict[str, Rewriting]:
    drafts = (draft_of(kept, selection.book) for kept in chosen)
    return {draft.commit.hash: rewrite(draft.message, draft.query.clean) for draft in drafts}


def _query_text(draft: Draft, options: DatasetConfig, rewritings: Mapping[str, Rewriting]) -> str:
    """The text that leaks are looked for in; a masked query is judged by what it was before."""
    if options.query == "raw":
        return draft.decoded[0].strip()
    if options.query == "subject":
        return draft.query.subject
    rewriting = rewritings.get(draft.commit.hash)
    return draft.query.clean if options.query != "llm" or rewriting is None or rewriting.text is None else rewriting.text


def _row(
    name: str, seen: Inspected, tree: Snapshot, options: DatasetConfig, rewritings: Mapping[str, Rewriting], names: frozenset[bytes]
) -> Row:
    draft, commit = seen.draft, seen.draft.commit
    rewriting = rewritings.get(commit.hash)
    text = _query_text(draft, options, rewritings)
    variants = _variants(draft, tree, rewriting)
    paths = [target.path for target in seen.targets]
    leakage = _leakage(variants["masked"] if options.query == "masked" else text, seen, tree, names)
    status = _transformation(options, rewriting)
    return {
        "id": f"{name}@{commit.hash[:_SHORT_HASH]}",
        "repository": name,
        "commit_hash": commit.hash,
        "parent_commit": commit.parents[0],
        "unit": draft.unit,
        "query": variants["masked"] if options.query == "masked" else text,
        "variants": variants,
        "transformation": status,
        **({"transformation_error": rewriting.reason} if rewriting is not None and rewriting.reason else {}),
        "ground_truth_files": paths,
        "unreachable_files": [target.path for target in draft.targets if target.status == "created"],
        "targets": [_target(target, seen.lines.get(target.path)) for target in (*seen.targets, *_beside(draft))],
        "complexity": complexity(len(paths)),
        "timestamp": timestamp(commit.time),
        "leakage": leakage,
        "tags": [f"leak:{leakage['level']}", f"query:{status}", *(["leak:identifier"] if leakage["identifiers"] else [])],
        **({"scope": draft.query.scope} if draft.query.scope else {}),
        **({"encoding_guessed": True} if draft.decoded[1] else {}),
    }


def _variants(draft: Draft, tree: Snapshot, rewriting: Rewriting | None) -> dict[str, str]:
    query = draft.query
    variants = {
        "raw": draft.decoded[0].strip(),
        "subject": query.subject,
        "clean": query.clean,
        "masked": masked(query.clean, tree),
    }
    return variants | ({"llm": rewriting.text} if rewriting is not None and rewriting.text is not None else {})


def _transformation(options: DatasetConfig, rewriting: Rewriting | None) -> str:
    if options.query == "raw":
        return "raw"
    if options.query != "llm":
        return "rule"
    return "llm" if rewriting is not None and rewriting.text is not None else "llm_failed"


def _leakage(text: str, seen: Inspected, tree: Snapshot, names: frozenset[bytes]) -> dict[str, Any]:
    leak = leak_of(text, (target.path for target in seen.targets), tree)
    inside: frozenset[bytes] = frozenset().union(*(identifiers_in(content, names) for content in seen.contents.values()))
    return {
        "level": leak.level,
        "names": list(leak.names),
        "files_sharing_name": leak.files_sharing_name,
        "identifiers": rare_identifiers(text, inside, tree),
        "overlap": overlap(text, seen.contents.values()),
    }


def _beside(draft: Draft) -> Iterator[Target]:
    """The files that the commit touched and that cannot or need not be found."""
    return (target for target in draft.targets if target.status in ("moved", "created"))


def _target(target: Target, lines: Lines | None) -> Row:
    row: Row = {"path": target.path, "status": target.status}
    if not target.path.isascii() and any("\udc80" <= char <= "\udcff" for char in target.path):
        row["path_base64"] = b64encode(path_bytes(target.path)).decode()
    if target.moved_to is not None:
        row["moved_to"] = target.moved_to
    if lines is not None:
        row["lines"] = [list(pair) for pair in lines.changed]
        row["inserted_after"] = lines.inserted_after
    return row


def complexity(files: int) -> str:
    if files < _LOW:
        return "low"
    return "medium" if files <= _HIGH else "high"


def timestamp(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
