"""A location is data: it can be told to another process, compared and opened, each kind in its own way."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from searchmark import Corpus, Document, FieldMapping, UsageError, load_corpus
from searchmark.formats.corpora.locations import Commit, Documents, Folder, Location, Remote, location_from_plain
from searchmark.formats.corpora.snapshots import open_history_walk
from tests.support.small_histories import FILE, git, write_history

TREES = [
    {b"app.py": (FILE, b"old\n"), b"docs/app.md": (FILE, b"about\n")},
    {b"app.py": (FILE, b"new\n"), b"tests/test_app.py": (FILE, b"test\n")},
]
HASH = "0" * 40
DOCUMENTS = (Document("1", "red \udcff", "Title", {"price": 3}), Document("2", "blue"))
LOCATIONS = [
    Documents.of("case", DOCUMENTS),
    Folder("docs", Path("/data/docs")),
    Folder("shop", Path("/data/shop.csv"), FieldMapping("asin", "name", ("bullets", "text"))),
    Commit("shop", Path("/data/shop"), HASH, ("code",), ("*.min.js",)),
    Remote("shop"),
]


def sent(thing: Any) -> Any:
    """What arrives elsewhere."""
    return pickle.loads(pickle.dumps(thing))  # noqa: S301  # our own bytes


@pytest.fixture
def shop(tmp_path: Path) -> tuple[Path, list[str]]:
    commits = write_history(tmp_path / "shop", TREES)
    (tmp_path / "shop" / "app.py").write_text("not committed\n")
    return tmp_path / "shop", commits


@pytest.mark.parametrize("location", LOCATIONS, ids=lambda each: each.kind)
def test_a_location_comes_back_from_json_and_from_pickle(location: Location) -> None:
    told = location_from_plain(json.loads(json.dumps(location.to_plain())))
    assert (told, hash(told), told.identity) == (location, hash(location), location.identity)
    assert sent(location) == location


def test_documents_come_back_whole_and_are_told_apart_by_their_digest() -> None:
    told = location_from_plain(json.loads(json.dumps(LOCATIONS[0].to_plain())))
    assert isinstance(told, Documents)
    assert told.documents == DOCUMENTS
    assert Documents.of("case", DOCUMENTS[:1]) != Documents.of("case", DOCUMENTS)
    assert Documents.of("case", DOCUMENTS[:1]).identity != Documents.of("case", DOCUMENTS).identity


def test_all_identities_are_different() -> None:
    more = [Commit("shop", Path("/data/shop"), HASH), Commit("shop", Path("/data/shop"), "1" * 40, ("code",)), Remote("other")]
    assert len({location.identity for location in [*LOCATIONS, *more]}) == len([*LOCATIONS, *more])


def test_only_commits_of_one_repository_and_choice_of_files_share_a_history() -> None:
    here = Commit("shop", Path("/data/shop"), HASH, ("code",))
    assert here.same_history(Commit("shop", Path("/data/shop"), "1" * 40, ("code",)))
    assert not here.same_history(Commit("shop", Path("/data/shop"), "1" * 40))
    assert not here.same_history(Commit("shop", Path("/data/fork"), "1" * 40, ("code",)))
    assert not any(here.same_history(other) or other.same_history(here) for other in (*LOCATIONS[:3], Remote("shop")))
    assert not any(location.same_history(location) for location in (*LOCATIONS[:3], Remote("shop")))


def test_opening_a_commit_gives_its_tree_and_not_the_work_tree(shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    opened = [{each.id: each.text for each in Commit("shop", folder, commit).open()} for commit in commits]
    assert opened == [{"app.py": "old\n", "docs/app.md": "about\n"}, {"app.py": "new\n", "tests/test_app.py": "test\n"}]
    assert [each.text for each in Folder("shop", folder).open().read(["app.py"])] == ["not committed\n"]


def test_a_commit_holds_the_files_that_are_wanted_and_no_others(shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    assert Commit("shop", folder, commits[0], ("code",)).open().survey.ids == {"app.py"}
    assert Commit("shop", folder, commits[0], (), ("*.py",)).open().survey.ids == {"docs/app.md"}


def test_the_folder_of_an_opened_commit_is_removed_with_the_corpus(shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    corpus = Commit("shop", folder, commits[0]).open()
    made = corpus.folder
    assert made is not None
    assert (made / "app.py").read_text() == "old\n"
    del corpus
    assert not made.exists()


def test_a_service_has_no_corpus_of_ours() -> None:
    assert Remote("shop").open() is None


def test_a_folder_is_made_when_it_is_asked_for_and_not_before(shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    corpus = Commit("shop", folder, commits[0]).open()
    assert (corpus.folder_if_made, corpus.folder_ns) == (None, 0)
    made = corpus.folder
    assert corpus.folder_if_made == made
    assert corpus.folder_ns > 0
    assert Corpus.of("c", DOCUMENTS).folder is None


class TestPickles:
    """A corpus can be sent to another process, which reads the same documents."""

    SCRIPT = "import pickle, sys; print([(each.id, each.text) for each in pickle.load(sys.stdin.buffer)])"

    def elsewhere(self, corpus: Corpus, folder: Path) -> str:
        command = [sys.executable, "-c", self.SCRIPT]
        return subprocess.run(command, input=pickle.dumps(corpus), cwd=folder, capture_output=True, check=True).stdout.decode()

    @pytest.mark.parametrize(("path", "mapping"), [("shop", None), ("corpus.jsonl", FieldMapping(id="asin"))])
    def test_a_corpus_on_disk(self, path: str, mapping: FieldMapping | None, shop, tmp_path: Path, monkeypatch) -> None:
        (tmp_path / "corpus.jsonl").write_text('{"asin": "7", "text": "seven"}\n')
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path)
        corpus = load_corpus(path, mapping)
        _ = corpus.survey
        again = sent(corpus)
        assert (list(again), again.name, again.survey) == (list(corpus), corpus.name, corpus.survey)
        assert self.elsewhere(corpus, tmp_path / "elsewhere").strip() == str([(each.id, each.text) for each in corpus])

    def test_documents_in_memory(self) -> None:
        corpus = sent(Corpus.of("c", DOCUMENTS, {"1": "a", "2": "b"}))
        assert (list(corpus), list(corpus.read(["2"])), corpus.versions) == ([*DOCUMENTS], [DOCUMENTS[1]], {"1": "a", "2": "b"})

    def test_a_snapshot_by_its_repository_and_commit(self, shop, tmp_path: Path) -> None:
        folder, commits = shop
        location = Commit("shop", folder, commits[0], ("code",))
        with open_history_walk(folder, location.wanted) as walk:
            corpus = walk.move_to(commits[0]).corpus
            again = sent(corpus)
            assert (again.name, again.origin, again.versions) == (corpus.name, corpus.origin, corpus.versions)
            assert self.elsewhere(corpus, tmp_path) == "[('app.py', 'old\\n')]\n"
        assert (list(again), list(again.read(["app.py"]))) == ([Document("app.py", "old\n")], [Document("app.py", "old\n")])
        assert sent(again).survey == again.survey

    def test_a_snapshot_whose_repository_is_gone_is_refused_with_a_sentence(self, shop, tmp_path: Path) -> None:
        folder, commits = shop
        corpus = sent(Commit("shop", folder, commits[0]).open())
        folder.rename(tmp_path / "moved")
        with pytest.raises(UsageError, match="is not a Git repository: there is no such folder"):
            list(corpus)
        git(tmp_path, "init", "-q", str(folder))
        with pytest.raises(UsageError, match=f"shop lacks the commit {commits[0]}; name the repository that has it"):
            list(corpus)
