"""Run the gates and audits of all built-in suites, each by the commands that a user would type: ``make quality``.

    python tests/quality.py FOLDER

The report of every suite and audit goes to the folder as Markdown, and all of them to quality.md. Exit code 1: something failed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from searchmark import UsageError
from searchmark.config.builtin import BuiltinSuite, builtin_suites
from searchmark.git.builtin import repository_of


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    outcomes = {suite.name: outcome(suite, folder) for suite in builtin_suites().values()}
    width = max(map(len, outcomes))
    lines = [f"{name:<{width}}  {said}" for name, said in outcomes.items()]
    say("\n".join(lines))
    parts = [
        file.read_text("utf-8")
        for name in outcomes
        for file in (folder / f"{name}.md", folder / f"{name}.audit.md")
        if file.exists()
    ]
    summary = "# Built-in suites\n\n" + "".join(f"- {name}: {said}\n" for name, said in outcomes.items())
    (folder / "quality.md").write_text("\n\n".join([summary, *parts]), "utf-8")
    return int(any("FAILED" in said for said in outcomes.values()))


def outcome(suite: BuiltinSuite, folder: Path) -> str:
    """What became of its gate and of its audit; a suite whose repository is not at hand is named and not run."""
    try:
        repository_of(suite.name)
    except UsageError as error:
        return f"not run: {error}"
    run = folder / f"{suite.name}.jsonl"
    asked = ["--no-archive", "--journal", str(folder / "journal"), "--save-run", str(run), "-o", str(folder / f"{suite.name}.md")]
    gate = searchmark("evaluate", "--gold-set", suite.reference, *asked)
    if gate != 0:
        return f"gate FAILED (exit code {gate})"
    audit = searchmark("audit", suite.reference, "--run", str(run), "--strict", "-o", str(folder / f"{suite.name}.audit.md"))
    return "gate passed, audit passed" if audit == 0 else f"gate passed, audit FAILED (exit code {audit})"


def searchmark(*arguments: str) -> int:
    say(" ".join(["searchmark", *arguments]))
    done = subprocess.run([sys.executable, "-m", "searchmark", "-q", *arguments], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        say(done.stdout)
    return done.returncode


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
