"""semantic finds what a brute force in float64 finds, and embeds no chunk twice on its way through a history."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.agents.semantic import SemanticAgent
from searchmark.corpora.chunks import chunks
from searchmark.corpora.corpus import Corpus
from searchmark.embedders.embedder import normalized
from searchmark.errors import Incomparable, UsageError
from searchmark.indexes.exact import ExactIndex
from searchmark.records import Document
from tests.agents.corpora import FILES, corpus_from, step
from tests.embedders.jira import jira_vectors


def ready(files=FILES, **options) -> SemanticAgent:
    agent = SemanticAgent(SemanticAgent.Config(**{"embedder": "hashing", **options}))
    agent.initialize(corpus_from(files))
    return agent


def brute_force(vectors: dict[str, np.ndarray], query: np.ndarray, pooling: str, n: int = 3) -> list[tuple[str, float]]:
    """Cosines in float64, one row at a time, pooled in plain Python, sorted by score and name."""
    wide = query.astype(np.float64)
    scored = []
    for name, rows in vectors.items():
        products = [(row.astype(np.float64) * wide).sum() for row in rows]
        lengths = [float(np.sqrt((row.astype(np.float64) ** 2).sum() * (wide**2).sum())) for row in rows]
        cosines = sorted(
            (product / length if length else 0.0 for product, length in zip(products, lengths, strict=True)), reverse=True
        )
        best = cosines[:n] if pooling == "mean" else cosines[:1] if pooling == "max" else cosines
        scored.append((name, sum(best) / (len(best) if pooling == "mean" else 1)))
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))


def indexed(vectors: dict[str, np.ndarray], pooling: str = "max", cosine: bool = True) -> ExactIndex:
    index = ExactIndex(next(iter(vectors.values())).shape[1], cosine=cosine, pooling=pooling)
    keys = {name: [f"{name}{place}".encode() for place in range(len(rows))] for name, rows in vectors.items()}
    index.put(keys, {key: row for name, rows in vectors.items() for key, row in zip(keys[name], rows, strict=True)})
    return index


@pytest.mark.parametrize("pooling", ["max", "mean", "sum"])
def test_real_vectors_are_ranked_as_in_float64(shared_data: Path, pooling: str) -> None:
    ids, rows = jira_vectors(shared_data)
    # Files of one to four operations; each operation asks in turn, so that near ties are many.
    files = {f"{ids[start]}": rows[start : start + 1 + start % 4] for start in range(0, len(ids) - 4, 2)}
    index = indexed(files, pooling)
    for query in rows[::7]:
        found = [(neighbour.name, neighbour.score) for neighbour in index.search(query, 20)]
        expected = brute_force(files, query, pooling)[:20]
        assert [name for name, _ in found] == [name for name, _ in expected]
        assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-14)


@pytest.mark.parametrize("cosine", [True, False])
def test_scores_that_float32_cannot_tell_apart_are_ordered_as_in_float64(cosine: bool) -> None:
    """300 vectors around one direction, closer to each other than a float32 dot product can see."""
    random = np.random.default_rng(5)
    centre = random.normal(size=256)
    centre /= np.linalg.norm(centre)
    rows = (centre + 1e-6 * random.normal(size=(300, 256))).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    files = {f"{number:03}": row[np.newaxis] for number, row in enumerate(rows)}
    query = rows[7]
    exact = {name: (row[0].astype(np.float64) * query.astype(np.float64)).sum() for name, row in files.items()}
    expected = (
        [name for name, _ in brute_force(files, query, "max")[:10]] if cosine else sorted(exact, key=lambda n: (-exact[n], n))[:10]
    )
    in_float32 = [f"{number:03}" for number in np.argsort(-(rows @ query), kind="stable")[:10]]

    assert [neighbour.name for neighbour in indexed(files, cosine=cosine).search(query, 10)] == expected
    assert in_float32 != expected  # otherwise this test would show nothing


def test_equal_vectors_have_equal_scores_and_are_ordered_by_name() -> None:
    rows = np.random.default_rng(2).normal(size=(1, 64)).astype(np.float32)
    files = dict.fromkeys(("c", "a", "b"), rows) | {f"z{n}": -rows for n in range(50)}
    found = indexed(files).search(rows[0] + 0.1, 3)
    assert [neighbour.name for neighbour in found] == ["a", "b", "c"]
    assert len({neighbour.score for neighbour in found}) == 1


@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from(["max", "mean", "sum"]))
def test_any_vectors_are_ranked_as_in_float64(seed: int, k: int, pooling: str) -> None:
    random = np.random.default_rng(seed)
    # Few distinct numbers make many ties, and some rows are zero.
    rows = [normalized(random.integers(-1, 2, size=(random.integers(1, 6), 4)).astype(np.float32)) for _ in range(30)]
    files = {f"f{number}": row for number, row in enumerate([*rows, rows[0]])}
    query = normalized(random.integers(-1, 2, size=(1, 4)).astype(np.float32))[0]
    found = [neighbour.score for neighbour in indexed(files, pooling).search(query, k)]
    expected = [score for _, score in brute_force(files, query, pooling)[:k]]
    assert found == pytest.approx(expected if query.any() else [], abs=1e-14)


@given(st.lists(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.integers(0, 12), max_size=5), max_size=6), max_size=8))
def test_an_index_that_followed_every_change_equals_a_new_one(states: list[dict[str, list[int]]]) -> None:
    rows = np.random.default_rng(3).normal(size=(13, 8)).astype(np.float32)
    followed = ExactIndex(8)
    for state in states:
        keys = {name: [bytes([number]) for number in dict.fromkeys(numbers)] for name, numbers in state.items()}
        followed.drop([name for name in "abcdef" if name not in state])
        followed.put(keys, {key: rows[key[0]] for own in keys.values() for key in own if key not in followed})
        fresh = ExactIndex(8)
        fresh.put(keys, {key: rows[key[0]] for own in keys.values() for key in own})
        assert followed.search(rows[0], 6) == fresh.search(rows[0], 6)


def texts_of(files: dict[str, str]) -> set[str]:
    return {piece for text in files.values() for piece in chunks(text) if piece.strip()} | set(files)


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


def test_an_update_gives_what_a_new_index_gives() -> None:
    after = {**FILES, "app/login.py": "def login(): password\n", "new.py": "login password session\n"}
    del after["app/session.py"]
    agent = ready(lines=True, query_cache=0)
    for before, now in ((FILES, after), (after, FILES)):
        assert agent.update(step(before, now))
        for query in ("login password", "drop the cookie", "palette"):
            assert agent.retrieve(query, 9) == ready(now, lines=True, query_cache=0).retrieve(query, 9)


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


def test_hits_carry_the_lines_of_the_best_chunk_if_asked() -> None:
    files = {"a.py": "import os\n\n\ndef paint(wall):\n    return red\n\n\ndef swim(sea):\n    return blue\n"}
    assert ready(files).retrieve("swim sea blue", 1).lines is None
    agent = ready(files, lines=True, paths=False)
    assert agent.retrieve("swim sea blue", 1).lines == [(8, 9)]
    assert agent.retrieve("import os", 1).lines == [(1, 1)]
    assert ready(files, lines=True).retrieve("a.py", 1).lines == [None]


def test_a_title_is_a_chunk() -> None:
    agent = SemanticAgent(SemanticAgent.Config(embedder="hashing", paths=False))
    agent.initialize(Corpus.of("c", [Document("1", "x", "baking bread"), Document("2", "y z")]))
    assert agent.retrieve("baking bread", 1).files == ["1"]


def test_at_most_top_k_hits() -> None:
    assert len(ready(top_k=2).retrieve("login user", 9).files) == 2
    assert len(ready(top_k=5).retrieve("login user", 1).files) == 1


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
    first = ready(embedder=uncached, index=place).retrieve("login user", 9)
    again = ready(embedder=uncached, index=place)
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
        ({"longest_chunk": 10}, FILES, "chunking is"),
        ({"paths": False}, FILES, "chunking is"),
        ({}, {**FILES, "x.py": "y"}, "corpus is"),
    ],
)
def test_an_index_refuses_vectors_of_another(tmp_path: Path, options: dict, files: dict, sentence: str) -> None:
    place = str(tmp_path / "index.npz")
    ready(index=place)
    with pytest.raises(Incomparable, match=sentence):
        ready(files, **{"index": place, **options})


def test_a_file_that_is_no_index_is_one_sentence(tmp_path: Path) -> None:
    place = tmp_path / "index.npz"
    for content in (b"", b"nonsense", b"PK\x03\x04 broken"):
        place.write_bytes(content)
        with pytest.raises(UsageError, match="is no saved index"):
            ready(index=str(place))


def test_asking_before_there_is_an_index_is_one_sentence() -> None:
    with pytest.raises(UsageError, match="before it was initialised"):
        SemanticAgent().retrieve("a", 1)
    assert not SemanticAgent().update(step(FILES, FILES))


def test_closing_lets_go_and_the_size_is_known() -> None:
    agent = ready()
    assert agent.index_bytes() > 0
    agent.close()
    assert agent.index_bytes() is None


def test_nothing_heavy_is_loaded_to_know_the_options() -> None:
    import subprocess
    import sys

    code = "import sys; from searchmark.agents.semantic import SemanticAgent; SemanticAgent(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"wordllama", "tokenizers", "torch", "apsw"} & set(loaded)
