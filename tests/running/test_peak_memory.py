"""The memory of a run is that of the worker and of what it starts: a search in a program of its own is not small for that."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from searchmark import AgentSpec, Case, Experiment, Judgment, Suite
from searchmark.running.worker.process_tree import LINUX

MEGABYTES = 150
SUITE = Suite.from_cases("s", [Case("a", "word", (Judgment("a.txt"),)), Case("b", "other", (Judgment("a.txt"),))])
HOLDS = f"held = bytearray(b'x') * {MEGABYTES * 10**6}\n"
ONCE = f"{HOLDS}print('a.txt')\n"
STAYS = f"""import json, sys
{HOLDS}print(json.dumps({{"ready": True}}), flush=True)
for line in sys.stdin:
    print(json.dumps({{"id": json.loads(line)["id"], "hits": ["a.txt"]}}), flush=True)
"""
BEHIND_A_SHELL = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, sys.argv[1]]))"


def memory_of(folder: Path, code: str, *before: str, **options: object) -> int:
    (folder / "program.py").write_text(code)
    argv = [sys.executable, *before, str(folder / "program.py")]
    spec = AgentSpec.from_plain({"name": "mine", "source": "command", "config": {"argv": argv, **options}})
    run = Experiment(SUITE, [spec]).run().runs[0]
    assert run.provenance.failure is None, json.dumps(run.provenance.failure)
    return run.provenance.memory_bytes or 0


@pytest.mark.slow
def test_a_program_that_stays_counts(tmp_path: Path) -> None:
    assert memory_of(tmp_path, STAYS, stays=True) > MEGABYTES * 10**6


@pytest.mark.slow
def test_a_program_that_another_one_starts_counts(tmp_path: Path) -> None:
    assert memory_of(tmp_path, STAYS, "-c", BEHIND_A_SHELL, stays=True) > MEGABYTES * 10**6


@pytest.mark.slow
def test_a_program_that_has_ended_counts(tmp_path: Path) -> None:
    assert memory_of(tmp_path, ONCE, stdin="{query}") > MEGABYTES * 10**6


@pytest.mark.skipif(not LINUX, reason="what is counted of a process that begins as a copy is a matter of the kernel")
def test_a_program_that_is_no_larger_than_the_worker_is_not_the_copy_that_it_began_as() -> None:
    code = "from searchmark.running.worker.process_tree import peak_memory_bytes; import subprocess; " + HOLDS
    code += "before = peak_memory_bytes(); subprocess.run(['true'], check=True); print(before, peak_memory_bytes())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    before, after = map(int, said.split())
    assert after < before + (8 << 20)
