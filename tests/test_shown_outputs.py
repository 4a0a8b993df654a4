"""What the README shows as printed is what the commands print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

BLOCKS = re.findall(r"```text\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
RULE = re.compile(r"[─\s]*")


def lines_of(block: str) -> list[str]:
    """The lines of a block that say something, whatever the blanks between their words."""
    return [" ".join(line.split()) for line in block.splitlines() if not RULE.fullmatch(line)]


def printed(commands: list[list[str]], folder: Path) -> str:
    """What commands print one after the other, all on one line: the README breaks lines elsewhere."""
    shown = [subprocess.run(each, cwd=folder, capture_output=True, text=True, check=True) for each in commands]
    return " ".join(" ".join(f"{each.stderr} {each.stdout}".split()) for each in shown)


def test_the_report_of_the_quick_start_is_the_one_shown() -> None:
    suite, run = (str(ROOT / "examples/quickstart" / name) for name in ("suite.yaml", "bm25.json"))
    output = printed([[sys.executable, "-m", "searchmark", "evaluate", "--gold-set", suite, "--run", run]], ROOT)
    assert [line for line in lines_of(BLOCKS[1]) if line not in output] == []
