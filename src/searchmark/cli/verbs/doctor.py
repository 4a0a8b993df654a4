"""The verb `searchmark doctor`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from searchmark.cli.output import show
from searchmark.errors import EXIT_OK, EXIT_USAGE, UsageError
from searchmark.io.plugins import PLUGIN_GROUPS, installed_plugins, load_code

OLDEST_GIT = (2, 36)


@click.command("doctor", short_help="Say what is ready to use and what is missing.")
def command() -> int:
    """Say what is ready to use and what is missing, and how to get it.

    Exits with 4 if something that every run needs is missing; what only some agents need is optional.
    """
    checks = [*_checks()]
    width = max(len(what) for what, _, _ in checks)
    lines = [f"{'ready  ' if ready else 'missing'}  {what:<{width}}  {note}" for what, ready, note in checks]
    show("\n".join(lines) + "\n")
    essentials = {"python", "isolation"}
    return EXIT_OK if all(ready for what, ready, _ in checks if what in essentials) else EXIT_USAGE


def _checks() -> Iterator[tuple[str, bool, str]]:
    """What was looked at, whether it is there, and what it is or how to get it."""
    from searchmark.running.run_builder import environment

    machine = environment()
    yield "python", sys.version_info >= (3, 11), f"{machine.python} on {machine.platform}"
    yield "packages", True, ", ".join(f"{name} {version}" for name, version in machine.packages.items())
    yield _isolation()
    yield _sandbox()
    yield _git()
    yield from _agents()
    yield from _extras()
    yield from _plugins()


def _isolation() -> tuple[str, bool, str]:
    """A worker is started for real, asked, and ended."""
    if sys.platform == "win32":
        return "isolation", False, "agents are not run on Windows; saved runs can be scored and compared"
    from searchmark.config.agents import AgentSpec, BuiltInSource
    from searchmark.running.sandbox.launch import Launch
    from searchmark.running.worker.client import DeadlinePassed, OutputCapture, WorkerDied, WorkerProcess
    from searchmark.running.worker.protocol import longest_answer

    if sys.platform == "linux" and not Path("/proc/self/stat").exists():
        return "isolation", False, "/proc is not mounted, so that the processes of an agent could not be found"
    process = WorkerProcess({"stdout": OutputCapture(), "stderr": OutputCapture()}, longest_answer(1), Launch(os.environ))
    try:
        process.ask(
            {
                "op": "load",
                "agent": AgentSpec("probe", BuiltInSource("in-memory")).to_plain(),
                "memory_limit_mb": None,
                "foreign": False,
                "network": False,
            },
            30,
        )
        seconds = process.age()
    except (WorkerDied, DeadlinePassed) as error:
        return "isolation", False, f"a worker could not be started: {error or 'no answer'}"
    finally:
        process.end()
    orphans = (
        "orphans are adopted"
        if sys.platform == "linux"
        else "orphans are not adopted: a process that leaves its group is found only through its parent"
    )
    return "isolation", True, f"a worker starts in {seconds:.2f} s; {orphans}"


def _sandbox() -> tuple[str, bool, str]:
    """What --sandbox would use, tried for real."""
    from searchmark.running.sandbox.mechanisms import choose_sandbox

    try:
        sandbox = choose_sandbox("auto", ())
    except UsageError as error:
        return "sandbox", False, str(error)
    return "sandbox", True, "" if sandbox is None else sandbox.version()


def _git() -> tuple[str, bool, str]:
    program = shutil.which("git")
    if program is None:
        return "git", False, "needed for gold sets and snapshots: install git"
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603  # git itself
    numbers = tuple(int(part) for part in version.split()[2].split(".")[:2]) if len(version.split()) > 2 else (0, 0)  # noqa: PLR2004  # "git version X"
    return (
        "git",
        numbers >= OLDEST_GIT,
        version if numbers >= OLDEST_GIT else f"{version}; {OLDEST_GIT[0]}.{OLDEST_GIT[1]} or newer is needed",
    )


def _extras() -> Iterator[tuple[str, bool, str]]:
    """What only some options need."""
    from searchmark.agents.rerank import cross_encoder_problem
    from searchmark.agents.vectors import EMBEDDERS
    from searchmark.io.sqlite import extension_problem

    of_embedders = [(each.extra, each.missing()) for each in EMBEDDERS.parts.values() if each.extra is not None]
    for what, lacks in (("SQLite extensions", extension_problem()), *of_embedders, ("cross-encoders", cross_encoder_problem())):
        yield what, lacks is None, lacks or "ready"


def _agents() -> Iterator[tuple[str, bool, str]]:
    from searchmark.config.agents import BUILT_IN

    for agent in BUILT_IN.values():
        lacks = load_code(agent.code).missing()
        yield f"agent {agent.name}", lacks is None, lacks or "ready"


def _plugins() -> Iterator[tuple[str, bool, str]]:
    """What other packages add. All of it is loaded for that but agents, whose code runs in a worker alone."""
    for kind, group in PLUGIN_GROUPS.items():
        for plugin in installed_plugins(kind):
            note, taken = f"{plugin.point.value}, from {plugin.package}", plugin.shadowed_by
            if taken is not None:
                note += f", is not used: {taken} has one of this name"
            elif kind == "agents":
                note += " (not tried)"
            else:
                try:
                    plugin.load_checked()
                except UsageError as error:
                    taken = note = str(error)
            yield f"{group.word} {plugin.name}", taken is None, note
