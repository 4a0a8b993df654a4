"""A lock is had by one process at a time, on the file that has the name."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from searchmark.io.folders import lock_file

FLAGS = os.O_RDWR | os.O_CREAT


def test_a_file_is_locked_until_it_is_closed(tmp_path: Path) -> None:
    held = lock_file(tmp_path / "a", FLAGS)
    assert held is not None
    with pytest.raises(BlockingIOError):
        lock_file(tmp_path / "a", FLAGS)
    os.close(held)
    again = lock_file(tmp_path / "a", FLAGS)
    assert again is not None
    os.close(again)


@pytest.mark.parametrize("lose", [Path.unlink, lambda path: path.with_name("other").replace(path)], ids=["removed", "replaced"])
def test_a_lock_on_a_file_that_lost_its_name_is_none(tmp_path: Path, monkeypatch, lose: Callable[[Path], object]) -> None:
    """Between opening and locking, the holder before us may have removed the file, or put another one there."""
    (tmp_path / "other").touch()
    locked: list[int] = []
    monkeypatch.setattr(fcntl, "flock", lambda held, _: locked.append(held) or lose(tmp_path / "a"))
    assert lock_file(tmp_path / "a", FLAGS) is None
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(locked[0])


def test_a_link_is_not_followed_where_that_is_not_wanted(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    held = lock_file(tmp_path / "link", FLAGS)
    assert held is not None
    os.close(held)
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        lock_file(tmp_path / "link", FLAGS | os.O_NOFOLLOW)
