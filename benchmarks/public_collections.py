"""The lexical agents on public test collections, beside published figures and beside bm25s with the same analysis.

SEARCHMARK_BENCH_COLLECTIONS (or the arguments) name folders, name=path, several separated by colons. The data stays where it is:

    git clone --depth 1 https://github.com/terrier-org/terrier-core      vaswani=terrier-core/share/vaswani_npl
    git clone --depth 1 https://github.com/Jun-jie-Huang/CoCLR           cosqa=CoCLR/data/search

and any folder in the format of BEIR (corpus.jsonl, queries.jsonl, qrels.tsv or qrels/test.tsv), or several of them in one, one per
language: xquad-es=folder reads corpus.es.jsonl and queries.es.jsonl. It fails if bm25 falls behind by more than 0.01.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from searchmark import Corpus, Document, Run, Suite, load_agent, match_hits, score
from searchmark.agents.chunks import document_name
from searchmark.agents.lexical.analyser import STOP_WORDS, AnalyserSettings
from searchmark.agents.registry import create_agent

DEPTH, TOLERANCE, K1, B = 1000, 0.01, 1.2, 0.75
MEASURES = ("nDCG@10", "AP")
AGENTS: tuple[tuple[str, dict[str, object]], ...] = (
    ("bm25", {}),
    ("bm25", {"language": "none"}),
    ("fts5", {}),
    ("fts5", {"language": "none"}),
    ("rerank", {}),
    ("semantic", {}),
    ("hybrid", {}),
)
# Where a figure is published for the same documents, queries and judgments: measure, value, source.
PUBLISHED = {
    "vaswani": ("AP", 0.2965, "Terrier's BM25, in examples/notebooks/experiment.ipynb of terrier-org/pyterrier"),
}


@dataclass(frozen=True)
class Collection:
    """Documents, queries and judgments."""

    name: str
    documents: list[Document]
    queries: dict[str, str]
    grades: dict[str, dict[str, int]]


Answers = Mapping[str, Sequence[str]]  # ids by query, best first


def vaswani(name: str, folder: Path) -> Collection:
    text = next(folder.rglob("doc-text.trec")).read_text()
    documents = re.findall(r"<DOCNO>\s*(\S+?)\s*</DOCNO>(.*?)</DOC>", text, re.DOTALL)
    asked = re.findall(r"<num>\s*(\S+?)\s*</num><title>(.*?)</title>", (folder / "query-text.trec").read_text(), re.DOTALL)
    queries = {key: query.strip() for key, query in asked}
    return Collection(name, [Document(*each) for each in documents], queries, qrels(folder / "qrels"))


def qrels(file: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for line in file.read_text().splitlines():
        query, *_, document, grade = line.split()
        if grade.lstrip("-").isdigit():  # the files of BEIR have a header
            grades.setdefault(query, {})[document] = int(grade)
    return grades


def cosqa(name: str, folder: Path) -> Collection:
    """The 500 queries of the test set against all snippets, each query with its one right answer."""
    codes = json.loads((folder / "code_idx_map.txt").read_text())
    cases = json.loads((folder / "cosqa-retrieval-test-500.json").read_text())
    documents = [Document(str(number), code) for code, number in codes.items()]
    grades = {case["idx"]: {str(case["retrieval_idx"]): 1} for case in cases}
    return Collection(name, documents, {case["idx"]: case["doc"] for case in cases}, grades)


def beir(name: str, folder: Path) -> Collection:
    part = "" if (folder / "corpus.jsonl").exists() else f".{name.rpartition('-')[2]}"
    grades = qrels(next(file for file in (folder / "qrels" / "test.tsv", folder / "qrels.tsv") if file.exists()))
    documents = [
        Document(row.get("_id") or row["id"], row["text"], row.get("title") or None) for row in rows(folder / f"corpus{part}.jsonl")
    ]
    asked = {
        row.get("_id") or row["id"]: row.get("text") or row.get("query") or "" for row in rows(folder / f"queries{part}.jsonl")
    }
    return Collection(name, documents, {key: asked[key] for key in grades if key in asked}, grades)


def rows(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def loaded(name: str, folder: Path) -> Collection:
    kinds = {"query-text.trec": vaswani, "code_idx_map.txt": cosqa}
    read = next((kind for file, kind in kinds.items() if (folder / file).exists()), beir)
    return read(name, folder)


def answers_of(search: Callable[[str], Sequence[str]], collection: Collection) -> Answers:
    return {key: search(query) for key, query in collection.queries.items()}


def values(collection: Collection, answers: Answers) -> dict[str, float]:
    ranked = {key: {document: -float(place) for place, document in enumerate(found)} for key, found in answers.items()}
    return score(match_hits(Suite.from_grades(collection.grades), Run.from_scores(ranked)), MEASURES).means()


def agent_values(collection: Collection, name: str, config: dict[str, object]) -> tuple[dict[str, float], str]:
    agent = create_agent(load_agent(name, **config))
    agent.initialize(Corpus.of(collection.name, collection.documents))
    found = values(collection, answers_of(lambda query: agent.retrieve(query, DEPTH).files, collection))
    language = str(agent.describe().get("language", ""))
    agent.close()
    return found, language


def peer_values(collection: Collection, language: str, *, own_tokens: bool) -> dict[str, float]:
    """bm25s with the same stemmer, stop words, k1 and b; with its own way to cut words, or with our terms."""
    import bm25s
    import Stemmer

    known = language in STOP_WORDS
    stemmer = Stemmer.Stemmer(language) if known else None
    stop_words = sorted(STOP_WORDS[language]) if known else []
    analyser = AnalyserSettings().analyser(language)

    def cut(texts: list[str]) -> list[list[str]]:
        if not own_tokens:
            return [analyser.terms(text) for text in texts]
        return bm25s.tokenize(texts, stopwords=stop_words, stemmer=stemmer, return_ids=False, show_progress=False)

    # Names are part of the text, as they are for bm25: the title, or else the id.
    retriever = bm25s.BM25(method="lucene", k1=K1, b=B)
    retriever.index(cut([f"{document_name(document)}\n{document.text}" for document in collection.documents]), show_progress=False)
    terms = dict(zip(collection.queries, cut(list(collection.queries.values())), strict=True))
    ids = [document.id for document in collection.documents]

    def search(key: str) -> list[str]:
        known_terms = [term for term in terms[key] if term in retriever.vocab_dict]
        if not known_terms:
            return []
        scores = retriever.get_scores(known_terms)
        best = sorted((place for place in range(len(ids)) if scores[place] > 0), key=lambda place: (-scores[place], ids[place]))
        return [ids[place] for place in best[:DEPTH]]

    return values(collection, {key: search(key) for key in terms})


def line(what: str, found: Mapping[str, float], note: str = "") -> None:
    cells = "".join(f"{found[name]:>10.4f}" if name in found else f"{'':>10}" for name in MEASURES)
    print(f"  {what:<44}{cells}   {note}")


def compare(collection: Collection) -> bool:
    """Whether bm25 keeps up with all others."""
    print(f"{collection.name}: {len(collection.documents):,} documents, {len(collection.queries):,} queries")
    print(f"  {'':<44}{''.join(f'{name:>10}' for name in MEASURES)}")
    ours, language = agent_values(collection, *AGENTS[0])
    line("searchmark bm25", ours, f"language {language}")
    peers = {
        f"bm25s, same stop words and stemmer ({language})": peer_values(collection, language, own_tokens=True),
        "bm25s, the terms of searchmark": peer_values(collection, language, own_tokens=False),
    }
    for what, found in peers.items():
        line(what, found)
    if collection.name in PUBLISHED:
        measure, value, source = PUBLISHED[collection.name]
        peers["published"] = {measure: value}
        line("published", peers["published"], source)
    for name, config in AGENTS[1:]:
        found, chosen = agent_values(collection, name, config)
        line(
            ", ".join([f"searchmark {name}", *(f"{option} {value}" for option, value in config.items())]),
            found,
            f"language {chosen}" if chosen else "",
        )
    behind = [what for what, found in peers.items() if any(ours[name] < value - TOLERANCE for name, value in found.items())]
    print(f"  bm25 is behind by more than {TOLERANCE}: {', '.join(behind) or 'of none'}")
    return not behind


def main() -> None:
    given = sys.argv[1:] or os.environ.get("SEARCHMARK_BENCH_COLLECTIONS", "").split(":")
    named = [(name, Path(path)) for name, _, path in (entry.partition("=") for entry in given if entry)]
    print("collections: bm25 beside published figures and beside bm25s")
    if not named:
        print("  SEARCHMARK_BENCH_COLLECTIONS names no folder, so nothing is measured; the file's first lines say how to get some")
    kept_up = [compare(loaded(name, folder)) for name, folder in named]
    if not all(kept_up):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
