"""Indexes that are kept on disk: the same answers, without reading or counting again, whatever happens to the files."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from searchmark import Changes, Corpus, Document
from searchmark.agents.lexical import cache as disk_cache
from searchmark.agents.lexical.bm25 import Bm25Agent, Bm25Settings
from tests.agents.corpora import Read

TEXTS = {"a.py": "def one():\n    1\n\n\ndef two():\n    2\n", "b.md": "one thing and another", "empty": "", "picture": "\0"}
QUERIES = ["one two", "def", "thing another one", "py", "é"]


def named(texts: dict[str, str], asked: list[str] | None = None) -> Corpus:
    """A corpus whose contents have names, as Git gives them; what begins with a NUL is no text."""

    def read(ids: Sequence[str]) -> list[Document]:
        if asked is not None:
            asked.extend(ids)
        return [Document(name, texts[name]) for name in ids if not texts[name].startswith("\0")]

    names = {name: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest() for name, text in texts.items()}
    return Corpus("named", Read(read, names))


def ready(corpus: Corpus, config: Bm25Settings | None = None) -> Bm25Agent:
    agent = Bm25Agent(config)
    agent.initialize(corpus)
    return agent


def answers(agent: Bm25Agent) -> list[object]:
    return [agent.retrieve(query, 9) for query in QUERIES]


EXPECTED_OFF = Bm25Settings(cache=False)


def test_a_second_run_counts_nothing_reads_what_is_no_text_and_answers_the_same(cache: Path) -> None:
    first = ready(named(TEXTS))
    asked: list[str] = []
    second = ready(named(TEXTS, asked))
    assert (asked, second.chunks_tokenised, first.chunks_tokenised) == (["picture"], 0, 3)
    assert answers(second) == answers(first) == answers(ready(named(TEXTS), EXPECTED_OFF))


def test_only_what_is_new_is_read_and_counted(cache: Path) -> None:
    ready(named(TEXTS))
    asked: list[str] = []
    edited = {**TEXTS, "a.py": TEXTS["a.py"] + "\n\ndef three(): 3\n", "new": "é"}
    agent = ready(named(edited, asked))
    assert (sorted(asked), agent.chunks_tokenised) == (["a.py", "new", "picture"], 4)  # its three chunks and the new file
    assert answers(agent) == answers(ready(named(edited), EXPECTED_OFF))


def test_what_updates_bring_is_kept_when_the_agent_is_closed(cache: Path) -> None:
    agent = ready(named(TEXTS))
    after = {**TEXTS, "b.md": "something else"}
    agent.update(Changes(named(after), ("b.md",), ()))
    agent.close()
    asked: list[str] = []
    assert answers(ready(named(after, asked))) == answers(agent)
    assert asked == ["picture"]


@pytest.mark.parametrize(
    ("cache_option", "versions", "files"), [(None, True, 1), (None, False, 0), (True, False, 1), (False, True, 0), (True, True, 1)]
)
def test_it_is_kept_where_contents_have_names_or_where_somebody_asks(
    cache: Path, cache_option: bool | None, versions: bool, files: int
) -> None:
    corpus = named(TEXTS) if versions else Corpus.of("plain", [Document("a", "one two", "Title"), Document("b", "one two")])
    first = ready(corpus, Bm25Settings(cache=cache_option))
    second = ready(corpus, Bm25Settings(cache=cache_option))
    assert len(list(cache.rglob("*.npz"))) == files
    assert (second.chunks_tokenised == 0) == bool(files)
    assert answers(first) == answers(second)


def test_names_that_are_no_digests_are_not_trusted_beyond_a_corpus(cache: Path) -> None:
    for text in ("one", "two"):
        agent = ready(Corpus("c", Read(lambda ids, text=text: [Document("d", text)], {"d": "v1"})))
        assert agent.retrieve(text, 1).files == ["d"]
    assert not list(cache.rglob("*.npz"))


def test_files_are_private(cache: Path) -> None:
    ready(named(TEXTS))
    (path,) = cache.rglob("*.npz")
    assert [entry.stat().st_mode & 0o077 for entry in (path, path.parent)] == [0, 0]


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "garbage", "other"])
def test_a_damaged_file_is_passed_over_and_made_again(cache: Path, damage: str) -> None:
    expected = answers(ready(named(TEXTS)))
    (path,) = cache.rglob("*.npz")
    content = path.read_bytes()
    at = content.index(b"digests.npy") + 200  # inside the data of a column
    path.write_bytes(
        {
            "empty": b"",
            "cut": content[: len(content) // 2],
            "flipped": content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :],
            "garbage": os.urandom(500),
            "other": b"PK\5\6" + bytes(18),
        }[damage]
    )
    again = ready(named(TEXTS))
    assert answers(again) == expected
    assert again.chunks_tokenised == 3
    assert ready(named(TEXTS)).chunks_tokenised == 0


def test_what_cannot_be_written_is_done_without(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.mkdir()
    (cache / "file").write_text("in the way")
    monkeypatch.setenv("SEARCHMARK_CACHE", str(cache / "file"))
    assert answers(ready(named(TEXTS))) == answers(ready(named(TEXTS), EXPECTED_OFF))


def test_only_what_is_asked_for_is_taken_from_a_file(cache: Path) -> None:
    ready(named({f"n{number}": f"word{number} one" for number in range(50)}))
    agent = ready(named({"n7": "word7 one"}))
    assert (agent.chunks_tokenised, len(agent.collection._vocabulary), agent.retrieve("word7", 5).files) == (
        0,
        6,
        ["n7"],
    )  # word 7 word7 one, n n7


def test_there_are_not_too_many_files(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "MAX_CACHE_FILES", 3)
    texts = dict(TEXTS)
    for number in range(6):
        texts = {**texts, f"n{number}": f"word{number} one"}
        assert answers(ready(named(texts))) == answers(ready(named(texts), EXPECTED_OFF))
    assert len(list(cache.rglob("*.npz"))) == 3


def test_the_folder_stays_within_its_bounds_and_the_oldest_go_first(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready(named({"only": "word0"}))
    (path,) = cache.rglob("*.npz")
    monkeypatch.setattr(disk_cache, "MAX_CACHE_BYTES", int(path.stat().st_size * 2.5))
    left_behind = path.with_name(".x.tmp")
    left_behind.touch()
    for number in (1, 2, 3):
        for old in path.parent.iterdir():
            os.utime(old, (0, old.stat().st_mtime - 2 * disk_cache.STALE_SECONDS))
        ready(named({"only": f"word{number}"}))
    assert not left_behind.exists()
    monkeypatch.setattr(disk_cache, "MAX_CACHE_BYTES", 0)  # what follows is read and not kept
    assert [ready(named({"only": f"word{number}"})).chunks_tokenised for number in (3, 2, 1, 0)] == [0, 0, 1, 1]


def _write_for_ever(texts: dict[str, str], ready_to_die: object) -> None:
    number = 0
    while True:
        ready(named({**texts, f"n{number}": f"word{number} " * 20_000}))
        number += 1
        ready_to_die.set()  # type: ignore[attr-defined]  # an event of multiprocessing


@pytest.mark.slow
def test_writers_may_be_killed_and_run_side_by_side(cache: Path) -> None:
    context = multiprocessing.get_context("fork")
    for _ in range(3):
        events = [context.Event() for _ in range(2)]
        writers = [context.Process(target=_write_for_ever, args=(TEXTS, event)) for event in events]
        for writer, event in zip(writers, events, strict=True):
            writer.start()
            assert event.wait(30)
        for writer in writers:
            os.kill(writer.pid, signal.SIGKILL)
            writer.join()
    assert answers(ready(named(TEXTS))) == answers(ready(named(TEXTS), EXPECTED_OFF))


def test_what_a_partial_clone_lacks_is_found_by_a_whole_one(cache: Path) -> None:
    whole = named(TEXTS)
    partial = Corpus("partial", Read(lambda ids: [], whole.versions))
    assert answers(ready(partial)) != answers(ready(whole))
    assert answers(ready(whole)) == answers(ready(whole, EXPECTED_OFF))
