"""Bubblewrap: namespaces of its own for an agent, in which only what it may see is mounted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from searchmark.running.sandbox.interpreter import interpreter_paths
from searchmark.running.sandbox.landlock import Ruleset
from searchmark.running.sandbox.view import Shown, View

PROGRAM = "bwrap"
PROBE_SECONDS = 30
_BECOME = ("CAP_SETUID", "CAP_SETGID")  # to become a different user, which ends both
_SHARED_MEMORY = "/dev/shm"  # noqa: S108  # its own, not ours


def arguments(view: View, writable: Sequence[Path] = (), *, own_user: bool = False) -> list[str]:
    """The options for a sandbox with this view. The keeper is the first process of its namespace: when it ends, all do.

    --die-with-parent is not among them: that means the thread that started us, which may end long before the run. The
    keeper inside notices by its own pipe that the runner has gone.
    """
    shown = view.shown()
    return [
        *_namespaces(network=view.network, own_user=own_user),
        *_files(shown, writable),
        *("--proc", "/proc", *_settings_of_the_kernel(), "--dev", "/dev", "--perms", "1777", "--tmpfs", _SHARED_MEMORY),
        *(part for path in writable for part in ("--bind", str(path), str(path))),
        *("--dir", str(view.folder), "--chdir", str(view.folder), "--remount-ro", "/dev", "--remount-ro", "/"),
    ]


def ruleset(writable: Sequence[Path]) -> Ruleset:
    """The same once more, for a worker that keeps the number of root, to which files of the kernel belong."""
    return Ruleset(["/"], [], [*map(str, writable), _SHARED_MEMORY], network=True)


def _settings_of_the_kernel() -> Iterator[str]:
    """Files in /proc that are not of a process: root may write many of them, without any capability."""
    for entry in os.scandir("/proc") if os.geteuid() == 0 else ():
        if not entry.name.isdigit() and not entry.is_symlink() and (entry.is_dir() or entry.stat().st_mode & 0o222):
            yield from ("--ro-bind-try", entry.path, entry.path)


def _namespaces(*, network: bool, own_user: bool) -> Iterator[str]:
    yield from ("--unshare-pid", "--as-pid-1", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
    if not network:
        yield "--unshare-net"
    if os.geteuid() == 0:
        yield from ("--cap-drop", "ALL")
        for capability in _BECOME if own_user else ():
            yield from ("--cap-add", capability)
    else:
        yield "--unshare-user"


def _files(shown: Shown, writable: Sequence[Path]) -> Iterator[str]:
    # Folders that bubblewrap makes on its own accord are for their owner alone if the mounted one is.
    above = {folder for path in (*shown.readable, *shown.links, *writable) for folder in path.parents}
    for folder in sorted(above | {*shown.listed, *writable}, key=lambda folder: len(folder.parts)):
        yield from ("--dir", str(folder))
    for path in shown.readable:
        yield from ("--ro-bind-try", str(path), str(path))
    for link, target in shown.links.items():
        yield from ("--symlink", target, str(link))


@cache
def problem() -> str | None:
    """Why bubblewrap cannot be used here; None if it can. It is tried for real, with the interpreter that agents get."""
    program = shutil.which(PROGRAM)
    if program is None:
        return "bubblewrap is not installed (on Debian and Ubuntu: apt-get install bubblewrap)"
    view = View(interpreter_paths(), (), (), (), network=False, folder=Path("/"))
    command = [program, *arguments(view), "--", sys.executable, "-I", "-S", "-c", "open('/proc/self/stat')"]
    try:
        tried = subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, stdin=subprocess.DEVNULL, check=False)  # noqa: S603  # bubblewrap itself
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not start ({type(error).__name__})"
    said = tried.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"bubblewrap does not work here ({said[-1] if said else f'exit code {tried.returncode}'})" if tried.returncode else None


@cache
def version() -> str:
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=False).stdout.split()  # noqa: S603  # as above
    return f"bubblewrap {said[-1]}" if said else "bubblewrap"
