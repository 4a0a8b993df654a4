"""What is made once in the cache is whole or not there, whoever is killed, and however many want it."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from searchmark import UsageError
from searchmark.io.folders import make_once

KILLED = """
import os, sys
from pathlib import Path
from searchmark.io.folders import make_once

def half(folder):
    folder.mkdir()
    (folder / "half").write_text("x")
    os.kill(os.getpid(), 9)

make_once(Path(sys.argv[1]), half)
"""


def visible(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix != ".lock"}


def test_of_many_who_want_it_one_makes_it_and_all_get_it(tmp_path: Path) -> None:
    made: list[Path] = []
    together = Barrier(6)

    def wanted(_: int) -> Path:
        together.wait()
        return make_once(tmp_path / "thing", lambda folder: (folder.mkdir(), made.append(folder)))

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(wanted, range(6))) == {tmp_path / "thing"}
    assert len(made) == 1


def test_folders_that_are_made_for_it_are_for_the_owner_alone(tmp_path: Path) -> None:
    make_once(tmp_path / "cache" / "kind" / "thing", Path.mkdir)
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "cache", tmp_path / "cache" / "kind")] == [0o700, 0o700]


def test_a_maker_that_fails_leaves_nothing_and_the_next_one_makes_it(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        folder.mkdir()
        raise UsageError("no")

    with pytest.raises(UsageError, match="no"):
        make_once(tmp_path / "thing", fail)
    assert visible(tmp_path) == set()
    assert make_once(tmp_path / "thing", Path.mkdir).is_dir()


def test_what_a_killed_maker_left_is_not_taken_for_the_thing_and_is_removed(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "thing")], check=False)
    assert killed.returncode == -9
    assert not (tmp_path / "thing").exists()
    assert list(make_once(tmp_path / "thing", Path.mkdir).iterdir()) == []
    assert visible(tmp_path) == {"thing"}


def test_what_is_there_and_not_whole_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    make_once(tmp_path / "file", lambda file: file.write_text("new"), lambda file: file.read_text() == "new")
    assert (tmp_path / "file").read_text() == "new"


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="set SEARCHMARK_CACHE to a folder"):
        make_once(tmp_path / "file" / "thing", Path.mkdir)
