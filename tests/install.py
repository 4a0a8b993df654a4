"""The built package, installed as users install it: ``python tests/install.py python3.11 python3.12 ...``.

For every Python that is on this machine: a new environment, ``pip install`` of the wheel in dist/ with whatever versions
pip chooses today, ``pip check``, a run of an agent that needs most of the packages, and the demo.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DIST = Path(__file__).parent.parent / "dist"
DOCUMENTS = {"bread.txt": "how to bake bread", "tea.txt": "how to brew tea", "soup.txt": "a soup of lentils"}
CASES = [{"id": "c1", "query": "baking bread", "ground_truth_files": ["bread.txt"]}]


def main(pythons: list[str]) -> int:
    wheels = list(DIST.glob("*.whl"))
    if len(wheels) != 1:
        sys.exit(f"{DIST} holds {len(wheels)} wheels instead of one; run make dist")
    found = {name: path for name in pythons if (path := _runs(name)) is not None}
    failed = [name for name, path in found.items() if not _works(name, path, wheels[0])]
    missing = [name for name in pythons if name not in found]
    if missing:
        print(f"not on this machine, and not tried: {', '.join(missing)}")  # noqa: T201  # the result of this program
    return 1 if failed or not found else 0


def _runs(name: str) -> str | None:
    """The path of a Python that starts; a shim of one that is not installed does not."""
    path = shutil.which(name)
    if path is None or subprocess.run([path, "--version"], capture_output=True, check=False).returncode:
        return None
    return path


def _works(name: str, python: str, wheel: Path) -> bool:
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        problem = _problem(python, wheel, Path(folder))
    print(f"{name}: {problem or 'works'}, {time.monotonic() - begin:.0f} s")  # noqa: T201  # the result of this program
    return problem is None


def _problem(python: str, wheel: Path, folder: Path) -> str | None:
    """What goes wrong first on the way from the wheel to a report."""
    bin_folder, corpus, report = folder / "venv" / "bin", folder / "corpus", folder / "report.json"
    corpus.mkdir()
    for file, text in DOCUMENTS.items():
        (corpus / file).write_text(text)
    (folder / "suite.json").write_text(json.dumps({"test_cases": CASES, "metadata": {}}))
    run = [
        bin_folder / "searchmark",
        "evaluate",
        "--gold-set",
        "suite.json",
        "--corpus",
        "corpus",
        "--agent",
        "hybrid",
        "-o",
        report,
    ]
    for command in (
        [python, "-m", "venv", folder / "venv"],
        [bin_folder / "pip", "install", "--quiet", "--disable-pip-version-check", wheel],
        [bin_folder / "pip", "check", "--disable-pip-version-check"],
        [bin_folder / "searchmark", "doctor"],
        run,
        [bin_folder / "searchmark", "demo"],
    ):
        done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    status: str = json.loads(report.read_text())["agents"]["hybrid"]["cases"]["c1"]["status"]
    return None if status == "ok" else f"the case ended as {status}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
