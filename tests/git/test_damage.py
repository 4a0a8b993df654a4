"""Repositories that are damaged, forged or never answer: called what they are, in one sentence, and never waited for without end."""

from __future__ import annotations

import os
import random
from pathlib import Path
from time import perf_counter

import pytest

from searchmark import UsageError
from searchmark.errors import DamagedRepository
from searchmark.git.process import stream_output
from searchmark.git.repository import open_repository, order_along_history
from tests.support.forgery import flip, forge_graph, overwrite
from tests.support.small_histories import FILE, git, write_history


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """Two commits, in loose objects."""
    write_history(tmp_path / "plain", [{b"one.txt": (FILE, b"one\n")}, {b"one.txt": (FILE, b"1\n"), b"two.txt": (FILE, b"two\n")}])
    return tmp_path / "plain"


@pytest.fixture
def packed(plain: Path) -> Path:
    git(plain, "gc", "-q")
    return plain


@pytest.mark.parametrize("ending", ["idx", "pack"])
def test_a_pack_that_does_not_match_its_checksum_is_called_damaged(packed: Path, ending: str) -> None:
    (file,) = (packed / ".git/objects/pack").glob(f"*.{ending}")
    flip(file, file.stat().st_size // 2)
    with open_repository(packed) as repository, pytest.raises(DamagedRepository, match=rf"plain is damaged: .*\.{ending} does not"):
        repository.check_objects()


def loose_file(repository: Path, revision: str) -> Path:
    name = git(repository, "rev-parse", revision).decode().strip()
    return repository / ".git/objects" / name[:2] / name[2:]


@pytest.mark.parametrize("kind", ["", "^{tree}", ":one.txt"])
def test_a_loose_object_that_holds_another_one_is_called_damaged(plain: Path, kind: str) -> None:
    file, other = loose_file(plain, f"HEAD{kind}"), loose_file(plain, f"HEAD~1{kind}")
    with open_repository(plain) as repository:
        repository.check_objects()
        overwrite(file, other.read_bytes())
        with pytest.raises(DamagedRepository, match=f"plain is damaged: the object {file.parent.name}{file.name} is not what its"):
            repository.check_objects()


@pytest.mark.parametrize("keep", [0, 1, 20])
def test_a_loose_object_that_is_cut_short_is_called_damaged(plain: Path, keep: int) -> None:
    file = loose_file(plain, "HEAD")
    overwrite(file, file.read_bytes()[:keep])
    with open_repository(plain) as repository, pytest.raises(DamagedRepository, match="plain is damaged: the object"):
        repository.check_objects()


def test_loose_blobs_are_passed_over_by_who_reads_none(plain: Path) -> None:
    overwrite(loose_file(plain, "HEAD:one.txt"), loose_file(plain, "HEAD~1:one.txt").read_bytes())
    with open_repository(plain) as repository:
        repository.check_objects(blobs=False)


def test_a_large_loose_object_is_read_to_its_end(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(random.Random(1).randbytes(3_000_000) + bytes(3_000_000))
    name = git(plain, "hash-object", "-w", str(tmp_path / "large")).decode().strip()
    with open_repository(plain) as repository:
        repository.check_objects()
        flip(plain / ".git/objects" / name[:2] / name[2:], 2_500_000)
        with pytest.raises(DamagedRepository, match=f"the object {name}"):
            repository.check_objects()


def test_packs_that_are_borrowed_are_looked_at_as_well(packed: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--shared", str(packed), "borrower")
    with open_repository(tmp_path / "borrower") as repository:
        repository.check_objects()
    (file,) = (packed / ".git/objects/pack").glob("*.idx")
    flip(file, file.stat().st_size - 1)
    with open_repository(tmp_path / "borrower") as repository, pytest.raises(DamagedRepository, match="borrower is damaged"):
        repository.check_objects()


@pytest.mark.parametrize("ending", ["idx", "pack"])
@pytest.mark.parametrize("revision", ["{}", "{}^{{commit}}"])
def test_a_commit_that_was_in_half_a_pack_is_lost_by_damage(packed: Path, ending: str, revision: str) -> None:
    tip = git(packed, "rev-parse", "HEAD").decode().strip()
    (file,) = (packed / ".git/objects/pack").glob(f"*.{ending}")
    file.unlink()
    with (
        open_repository(packed) as repository,
        pytest.raises(DamagedRepository, match=rf"plain is damaged: .* without its \.{ending}"),
    ):
        repository.commit(revision.format(tip))


def test_a_commit_beyond_a_shallow_clone_is_called_that(plain: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth=1", plain.as_uri(), "short")
    first = git(plain, "rev-parse", "HEAD~1").decode().strip()
    with open_repository(tmp_path / "short") as repository:
        with pytest.raises(DamagedRepository, match=f"short lacks the commit {first}; it is a shallow clone: fetch the rest"):
            order_along_history(repository, [first])
        with pytest.raises(DamagedRepository, match=f"short lacks the commit {first}; it is a shallow clone: fetch the rest"):
            repository.commit(first)
        with pytest.raises(UsageError, match="'HEAD~1' is not a commit of this repository; it is a shallow clone: fetch the rest"):
            repository.commit("HEAD~1")


@pytest.mark.parametrize("content", [b"", b"nonsense", b"x\x9c"])
@pytest.mark.parametrize("kind", ["", "^{tree}"])
def test_what_git_cannot_read_on_its_way_is_called_damaged(plain: Path, kind: str, content: bytes) -> None:
    tip = git(plain, "rev-parse", "HEAD").decode().strip()
    overwrite(loose_file(plain, f"HEAD~1{kind}"), content)
    with open_repository(plain) as repository, pytest.raises(DamagedRepository, match=r"plain: git log failed: .*; it is damaged:"):
        repository.run("log", "--raw", tip)


def test_trees_that_a_partial_clone_lacks_are_not_called_damage(plain: Path, tmp_path: Path) -> None:
    git(plain, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--bare", "--filter=tree:0", plain.as_uri(), "treeless")
    said = r"treeless: git log failed: .*; it is a partial clone: fetch the contents first"
    with open_repository(tmp_path / "treeless") as repository, pytest.raises(DamagedRepository, match=said):
        repository.run("log", "--raw", repository.commit())


def test_a_head_whose_commit_is_lost_is_not_called_empty(plain: Path) -> None:
    tip = git(plain, "rev-parse", "HEAD").decode().strip()
    (plain / ".git/objects" / tip[:2] / tip[2:]).unlink(missing_ok=True)
    for pack in (plain / ".git/objects/pack").iterdir():
        pack.unlink()
    with open_repository(plain) as repository, pytest.raises(DamagedRepository, match=f"plain is damaged: HEAD names {tip}"):
        repository.commit()


def test_a_branch_that_names_nonsense_is_not_called_empty(plain: Path) -> None:
    (plain / ".git/refs/heads/main").write_text("nonsense\n")
    with open_repository(plain) as repository, pytest.raises(DamagedRepository, match="damaged: HEAD names a branch, which"):
        repository.commit()


@pytest.mark.parametrize("content", [b"\xff\xfe\xfa\n", b"not a commit\n", b"12345\n"])
def test_a_list_of_shallow_commits_that_is_none_is_one_sentence(plain: Path, content: bytes) -> None:
    (plain / ".git/shallow").write_bytes(content)
    with pytest.raises(UsageError, match="shallow"), open_repository(plain):
        pass


def test_a_forged_commit_graph_changes_nothing(plain: Path) -> None:
    trees = git(plain, "log", "--format=%T").split()
    git(plain, "commit-graph", "write", "--reachable")
    forge_graph(plain / ".git/objects/info/commit-graph")
    assert git(plain, "log", "--format=%T").split() == trees[::-1]
    with open_repository(plain) as repository:
        assert repository.run("log", "--format=%T", repository.commit()).split() == trees


@pytest.mark.parametrize(
    "name",
    [
        "HEAD",
        "config",
        "shallow",
        "packed-refs",
        "commondir",
        "refs/heads/main",
        "objects/info/alternates",
        "objects/12/34",
        "index",
    ],
)
def test_a_pipe_in_the_git_directory_is_refused_and_not_opened(plain: Path, name: str) -> None:
    file = plain / ".git" / name
    file.unlink(missing_ok=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(file)
    with pytest.raises(UsageError, match=f"{name} is not a regular file; remove it"), open_repository(plain):
        pass


def test_a_pipe_in_place_of_the_git_directory_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    with pytest.raises(UsageError, match=r"\.git is not a regular file"), open_repository(tmp_path):
        pass


def test_a_config_that_includes_a_pipe_ends_at_the_deadline(plain: Path, tmp_path: Path, monkeypatch) -> None:
    git(plain, "config", "include.path", str(tmp_path / "pipe"))
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv("SEARCHMARK_GIT_SECONDS", "0.2")
    with pytest.raises(UsageError, match=r"plain: git rev-parse said nothing for 0\.2 s"), open_repository(plain):
        pass


def test_a_stream_is_ended_by_silence(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("SEARCHMARK_GIT_SECONDS", "0.2")
    os.mkfifo(tmp_path / "pipe")
    command = ["sh", "-c", f"echo 1; exec cat {tmp_path / 'pipe'}"]
    with pytest.raises(UsageError, match=r"it said nothing for 0\.2 s"), stream_output(command, dict(os.environ), "it") as output:
        assert output.readline() == b"1\n"
        output.read()


@pytest.mark.slow
def test_a_stream_that_searches_meanwhile_speaking_is_not_ended(monkeypatch) -> None:
    monkeypatch.setenv("SEARCHMARK_GIT_SECONDS", "0.5")
    end = perf_counter() + 1.0
    with stream_output(["yes"], dict(os.environ), "it") as output:
        while perf_counter() < end:
            assert output.read(1 << 16)


@pytest.mark.parametrize("said", ["soon", "0", "-1", "nan", "inf"])
def test_a_deadline_that_is_none_is_refused(plain: Path, said: str, monkeypatch) -> None:
    monkeypatch.setenv("SEARCHMARK_GIT_SECONDS", said)
    with pytest.raises(UsageError, match="SEARCHMARK_GIT_SECONDS is a number of seconds above 0"), open_repository(plain):
        pass
