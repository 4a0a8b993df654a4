"""What commands leave behind on a file system that is full: ``unshare -rm python full_disk.py FOLDER BYTES < commands.json``.

The file system is made here, in a mount namespace of our own, and goes with this process. Commands are lists of arguments of
searchmark; between them the filler can be removed, and the file system made
read-only. What is printed is JSON: for each command its exit code, what it said, and
all files that are there afterwards with their digests.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path


def main(folder: str, size: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    os.chdir(folder)
    steps = json.load(sys.stdin)
    json.dump([_done(step) for step in steps], sys.stdout)


def _done(step: dict[str, object]) -> dict[str, object]:
    if "fill" in step:
        return _filled(int(str(step["fill"])))
    if "read_only" in step:
        subprocess.run(["mount", "-o", "remount,ro", os.getcwd()], check=True)  # noqa: PTH109  # a command of the system
        return {}
    if "free" in step:
        Path("filler").unlink()
        return {}
    command = [sys.executable, "-m", "searchmark", *map(str, step["run"])]  # type: ignore[call-overload]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | dict(step.get("env", {})), check=False)  # type: ignore[call-overload]
    return {"code": done.returncode, "said": done.stdout + done.stderr, "files": _files()}


def _filled(room: int) -> dict[str, object]:
    """Fill the file system up to this many bytes."""
    free = os.statvfs(".").f_bavail * os.statvfs(".").f_frsize
    Path("filler").write_bytes(b"x" * max(0, free - room))
    return {}


def _files() -> dict[str, str]:
    found = (path for path in Path().rglob("*") if path.is_file() and path.name != "filler")
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(found)}


if __name__ == "__main__":
    main(*sys.argv[1:])
