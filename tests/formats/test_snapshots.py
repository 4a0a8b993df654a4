"""SnapshotReader: any commit as a corpus, read from Git alone, by way of any other commit, and nothing is ever written."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import threading
from itertools import pairwise, permutations
from pathlib import Path

import pytest

import searchmark.git.process
import searchmark.git.repository
from searchmark import UsageError, load_corpus
from searchmark.errors import DamagedRepository
from searchmark.formats.corpora.snapshots import SnapshotReader, changes_between
from searchmark.formats.corpora.source import FolderListing
from searchmark.git.repository import open_repository, order_along_history, path_text
from searchmark.git.trees import EMPTY_SNAPSHOT, ODD_REASON, Snapshot
from tests.conftest import ROOT
from tests.support.small_histories import FILE, LINK, PROGRAM, SUBMODULE, checked_out, git, random_trees, write_history

ATTRIBUTES = b"*.txt text eol=crlf\nhidden.txt export-ignore\n*.loud filter=shout\nident.txt ident\nsubst.txt export-subst\n"
ODD_THINGS = {
    b".gitattributes": (FILE, ATTRIBUTES),
    b".gitignore": (FILE, b"*.txt\n"),
    b"hidden.txt": (FILE, b"not in an archive\n"),
    b"lines.txt": (FILE, b"one\ntwo\n"),
    b"windows.md": (FILE, b"one\r\ntwo\r\n"),
    b"quiet.loud": (FILE, b"as it was committed\n"),
    b"ident.txt": (FILE, b"$Id$\n"),
    b"subst.txt": (FILE, b"$Format:%H$\n"),
    b"empty/__init__.py": (FILE, b""),
    b"empty/other/__init__.py": (FILE, b""),
    b"picture.bin": (FILE, b"\x89PNG\0\0"),
    b"late.bin": (FILE, b"x" * 9000 + b"\0"),
    b"latin.txt": (FILE, b"caf\xe9\n"),
    b"bom.txt": (FILE, b"\xef\xbb\xbfbom\n"),
    b"caf\xe9.py": (FILE, b"a path that is not UTF-8\n"),
    "naïve dir/日本.py".encode(): (FILE, b"unicode\n"),
    b'tab\t"quote"\nline\\.py': (FILE, b"odd\n"),
    b"run.sh": (PROGRAM, b"#!/bin/sh\n"),
    b"link": (LINK, b"run.sh"),
    b"to-folder": (LINK, b"empty"),
    b"outside": (LINK, b"/etc/passwd"),
    b"library": (SUBMODULE, b"1" * 40),
    b"swap": (FILE, b"a file\n"),
    b"turn/inner.py": (FILE, b"in a folder\n"),
    b"deep/down/here.py": (FILE, b"alone\n"),
    b"a-b": (FILE, b"1"), b"a/b": (FILE, b"2"), b"a.b": (FILE, b"3"),
}  # fmt: skip
OTHER_THINGS = {
    **{path: entry for path, entry in ODD_THINGS.items() if not path.startswith((b"deep/", b"turn/", b"swap", b"library"))},
    b"lines.txt": (FILE, b"one\nthree\n"),
    b"swap/now": (FILE, b"a folder\n"),
    b"turn": (FILE, b"a file\n"),
    b"link": (FILE, b"no link any more\n"),
    b"windows.md": (LINK, b"lines.txt"),
    b"run.sh": (FILE, b"#!/bin/sh\n"),
    b"latin.txt": (FILE, b"caf\0\n"),
    b"library/file.py": (FILE, b"was a submodule\n"),
    b"moved/picture.bin": (FILE, b"\x89PNG\0\0"),
}
TREES = [ODD_THINGS, OTHER_THINGS, {}, {b"only/one.py": (FILE, b"x")}, ODD_THINGS]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A repository with everything odd, and with a filter that leaves a trace if anybody runs it."""
    folder = tmp_path_factory.mktemp("odd") / "repository"
    commits = write_history(folder, TREES)
    git(folder, "config", "filter.shout.smudge", f"touch {folder.parent}/filtered; tr a-z A-Z")
    return folder, commits


def same(one: Snapshot, other: Snapshot) -> bool:
    fields = ("commit", "tree", "versions", "executable", "left_out")
    return all(getattr(one, name) == getattr(other, name) for name in fields)


def raw_difference(repository: Path, before: str, after: str) -> tuple[set[str], set[str]]:
    """What Git says: regular files that are new or have another content, and those that are gone."""
    written, removed = set(), set()
    parts = git(repository, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after).split(b"\0")[:-1]
    for about, path in zip(parts[::2], parts[1::2], strict=True):
        old_mode, new_mode, old, new, _ = about.lstrip(b":").split(b" ")
        was, now = (mode.startswith(b"100") for mode in (old_mode, new_mode))
        if now and (not was or old != new):
            written.add(path_text(path))
        if was and not now:
            removed.add(path_text(path))
    return written, removed


class TestContents:
    @pytest.mark.parametrize("number", [0, 1, 3])
    def test_a_snapshot_is_the_directory_that_git_would_check_out_without_filters(self, odd, tmp_path: Path, number: int) -> None:
        folder, commits = odd
        export = load_corpus(checked_out(folder, commits[number], tmp_path / "export"))
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            corpus = snapshots.corpus(snapshots.at(commits[number]))
            assert list(corpus) == list(export)
            assert (corpus.survey.ids, corpus.survey.digest) == (export.survey.ids, export.survey.digest)
        assert not (folder.parent / "filtered").exists()

    def test_the_trap_is_real(self, odd, tmp_path: Path) -> None:
        """A plain checkout does run the filter, so that the tests above would notice."""
        folder, commits = odd
        git(folder, "clone", "-q", "--no-checkout", ".", str(tmp_path / "plain"))
        git(tmp_path / "plain", "config", "filter.shout.smudge", "tr a-z A-Z")
        git(tmp_path / "plain", "reset", "-q", "--hard", commits[0])
        assert (tmp_path / "plain" / "quiet.loud").read_bytes() == b"AS IT WAS COMMITTED\n"

    def test_links_and_submodules_are_left_out_with_a_reason(self, odd) -> None:
        folder, commits = odd
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            snapshot = snapshots.at(commits[0])
            assert snapshots.corpus(snapshot).survey.skipped == len(snapshot.left_out) + len({"picture.bin"})
        link = "is a link"
        assert snapshot.left_out == {"library": "is a submodule", "link": link, "outside": link, "to-folder": link}
        assert snapshot.executable == {"run.sh"}

    @pytest.mark.parametrize("kind", ["work tree", "git directory", "bare", "worktree", "sha256"])
    def test_every_kind_of_repository_is_read(self, tmp_path: Path, kind: str) -> None:
        folder = tmp_path / "plain"
        trees = [{b"a/b.py": (FILE, b"one")}, {b"a/b.py": (FILE, b"two"), b"a/c.py": (FILE, b"three")}]
        first, second = write_history(folder, trees, *(["--object-format=sha256"] if kind == "sha256" else []))
        if kind == "bare":
            git(folder, "clone", "-q", "--bare", ".", str(tmp_path / "bare"))
        if kind == "worktree":
            git(folder, "worktree", "add", "-q", "--detach", str(tmp_path / "worktree"))
        opened = {"git directory": folder / ".git", "bare": tmp_path / "bare", "worktree": tmp_path / "worktree"}.get(kind, folder)
        with open_repository(opened) as repository, SnapshotReader(repository) as snapshots:
            before = snapshots.at(first)
            after = snapshots.at(second, near=before)
            assert same(after, snapshots.at("HEAD"))
            assert [document.text for document in snapshots.corpus(after)] == ["two", "three"]

    @pytest.mark.parametrize("revision", ["HEAD", "main", "v1", "HEAD~0", "short", "tag object"])
    def test_any_name_of_a_commit_will_do(self, tmp_path: Path, revision: str) -> None:
        folder = tmp_path / "plain"
        (commit,) = write_history(folder, [{b"a": (FILE, b"a")}])
        git(folder, "tag", "-a", "-m", "first", "v1")
        tag = git(folder, "rev-parse", "v1").decode().strip()
        given = {"short": commit[:10], "tag object": tag}.get(revision, revision)
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            assert snapshots.at(given).commit == commit

    @pytest.mark.parametrize("revision", ["nonsense", "0" * 40, "HEAD:a", "--all"])
    def test_anything_else_is_refused_in_one_sentence(self, tmp_path: Path, revision: str) -> None:
        write_history(tmp_path / "plain", [{b"a": (FILE, b"a")}])
        with open_repository(tmp_path / "plain") as repository, SnapshotReader(repository) as snapshots, pytest.raises(UsageError):
            snapshots.at(revision)


class TestSteps:
    def test_a_step_leads_to_the_same_snapshot_as_reading_it_afresh(self, odd) -> None:
        folder, commits = odd
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            fresh = {commit: snapshots.at(commit) for commit in commits}
            for before, after in permutations(commits, 2):
                assert same(snapshots.at(after, near=fresh[before]), fresh[after])

    def test_changes_are_what_git_says(self, odd) -> None:
        folder, commits = odd
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            for one, other in permutations(commits, 2):
                before, after = snapshots.at(one), snapshots.at(other)
                step = changes_between(before, after, snapshots.corpus(after))
                assert (set(step.written), set(step.removed)) == raw_difference(folder, one, other)
                assert list(step.written) == sorted(step.written)

    def test_random_histories_can_be_walked_in_any_order(self, tmp_path: Path) -> None:
        commits = write_history(tmp_path / "random", random_trees(seed=3, count=40))
        random.Random(5).shuffle(commits)
        with open_repository(tmp_path / "random") as repository, SnapshotReader(repository) as snapshots:
            here = EMPTY_SNAPSHOT
            for commit in commits:
                here = snapshots.at(commit, near=here)
                assert same(here, snapshots.at(commit))

    @pytest.mark.slow
    def test_a_real_history(self, tmp_path: Path) -> None:
        if not (ROOT / ".git").exists():
            pytest.skip("this copy of the project has no history")
        with open_repository(ROOT) as repository, SnapshotReader(repository) as snapshots:
            everything = repository.run("rev-list", repository.commit()).decode().split()
            commits = order_along_history(repository, random.Random(1).sample(everything, min(8, len(everything))))
            here = EMPTY_SNAPSHOT
            for commit in commits:
                here = snapshots.at(commit, near=here)
                assert same(here, snapshots.at(commit))
            export = load_corpus(checked_out(ROOT, commits[-1], tmp_path / "export"), files=FolderListing())
            assert list(snapshots.corpus(here)) == list(export)

    def test_a_file_mode_of_old_times_is_read_as_git_reads_it(self, tmp_path: Path) -> None:
        """Early versions of some tools wrote a zero before the mode of a folder, and files that the group may write."""
        write_history(tmp_path / "plain", [{b"a/b": (FILE, b"b")}])
        blob = git(tmp_path / "plain", "rev-parse", "HEAD:a/b").decode().strip()
        inner = hand_made_tree(tmp_path / "plain", [("100664", b"b", blob), ("100644", b"c", blob)])
        padded = commit_of(tmp_path / "plain", hand_made_tree(tmp_path / "plain", [("040000", b"a", inner)]))
        with open_repository(tmp_path / "plain") as repository, SnapshotReader(repository) as snapshots:
            assert same(snapshots.at(padded, near=snapshots.at("HEAD")), snapshots.at(padded))
            assert set(snapshots.at(padded).versions) == {"a/b", "a/c"}


def hand_made_tree(folder: Path, entries: list[tuple[str, bytes, str]]) -> str:
    content = b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(identity) for mode, name, identity in entries)
    return git(folder, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=content).decode().strip()


def commit_of(folder: Path, tree: str) -> str:
    return git(folder, "commit-tree", "-m", "x", tree).decode().strip()


class TestHostileTrees:
    @pytest.mark.parametrize(
        "name", [b"..", b".", b".git", b".GIT", b"/etc", b"a//b", b"x/../../y", b".git/config", b"a/.Git/hooks"]
    )
    def test_a_path_that_leads_elsewhere_is_left_out(self, tmp_path: Path, name: bytes) -> None:
        folder = tmp_path / "plain"
        write_history(folder, [{b"good": (FILE, b"good")}])
        blob = git(folder, "rev-parse", "HEAD:good").decode().strip()
        commit = commit_of(folder, hand_made_tree(folder, [("100644", name, blob), ("100644", b"good", blob)]))
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            for snapshot in (snapshots.at(commit), snapshots.at(commit, near=snapshots.at("HEAD"))):
                assert (set(snapshot.versions), snapshot.left_out) == ({"good"}, {path_text(name): ODD_REASON})

    @pytest.mark.parametrize(
        "entries",
        [[("100644", b"a", "blob"), ("40000", b"a", "tree")], [("100644", b"a", "blob"), ("100755", b"a", "blob")]],
        ids=["a file and a folder", "twice the same file"],
    )
    def test_two_entries_with_one_name_are_refused(self, tmp_path: Path, entries: list[tuple[str, bytes, str]]) -> None:
        folder = tmp_path / "plain"
        write_history(folder, [{b"sub/good": (FILE, b"good")}])
        objects = {"blob": "HEAD:sub/good", "tree": "HEAD:sub"}
        named = [(mode, name, git(folder, "rev-parse", objects[kind]).decode().strip()) for mode, name, kind in entries]
        commit = commit_of(folder, hand_made_tree(folder, named))
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            with pytest.raises(UsageError, match="is damaged"):
                snapshots.at(commit)
            with pytest.raises(UsageError, match="is damaged"):
                snapshots.at(commit, near=snapshots.at("HEAD"))

    def test_a_tree_that_ends_early_is_refused(self, tmp_path: Path) -> None:
        folder = tmp_path / "plain"
        write_history(folder, [{b"good": (FILE, b"good")}])
        whole = git(folder, "cat-file", "tree", "HEAD^{tree}")
        cut = git(folder, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=whole + whole[:-5]).decode().strip()
        inner = hand_made_tree(folder, [("40000", b"sub", cut)])
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            with pytest.raises(UsageError, match=f"{cut} is damaged"):
                snapshots.at(commit_of(folder, inner), near=snapshots.at("HEAD"))
            with pytest.raises(UsageError, match=f"{cut} is damaged"):
                snapshots.at(commit_of(folder, inner))

    def test_a_tree_that_is_not_here_is_said_to_be_missing(self, tmp_path: Path) -> None:
        folder = tmp_path / "plain"
        write_history(folder, [{b"good": (FILE, b"good")}])
        commit = commit_of(folder, hand_made_tree(folder, [("40000", b"a", "12" * 20)]))
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            with pytest.raises(UsageError, match="12121212"):
                snapshots.at(commit, near=snapshots.at("HEAD"))
            with pytest.raises(UsageError, match="12121212"):
                snapshots.at(commit)


class TestReading:
    def test_only_what_is_asked_for_is_read_and_every_content_once(self, odd, monkeypatch: pytest.MonkeyPatch) -> None:
        folder, commits = odd
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            corpus = snapshots.corpus(snapshots.at(commits[0]))
            asked: list[str] = []
            really_read = snapshots.objects.read
            monkeypatch.setattr(snapshots.objects, "read", lambda names: asked.extend(names) or really_read(names))
            ids = ["empty/__init__.py", "picture.bin", "lines.txt", "empty/other/__init__.py", "nowhere", "link"]
            assert {d.id: d.text for d in corpus.read(ids)} == {
                "empty/__init__.py": "", "empty/other/__init__.py": "", "lines.txt": "one\ntwo\n",
            }  # fmt: skip
            assert sorted(asked) == sorted({corpus.versions[path] for path in ids[:4]})
            asked.clear()
            assert list(corpus.read(["picture.bin"])) == asked == []

    def test_a_pass_that_is_given_up_does_not_spoil_the_next(self, odd) -> None:
        folder, commits = odd
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            corpus = snapshots.corpus(snapshots.at(commits[0]))
            expected = list(corpus)
            next(iter(corpus))
            assert [pair[0] for pair in zip(corpus, corpus, strict=True)] == expected

    def test_threads_may_read_at_the_same_time(self, odd) -> None:
        folder, commits = odd
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            corpus = snapshots.corpus(snapshots.at(commits[0]))
            expected, seen = list(corpus), []
            threads = [threading.Thread(target=lambda: seen.extend(list(corpus) for _ in range(5))) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert seen == [expected] * 20

    def test_a_git_process_that_was_killed_is_started_again(self, odd, monkeypatch: pytest.MonkeyPatch) -> None:
        folder, commits = odd
        started: list[subprocess.Popen[bytes]] = []
        really_start = searchmark.git.process.start_git
        monkeypatch.setattr(
            searchmark.git.repository, "start_git", lambda *given: started.append(really_start(*given)) or started[-1]
        )
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            corpus = snapshots.corpus(snapshots.at(commits[0]))
            expected = list(corpus)
            running = [process for process in started if process.poll() is None]
            assert len(running) == 1
            running[0].kill()
            running[0].wait()
            assert list(corpus) == expected
        assert all(process.poll() is not None for process in started)

    def test_a_content_that_a_partial_clone_lacks_is_an_error(self, tmp_path: Path) -> None:
        folder = tmp_path / "plain"
        write_history(folder, [{b"here": (FILE, b"here"), b"lost": (FILE, b"lost")}])
        git(folder, "config", "uploadpack.allowFilter", "true")
        git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", folder.as_uri(), "partial")
        lost = git(folder, "rev-parse", "HEAD:here").decode().strip()
        with open_repository(tmp_path / "partial") as repository, SnapshotReader(repository) as snapshots:
            snapshot = snapshots.at("HEAD")
            with pytest.raises(DamagedRepository, match=f"partial lacks the content {lost}; it is a partial clone: fetch"):
                list(snapshots.corpus(snapshot))
            assert "lacks 2 of 2 contents" in str(snapshots.problem(snapshot))

    def test_a_content_that_is_not_what_its_name_says_is_an_error(self, tmp_path: Path) -> None:
        """Git hands out whatever is stored under a name, as long as it can be inflated."""
        folder = tmp_path / "plain"
        write_history(folder, [{b"here": (FILE, b"here"), b"lost": (FILE, b"lost")}])
        false, true = ((folder / ".git/objects" / name[:2] / name[2:]) for name in blobs_at(folder, "HEAD:lost", "HEAD:here"))
        false.chmod(0o644)
        false.write_bytes(true.read_bytes())
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            snapshot = snapshots.at("HEAD")
            with pytest.raises(DamagedRepository, match=f"the object {false.parent.name}{false.name} is not what its name says"):
                list(snapshots.corpus(snapshot))
            assert "plain is damaged: 1 of 2 contents" in str(snapshots.problem(snapshot))

    def test_contents_are_held_by_their_bytes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = tmp_path / "plain"
        write_history(folder, [{b"%02d" % number: (FILE, b"%d" % number * 4000) for number in range(20)}])
        monkeypatch.setattr(searchmark.git.repository, "BATCH_BYTES", 20_000)
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            sizes: list[int] = []
            really_read = snapshots.objects.read
            corpus = snapshots.corpus(snapshots.at("HEAD"))
            monkeypatch.setattr(snapshots.objects, "read", lambda names: sizes.append(len(names)) or really_read(names))
            assert [document.text for document in corpus] == [f"{number}" * 4000 for number in range(20)]
            assert sizes == [5, 5, 2, 2, 2, 2, 2]


def blobs_at(folder: Path, *revisions: str) -> list[str]:
    return git(folder, "rev-parse", *revisions).decode().split()


def state_of(folder: Path) -> str:
    """Everything below a folder: names, contents, modes and times."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found = path.lstat()
        digest.update(f"{path}\0{found.st_mode}\0{found.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
        digest.update(path.read_bytes() if path.is_file() and not path.is_symlink() else b"")
    return digest.hexdigest()


def test_the_repository_of_the_user_is_left_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    commits = write_history(folder, random_trees(seed=1, count=6))
    (folder / "kept").write_text("changed by the user\n")
    (folder / "untracked").write_text("new\n")
    git(folder, "add", "untracked")
    status = git(folder, "status", "--porcelain")
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)
    before = state_of(folder)
    with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
        here = EMPTY_SNAPSHOT
        for commit in [*commits, "HEAD"]:
            here = snapshots.at(commit, near=here)
            seen = list(snapshots.corpus(here))
    assert {document.id for document in seen} == here.versions.keys()
    assert state_of(folder) == before
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            os.chmod(path, path.stat().st_mode | 0o200)  # noqa: PTH101  # so that the folder can be removed
    assert git(folder, "status", "--porcelain") == status


class TestOrder:
    def test_neighbours_are_close_whatever_order_they_came_in(self, tmp_path: Path) -> None:
        commits = write_history(tmp_path / "plain", random_trees(seed=2, count=30))
        shuffled = random.Random(4).sample(commits * 2, 60)
        with open_repository(tmp_path / "plain") as repository:
            assert order_along_history(repository, shuffled) == commits
            assert order_along_history(repository, []) == []

            def walked(order: list[str]) -> int:
                with SnapshotReader(repository) as snapshots:
                    states = [snapshots.at(commit).versions for commit in order]
                return sum(len(one.items() ^ other.items()) for one, other in pairwise(states))

            assert walked(commits) < walked(list(dict.fromkeys(shuffled))) / 2

    def test_what_is_not_here_is_refused(self, odd) -> None:
        with (
            open_repository(odd[0]) as repository,
            pytest.raises(DamagedRepository, match=f"repository lacks the commit {'0' * 40};"),
        ):
            order_along_history(repository, ["0" * 40])

    def test_what_is_no_commit_is_refused(self, odd) -> None:
        tree = git(odd[0], "rev-parse", "HEAD^{tree}").decode().strip()
        with open_repository(odd[0]) as repository, pytest.raises(UsageError, match=f"repository: '{tree}' is not a commit"):
            order_along_history(repository, [tree])
