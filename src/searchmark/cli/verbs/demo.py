"""``searchmark demo``."""

from __future__ import annotations

import shlex
import shutil
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
    output.mkdir(parents=True, exist_ok=True)
    searched = repository or f"{EXAMPLE}={_example(output / EXAMPLE)}"
    for number, step in enumerate(demo_steps(output, searched, own=repository is not None), 1):
        show(f"\n{number}. {step.title}\n$ {shlex.join(('searchmark', *step.arguments))}\n")
        code = _run(step)
        if code != step.code:
            tell(f"the demo ends here: this command was to end with exit code {step.code}, and ended with {code}")
            return code or 1
    show(_ending(output))
    return 0


def _example(folder: Path) -> Path:
    """The example repository where the user can look at it; made anew, since the old one may have been changed."""
    from searchmark.builtin_suites.code_history.repository import build

    if folder.exists() and not (folder / ".git").is_dir():
        raise UsageError(f"{folder} is in the way of the example repository; name another folder with -o")
    shutil.rmtree(folder, ignore_errors=True)
    build(folder)
    return folder


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
