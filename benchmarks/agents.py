"""bm25 beside bm25s, on the same tokens of the same files, and beside bm25s and tantivy, each with its own tokens.

The corpus is a Git repository that SEARCHMARK_BENCH_REPOS names (name=path, several separated by colons), with subjects
of commits as queries and the files that they changed as right answers; or else Python's standard library, with words
from its files as queries. bm25s has its numpy back end, with the faster of its two ways to build a matrix. tantivy, a search
library in Rust, has one thread and an index in memory; it is the reference for speed, and its time includes its own cutting.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from searchmark import Corpus, Document, load_corpus
from searchmark.agents.lexical.analyser import tokenize
from searchmark.agents.lexical.bm25 import Bm25Agent, Bm25Settings
from searchmark.agents.lexical.postings import Postings, TermCounts
from searchmark.formats.corpora.snapshots import CommitSource

ROUNDS, QUERIES, K, K1, B = 5, 300, 10, 1.2, 0.75
MOST_FILES = 8000  # of the standard library, which some systems install everything into


@dataclass(frozen=True)
class Task:
    """What is searched, what is asked, and which files are right."""

    name: str
    corpus: Corpus
    queries: list[str]
    right: list[set[str]]


def from_repository(name: str, path: str) -> Task:
    def git(*arguments: str, given: bytes = b"") -> bytes:
        return subprocess.run(["git", "-C", path, *arguments], input=given, capture_output=True, check=True).stdout

    corpus = Corpus(name, CommitSource(Path(path), "HEAD"))
    blobs = corpus.versions or {}
    queries, right = [], []
    log = git("log", "--no-merges", "--no-renames", "--name-only", "--format=%x01%s", "-z", f"-{QUERIES * 4}", "HEAD").decode(
        "utf-8", "replace"
    )
    for entry in log.split("\x01")[1:]:
        subject, *files = entry.replace("\n", "\0").split("\0")
        changed = set(files) & blobs.keys()
        if changed and len(queries) < QUERIES:
            queries.append(subject)
            right.append(changed)
    return Task(name, corpus, queries, right)


def from_standard_library() -> Task:
    documents = list(islice(load_corpus(sysconfig.get_path("stdlib")), MOST_FILES))
    corpus = Corpus.of("stdlib", documents)
    chosen = random.Random(0)
    picked = chosen.choices([document for document in documents if len(document.text.split()) > 50], k=QUERIES)
    queries = [" ".join(chosen.sample(document.text.split(), 8)) for document in picked]
    return Task("Python's standard library", corpus, queries, [{document.id} for document in picked])


def tasks() -> list[Task]:
    named = [entry.partition("=") for entry in os.environ.get("SEARCHMARK_BENCH_REPOS", "").split(":") if entry]
    missing = [name for name, _, path in named if not Path(path).exists()]
    for name in missing:
        print(f"  {name}: the repository is not there, so it is left out")
    found = [from_repository(name, path) for name, _, path in named if name not in missing]
    if not found:
        print("  SEARCHMARK_BENCH_REPOS names no repository, so Python's standard library is searched")
    return found or [from_standard_library()]


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def medians(contestants: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Medians of alternating rounds, so that a noisy minute hits everybody."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, work in contestants.items():
            times[name].append(seconds(work))
    return {name: statistics.median(values) for name, values in times.items()}


def say(what: str, results: dict[str, float], size: int) -> None:
    """Our time as a share of the best of the others; below 1 we are faster."""
    ours = results.pop("searchmark")
    name, best = min(results.items(), key=lambda entry: entry[1])
    print(f"  {what:<22}{ours / size * 1e6:>11.0f} us{best / size * 1e6:>11.0f} us{ours / best:>8.2f}x   ({name})")


def reciprocal_rank(found: Sequence[str], right: set[str]) -> float:
    return next((1 / rank for rank, file in enumerate(found, 1) if file in right), 0.0)


def our_index(ids: list[str], lists: list[list[int]]) -> Postings:
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    counts = TermCounts.of_tokens(np.fromiter(chain.from_iterable(lists), np.int32, int(lengths.sum())), lengths)
    postings = Postings(K1, B, (1.0,))
    postings.add(ids, [(counts, np.arange(len(ids)))])
    return postings


class Tantivy:
    """tantivy as its documentation uses it, with the words of a query as an any-of query."""

    def __init__(self, texts: Sequence[str], tokenizer: str) -> None:
        import tantivy

        schema = tantivy.SchemaBuilder().add_unsigned_field("place", stored=True)
        self._index = tantivy.Index(schema.add_text_field("body", tokenizer_name=tokenizer).build())
        writer = self._index.writer(num_threads=1)
        for place, text in enumerate(texts):
            writer.add_document(tantivy.Document(place=place, body=[text]))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()

    def answers(self, queries: Sequence[str]) -> list[list[int]]:
        return [list(self._places(query)) for query in queries]

    def _places(self, text: str) -> Iterator[int]:
        query, _ = self._index.parse_query_lenient(" ".join(tokenize(text)), ["body"])
        return (self._searcher.doc(address)["place"][0] for _, address in self._searcher.search(query, K).hits)


def side_by_side(task: Task, documents: list[Document]) -> None:
    try:
        import bm25s
        from bm25s.tokenization import Tokenized
    except ImportError:
        print("  bm25s is not installed, so nothing is compared (make bench installs it)")
        return
    vocabulary: dict[str, int] = {}
    lists = [
        [vocabulary.setdefault(token, len(vocabulary)) for token in tokenize(f"{document.id}\n{document.text}")]
        for document in documents
    ]
    known = [[vocabulary[token] for token in tokenize(query) if token in vocabulary] for query in task.queries]
    # A query without a known word is refused by bm25s.
    asked, right = zip(*((query, files) for query, files in zip(known, task.right, strict=True) if query), strict=True)
    ids = [document.id for document in documents]

    def their_index(way: str) -> bm25s.BM25:
        retriever = bm25s.BM25(k1=K1, b=B, method="lucene", csc_backend=way)
        retriever.index(Tokenized(ids=lists, vocab=vocabulary), show_progress=False)
        return retriever

    def their_answers(queries: Sequence[list[int]]) -> list[list[int]]:
        return theirs.retrieve(list(queries), k=K, show_progress=False).documents.tolist()

    ours, theirs = our_index(ids, lists), their_index("numpy")
    counted = [{term: query.count(term) for term in query} for query in asked]
    print(
        f"  {len(documents):,} files, {sum(map(len, lists)):,} tokens, {len(asked)} queries; medians of {ROUNDS} alternating rounds"
    )
    print(f"  {'':<22}{'searchmark':>14}{'the other':>14}{'ratio':>9}")
    contestants = {
        "searchmark": lambda: our_index(ids, lists),
        "bm25s, numpy": lambda: their_index("numpy"),
        "bm25s, scipy": lambda: their_index("scipy"),
    }
    say("index, per file", medians(contestants), len(ids))
    contestants = {
        "searchmark": lambda: [ours.rank(query, K) for query in counted],
        "bm25s, one by one": lambda: [their_answers([query]) for query in asked],
        "bm25s, all at once": lambda: their_answers(asked),
    }
    say("query", medians(contestants), len(asked))
    found = [[file for file, _ in ours.rank(query, K)] for query in counted]
    other = [[ids[place] for place in answer] for answer in their_answers(asked)]
    means = [statistics.mean(map(reciprocal_rank, answers, right)) for answers in (found, other)]
    print(f"  mean reciprocal rank in the first {K}, a check that both search alike: {means[0]:.3f} and {means[1]:.3f}")


def with_own_tokens(task: Task, documents: list[Document], language: str) -> None:
    """Everything from text to answer, each in its own way: as it is, and with English stop words and stems."""
    try:
        import bm25s
        import Stemmer
        import tantivy  # noqa: F401  # only to see whether it is there
    except ImportError:
        print("  bm25s or tantivy is not installed, so nothing is compared (make bench installs them)")
        return
    stems = language == "english"
    texts = [f"{document.id}\n{document.text}" for document in documents]
    plain = Corpus.of(task.name, documents)

    def our_agent() -> Bm25Agent:
        agent = Bm25Agent(Bm25Settings(cache=False, language=language))
        agent.initialize(plain)
        return agent

    def cut(text: list[str]) -> bm25s.tokenization.Tokenized:
        stemmer = Stemmer.Stemmer("english") if stems else None
        return bm25s.tokenize(text, stopwords="en" if stems else None, stemmer=stemmer, show_progress=False)

    def their_agent() -> bm25s.BM25:
        retriever = bm25s.BM25(method="lucene")
        retriever.index(cut(texts), show_progress=False)
        return retriever

    analyser = "en_stem" if stems else "default"
    ours, theirs, rust = our_agent(), their_agent(), Tantivy(texts, analyser)
    contestants = {"searchmark": our_agent, "bm25s": their_agent, "tantivy": lambda: Tantivy(texts, analyser)}
    for name in ("bm25s", "tantivy"):
        say(f"{language}: file", medians({key: contestants[key] for key in ("searchmark", name)}, 3), len(texts))
    contestants = {
        "searchmark": lambda: [ours.retrieve(query, K) for query in task.queries],
        "bm25s": lambda: theirs.retrieve(cut(task.queries), k=K, show_progress=False),
        "tantivy": lambda: rust.answers(task.queries),
    }
    for name in ("bm25s", "tantivy"):
        say(f"{language}: query", medians({key: contestants[key] for key in ("searchmark", name)}, 3), len(task.queries))


def second_run(task: Task) -> None:
    if task.corpus.versions is None:
        print("  a second run from the kept index needs a Git repository, so it is not measured")
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SEARCHMARK_CACHE"] = folder
        first = seconds(lambda: Bm25Agent().initialize(task.corpus))
        second = statistics.median(seconds(lambda: Bm25Agent().initialize(task.corpus)) for _ in range(3))
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.npz"))
    print(
        f"  first run {first:.2f} s, second run from the kept index {second:.2f} s: {first / second:.1f}x ({size / 1e6:.0f} MB kept)"
    )


def main() -> None:
    print("agents: bm25 beside bm25s on the same tokens, then beside bm25s and tantivy with their own")
    for task in tasks():
        print(f"  {task.name}")
        documents = list(task.corpus)
        side_by_side(task, documents)
        for language in ("none", "english"):
            with_own_tokens(task, documents, language)
        second_run(task)


if __name__ == "__main__":
    main()
