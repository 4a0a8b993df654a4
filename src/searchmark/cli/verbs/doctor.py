"""``searchmark doctor``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from searchmark.cli._output import show
from searchmark.errors import EXIT_OK, EXIT_USAGE, UsageError

OLDEST_GIT = (2, 36)


@click.command("doctor", short_help="Say what is ready to use and what is missing.")
def command() -> int:
    """Say what is ready to use and what is missing, and how to get it.

    Exits with 4 if something that every run needs is missing; what only some agents need is optional.
    """
    checks = [*_checks()]
    width = max(len(what) for what, _, _ in checks)
    lines = [f"{'ready  ' if found else 'missing'}  {what:<{width}}  {said}" for what, found, said in checks]
    show("\n".join(lines) + "\n")
    needed = {"python", "isolation"}
    return EXIT_OK if all(found for what, found, _ in checks if what in needed) else EXIT_USAGE


def _checks() -> Iterator[tuple[str, bool, str]]:
    """What was looked at, whether it is there, and what it is or how to get it."""
    from searchmark.running.environment import environment

    machine = environment()
    yield "python", sys.version_info >= (3, 11), f"{machine.python} on {machine.platform}"
    yield "packages", True, ", ".join(f"{name} {version}" for name, version in machine.packages.items())
    yield _isolation()
    yield _sandbox()
    yield _git()
    yield from _agents()
    yield from _extras()


def _isolation() -> tuple[str, bool, str]:
    """A worker is started for real, asked, and ended."""
    if sys.platform == "win32":
        return "isolation", False, "agents are not run on Windows; saved runs can be scored and compared"
    from searchmark.agents.agent import AgentSpec
    from searchmark.agents.source import BuiltIn
    from searchmark.running.sandbox.launch import Launch
    from searchmark.running.worker.client import Gone, Late, Output, Process
    from searchmark.running.worker.protocol import longest_answer

    if sys.platform == "linux" and not Path("/proc/self/stat").exists():
        return "isolation", False, "/proc is not mounted, so that the processes of an agent could not be found"
    process = Process({"stdout": Output(), "stderr": Output()}, longest_answer(1), Launch(os.environ))
    try:
        process.ask(
            {
                "op": "load",
                "agent": AgentSpec("probe", BuiltIn("in-memory")).to_plain(),
                "memory_limit_mb": None,
                "foreign": False,
                "network": False,
            },
            30,
        )
        seconds = process.age()
    except (Gone, Late) as error:
        return "isolation", False, f"a worker could not be started: {error or 'no answer'}"
    finally:
        process.end()
    adopted = (
        "orphans are adopted"
        if sys.platform == "linux"
        else "orphans are not adopted: a process that leaves its group is found only through its parent"
    )
    return "isolation", True, f"a worker starts in {seconds:.2f} s; {adopted}"


def _sandbox() -> tuple[str, bool, str]:
    """What --sandbox would use, tried for real."""
    from searchmark.running.sandbox.launch import sandbox_of

    try:
        found = sandbox_of("auto", ())
    except UsageError as error:
        return "sandbox", False, str(error)
    return "sandbox", True, "" if found is None else found.version


def _git() -> tuple[str, bool, str]:
    program = shutil.which("git")
    if program is None:
        return "git", False, "needed for gold sets and snapshots: install git"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603  # git itself
    numbers = tuple(int(part) for part in said.split()[2].split(".")[:2]) if len(said.split()) > 2 else (0, 0)  # noqa: PLR2004  # "git version X"
    return (
        "git",
        numbers >= OLDEST_GIT,
        said if numbers >= OLDEST_GIT else f"{said}; {OLDEST_GIT[0]}.{OLDEST_GIT[1]} or newer is needed",
    )


def _extras() -> Iterator[tuple[str, bool, str]]:
    """What only some options need."""
    from searchmark.agents.rerankers import cross_encoder_problem
    from searchmark.embedders import minilm, onnx, transformer
    from searchmark.files.sqlite import extension_problem

    for what, lacks in (
        ("SQLite extensions", extension_problem()),
        ("minilm", minilm.problem()),
        ("onnx", onnx.problem()),
        ("transformers", transformer.problem()),
        ("cross-encoders", cross_encoder_problem()),
    ):
        yield what, lacks is None, lacks or "ready"


def _agents() -> Iterator[tuple[str, bool, str]]:
    from searchmark.agents.agent import AgentSpec
    from searchmark.registry import agent_class_of, known_agents

    for known in known_agents():
        if known.source.executes:
            yield f"agent {known.name}", True, f"{known.code}, from {known.origin} (not tried)"
            continue
        try:
            lacks = agent_class_of(AgentSpec(known.name, known.source)).missing()
        except UsageError as error:
            lacks = str(error)
        yield f"agent {known.name}", lacks is None, lacks or "ready"
