"""Vectors of an exact index may lie in a file: nothing that is found changes, and nothing is left behind."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from searchmark import UsageError
from searchmark.agents.vectors import index_settings
from searchmark.agents.vectors.exact import BLOCK_ROWS, FIRST_BLOCK_OFFSET, ExactIndex, ExactSettings
from tests.agents.brute_force import filled, plain

ROWS = np.random.default_rng(1).normal(size=(2 * BLOCK_ROWS + 50, 32)).astype(np.float32)  # a block takes one megabyte
KILLED = """
import os, signal, numpy
from searchmark.agents.vectors.exact import ExactIndex, ExactSettings
index = ExactIndex(8, "ip", ExactSettings(memory_mb=0))
index.put(numpy.arange(3), numpy.ones((3, 8), numpy.float32))
assert len(index.search(numpy.ones(8, numpy.float32), 3)) == 3
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [ExactSettings(memory_mb=0), ExactSettings(memory_mb=1)])
def test_the_same_is_found_in_a_file_as_in_memory(options: ExactSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    index, in_memory = filled(ROWS, "l2", options), filled(ROWS, "l2")
    assert [plain(near) for near in index.search_many(ROWS[::2000], 10)] == [
        plain(in_memory.search(row, 10)) for row in ROWS[::2000]
    ]
    assert (index.contents(np.array([3, BLOCK_ROWS + 5])) == ROWS[[3, BLOCK_ROWS + 5]]).all()
    assert index.size() == in_memory.size()
    assert list(tmp_path.iterdir()) == []  # its file has no name


def test_a_named_file_holds_the_vectors_for_its_owner_alone_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    index = filled(ROWS, "ip", ExactSettings(file=str(path)))
    found = plain(index.search(ROWS[7], 3))
    index.close()
    assert found == plain(filled(ROWS, "ip").search(ROWS[7], 3))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (np.fromfile(path, np.float32, offset=FIRST_BLOCK_OFFSET)[: ROWS.size].reshape(ROWS.shape) == ROWS).all()


def test_a_named_file_is_made_again_for_the_next_index(tmp_path: Path) -> None:
    options = ExactSettings(file=str(tmp_path / "vectors"))
    filled(ROWS, "ip", options).close()
    index = filled(ROWS[:3], "ip", options)
    assert sorted(plain(index.search(ROWS[7], 9))[0]) == [0, 1, 2]
    assert (tmp_path / "vectors").stat().st_size == FIRST_BLOCK_OFFSET + BLOCK_ROWS * 32 * 4


def test_a_file_of_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("mine\n")
    with pytest.raises(
        UsageError, match=r"notes\.txt is there and holds something else than vectors of an index; name another file"
    ):
        ExactIndex(8, "ip", ExactSettings(file=str(path)))
    assert path.read_text() == "mine\n"


def test_a_file_that_another_index_has_is_refused(tmp_path: Path) -> None:
    options = ExactSettings(file=str(tmp_path / "vectors"))
    first = filled(ROWS[:3], "ip", options)
    with pytest.raises(UsageError, match="vectors is in use by another index; name another file"):
        ExactIndex(32, "ip", options)
    assert len(first.search(ROWS[0], 5)) == 3


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none/vectors cannot be written: No such file or directory"):
        ExactIndex(8, "ip", ExactSettings(file=str(tmp_path / "none" / "vectors")))


def test_a_full_disk_is_an_error_and_not_a_crash(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: both refuse when room is reserved."""
    code = f"""
import resource, signal, numpy
from searchmark.errors import UsageError
from searchmark.agents.vectors.exact import ExactIndex, ExactSettings
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
index = ExactIndex(8, "ip", ExactSettings(file={str(tmp_path / "vectors")!r}))
try:
    index.put(numpy.arange(3), numpy.ones((3, 8), numpy.float32))
except UsageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "vectors has no room for more vectors: File too large; free some, or use another folder" in done.stdout


def test_a_process_that_is_killed_leaves_no_file(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    assert done.returncode == -9
    assert list(tmp_path.iterdir()) == []


def test_where_vectors_lie_is_an_option_of_the_index(tmp_path: Path) -> None:
    assert index_settings({"name": "exact", "memory_mb": 0}) == ExactSettings(memory_mb=0)
    with pytest.raises(UsageError, match="file and memory_mb exclude each other; set one of them"):
        index_settings({"name": "exact", "memory_mb": 0, "file": str(tmp_path / "vectors")})


def test_an_empty_file_of_someone_else_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "marker"
    path.touch()
    with pytest.raises(UsageError, match="marker is there and holds something else than vectors of an index"):
        ExactIndex(8, "ip", ExactSettings(file=str(path)))
    assert path.stat().st_size == 0


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_is_not_followed(tmp_path: Path, exists: bool) -> None:
    target = tmp_path / "elsewhere"
    ExactIndex(8, "ip", ExactSettings(file=str(target))).close() if exists else None
    before = target.read_bytes() if exists else None
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(UsageError, match="link is a link, and vectors are written to none; name another file"):
        ExactIndex(8, "ip", ExactSettings(file=str(tmp_path / "link")))
    assert (target.read_bytes() if target.exists() else None) == before


def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="pipe is there and holds something else"):
        ExactIndex(8, "ip", ExactSettings(file=str(tmp_path / "pipe")))
