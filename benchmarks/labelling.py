"""What labelling takes, and what grades lose where a catalogue has empty fields.

    python benchmarks/labelling.py CATALOGUE QUERIES SYNONYMS [FIELDS]

The first figure is for 100,000 items, drawn from the catalogue with titles that are joined of two. The table compares the grades of
items whose category, style and gender were removed, half of all, with the grades that they had.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

from searchmark import Corpus, Document, load_corpus
from searchmark.formats.suites.labels import read_queries
from searchmark.judgments.label import Labels, label_queries

ITEMS = 100_000
REMOVED = ("category", "style", "gender")


def enlarged(items: list[Document], chance: random.Random) -> list[Document]:
    pairs = ((chance.choice(items), chance.choice(items)) for _ in range(ITEMS))
    return [replace(one, id=str(row), title=f"{other.title} {one.title}") for row, (one, other) in enumerate(pairs)]


def blanked(item: Document) -> Document:
    return replace(item, fields=dict(item.fields) | dict.fromkeys(REMOVED))


def grades(labels: Labels) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for query, graded in labels.all.items():
        for row, verdict in zip(graded.rows.tolist(), graded.verdict_of.tolist(), strict=True):
            found[query, labels.catalogue.ids[row]] = graded.verdicts[verdict].grade
    return found


def main(catalogue: str, queries: str, synonyms: str, fields: str = "category=style") -> None:
    items, asked, chance = list(load_corpus(catalogue)), read_queries(Path(queries)), random.Random(5)

    def labelled(documents: list[Document]) -> Labels:
        return label_queries(Corpus.of("catalogue", documents), asked, fields=(fields,), synonyms=Path(synonyms))

    without = {item.id for item in items if chance.random() < 0.5}
    before, after = (grades(labelled(each)) for each in (items, [blanked(item) if item.id in without else item for item in items]))
    table = Counter((before[query, item], after[query, item]) for query in asked for item in without)
    print(f"items without {', '.join(REMOVED)}: {len(without)} of {len(items)}; grades with fields (rows) and without (columns)")
    for row in range(4):
        print(row, *(f"{table[row, column]:>8,}" for column in range(4)))
    many, start, cpu = enlarged(items, chance), perf_counter(), process_time()
    lines = sum(1 for _ in labelled(many).lines())
    print(
        f"{ITEMS:,} items, {len(asked)} queries: {lines:,} labels in {perf_counter() - start:.1f} s, {process_time() - cpu:.1f} s of CPU"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
