"""Files that are written whole: what killed writers leave, whose error it is, names and modes."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from searchmark import UsageError
from searchmark.io.store import atomic_write, safe_file_name, write_text

WRITER = """
import sys
from searchmark.io.store import atomic_write
with atomic_write(sys.argv[1]) as file:
    file.write(b"from another process")
    print("writing", flush=True)
    sys.stdin.readline()
"""


def writer(path: Path) -> subprocess.Popen[str]:
    """Another process that is in the middle of writing a file."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def test_what_a_killed_writer_leaves_goes_with_the_next_write(tmp_path: Path) -> None:
    path = tmp_path / ("名" * 80 + ".json")
    with writer(path) as process:
        process.kill()
    assert [each.suffix for each in tmp_path.iterdir()] == [".tmp"]
    with atomic_write(path) as file:
        file.write(b"new")
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_at_once_leave_each_other_alone(tmp_path: Path) -> None:
    path = tmp_path / "k.json"
    with writer(path) as process:
        with atomic_write(path) as file:
            file.write(b"new")
        assert path.read_bytes() == b"new"
        process.communicate("\n")
    assert process.returncode == 0
    assert path.read_bytes() == b"from another process"
    assert list(tmp_path.iterdir()) == [path]


def test_files_of_others_are_not_taken_for_ours(tmp_path: Path) -> None:
    others = {".k.json.swp", ".k.json.tmp", ".k.json.0123.tmp", ".other.json.0123456789ab.tmp"}
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / ".k.json.0123456789ab.tmp").symlink_to(tmp_path / ".k.json.swp")
    with atomic_write(tmp_path / "k.json") as file:
        file.write(b"new")
    assert {path.name for path in tmp_path.iterdir()} == {*others, "k.json", ".k.json.0123456789ab.tmp"}


def test_errors_of_others_while_a_file_is_open_are_not_given_to_it(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError), atomic_write(tmp_path / "k.json"):
        tmp_path.read_bytes()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_error_of_its_own_writing_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = os.open("/dev/full", os.O_RDWR)
    monkeypatch.setattr("searchmark.io.store.open_unfinished", lambda *_: (tmp_path / "x", full))
    with pytest.raises(UsageError, match=rf"k\.json cannot be written: {os.strerror(errno.ENOSPC)}"):  # noqa: SIM117  # the error comes from inside
        with atomic_write(tmp_path / "k.json") as file:
            file.write(b"x" * (1 << 20))


@pytest.mark.parametrize(
    "names",
    [["名" * 80, "名" * 79 + "字"], ["a" * 200, "a" * 199 + "b"], ["😀" * 100, "😀" * 99 + "a"], ["名" * 27, "名" * 26]],
)
def test_names_of_files_are_bounded_in_bytes_and_differ_where_the_texts_do(names: list[str]) -> None:
    found = [safe_file_name(name) for name in names]
    assert len(set(found)) == len(names)
    assert max(len(name.encode()) for name in found) <= 89


def test_a_private_file_and_its_folders_are_for_the_owner_alone_whatever_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    before = os.umask(0)
    try:
        with atomic_write(path, private=True):
            pass
        path.chmod(0o644)
        with atomic_write(path, private=True):
            pass
    finally:
        os.umask(before)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]


def test_an_output_that_was_there_keeps_its_mode_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o664)
    before = os.umask(0o077)
    try:
        with atomic_write(path):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o664


def test_a_file_below_a_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"queries\.jsonl cannot be written: .*file is not a folder"):
        write_text(tmp_path / "file" / "queries.jsonl", "")
