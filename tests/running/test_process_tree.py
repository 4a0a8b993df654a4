"""Families of processes, as the kernel tells of them."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from searchmark.running.worker import process_tree
from searchmark.running.worker.process_tree import LINUX, children, wait_for_core

pytestmark = pytest.mark.skipif(not LINUX, reason="the children of a process are looked up in /proc")


def sleeping() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"])


def test_the_children_of_a_process_are_those_of_all_its_threads() -> None:
    with ThreadPoolExecutor(1) as pool:
        started = [sleeping(), pool.submit(sleeping).result()]
        try:
            by_parents = sorted(pid for pid, parent in process_tree.parent_of_each_process().items() if parent == os.getpid())
            assert sorted(children(os.getpid())) == by_parents
            assert {each.pid for each in started} <= set(by_parents)
            assert children(started[0].pid) == []
        finally:
            for each in started:
                each.kill()
                each.wait()


def test_how_long_a_worker_waited_is_known_without_looking_at_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_tree, "parent_of_each_process", lambda: pytest.fail("all processes were looked at"))
    started = sleeping()
    try:
        assert wait_for_core(os.getpid()) is not None
    finally:
        started.kill()
        started.wait()
