"""Folders are removed whole, however deep and whoever closed them, and nothing beside them is touched."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from searchmark.io.folders import make_private_folder, open_folder, remove_entry_in

NOBODY = 65534


def removed(name: str, parent: Path) -> OSError | None:
    opened = open_folder(parent)
    try:
        return remove_entry_in(name, opened)
    finally:
        os.close(opened)


def as_ordinary_user(folder: Path, work: Callable[[], object]) -> None:
    """Do something in a folder without the rights of root, in a process of its own; the folders above may be closed to it."""
    folder.chmod(0o777)
    child = os.fork()
    if not child:
        try:
            os.chdir(folder)
            if not os.getuid():
                os.setresuid(NOBODY, NOBODY, NOBODY)
            work()
        except BaseException:  # noqa: BLE001  # this process is a copy of the test runner and must end here
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def deepen(folder: Path, name: str, depth: int) -> None:
    """Make folders in folders, and a file in the last, beyond what a path can name."""
    here = open_folder(folder)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        below = open_folder(name, here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def test_a_folder_deeper_than_any_path_is_removed_with_few_descriptors(tmp_path: Path) -> None:
    (tmp_path / "top").mkdir()
    deepen(tmp_path / "top", "n" * 100, 3000)
    code = "import sys; from searchmark.io.folders import *; sys.exit(remove_entry_in('top', open_folder(sys.argv[1])) is not None)"
    command = ["bash", "-c", 'ulimit -n 32 && exec "$@"', "-", sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, check=False, timeout=120)
    left = list(tmp_path.iterdir())
    subprocess.run(["rm", "-rf", "--", *left], check=True)  # pytest could not remove it
    assert (done.returncode, left) == (0, [])


def test_what_a_link_leads_to_is_left_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    (outside / "file").write_text("not yours")
    for path in (outside / "sub", outside):
        path.chmod(0o555)
    (tmp_path / "top" / "inner").mkdir(parents=True)
    for link in ("link", "top/link", "top/inner/link"):
        (tmp_path / link).symlink_to(outside)
    assert removed("link", tmp_path) is None
    assert removed("top", tmp_path) is None
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in (outside, outside / "sub")] == [0o555, 0o555]
    assert (outside / "file").read_text() == "not yours"


def test_what_is_not_there_needs_no_removal(tmp_path: Path) -> None:
    assert removed("nothing", tmp_path) is None


@pytest.mark.parametrize("mode", [0o000, 0o111, 0o444, 0o555, 0o222])
def test_folders_that_their_owner_has_closed_are_removed(tmp_path: Path, mode: int) -> None:
    def work() -> None:
        Path("top/a/b").mkdir(parents=True)
        Path("top/a/b/file").touch()
        for path in ("top/a/b", "top/a", "top"):
            Path(path).chmod(mode)
        assert removed("top", Path()) is None

    as_ordinary_user(tmp_path, work)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make files that belong to another user")
def test_what_belongs_to_another_user_is_left_and_the_rest_goes(tmp_path: Path) -> None:
    (tmp_path / "top" / "own").mkdir(parents=True)
    (tmp_path / "top" / "of root").mkdir()
    (tmp_path / "top" / "of root" / "file").touch()
    (tmp_path / "top" / "own" / "file").touch()
    for path in ("top", "top/own", "top/own/file"):
        os.chown(tmp_path / path, NOBODY, NOBODY)

    def work() -> None:
        assert isinstance(removed("top", Path()), PermissionError)

    as_ordinary_user(tmp_path, work)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "of root", "top"]
    assert stat.S_IMODE((tmp_path / "top" / "of root").stat().st_mode) == 0o755


def test_a_folder_that_is_moved_meanwhile_ends_the_removal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parent is then another folder, in which nothing may be removed."""
    (tmp_path / "top" / "inner").mkdir(parents=True)
    (tmp_path / "elsewhere" / "inner").mkdir(parents=True)
    really_scan = os.scandir

    def scan(folder: int) -> object:
        if (tmp_path / "top" / "inner").exists() and os.path.samestat(os.fstat(folder), (tmp_path / "top" / "inner").stat()):
            (tmp_path / "top" / "inner").rename(tmp_path / "elsewhere" / "moved")
        return really_scan(folder)

    monkeypatch.setattr(os, "scandir", scan)
    reason = removed("top", tmp_path)
    assert reason is not None
    assert reason.strerror == "a folder was moved while it was in use"
    assert (tmp_path / "elsewhere" / "inner").exists()


def test_every_missing_folder_above_a_private_one_is_private_too(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_private_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a", tmp_path / "a" / "b")] == [0o700, 0o700]
