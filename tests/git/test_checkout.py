"""SnapshotReader as files: one private folder that moves from commit to commit and never reaches outside."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from searchmark import UsageError, load_corpus
from searchmark.errors import DamagedRepository
from searchmark.formats.corpora.snapshots import HistoryWalk, open_history_walk
from searchmark.git.worktree import Checkout
from searchmark.io.folders import private_folder
from tests.formats.test_snapshots import TREES, commit_of, hand_made_tree, state_of
from tests.support.small_histories import FILE, PROGRAM, checked_out, git, random_trees, write_history


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where private folders are made in these tests."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return temporary / f"searchmark-{os.getuid()}"


def files_in(folder: Path) -> dict[bytes, tuple[bool, bytes]]:
    """Path -> whether it may be run, and its content. Empty folders count as well, links do not."""
    found: dict[bytes, tuple[bool, bytes]] = {}
    for parent, folders, names in os.walk(os.fsencode(folder)):
        for name in names:
            path = os.path.join(parent, name)  # noqa: PTH118  # in bytes, of which a Path knows nothing
            if not os.path.islink(path):  # noqa: PTH114  # likewise
                with open(path, "rb") as file:  # noqa: PTH123  # likewise
                    found[os.path.relpath(path, os.fsencode(folder))] = (bool(os.stat(path).st_mode & 0o100), file.read())  # noqa: PTH116  # likewise
        if not folders and not names:
            found[os.path.relpath(parent, os.fsencode(folder)) + b"/"] = (False, b"")
    return found


def without_folders(files: dict[bytes, tuple[bool, bytes]]) -> dict[bytes, tuple[bool, bytes]]:
    return {path: entry for path, entry in files.items() if not path.endswith(b"/")}


class TestMoving:
    def test_every_commit_lies_there_as_git_would_check_it_out(self, tmp_path: Path) -> None:
        commits = write_history(tmp_path / "odd", TREES)
        with open_history_walk(tmp_path / "odd") as journey:
            for number, commit in enumerate(commits):
                corpus = journey.move_to(commit).corpus
                expected = checked_out(tmp_path / "odd", commit, tmp_path / f"expected-{number}")
                assert corpus.folder is not None
                assert without_folders(files_in(corpus.folder)) == without_folders(files_in(expected))
                assert list(load_corpus(corpus.folder)) == list(corpus)
                assert not list(corpus.folder.rglob(".git"))

    def test_any_walk_leaves_what_a_fresh_export_has(self, tmp_path: Path) -> None:
        """Names that are now a file, now a folder, now a link or gone; emptied folders are removed."""
        commits = write_history(tmp_path / "random", random_trees(seed=8, count=50))
        random.Random(6).shuffle(commits)
        with open_history_walk(tmp_path / "random") as journey:
            for number, commit in enumerate(commits):
                folder = journey.move_to(commit).corpus.folder
                fresh = Checkout(tmp_path / f"fresh-{number}", journey.snapshots.objects)
                fresh.folder.mkdir()
                assert files_in(folder) == files_in(fresh.sync_to(journey.here))
                assert not any(path.endswith(b"/") for path in files_in(folder))

    def test_the_folder_moves_along_once_somebody_has_asked_for_it(self, tmp_path: Path, place: Path) -> None:
        first, second = write_history(tmp_path / "plain", [{b"a": (FILE, b"one")}, {b"a": (FILE, b"two")}])
        with open_history_walk(tmp_path / "plain") as journey:
            before = set(place.iterdir())
            corpus = journey.move_to(first).corpus
            assert set(place.iterdir()) == before
            assert (corpus.folder / "a").read_text() == "one"
            journey.move_to(second)
            assert (corpus.folder / "a").read_text() == "two"

    def test_only_what_differs_is_written(self, tmp_path: Path) -> None:
        trees = [{b"same": (FILE, b"s"), b"other": (FILE, b"1")}, {b"same": (FILE, b"s"), b"other": (PROGRAM, b"1")}]
        first, second = write_history(tmp_path / "plain", trees)
        with open_history_walk(tmp_path / "plain") as journey:
            folder = journey.move_to(first).corpus.folder
            before = {path.name: path.stat().st_ino for path in folder.iterdir()}
            step = journey.move_to(second)
            after = {path.name: path.stat().st_ino for path in folder.iterdir()}
            assert before["same"] == after["same"]
            assert (folder / "other").stat().st_mode & stat.S_IXUSR
            assert step.written == step.removed == ()  # the content is the same, and so is what can be found

    def test_the_first_step_writes_everything_and_none_to_the_same_commit(self, tmp_path: Path) -> None:
        (commit,) = write_history(tmp_path / "plain", [{b"a": (FILE, b"1"), b"b/c": (FILE, b"2")}])
        with open_history_walk(tmp_path / "plain") as journey:
            assert journey.move_to(commit).written == ("a", "b/c")
            again = journey.move_to("HEAD")
            assert again.written == again.removed == ()


@pytest.fixture
def travelling(tmp_path: Path) -> Iterator[tuple[HistoryWalk, Path, list[str]]]:
    """A journey at the first of two commits that differ in ``src/a.py`` and ``top``, and its folder."""
    trees = [
        {b"src/a.py": (FILE, b"one"), b"src/kept": (FILE, b"k"), b"top": (FILE, b"1"), b"gone/x": (FILE, b"x")},
        {b"src/a.py": (FILE, b"two"), b"src/kept": (FILE, b"k"), b"top": (FILE, b"2")},
    ]
    commits = write_history(tmp_path / "plain", trees)
    with open_history_walk(tmp_path / "plain") as journey:
        folder = journey.move_to(commits[0]).corpus.folder
        assert folder is not None
        yield journey, folder, commits


def replaced_by_link(folder: Path, outside: Path) -> None:
    shutil.rmtree(folder / "src")
    (folder / "src").symlink_to(outside)


def removed_through_link(folder: Path, outside: Path) -> None:
    shutil.rmtree(folder / "gone")
    (folder / "gone").symlink_to(outside)


def file_is_link(folder: Path, outside: Path) -> None:
    (folder / "top").unlink()
    (folder / "top").symlink_to(outside / "top")


def file_is_hard_link(folder: Path, outside: Path) -> None:
    (folder / "top").unlink()
    (folder / "top").hardlink_to(outside / "top")


def file_is_folder(folder: Path, outside: Path) -> None:
    (folder / "top").unlink()
    (folder / "top" / "deep").mkdir(parents=True)
    (folder / "top" / "deep" / "link").symlink_to(outside)


def everything_is_gone(folder: Path, outside: Path) -> None:
    for path in ("src/a.py", "gone/x", "top"):
        (folder / path).unlink()


MEDDLING = [replaced_by_link, removed_through_link, file_is_link, file_is_hard_link, file_is_folder, everything_is_gone]


@pytest.mark.parametrize("meddle", MEDDLING, ids=lambda meddle: meddle.__name__)
def test_whatever_an_agent_does_in_the_folder_nothing_outside_is_touched(
    travelling: tuple[HistoryWalk, Path, list[str]], tmp_path: Path, meddle: Callable[[Path, Path], None]
) -> None:
    journey, folder, commits = travelling
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("a.py", "top", "x"):
        (outside / name).write_text("not yours")
    meddle(folder, outside)
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    journey.move_to(commits[1])
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before
    assert not (folder / "src").is_symlink()
    assert [(folder / path).read_text() for path in ("src/a.py", "top")] == ["two", "2"]


def test_a_tree_that_leads_elsewhere_writes_only_its_good_files(tmp_path: Path) -> None:
    repository = tmp_path / "plain"
    write_history(repository, [{b"good": (FILE, b"good")}])
    blob = git(repository, "rev-parse", "HEAD:good").decode().strip()
    names = [b"../escaped", b".git/config", b"/absolute", b"good"]
    commit = commit_of(repository, hand_made_tree(repository, [("100644", name, blob) for name in names]))
    with open_history_walk(repository) as journey:
        folder = journey.move_to(commit).corpus.folder
        assert files_in(folder) == {b"good": (False, b"good")}
        assert not (folder.parent / "escaped").exists()


def test_what_the_file_system_cannot_hold_is_an_error_and_the_next_step_is_right(tmp_path: Path) -> None:
    repository = tmp_path / "plain"
    write_history(repository, [{b"good": (FILE, b"good")}])
    blob = git(repository, "rev-parse", "HEAD:good").decode().strip()
    inner = hand_made_tree(repository, [("100644", b"file", blob)])
    entries = [("100644", b"good", blob), ("100644", b"n" * 300, blob), ("40000", b"p" * 300, inner)]
    long = commit_of(repository, hand_made_tree(repository, entries))
    with open_history_walk(repository) as journey:
        with pytest.raises(UsageError, match=r"lacks 'n{90,}.*and 1 more.*the file system cannot hold it: File name too long"):
            _ = journey.move_to(long).corpus.folder
        folder = journey.move_to("HEAD").corpus.folder
        assert list(files_in(folder)) == [b"good"]
        with pytest.raises(UsageError, match="File name too long"):
            journey.move_to(long)
        assert list(files_in(journey.move_to("HEAD").corpus.folder)) == [b"good"]


def test_a_step_to_missing_content_is_an_error_and_the_next_step_is_right(tmp_path: Path) -> None:
    repository = tmp_path / "plain"
    first, second = write_history(
        repository, [{b"a": (FILE, b"old"), b"b": (FILE, b"b")}, {b"a": (FILE, b"lost"), b"b": (FILE, b"b")}]
    )
    lost = git(repository, "rev-parse", "HEAD:a").decode().strip()
    (repository / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    with open_history_walk(repository) as journey:
        folder = journey.move_to(first).corpus.folder
        with pytest.raises(DamagedRepository, match=f"plain lacks the content {lost}; it is damaged"):
            journey.move_to(second)
        assert journey.here.commit == first
        journey.move_to(first)
        assert {path: (folder / os.fsdecode(path)).read_bytes() for path in files_in(folder)} == {b"a": b"old", b"b": b"b"}


def test_after_a_failure_the_folder_is_made_anew(travelling: tuple[HistoryWalk, Path, list[str]]) -> None:
    journey, folder, commits = travelling
    shutil.rmtree(folder)
    with pytest.raises(UsageError, match="cannot be written: No such file or directory"):
        journey.move_to(commits[1])
    folder.mkdir()
    (folder / "left over").write_text("x")
    journey.move_to(commits[1])
    assert sorted(files_in(folder)) == [b"src/a.py", b"src/kept", b"top"]


class TestPrivateFolders:
    def test_nobody_else_can_look_into_it_and_nothing_is_left(self, place: Path) -> None:
        with private_folder() as folder:
            assert folder.parent == place
            assert [stat.S_IMODE(path.stat().st_mode) for path in (place, folder)] == [0o700, 0o700]
            (folder / "sub").mkdir()
        assert list(place.iterdir()) == []

    def test_a_place_that_was_opened_to_others_is_closed_again(self, place: Path) -> None:
        place.mkdir(mode=0o755)
        place.chmod(0o777)
        with private_folder():
            assert stat.S_IMODE(place.stat().st_mode) == 0o700

    @pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to another user")
    def test_a_place_of_another_user_is_refused(self, place: Path) -> None:
        place.mkdir(mode=0o700)
        os.chown(place, 65534, 65534)
        with pytest.raises(UsageError, match="not a folder of this user"), private_folder():
            pass

    def test_a_link_in_its_place_is_refused(self, place: Path, tmp_path: Path) -> None:
        place.symlink_to(tmp_path)
        with pytest.raises(UsageError, match="not a folder of this user"), private_folder():
            pass

    def test_a_file_in_its_place_is_said_to_be_in_the_way(self, place: Path) -> None:
        place.write_text("")
        with pytest.raises(UsageError, match="cannot be made: File exists; set TMPDIR"), private_folder():
            pass

    def test_folders_that_were_closed_for_writing_are_removed_as_well(self, place: Path) -> None:
        with private_folder() as folder:
            (folder / "closed" / "inner").mkdir(parents=True)
            (folder / "closed" / "inner" / "file").write_text("x")
            (folder / "link").symlink_to("/")
            for path in (folder / "closed" / "inner", folder / "closed", folder):
                path.chmod(0o555)
        assert list(place.iterdir()) == []

    def test_a_lock_that_was_taken_for_a_stale_one_is_given_up(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Between making the file and locking it another process may remove it."""
        really_lock, swept = fcntl.flock, []

        def lock_too_late(held: int, operation: int) -> None:
            if not swept:
                swept.extend(path.rename(path.with_suffix(".swept")) for path in place.glob("*.lock"))
            really_lock(held, operation)

        monkeypatch.setattr(fcntl, "flock", lock_too_late)
        with private_folder() as folder:
            assert folder.with_suffix(".lock").exists()
            assert len(swept) == 1

    def test_what_a_killed_process_leaves_is_removed_by_the_next_and_the_living_keep_theirs(
        self, place: Path, tmp_path: Path
    ) -> None:
        write_history(tmp_path / "plain", [{b"a": (FILE, b"a")}])
        with open_history_walk(tmp_path / "plain") as journey:
            mine = journey.move_to("HEAD").corpus.folder
            process = other_process(tmp_path / "plain", place.parent)
            theirs = Path(process.stdout.readline().strip())
            with private_folder():
                assert theirs.exists()  # its owner lives
            process.send_signal(signal.SIGKILL)
            process.communicate()
            assert (theirs / "a").read_text() == "a"
            with private_folder():
                assert not theirs.exists()
            assert (mine / "a").read_text() == "a"
        assert list(place.iterdir()) == []

    def test_two_processes_share_a_repository_and_nothing_else(self, place: Path, tmp_path: Path) -> None:
        repository = tmp_path / "plain"
        commits = write_history(repository, random_trees(seed=9, count=12))
        before = state_of(repository)
        processes = [other_process(repository, place.parent, *order) for order in (commits, commits[::-1])]
        with open_history_walk(repository) as journey:
            for process, last in zip(processes, (commits[-1], commits[0]), strict=True):
                folder = Path(process.stdout.readline().strip())
                assert files_in(folder) == files_in(journey.move_to(last).corpus.folder)
                process.communicate("\n")
        assert state_of(repository) == before
        assert list(place.iterdir()) == []


def other_process(repository: Path, temporary: Path, *commits: str) -> subprocess.Popen[str]:
    """A process that goes through some commits, says where its folder is, and waits for a word."""
    code = """
import sys
from searchmark.formats.corpora.snapshots import open_history_walk
with open_history_walk(sys.argv[1]) as journey:
    for commit in sys.argv[2:] or ["HEAD"]:
        folder = journey.move_to(commit).corpus.folder
    print(folder, flush=True)
    sys.stdin.readline()
"""
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", code, str(repository), *commits]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
