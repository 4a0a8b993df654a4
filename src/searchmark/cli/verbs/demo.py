"""``searchmark demo``."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from searchmark.cli._output import show, tell
from searchmark.errors import UsageError

if TYPE_CHECKING:
    from searchmark.demonstration.steps import DemoStep

FOLDER = "demo-output"
EXAMPLE = "larder"
MARK = ".searchmark-demo"  # in a folder whose files are a demo's
INTERRUPTED = 130


@click.command("demo", short_help="Show the main job in five commands, in under a minute.")
@click.option("-o", "--output", "folder", default=FOLDER, show_default=True, metavar="FOLDER", help="Where reports go.")
@click.option("--repo", "repository", metavar="[NAME=]PATH", help="A repository of yours instead of the example.")
def command(folder: str, repository: str | None) -> int:
    """Show the main job in five commands, in under a minute, without a network.

    It mines a gold set from a Git history, compares five searches at parent commits, decides whether vector search is worth it,
    audits the gold set, and breaks one search on purpose to show the gate turn red. Every command is printed as you would
    type it; reports for the browser are in the folder.

    \b
    searchmark demo
    searchmark demo --repo . -o demo-output
    """
    from searchmark.demonstration.steps import demo_steps

    output = Path(folder)
    _refuse_files_of_others(output)
    output.mkdir(parents=True, exist_ok=True)
    searched = repository or f"{EXAMPLE}={_example(output / EXAMPLE)}"
    (output / MARK).write_text("The files beside this one were written by 'searchmark demo', which may replace them.\n", "utf-8")
    for number, step in enumerate(demo_steps(output, searched, own=repository is not None), 1):
        show(f"\n{number}. {step.title}\n$ {shlex.join(('searchmark', *step.arguments))}\n")
        code = _run(step)
        if code != step.code:
            if code != INTERRUPTED:
                tell(_why_it_ends(step, code, own=repository is not None))
            return code or 1
    show(_ending(output))
    return 0


def _refuse_files_of_others(output: Path) -> None:
    """A folder may be one of the user's: what no demo wrote is not replaced."""
    from searchmark.demonstration.steps import WRITTEN

    there = [name for name in WRITTEN if os.path.lexists(output / name)]
    if there and not (output / MARK).is_file():
        raise UsageError(f"{output} has {', '.join(there)} already, which no demo wrote; name another folder with -o")


def _example(folder: Path) -> Path:
    """The example repository where the user can look at it."""
    from searchmark.builtin_suites.code_history.repository import placed

    placed(folder)
    return folder


def _why_it_ends(step: DemoStep, code: int, *, own: bool) -> str:
    """What was to happen and did not, and where it can be seen."""
    shown = "; 'searchmark demo' without --repo shows all steps on an example" if own else ""
    if step.code and not code:
        return f"the demo ends here: on the cases of this repository the gate did not notice the broken search{shown}"
    return f"the demo ends here: this command was to end with exit code {step.code}, and ended with {code}{shown}"


def _run(step: DemoStep) -> int:
    """The command in a process of its own, as a user's shell runs it."""
    sys.stdout.flush()
    return subprocess.run([sys.executable, "-m", "searchmark", *step.arguments], check=False).returncode  # noqa: S603  # our own steps


def _ending(folder: Path) -> str:
    return f"""
Open {folder / "comparison.html"} in a browser: verdicts, pictures, every case. {folder / "broken.html"} is the run that the gate
refused, {folder / "symbols.html"} the decision about vectors, {folder / "audit.md"} the audit.
Your own project next: searchmark init
"""
