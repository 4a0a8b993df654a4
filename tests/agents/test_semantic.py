"""semantic embeds no chunk twice on its way through a history, and remembers what it may."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from searchmark import Corpus, Document, Incomparable, UsageError, load_agent
from searchmark.agents.chunks import content_chunks
from searchmark.agents.registry import create_agent
from searchmark.agents.vectors.precomputed import INDEX_SCHEMA
from searchmark.agents.vectors.semantic import SemanticAgent
from tests.agents.corpora import FILES, corpus_from, step


def ready(files=FILES, **options) -> SemanticAgent:
    agent = SemanticAgent(SemanticAgent.Config(**{"embedder": "hashing", **options}))
    agent.initialize(corpus_from(files))
    return agent


def texts_of(files: dict[str, str]) -> set[str]:
    return {piece for text in files.values() for piece in content_chunks(text) if piece.strip()} | set(files)


@pytest.mark.parametrize("cache", [True, False])
def test_each_distinct_chunk_is_embedded_once_on_the_way_through_a_history(cache: bool) -> None:
    states = [FILES]
    for number in range(12):
        edited = states[-1]["app/login.py"] + f"\n\ndef extra{number}():\n    return {number}\n"
        states.append({**states[-1], "app/login.py": edited, f"copy{number}.py": FILES["app/session.py"]})
    agent = ready(embedder={"name": "hashing", "cache": cache})
    for before, after in pairwise(states):
        assert agent.update(step(before, after))
    distinct = set().union(*(texts_of(state) for state in states))
    assert agent.embedder.texts_encoded == len(distinct)

    again = ready(states[-1], embedder={"name": "hashing", "cache": True})
    assert again.embedder.texts_encoded == (0 if cache else len(texts_of(states[-1])))
    assert agent.retrieve("login user", 9) == again.retrieve("login user", 9)


@pytest.mark.parametrize("chunking", ["lines", {"tokens": "4-8", "overlap": "25%"}, "whole"], ids=str)
def test_an_update_gives_what_a_new_index_gives(chunking: object) -> None:
    after = {**FILES, "app/login.py": "def login(): password\n", "new.py": "login password session\n"}
    del after["app/session.py"]
    options = {"lines": True, "query_cache": 0, "chunking": chunking}
    agent = ready(**options)
    for before, now in ((FILES, after), (after, FILES)):
        assert agent.update(step(before, now))
        for query in ("login password", "drop the cookie", "palette"):
            assert agent.retrieve(query, 9) == ready(now, **options).retrieve(query, 9)


def test_a_document_that_is_no_text_any_longer_is_not_found() -> None:
    agent = ready()
    gone = {path: text for path, text in FILES.items() if path != "app/session.py"}
    agent.update(step(FILES, gone).__class__(corpus_from(gone), ("app/session.py",), ()))
    assert "app/session.py" not in agent.retrieve("drop the cookie of the user", 9).files


def test_wordllama_finds_meaning_without_a_common_word() -> None:
    files = {"cats.md": "The kitten is asleep on the sofa.\n", "cars.md": "The engine needs new oil and tyres.\n"}
    agent = ready(files, embedder="wordllama", paths=False)
    assert agent.retrieve("repair my automobile", 1).files == ["cars.md"]
    assert agent.retrieve("a sleepy pet", 1).files == ["cats.md"]


def test_a_query_in_capitals_finds_what_it_finds_in_lower_case() -> None:
    agent = ready(embedder="wordllama")
    found, shouted = (agent.retrieve(query, 5) for query in ("how is a password checked", "HOW IS A Password CHECKED"))
    assert (found.files, found.scores) == (shouted.files, shouted.scores)
    assert agent.describe()["embedder"]["case"] == "folded"


def test_hits_carry_the_lines_of_the_best_chunk_if_asked() -> None:
    files = {"a.py": "import os\n\n\ndef paint(wall):\n    return red\n\n\ndef swim(sea):\n    return blue\n"}
    assert ready(files).retrieve("swim sea blue", 1).lines is None
    agent = ready(files, lines=True, paths=False)
    assert agent.retrieve("swim sea blue", 1).lines == [(8, 9)]
    assert agent.retrieve("import os", 1).lines == [(1, 1)]
    assert ready(files, lines=True).retrieve("a.py", 1).lines == [None]


def test_a_chunk_that_moves_to_another_file_is_not_embedded_again() -> None:
    moved = {("moved.py" if path == "app/login.py" else path): text for path, text in FILES.items()}
    agent = ready(embedder={"name": "hashing", "cache": False})
    before = agent.embedder.texts_encoded
    agent.update(step(FILES, moved))
    assert agent.embedder.texts_encoded == before + 1  # the new path


def test_chunks_of_tokens_before_an_edit_are_not_embedded_again() -> None:
    text = "".join(f"sentence number {number} is here. " for number in range(100))
    options = {"chunking": {"tokens": "20-40", "overlap": 5}, "embedder": {"name": "hashing", "cache": False}}
    agent = ready({"a.md": text}, **options)
    before = agent.embedder.texts_encoded
    agent.update(step({"a.md": text}, {"a.md": text + "One more."}))
    assert agent.embedder.texts_encoded == before + 1


def test_a_title_is_a_chunk() -> None:
    agent = SemanticAgent(SemanticAgent.Config(embedder="hashing", paths=False))
    agent.initialize(Corpus.of("c", [Document("1", "x", "baking bread"), Document("2", "y z")]))
    assert agent.retrieve("baking bread", 1).files == ["1"]


def test_at_most_top_k_hits() -> None:
    assert len(ready(top_k=2).retrieve("login user", 9).files) == 2
    assert len(ready(top_k=5).retrieve("login user", 1).files) == 1


@pytest.mark.slow
@pytest.mark.parametrize("query", ["", "?", "\0", "\ud800", "x" * 100_000, '"('])
def test_no_query_is_an_error(query: str) -> None:
    for embedder in ("hashing", "wordllama"):
        assert len(ready(embedder=embedder).retrieve(query, 3).files) <= 3


def test_queries_are_remembered_until_reset_and_the_answer_says_so() -> None:
    agent = ready(query_cache=2)
    queries = ("a", "a", "b", "c", "a")  # with room for two, c pushes a out
    seen = [agent.retrieve(query, 3).metadata["query_cache"] for query in queries]
    assert seen == ["miss", "hit", "miss", "miss", "miss"]
    agent.reset()
    assert agent.retrieve("a", 3).metadata["query_cache"] == "miss"


def test_no_query_cache_remembers_nothing() -> None:
    agent = ready(query_cache=0)
    assert [agent.retrieve("a", 3).metadata["query_cache"] for _ in range(2)] == ["miss", "miss"]


def test_remembered_answers_do_not_survive_a_change() -> None:
    agent = ready(cache_answers=True)
    agent.retrieve("drop the cookie", 1)
    after = {**FILES, "new.py": "drop the cookie\n"}
    agent.update(step(FILES, after))
    assert agent.retrieve("drop the cookie", 1).files == ["new.py"]
    assert len(agent.retrieve("drop the cookie", 2).files) == 2


def test_a_saved_index_is_used_again_without_embedding(tmp_path: Path) -> None:
    place = str(tmp_path / "index.npz")
    uncached = {"name": "hashing", "cache": False}
    first = ready(embedder=uncached, index_file=place).retrieve("login user", 9)
    again = ready(embedder=uncached, index_file=place)
    assert again.retrieve("login user", 9) == first
    assert again.embedder.texts_encoded == 0
    after = {**FILES, "new.py": "login user\n"}
    assert again.update(step(FILES, after))
    assert again.retrieve("login user", 1).files == ["new.py"]


@pytest.mark.parametrize(
    ("options", "files", "sentence"),
    [
        ({"embedder": {"name": "hashing", "size": 64}}, FILES, "dimension is 256 and not 64"),
        ({"embedder": "wordllama"}, FILES, "model is 'hashing' and not 'wordllama"),
        ({"embedder": {"name": "hashing", "normalize": False}}, FILES, "normalize is True and not False"),
        ({"embedder": {"name": "hashing", "document_prefix": "d"}}, FILES, "document_prefix is '' and not 'd'"),
        ({"chunking": {"lines": 10}}, FILES, "chunking is"),
        ({"paths": False}, FILES, "chunking is"),
        ({}, {**FILES, "x.py": "y"}, "corpus is"),
    ],
)
def test_an_index_refuses_vectors_of_another(tmp_path: Path, options: dict, files: dict, sentence: str) -> None:
    place = str(tmp_path / "index.npz")
    ready(index_file=place)
    with pytest.raises(Incomparable, match=sentence):
        ready(files, **{"index_file": place, **options})


def test_a_file_that_is_no_index_is_one_sentence(tmp_path: Path) -> None:
    place = tmp_path / "index.npz"
    for content in (b"", b"nonsense", b"PK\x03\x04 broken"):
        place.write_bytes(content)
        with pytest.raises(UsageError, match="is not a saved index"):
            ready(index_file=str(place))


def spoiled(place: Path, **changes: np.ndarray) -> None:
    with np.load(place) as saved:
        np.savez(place, **{**saved, **changes})


def test_a_saved_index_whose_parts_do_not_fit_together_is_one_sentence(tmp_path: Path) -> None:
    place = tmp_path / "index.npz"
    ready(index_file=str(place))
    spoiled(place, keys=np.zeros((1, 32), np.uint8))
    with pytest.raises(UsageError, match="keys do not fit"):
        ready(index_file=str(place))
    spoiled(place, vectors=np.zeros((1, 256), np.float32))
    with pytest.raises(UsageError, match="do not fit its 1 vectors"):
        ready(index_file=str(place))


def test_a_saved_index_of_another_version_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "index.npz"
    ready(index_file=str(place))
    header = b'{"schema_version": 99}'
    spoiled(place, header=np.frombuffer(header, np.uint8))
    with pytest.raises(
        UsageError, match=f"schema_version: is 99; this program reads version {INDEX_SCHEMA.version} of a vector index"
    ):
        ready(index_file=str(place))


def test_an_index_is_chosen_by_name_or_with_options() -> None:
    exact = ready().retrieve("login user", 9)
    for choice in ("exact", {"name": "exact"}):
        agent = ready(index=choice)
        assert agent.retrieve("login user", 9).files == exact.files
        assert agent.describe()["index"] == {"name": "exact"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"index": {"m": 3}}, "index: name is missing; write {name: hnsw, ...}, with one of exact, hnsw, sqlite_vec, pgvector"),
        (
            {"index": {"name": "pgvector", "method": "none", "ef_search": 9}},
            "ef_search has no effect with method: none; leave it out",
        ),
        ({"index": {"name": "pgvector", "probes": 9}}, "probes has no effect with method: hnsw; leave it out"),
        ({"index": "annoy"}, "there is no index 'annoy'; available: exact, hnsw, sqlite_vec, pgvector"),
        ({"index": {"name": "hnsw", "m": 1}}, "index hnsw, m: "),
        ({"index": "hnsw", "pooling": "mean"}, "pooling 'mean' needs every chunk of a file: use index: exact, or pooling: max"),
        ({"distance": "hamming"}, "config.distance"),
        ({"recall_k": 0}, "recall_k is 0, and must be 1 or more"),
        ({"candidates": 0}, "candidates is 0, and must be 1 or more"),
    ],
)
def test_options_of_an_index_that_cannot_be_are_one_sentence(options: dict, sentence: str) -> None:
    with pytest.raises(UsageError, match=re.escape(sentence)):
        create_agent(load_agent("semantic", **options))


def test_asking_before_there_is_an_index_is_one_sentence() -> None:
    with pytest.raises(UsageError, match="before it was initialised"):
        SemanticAgent().retrieve("a", 1)
    assert not SemanticAgent().update(step(FILES, FILES))


def test_closing_lets_go_and_the_size_is_known() -> None:
    agent = ready()
    assert agent.index_bytes() > 0
    agent.close()
    assert agent.index_bytes() is None


@pytest.mark.slow
def test_nothing_heavy_is_loaded_to_know_the_options() -> None:
    import subprocess
    import sys

    code = "import sys; from searchmark.agents.vectors.semantic import SemanticAgent; SemanticAgent(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"wordllama", "tokenizers", "torch", "apsw"} & set(loaded)
