"""The cache gives back what was written, whoever writes, whoever is killed, and never grows beyond its size."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from searchmark import UsageError
from searchmark.agents.vectors import load_embedder
from searchmark.agents.vectors.cache import VectorCache
from searchmark.io.cache_keys import KEY_BYTES, KEY_FILE, withheld_key
from searchmark.io.folders import cache_folder
from tests.agents.writer import texts

KEY, OTHER, NEW = b"k" * 32, b"o" * 32, b"n" * 32


def writer(first: int, last: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.agents.writer", str(first), str(last)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])


def expected(first: int, last: int) -> np.ndarray:
    return load_embedder({"name": "hashing", "cache": False}).embed_documents(texts(first, last))


def test_what_was_written_is_read_again(own_cache: Path) -> None:
    vector = np.arange(3, dtype=np.float32)
    first = VectorCache()
    first.write({KEY: vector})
    first.close()
    assert VectorCache().read([KEY, OTHER], 3).keys() == {KEY}
    assert np.array_equal(VectorCache().read([KEY], 3)[KEY], vector)


def test_a_vector_of_another_length_is_as_good_as_none() -> None:
    cache = VectorCache()
    cache.write({KEY: np.arange(3, dtype=np.float32)})
    assert cache.read([KEY], 4) == {}


def test_no_text_is_encoded_twice_by_any_embedder_that_shares_the_cache() -> None:
    first = load_embedder({"name": "hashing", "cache": True})
    given = first.embed_documents(["a", "b", "a"])
    assert first.texts_encoded == 2
    first.embed_documents(["b", "c"])
    assert first.texts_encoded == 3
    second = load_embedder({"name": "hashing", "cache": True})
    assert np.array_equal(second.embed_documents(["a", "b", "a"]), given)
    assert second.texts_encoded == 0


@pytest.mark.parametrize("other", [{"size": 128}, {"document_prefix": "passage: "}])
def test_another_model_or_text_is_another_vector(other: dict) -> None:
    load_embedder({"name": "hashing", "cache": True}).embed_documents(["a"])
    embedder = load_embedder({"name": "hashing", "cache": True, **other})
    embedder.embed_documents(["a"])
    assert embedder.texts_encoded == 1


def test_what_only_treats_vectors_reuses_them() -> None:
    load_embedder({"name": "hashing", "cache": True}).embed_documents(["a b c"])
    embedder = load_embedder({"name": "hashing", "cache": True, "dimension": 8, "normalize": False, "query_prefix": "q"})
    assert embedder.embed_documents(["a b c"]).shape == (1, 8)
    assert embedder.texts_encoded == 0


def test_queries_are_not_kept_on_disk(own_cache: Path) -> None:
    load_embedder({"name": "hashing", "cache": True}).embed_query("a")
    assert not own_cache.exists()


@pytest.mark.parametrize("batches", [1, 4, 9])
def test_a_writer_that_is_killed_leaves_only_right_vectors(batches: int) -> None:
    process = writer(0, 4000)
    for _ in range(batches):
        assert process.stdout.readline()
    process.kill()
    process.stdout.close()
    assert process.wait() < 0

    embedder = load_embedder({"name": "hashing", "cache": True})
    assert np.array_equal(embedder.embed_documents(texts(0, 4000)), expected(0, 4000))
    assert embedder.texts_encoded <= 4000 - 40 * batches
    again = load_embedder({"name": "hashing", "cache": True})
    assert np.array_equal(again.embed_documents(texts(0, 4000)), expected(0, 4000))
    assert again.texts_encoded == 0


@pytest.mark.slow
def test_writers_at_the_same_time_wait_for_each_other() -> None:
    processes = [writer(first, first + 1200) for first in (0, 400, 800)]
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0, 0, 0]
    embedder = load_embedder({"name": "hashing", "cache": True})
    assert np.array_equal(embedder.embed_documents(texts(0, 2000)), expected(0, 2000))
    assert embedder.texts_encoded == 0


def test_the_oldest_go_when_it_is_full(own_cache: Path) -> None:
    cache = VectorCache(max_bytes=1 << 20)
    for number in range(30):
        cache.write({bytes([number, place]) * 16: np.full(256, number, dtype=np.float32) for place in range(100)})
    assert cache.used_bytes() <= 1 << 20
    assert bytes([0, 0]) * 16 not in cache.read([bytes([0, 0]) * 16], 256)
    assert len(cache.read([bytes([29, place]) * 16 for place in range(100)], 256)) == 100
    cache.close()
    assert sum(file.stat().st_size for file in own_cache.iterdir()) < 3 << 20


def test_a_batch_that_is_larger_than_the_cache_is_answered_all_the_same() -> None:
    embedder = load_embedder({"name": "hashing", "cache": True, "cache_megabytes": 0})
    assert np.array_equal(embedder.embed_documents(texts(0, 300)), expected(0, 300))


def test_nobody_else_may_read_it(own_cache: Path) -> None:
    cache = VectorCache()
    cache.write({KEY: np.zeros(3, dtype=np.float32)})
    assert stat.S_IMODE(own_cache.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in own_cache.iterdir()} == {0o600}


def test_a_file_that_others_could_read_is_closed_to_them(own_cache: Path) -> None:
    VectorCache().write({KEY: np.zeros(3, dtype=np.float32)})
    file = VectorCache().path
    file.chmod(0o644)
    VectorCache().read([KEY], 3)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def damaged(content: bytes, where: slice, by: bytes) -> bytes:
    return content[: where.start] + by + content[where.stop :]


DAMAGES = {
    "no SQLite": lambda content: b"this is not SQLite" * 1000,
    "cut in the middle": lambda content: content[: len(content) // 2],
    "cut in a page": lambda content: content[: len(content) // 2 + 100],
    "a first page of zeros": lambda content: damaged(content, slice(0, 4096), bytes(4096)),
    "a page of zeros": lambda content: damaged(content, slice(8192, 12288), bytes(4096)),
    "many pages of zeros": lambda content: damaged(content, slice(4096, len(content)), bytes(len(content) - 4096)),
    "an older version": lambda content: damaged(content, slice(60, 64), (1).to_bytes(4, "big")),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_what_is_damaged_is_computed_again(damage: Callable[[bytes], bytes]) -> None:
    first = load_embedder({"name": "hashing", "cache": True})
    first.embed_documents(texts(0, 400))
    first.close()
    path = VectorCache().path
    path.write_bytes(damage(path.read_bytes()))
    embedder = load_embedder({"name": "hashing", "cache": True})
    assert np.array_equal(embedder.embed_documents(texts(0, 500)), expected(0, 500))
    assert embedder.texts_encoded > 100
    again = load_embedder({"name": "hashing", "cache": True})
    assert np.array_equal(again.embed_documents(texts(0, 500)), expected(0, 500))


def test_a_flipped_bit_in_a_vector_is_found_by_its_seal_and_counted() -> None:
    cache = VectorCache()
    vector = np.arange(1000, dtype=np.float32)
    cache.write({KEY: vector, OTHER: np.zeros(1000, dtype=np.float32)})
    cache.close()
    part = vector[500:510].tobytes()
    cache.path.write_bytes(cache.path.read_bytes().replace(part, bytes([part[0] ^ 4]) + part[1:]))
    assert cache.read([KEY, OTHER], 1000).keys() == {OTHER}
    assert cache.damaged == 1
    cache.write({KEY: vector})
    assert cache.read([KEY, OTHER], 1000).keys() == {KEY, OTHER}


def zeros(*keys: bytes) -> dict[bytes, np.ndarray]:
    return {key: np.zeros(3, dtype=np.float32) for key in keys}


def test_only_what_is_sealed_with_the_key_of_the_cache_is_believed() -> None:
    VectorCache().write(zeros(KEY, OTHER))
    VectorCache(key=b"x" * 32).write({OTHER: np.ones(3, dtype=np.float32), NEW: np.ones(3, dtype=np.float32)})
    assert VectorCache().read([KEY, OTHER, NEW], 3).keys() == {KEY}


def cache_in_another_process(*lines: str) -> str:
    code = "; ".join(["import numpy as np", "from searchmark.agents.vectors.cache import VectorCache", *lines])
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


WRITES = f"VectorCache().write({{{NEW!r}: np.ones(3, dtype=np.float32)}})"
READS = f"print(len(VectorCache().read([{KEY!r}, {NEW!r}], 3)))"


def test_a_process_that_may_not_have_the_key_can_neither_plant_a_vector_nor_read_one(own_cache: Path) -> None:
    VectorCache().write(zeros(KEY))
    with withheld_key(own_cache):
        assert cache_in_another_process(WRITES, READS) == "0"
        assert (own_cache / KEY_FILE).stat().st_size != KEY_BYTES
        assert VectorCache().read([KEY, NEW], 3).keys() == {KEY}
    assert VectorCache().read([KEY, NEW], 3).keys() == {KEY}


def test_the_last_of_several_runs_that_keep_the_key_brings_it_back(own_cache: Path) -> None:
    VectorCache().write(zeros(KEY))
    with ExitStack() as first, withheld_key(own_cache) as key:
        assert first.enter_context(withheld_key(own_cache)) == key
        first.close()
        assert (own_cache / KEY_FILE).stat().st_size != KEY_BYTES
    assert (own_cache / KEY_FILE).read_bytes() == key


def test_where_a_killed_run_has_taken_the_key_with_it_the_cache_begins_again(own_cache: Path) -> None:
    VectorCache().write(zeros(KEY))
    (own_cache / KEY_FILE).write_text("999999999")
    assert VectorCache().read([KEY], 3) == {}
    VectorCache().write(zeros(KEY))
    assert VectorCache().read([KEY], 3).keys() == {KEY}


def test_a_vector_that_is_none_is_computed_again() -> None:
    cache = VectorCache()
    cache.write(zeros(KEY, OTHER, NEW))
    cache._database.execute("UPDATE vectors SET vector = 'text' WHERE key = ?", (KEY,))
    cache._database.execute("UPDATE vectors SET vector = NULL WHERE key = ?", (OTHER,))
    assert cache.read([KEY, OTHER, NEW], 3).keys() == {NEW}
    assert cache.damaged == 2


def test_a_folder_that_cannot_be_made_is_one_sentence(own_cache: Path) -> None:
    own_cache.write_text("a file in its place")
    with pytest.raises(UsageError, match="name another folder with SEARCHMARK_CACHE"):
        VectorCache().read([KEY], 3)


def test_it_is_where_the_user_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCHMARK_CACHE", "/a/b")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder() == Path("/a/b")


@pytest.mark.skipif(sys.platform != "linux", reason="each platform has a folder of its own")
@pytest.mark.parametrize(("everybody", "folder"), [("/x", "/x/searchmark"), ("", "/h/.cache/searchmark")])
def test_else_it_is_in_the_cache_folder_of_the_platform(monkeypatch: pytest.MonkeyPatch, everybody: str, folder: str) -> None:
    monkeypatch.setenv("SEARCHMARK_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", everybody)
    monkeypatch.setenv("HOME", "/h")
    assert cache_folder() == Path(folder)
