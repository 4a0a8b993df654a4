"""semantic with any index: what it took, what it found of the true neighbours, and what its vectors are like."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from searchmark import Corpus, Document
from searchmark.agents.protocol import NO_USAGE, Usage
from searchmark.agents.vectors.index import neighbour_recall
from searchmark.agents.vectors.semantic import SemanticAgent
from tests.agents.corpora import FILES, corpus_from, step

HASHING = {"name": "hashing", "cache": False}
INDEXES = ["exact", "hnsw", "sqlite_vec"]
MANY = {f"{number}.md": f"word{number} word{number % 7} and word{number % 11}\n" for number in range(400)}


def ready(files=FILES, **options) -> SemanticAgent:
    agent = SemanticAgent(SemanticAgent.Config(**{"embedder": HASHING, **options}))
    agent.initialize(corpus_from(files))
    return agent


def answers(agent: SemanticAgent) -> list[dict[str, float]]:
    """The first hits with scores that no other file has: which of several equal ones an index finds is its own affair."""
    found = [agent.retrieve(query, 4) for query in ("login user", "drop the cookie", "palette of red")]
    scored = [dict(zip(each.files, (round(score, 5) for score in each.scores), strict=True)) for each in found]
    return [{name: score for name, score in each.items() if list(each.values()).count(score) == 1 and score} for each in scored]


@pytest.mark.parametrize("index", INDEXES)
def test_every_index_finds_the_same_in_a_small_corpus_and_follows_its_changes(index: str) -> None:
    agent = ready(index=index)
    assert answers(agent) == answers(ready())
    after = {**FILES, "app/login.py": "def login(): password\n", "new.py": "login password session\n"}
    del after["app/session.py"]
    assert agent.update(step(FILES, after))
    assert answers(agent) == answers(ready(after))


@pytest.mark.parametrize("index", INDEXES)
def test_the_time_in_the_index_is_part_of_every_answer_that_asked_it(index: str) -> None:
    agent = ready(index=index, cache_answers=True)
    assert agent.retrieve("login", 2).index_ms > 0
    remembered = agent.retrieve("login", 2)
    assert (remembered.metadata["query_cache"], remembered.index_ms) == ("hit", None)
    assert agent.retrieve("", 2).index_ms is None


def test_an_exact_index_has_found_all_by_definition() -> None:
    agent = ready(MANY)
    assert agent.usage_of_last() == NO_USAGE
    agent.retrieve("word3", 20)
    assert agent.usage_of_last() == Usage(ann_k=10, ann_recall=1.0, ann_overlap=1.0)
    agent.retrieve("word3", 4)
    assert agent.usage_of_last().ann_k == 4
    agent.retrieve("", 4)
    assert agent.usage_of_last() == NO_USAGE


def test_the_recall_of_an_approximate_index_is_measured_before_files_are_made() -> None:
    poor = {"name": "hnsw", "m": 2, "ef_construction": 1, "ef_search": 1}
    agent = ready(MANY, index=poor, recall_k=20, paths=False)
    measured = []
    for number in range(40):
        agent.retrieve(f"word{number}", 30)
        measured.append(agent.usage_of_last())
    assert {usage.ann_k for usage in measured} == {20}
    assert 0 < np.mean([usage.ann_recall for usage in measured]) < 1
    assert all(usage.ann_overlap <= usage.ann_recall for usage in measured)


def test_what_is_asked_for_to_fill_up_the_files_does_not_count_for_recall() -> None:
    poor = {"name": "hnsw", "m": 2, "ef_construction": 1, "ef_search": 1}
    agent = ready(MANY, index=poor, candidates=3, paths=False)
    stored = agent._store
    measured, first, last = [], [], []
    for query in (f"word{number}" for number in range(40)):
        agent.retrieve(query, 10)
        measured.append(agent.usage_of_last().ann_recall)
        vector = agent.embedder.embed_query(query)
        first.append(neighbour_recall(stored.truth, vector, stored.searched.search(vector, 3).numbers, 3).recall)
        last.append(neighbour_recall(stored.truth, vector, stored.searched.search(vector, 12).numbers, 3).recall)
    assert measured == first != last


def test_recall_is_not_known_where_no_exact_index_is_kept() -> None:
    agent = ready(MANY, index="hnsw", measure_recall=False)
    agent.retrieve("word3", 10)
    assert agent.usage_of_last() == NO_USAGE
    assert agent.index_bytes() == ready(MANY, index="hnsw").index_bytes()


def test_more_candidates_are_chunks_that_the_index_is_asked_for() -> None:
    agent = ready(MANY, index="hnsw", candidates=3, recall_k=50)
    agent.retrieve("word3", 1)
    assert agent.usage_of_last().ann_k == 3


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("measure_recall", [True, False])
def test_a_saved_index_is_used_again_whatever_the_index(tmp_path: Path, index: str, measure_recall: bool) -> None:
    options = {"index": index, "index_file": str(tmp_path / "index.npz"), "measure_recall": measure_recall}
    first = answers(ready(**options))
    again = ready(**options)
    assert answers(again) == first
    assert again.embedder.texts_encoded == 0
    assert answers(ready(index="exact", index_file=options["index_file"])) == first  # vectors are the same for all


def test_the_index_is_described_with_its_defaults() -> None:
    said = ready(index={"name": "hnsw", "m": 8}, distance="ip").describe()
    assert said["distance"] == "ip"
    assert said["index"].items() >= {"name": "hnsw", "m": 8, "ef_construction": 128, "ef_search": 64, "scalar": "f32"}.items()


def test_vectors_are_described_and_follow_changes() -> None:
    agent = ready()
    (found,) = agent.vectors()
    assert (found.count, found.dimension, found.normalized) == (len(agent._table), 256, True)
    assert found.norm_min == pytest.approx(1, abs=1e-6)
    assert found.norm_max == pytest.approx(1, abs=1e-6)
    gone = {"docs/login.md": FILES["docs/login.md"]}
    agent.update(step(FILES, gone))
    assert agent.vectors()[0].count == len(agent._table) == ready(gone).vectors()[0].count


def test_unnormalised_vectors_have_the_lengths_of_the_model() -> None:
    (found,) = ready(embedder={**HASHING, "normalize": False}).vectors()
    assert (found.normalized, found.unit_before) == (False, None)
    assert found.norm_std > 0


def test_duplicate_vectors_of_different_texts_and_zeros_are_counted() -> None:
    documents = [Document("1", "red wine"), Document("2", "wine red"), Document("3", "?")]
    agent = SemanticAgent(SemanticAgent.Config(embedder=HASHING, paths=False))
    agent.initialize(Corpus.of("c", documents))
    (found,) = agent.vectors()
    assert (found.count, found.duplicates, found.zero) == (3, 1, 1)


def test_ids_with_duplicate_vectors_beside_their_texts_are_not_counted() -> None:
    documents = [Document("wine/red", "a glass"), Document("red/wine", "two bottles")]
    agent = SemanticAgent(SemanticAgent.Config(embedder=HASHING, paths=True))
    agent.initialize(Corpus.of("c", documents))
    (found,) = agent.vectors()
    assert (found.count, found.duplicates) == (4, 0)


def precomputed(folder: Path, vectors: np.ndarray) -> SemanticAgent:
    np.save(folder / "v.npy", vectors.astype(np.float32))
    (folder / "v.json").write_text('["a", "b"]')
    options = {"name": "precomputed", "vectors": str(folder / "v.npy"), "query_embedder": HASHING}
    agent = SemanticAgent(SemanticAgent.Config(embedder=options))
    agent.initialize(Corpus.of("c", [Document("a", "x"), Document("b", "y")]))
    return agent


def test_vectors_that_had_length_one_before_they_were_normalised_are_counted(tmp_path: Path) -> None:
    vectors = np.zeros((2, 256))
    vectors[0, 0], vectors[1, 1] = 1, 3
    (found,) = precomputed(tmp_path, vectors).vectors()
    assert (found.normalized, found.unit_before, found.count) == (True, 1, 2)
