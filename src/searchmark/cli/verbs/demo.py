"""The verb `searchmark demo`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from searchmark.cli.output import show, tell
from searchmark.errors import UsageError

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
    output = Path(folder)
    _refuse_files_of_others(output)
    output.mkdir(parents=True, exist_ok=True)
    demo_repository = repository or f"{EXAMPLE}={_example(output / EXAMPLE)}"
    (output / MARK).write_text("The files beside this one were written by 'searchmark demo', which may replace them.\n", "utf-8")
    for number, step in enumerate(demo_steps(output, demo_repository, own=repository is not None), 1):
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
    there = [name for name in DEMO_FILES if os.path.lexists(output / name)]
    if there and not (output / MARK).is_file():
        raise UsageError(f"{output} has {', '.join(there)} already, which no demo wrote; name another folder with -o")


def _example(folder: Path) -> Path:
    """The example repository where the user can look at it."""
    from searchmark.git.builtin import place_shop

    place_shop(folder)
    return folder


def _why_it_ends(step: DemoStep, code: int, *, own: bool) -> str:
    """What was to happen and did not, and where it can be seen."""
    hint = "; 'searchmark demo' without --repo shows all steps on an example" if own else ""
    if step.code and not code:
        return f"the demo ends here: on the cases of this repository the gate did not notice the broken search{hint}"
    return f"the demo ends here: this command was to end with exit code {step.code}, and ended with {code}{hint}"


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


# The steps of the demo: what each shows, and the command that a user would type for it.

AGENTS = ("keyword", "bm25", "fts5", "semantic", "hybrid")

BROKEN = "searchmark.agents.controls:WorstFirst"

MOST_CASES = "100"  # of a repository of the user's, whose history may be long

DEMO_FILES = ("gold_set.json", "runs", "journal", "comparison.html", "symbols.html", "audit.md", "broken.html")

_PASSED, _GATE_FAILED = 0, 1


@dataclass(frozen=True)
class DemoStep:
    """One command. ``code`` is the exit code that it ends with where all is well; other codes end the demo."""

    title: str
    arguments: tuple[str, ...]
    code: int = _PASSED


def demo_steps(folder: Path, repository: str, *, own: bool) -> Iterator[DemoStep]:
    """All steps, which write into a folder. ``repository``: PATH or NAME=PATH; ``own``: whether it is one of the user's."""
    gold, runs = str(folder / "gold_set.json"), folder / "runs"
    arguments = ("--gold-set", gold, "--repo", repository, "--num-runs", "1", "--journal", str(folder / "journal"), "--no-archive")
    shortest = ("--no-config", "-q")
    yield DemoStep(
        "Mine questions from a Git history: the message of a commit asks, the files that it changed are the answer.",
        ("generate", "--repo", repository, "-o", gold, "--no-config", *(("--max-cases", MOST_CASES) if own else ())),
    )
    yield DemoStep(
        "Ask five searches every question, each in the tree that its author saw, and say which differ for sure.",
        (
            *("compare", *arguments, "--agents", *AGENTS, "--baseline", "bm25", "-m", "nDCG@10", "-m", "Success@5"),
            *("--save-run", str(runs), "-o", str(folder / "comparison.html"), *shortest),
        ),
    )
    yield DemoStep(
        "Is vector search worth it? The built-in suite of 281 symbols, in three modes, and what a table of rules decides.",
        (
            *("compare", "--gold-set", "builtin:symbols", "--no-archive"),
            *("--journal", str(folder / "journal"), "-o", str(folder / "symbols.html"), *shortest),
        ),
    )
    yield DemoStep(
        "Audit the mined questions: can a score on them mean anything?",
        ("audit", gold, "--run", str(runs / "bm25.jsonl"), "-o", str(folder / "audit.md"), *shortest),
    )
    yield DemoStep(
        "Break bm25 on purpose (its hits come in the wrong order), and hold it against the run from before: the gate turns red.",
        (
            *("evaluate", *arguments, "--agent", BROKEN, "--against", str(runs / "bm25.jsonl"), "-m", "nDCG@10"),
            *("-o", str(folder / "broken.html"), *shortest),
        ),
        _GATE_FAILED,
    )
