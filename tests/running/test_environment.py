"""What is recorded of a run says where it was made."""

from __future__ import annotations

import socket

from searchmark.running.run_builder import environment


def test_the_environment_names_versions_and_machine() -> None:
    found = environment()
    assert found.packages["searchmark"]
    assert (found.cores or 0) >= 1
    assert (found.memory_bytes or 0) > 1 << 28
    assert found.host == socket.gethostname()
