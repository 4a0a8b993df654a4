"""All pages of the site in one folder: ``python site/stage.py FOLDER`` puts them there.

docs/ as it is, with the README as the front page, and what lies beside it. Links are made to lead from the new place.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "THIRD_PARTY_NOTICES.md")
_FROM_ROOT = re.compile(r"\]\(docs/")
_TO_BESIDE = re.compile(r"\]\((?:\.\./)+((?:CHANGELOG|CONTRIBUTING|SECURITY|THIRD_PARTY_NOTICES)\.md[^)]*)\)")
_TO_README = re.compile(r"\]\((?:\.\./)+README\.md([^)]*)\)")
# What is in the repository and not on the site is named instead of linked.
_ELSEWHERE = re.compile(r"\[([^]]*)\]\((?:\.\./)*((?:examples|benchmarks|src|tests)/[^)]*|LICENSE)\)")


def staged(text: str, depth: int) -> str:
    """A page as it is read so many folders below the front page."""
    up = "../" * depth
    text = _ELSEWHERE.sub(r"\1 (`\2`)", _FROM_ROOT.sub("](", text))
    return _TO_README.sub(rf"]({up}index.md\1)", _TO_BESIDE.sub(rf"]({up}\1)", text))


def stage(folder: Path) -> None:
    shutil.copytree(ROOT / "docs", folder, dirs_exist_ok=True)
    for page in folder.rglob("*.md"):
        page.write_text(staged(page.read_text("utf-8"), len(page.relative_to(folder).parts) - 1), "utf-8")
    for name in BESIDE:
        (folder / name).write_text(staged((ROOT / name).read_text("utf-8"), 0), "utf-8")
    (folder / "index.md").write_text(staged((ROOT / "README.md").read_text("utf-8"), 0), "utf-8")


if __name__ == "__main__":
    stage(Path(sys.argv[1]))
