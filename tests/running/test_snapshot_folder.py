"""The folder through which a sandboxed agent sees a repository, as the runner moves it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from searchmark.errors import DamagedRepository
from searchmark.formats.corpora.locations import Commit
from searchmark.git.repository import open_repository, ranks_along_history
from searchmark.running.sandbox.launch import SnapshotFolder
from tests.support.small_histories import FILE, write_history

TREES = [{b"a/%d.txt" % number: (FILE, b"%d" % number)} for number in range(3)]


@pytest.fixture
def commits(tmp_path: Path) -> list[Commit]:
    """Three commits, the oldest first; each is dated before its parent."""
    return [Commit("shop", tmp_path / "shop", commit) for commit in write_history(tmp_path / "shop", TREES, seconds=-60)]


@pytest.fixture
def folder(commits: list[Commit]) -> Iterator[SnapshotFolder]:
    with closing(SnapshotFolder({commits[0].path: [each.commit for each in commits]})) as opened:
        yield opened


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_commits_are_ranked_by_ancestry_whatever_their_dates_say(commits: list[Commit]) -> None:
    with open_repository(commits[0].path) as repository:
        ranks = ranks_along_history(repository, [each.commit for each in commits])
    assert sorted(ranks, key=ranks.__getitem__) == [each.commit for each in commits]


def test_the_folder_holds_the_files_of_the_last_commit_that_was_shown(commits: list[Commit], folder: SnapshotFolder) -> None:
    for number in (0, 2, 1):
        assert folder.show(commits[number])["blobs"].keys() == {f"a/{number}.txt"}
        assert files(folder.path) == [f"a/{number}.txt"]


def test_only_who_has_seen_a_later_commit_may_not_see_an_earlier_one(commits: list[Commit], folder: SnapshotFolder) -> None:
    assert not folder.reveals_later(commits[1])
    folder.show(commits[1])
    assert [folder.reveals_later(commit) for commit in commits] == [True, False, False]
    folder.forget_seen()
    assert not folder.reveals_later(commits[0])


def test_where_ancestry_cannot_be_known_every_other_commit_may_be_a_later_one(commits: list[Commit]) -> None:
    with closing(SnapshotFolder({commits[0].path: [*(each.commit for each in commits), "0" * 40]})) as folder:
        folder.show(commits[0])
        assert [folder.reveals_later(commit) for commit in commits] == [False, True, True]


def test_a_content_that_is_missing_is_an_error_and_the_next_commit_is_whole(commits: list[Commit], folder: SnapshotFolder) -> None:
    blob = folder.show(commits[1])["blobs"]["a/1.txt"]
    folder.show(commits[0])
    (commits[0].path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(DamagedRepository, match="lacks the content"):
        folder.show(commits[1])
    folder.show(commits[2])
    assert files(folder.path) == ["a/2.txt"]


def test_at_the_end_nothing_is_left(commits: list[Commit], folder: SnapshotFolder) -> None:
    folder.show(commits[0])
    folder.close()
    assert not folder.path.exists()
