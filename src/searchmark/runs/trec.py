"""TREC run files. The rank column is ignored and hits are ordered by score, then id, as trec_eval does.

A file that is written keeps the order of hits for every reader: trec_eval has scores of 32 bits, others of 64.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import UsageError
from searchmark.files.store import atomic_write
from searchmark.files.trec_text import RUN, grouped_by_query, read_table
from searchmark.records import EMPTY, NOT_RUN, OK, Provenance, Run, RunLabel
from searchmark.records.id_columns import in_bytes, ranks_by_score
from searchmark.records.provenance import ImportedRun
from searchmark.runs.source import RunFile

FEWEST_STEPS, NEARLY_ALL = 5, 0.9  # from a hit to the next one, and those of them that rise


def read_trec(file: RunFile) -> list[Run]:
    table = read_table(file.path, RUN)
    starts, documents, scores = grouped_by_query(table)
    run = Run(
        label=RunLabel(file.name),
        case_ids=table.queries,
        starts=starts,
        ids=documents,
        scores=scores,
        status=np.full(len(table.queries), OK, np.uint8),
        rank=ranks_by_score(documents, scores, starts),
        provenance=Provenance(tag=table.tag, imported=_as_read(scores, starts)),
    )
    return [run]


def _as_read(scores: NDArray[np.float64], starts: NDArray[np.int64]) -> ImportedRun | None:
    """What the order by score does to a file that lists its hits in another one: scores may be distances, or say nothing."""
    pairs = np.ones(max(len(scores) - 1, 0), bool)
    pairs[starts[1:-1] - 1] = False  # the last hit of an answer and the first of the next
    steps = np.diff(scores)[pairs]
    if len(steps) < FEWEST_STEPS:
        return None
    if (steps > 0).mean() >= NEARLY_ALL:
        return ImportedRun(
            ("scores rise down the file, and the highest ranks first, as in trec_eval; negate them if they are distances",)
        )
    if not steps.any():
        return ImportedRun(("the hits of every answer have one score and are ordered by id, as in trec_eval; ranks are not read",))
    return None


PSEUDO_SCORES = "answers whose scores are missing or contradict their order, written with descending numbers"


def write_trec(run: Run, path: str | PathLike[str]) -> list[str]:
    """Write a run as TREC does, whole or not at all; returns what it could not hold, a sentence each."""
    tag = b"-".join(in_bytes(run.provenance.tag or run.label.agent).split()) or b"searchmark"
    lost: Counter[str] = Counter()
    with atomic_write(path) as file:
        for row in range(len(run)):
            file.write(_answer(run, row, tag, lost))
    return [f"{what}: {count}" for what, count in [*lost.items(), *_not_in_columns(run).items()] if count]


def refuse_blanks(names: Iterable[str]) -> None:
    """Refuse the first id that would be read as none or as several."""
    for name in names:
        if in_bytes(name).split() != [in_bytes(name)]:
            raise UsageError(f"a TREC run cannot hold the id {name!r}, since blanks separate its columns; save the run as .jsonl")


def _answer(run: Run, row: int, tag: bytes, lost: Counter[str]) -> bytes:
    rows, hits = run.rows_of(row), run.ids_of(row)
    first = list({hit: place for place, hit in reversed(list(enumerate(hits)))}.values())[::-1]
    lost["repeated ids in an answer, of which the first is kept"] += len(hits) - len(first)
    names, scores = [hits[place] for place in first], run.scores[rows[first]]
    refuse_blanks([run.case_ids[row], *names] if names else ())
    ids, case = [in_bytes(name) for name in names], in_bytes(run.case_ids[row])
    if names and case.startswith(b"#"):
        raise UsageError(f"a TREC run cannot hold the case {run.case_ids[row]!r}, since # starts a comment; save the run as .jsonl")
    if not _keeps_order(ids, scores):
        lost[PSEUDO_SCORES] += 1
        scores = np.arange(len(ids), 0.0, -1.0)
    columns = enumerate(zip(ids, scores.tolist(), strict=True), 1)
    return b"".join(b"%b Q0 %b %d %b %b\n" % (case, name, rank, repr(score).encode(), tag) for rank, (name, score) in columns)


def _keeps_order(ids: list[bytes], scores: NDArray[np.float64]) -> bool:
    """Whether sorting by score, then id, both descending, leaves these hits as they are, with 32 and with 64 bits."""
    with np.errstate(over="ignore", invalid="ignore"):
        rough = scores.astype(np.float32)
    if not np.isfinite(rough).all() or (scores[1:] > scores[:-1]).any():
        return False
    return all(ids[place] > ids[place + 1] for place in np.flatnonzero(rough[1:] >= rough[:-1]).tolist())


def _not_in_columns(run: Run) -> dict[str, int]:
    """What has no column; a case without a line is read as empty."""
    without = np.diff(run.starts) == 0
    return {
        "answers that failed, read as empty": int((without & ~np.isin(run.status, (OK, EMPTY, NOT_RUN))).sum()),
        "cases that were not run, read as empty": int((run.status == NOT_RUN).sum()),
        "texts of queries": sum(query is not None for query in run.queries or ()),
        "lines of hits": 0 if run.first_line is None else int(np.count_nonzero(run.first_line)),
        "times and details of answers": len(run.details or ()),
    }
