"""What an agent can reach with and without a sandbox: tried by real agents, in real processes, on real files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from searchmark import Case, Experiment, Judgment, RunSettings, SearchScope, Suite, UsageError
from searchmark.running.sandbox.launch import explain_missing_variable
from searchmark.running.sandbox.mechanisms import BUBBLEWRAP, bubblewrap_arguments
from searchmark.running.sandbox.view import View, interpreter_paths
from tests.support.lairs import VARIABLES, Lair
from tests.support.sandboxes import MECHANISMS, available, mechanisms

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sandboxes")]

WITHIN_REACH = "done"
LEVELS = ("off", *MECHANISMS)
ONLY_WITHOUT_SANDBOX = [
    "gold set", "saved run", "home", "journal", "cache", "corpus", "new file in the corpus", "folders of rivals",
    "tcp", "udp", "unix socket", "abstract socket", "unix socket beside the code", "datagram pair", "raw pair",
    "datagram pair beside the code", "shared memory", "semaphores", "message queue", "named message queue", "keys of the user",
    "see a process", "memory", "limits", "signal",
]  # fmt: skip

UNIX_SOCKETS = ["unix socket", "abstract socket", "unix socket beside the code", "datagram pair beside the code"]
OF_THE_KERNEL = ["setting of the kernel", "core pattern"]


@pytest.fixture
def lair(tmp_path: Path) -> Iterator[Lair]:
    with ExitStack() as until_the_end:
        yield Lair(tmp_path, until_the_end)


@pytest.fixture(scope="module", params=LEVELS)
def spied(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Lair]]:
    """One run of the spy at each level."""
    level = available(request.param)
    with ExitStack() as until_the_end:
        lair = Lair(tmp_path_factory.mktemp(level), until_the_end)
        done = lair.run("Spy", "--sandbox", level, "--pass-env", "SPY_PASSED_KEY", "--pass-env", "SPY_ALLOWED")
        assert done.returncode == (2 if level == "off" else 0), done.stderr  # without a sandbox it changes the corpus
        yield level, lair


def test_no_command_line_names_the_gold_set(spied: tuple[str, Lair]) -> None:
    level, lair = spied
    allowed = {"off": ["done False"], "bubblewrap": ["done False"], "landlock": ["PermissionError"]}
    assert lair.report()["attempts"]["command lines"] in allowed[level]


@pytest.mark.parametrize("attempt", ONLY_WITHOUT_SANDBOX)
def test_what_an_agent_reaches_without_a_sandbox_is_out_of_reach_with_one(attempt: str, spied: tuple[str, Lair]) -> None:
    level, lair = spied
    assert (lair.report()["attempts"][attempt] == WITHIN_REACH) == (level == "off")


def test_what_was_tried_has_had_its_effect_without_a_sandbox_and_none_with_one(spied: tuple[str, Lair]) -> None:
    level, lair = spied
    changed = [name for name in ("journal", "cache", "corpus") if "poison" in Path(lair.targets[name]).read_text()]
    assert changed == (["journal", "cache", "corpus"] if level == "off" else [])
    assert (lair.bystander.poll() is None) == (level != "off")


def test_only_root_looks_into_the_runner_and_only_without_a_sandbox(spied: tuple[str, Lair]) -> None:
    level, lair = spied
    assert (lair.report()["attempts"]["runner"] == WITHIN_REACH) == (level == "off" and os.getuid() == 0)


@pytest.mark.parametrize("attempt", ["own file", "connected pair"])
def test_what_an_agent_always_has(attempt: str, spied: tuple[str, Lair]) -> None:
    assert spied[1].report()["attempts"][attempt] == WITHIN_REACH


def test_a_sandboxed_agent_makes_no_ring_past_the_filter(spied: tuple[str, Lair]) -> None:
    level, lair = spied
    assert level == "off" or lair.report()["attempts"]["ring"] == "PermissionError"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can keep the number of root")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_worker_that_keeps_the_number_of_root_has_none_of_its_power(mechanism: str, lair: Lair) -> None:
    (lair.folder / "corpus").chmod(0o700)
    done = lair.run("Spy", "--sandbox", available(mechanism))
    assert done.returncode == 0, done.stderr
    said = lair.report()
    assert (said["user"], int(said["capabilities"], 16)) == (0, 0)
    reached = [name for name in (*ONLY_WITHOUT_SANDBOX, *OF_THE_KERNEL, "runner") if said["attempts"][name] == WITHIN_REACH]
    assert reached == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root may change settings of the kernel")
def test_the_mounts_of_bubblewrap_alone_keep_root_from_settings_of_the_kernel(tmp_path: Path) -> None:
    """As on a kernel without Landlock."""
    available("bubblewrap")
    view = View(interpreter_paths(), (), (), (), network=False, folder=tmp_path)
    inside = [sys.executable, "-I", "-c", "import os; print(os.getuid()); open('/proc/sys/fs/lease-break-time', 'r+')"]
    command = [BUBBLEWRAP, *bubblewrap_arguments(view), "--", *inside]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, "Read-only file system" in done.stderr) == ("0\n", True)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may change settings of the kernel")
@pytest.mark.parametrize("attempt", OF_THE_KERNEL)
def test_settings_of_the_kernel_are_out_of_reach_in_a_sandbox(attempt: str, spied: tuple[str, Lair]) -> None:
    level, lair = spied
    assert (lair.report()["attempts"][attempt] == WITHIN_REACH) == (level == "off")


def test_variables_that_look_secret_are_withheld_unless_they_are_named(spied: tuple[str, Lair]) -> None:
    level, lair = spied
    given = {name for name in VARIABLES if name in lair.report()["variables"]}
    assert given == {"SPY_PASSED_KEY", "SPY_ALLOWED", "OMP_NUM_THREADS"} | ({"SPY_COLOUR"} if level == "off" else set())


def test_a_sandboxed_agent_has_no_privileges(spied: tuple[str, Lair]) -> None:
    level, lair = spied
    said = lair.report()
    assert level == "off" or (int(said["capabilities"], 16), said["no new privileges"]) == (0, "1")
    assert (level, os.getuid()) != ("bubblewrap", 0) or said["user"] != 0


def test_the_run_says_what_kept_the_agent_inside(spied: tuple[str, Lair]) -> None:
    level, lair = spied
    assert lair.provenance()["agent"].get("sandbox", "off").startswith(level)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_an_agent_may_use_the_network_if_its_spec_says_so(mechanism: str, lair: Lair) -> None:
    (lair.folder / "config.yaml").write_text("agents:\n  - {name: spy, source: 'spy.py:Spy', network: true, env: [SPY_TOKEN]}\n")
    done = lair.run("Spy", "--sandbox", available(mechanism), "--config", "../config.yaml")
    assert done.returncode == 0, done.stderr
    said = lair.report()
    assert (said["attempts"]["tcp"], said["attempts"]["gold set"] == WITHIN_REACH) == (WITHIN_REACH, False)
    assert "SPY_TOKEN" in said["variables"]
    assert [name for name in UNIX_SOCKETS if said["attempts"][name] == WITHIN_REACH] == []


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_is_left_when_the_runner_is_killed(level: str, lair: Lair) -> None:
    command = lair.command("Family", "--sandbox", available(level))
    runner = subprocess.Popen(command, cwd=lair.folder / "code", env=lair.environment)
    assert waited_for(lambda: running(lair.targets["mark"]))
    os.kill(runner.pid, signal.SIGKILL)
    runner.wait()
    assert waited_for(lambda: not running(lair.targets["mark"]))


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_is_left_after_a_deadline(level: str, lair: Lair) -> None:
    done = lair.run("Family", "--sandbox", available(level), "--timeout", "3", "--max-failures", "1", "--no-warm-up")
    assert (done.returncode, running(lair.targets["mark"])) == (2, [])
    assert [path.name for path in lair.private.iterdir()] == ["rival"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_memory_is_limited_in_a_sandbox_too(mechanism: str, lair: Lair) -> None:
    greedy = "class Greedy:\n    def initialize(self, repo_path): pass\n    def retrieve(self, query): return ['x' * (1 << 30)]\n"
    (lair.folder / "code" / "spy.py").write_text(greedy)
    lair.run("Greedy", "--sandbox", available(mechanism), "--memory-limit", "500")
    assert "MemoryError" in (lair.folder / "out.json").read_text()


def running(mark: str) -> list[str]:
    """The processes whose command line holds this mark."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):  # as elsewhere
        try:
            found += [pid] if mark.encode() in Path("/proc", pid, "cmdline").read_bytes() else []
        except OSError:
            continue
    return found


def waited_for(condition: Any) -> bool:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(condition())


def test_a_variable_that_was_withheld_is_named_by_the_error(lair: Lair) -> None:
    done = lair.run("NeedsKey")
    assert done.returncode == 4
    assert "KeyError: 'SPY_TOKEN'" in done.stderr
    assert "SPY_TOKEN was withheld from the agent: pass it with --pass-env SPY_TOKEN" in done.stderr
    assert lair.run("NeedsKey", "--pass-env", "SPY_TOKEN").returncode == 0


def test_only_a_missing_variable_that_was_withheld_is_explained() -> None:
    assert explain_missing_variable("KeyError: 'HOME'", frozenset({"A_TOKEN"})) == "KeyError: 'HOME'"


def test_without_bubblewrap_the_error_says_what_to_install(lair: Lair) -> None:
    command = lair.command("Spy", "--sandbox", "bubblewrap")
    environment = lair.environment | {"PATH": str(lair.folder)}
    done = subprocess.run(command, cwd=lair.folder / "code", env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "apt-get install bubblewrap" in done.stderr) == (4, True)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_gold_set_inside_what_is_searched_is_hidden_and_not_a_document(mechanism: str, lair: Lair) -> None:
    inside = lair.folder / "corpus" / "suite.json"
    inside.write_bytes((lair.folder / "code" / "hidden-suite.json").read_bytes())
    targets = lair.targets | {"saved": str(inside)}
    (lair.folder / "code" / "targets.json").write_text(json.dumps(targets))
    done = lair.run("Spy", "--sandbox", available(mechanism), "--gold-set", "../corpus/suite.json")
    assert done.returncode == 0, done.stderr
    assert lair.report()["attempts"]["saved run"] != WITHIN_REACH
    assert "1 of the suite or of this program, like 'suite.json'" in done.stdout.replace("\n", " ")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_journal_beside_the_code_is_hidden_and_the_code_is_not(mechanism: str, lair: Lair) -> None:
    Path(lair.folder / "code" / "rival.jsonl").write_text("answers")
    targets = lair.targets | {"saved": str(lair.folder / "code" / "rival.jsonl")}
    (lair.folder / "code" / "targets.json").write_text(json.dumps(targets))
    done = lair.run("Spy", "--sandbox", available(mechanism), "--journal", ".")
    assert done.returncode == 0, done.stderr
    assert lair.report()["attempts"]["saved run"] != WITHIN_REACH


def test_an_object_of_this_process_cannot_be_sandboxed(tmp_path: Path) -> None:
    suite = Suite.from_cases("s", [Case("c", "q", (Judgment("f", "path"),))])
    (tmp_path / "f").write_text("text")
    with pytest.raises(UsageError, match="is an object of this process, which no sandbox can hold"):
        Experiment(
            suite, [lambda query, k: []], SearchScope(corpus=str(tmp_path)), options=RunSettings(sandbox=mechanisms()[0])
        ).run()
