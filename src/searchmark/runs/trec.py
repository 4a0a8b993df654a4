"""TREC run files. The rank column is ignored and hits are ordered by score, then id, as trec_eval does."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from searchmark.files.trec_text import RUN, grouped_by_query, read_table
from searchmark.records import OK, Provenance, Run, RunLabel
from searchmark.records.id_columns import ranks_by_score


def read_trec(path: str | PathLike[str]) -> Run:
    path = Path(path)
    table = read_table(path, RUN)
    starts, documents, scores = grouped_by_query(table)
    return Run(
        label=RunLabel(path.stem),
        case_ids=table.queries,
        starts=starts,
        ids=documents,
        scores=scores,
        status=np.full(len(table.queries), OK, np.uint8),
        rank=ranks_by_score(documents, scores, starts),
        provenance=Provenance(tag=table.tag),
    )
