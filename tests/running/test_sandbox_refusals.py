"""What no sandbox can give to an agent of ours is said before the run."""

from __future__ import annotations

from typing import Any

import pytest

from searchmark import UsageError, load_agent
from searchmark.running.sandbox.launch import Launch
from searchmark.running.sandbox.mechanisms import Landlock


def launched(config: dict[str, Any]) -> Launch:
    arms = {"arms": ["bm25", {"name": "semantic", "config": {"embedder": "hashing", **config}}]}
    return Launch.of(load_agent("hybrid", **arms), {}, Landlock())


@pytest.mark.parametrize("address", ["postgresql://me@/mine?host=/run/postgresql", "postgresql:///mine", "host=/run/x dbname=mine"])
def test_a_database_behind_a_unix_socket_is_refused(address: str, monkeypatch) -> None:
    monkeypatch.setenv("SEARCHMARK_DSN", address)
    with pytest.raises(UsageError, match="asks PostgreSQL by a Unix socket, and a sandboxed agent reaches it by TCP only"):
        launched({"index": "pgvector"})


def test_a_database_with_a_host_is_not(monkeypatch) -> None:
    monkeypatch.setenv("SEARCHMARK_DSN", "postgresql://me@127.0.0.1/mine")
    assert launched({"index": "pgvector"}).view is not None


def test_a_file_that_would_be_written_is_refused() -> None:
    with pytest.raises(UsageError, match=r"writes its vectors to a file \(v\.bin\), which a sandboxed agent cannot; set memory_mb"):
        launched({"index": {"name": "exact", "file": "v.bin"}})
