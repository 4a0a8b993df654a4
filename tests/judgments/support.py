"""Files and processes that the tests of approvals share."""

from __future__ import annotations

import difflib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from searchmark import Answer, Hit, Run, save_run
from tests.conftest import ROOT
from tests.support.commands import searchmark

WARNING = "⚠️ Updated benchmark expectations! Review changes before committing."


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "searchmark", "approve", *map(str, arguments)]


def environment() -> dict[str, str]:
    """Without the settings of whoever runs the tests."""
    return os.environ | {"PYTHONPATH": str(ROOT), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PYTHONUTF8": "1"}


def approve_in_process(*arguments: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """``searchmark approve`` in a process of its own, without a terminal."""
    return searchmark("approve", *map(str, arguments), cwd=folder, env=environment())


def plain_run(path: Path, **answers: list[str]) -> Path:
    """A JSON run; the case ``c1`` is given as ``c1=[...]`` and ``1`` as ``_1=[...]``."""
    path.write_text(json.dumps({case.removeprefix("_"): ids for case, ids in answers.items()}), encoding="utf-8")
    return path


def answered(case: str, *ids: str, status: str = "ok") -> Answer:
    return Answer(
        case, status if ids else ("empty" if status == "ok" else status), tuple(Hit(each, rank) for rank, each in enumerate(ids, 1))
    )


def saved(path: Path, *answers: Answer, **rest: object) -> Path:
    save_run(Run.from_answers("engine", answers, **rest), path)
    return path


def changed_lines(before: str, after: str) -> list[str]:
    """Every line that is gone or new, with the mark that diff gives it; today is DATE."""
    lines = difflib.unified_diff(before.split("\n"), re.sub(r"\d{4}-\d\d-\d\d", "DATE", after).split("\n"), lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]
