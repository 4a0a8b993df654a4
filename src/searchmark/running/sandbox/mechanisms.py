"""What keeps agents inside: bubblewrap or Landlock. Both have the same few methods, and nobody else needs to know which it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, ClassVar

from searchmark.errors import UsageError
from searchmark.io.folders import cache_folder
from searchmark.running.sandbox.confinement import (
    MINIMUM_ABI,
    AllowedCalls,
    Confinement,
    Ruleset,
    filter_available,
    landlock_abi,
)
from searchmark.running.sandbox.view import View, interpreter_paths


@dataclass(frozen=True)
class Landlock:
    """The kernel itself: a worker gives up everything that it was not left."""

    hidden: tuple[Path, ...] = ()  # files that agents must not see, wherever these are

    mounts: ClassVar[bool] = False  # a worker that is a user of its own could not enter the folders above what it is shown

    @staticmethod
    def problem() -> str | None:
        """Why it cannot be used here; None if it can."""
        if not filter_available():
            return "Landlock is used on x86-64 and 64-bit ARM only"
        version = landlock_abi()
        if version < MINIMUM_ABI:
            return f"Landlock needs Linux 6.12 with its ABI {MINIMUM_ABI} (this kernel has {version or 'none'})"
        return None

    @staticmethod
    def version() -> str:
        return f"landlock ABI {landlock_abi()}"

    def command(self, command: list[str], *_: object) -> list[str]:
        """What to start for a command to run inside: itself, since its process confines itself."""
        return command

    def confinement(self, view: View, scratch: Path, user: int | None) -> Confinement:
        """What the worker gives up by itself. It becomes the ``user``, and may write into the folder ``scratch`` alone."""
        paths = view.shown()
        rules = Ruleset([*map(str, paths.readable)], [*map(str, paths.listed)], [str(scratch.resolve())], view.network)
        return Confinement(user, rules, AllowedCalls(view.network, namespaces=False))


BUBBLEWRAP = "bwrap"

BUBBLEWRAP_PROBE_SECONDS = 30

_USER_CAPABILITIES = ("CAP_SETUID", "CAP_SETGID")  # to become a different user, which ends both

_SHARED_MEMORY = "/dev/shm"  # noqa: S108  # its own, not ours


def bubblewrap_arguments(view: View, writable: Sequence[Path] = (), *, own_user: bool = False) -> list[str]:
    """The options for a sandbox with this view. The keeper is the first process of its namespace: when it ends, all do.

    --die-with-parent is not among them: that means the thread that started us, which may end long before the run. The
    keeper inside notices by its own pipe that the runner has gone.
    """
    paths, is_root = view.shown(), os.geteuid() == 0
    # Folders that bubblewrap makes of its own accord are for their owner alone if the mounted one is.
    above = {folder for path in (*paths.readable, *paths.links, *writable) for folder in path.parents}
    folders = sorted(above | {*paths.listed, *writable}, key=lambda folder: len(folder.parts))
    kept = _USER_CAPABILITIES if is_root and own_user else ()
    return [
        *("--unshare-pid", "--as-pid-1", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *(() if view.network else ("--unshare-net",)),
        *(("--cap-drop", "ALL") if is_root else ("--unshare-user",)),
        *(part for capability in kept for part in ("--cap-add", capability)),
        *(part for folder in folders for part in ("--dir", str(folder))),
        *(part for path in paths.readable for part in ("--ro-bind-try", str(path), str(path))),
        *(part for link, target in paths.links.items() for part in ("--symlink", target, str(link))),
        *("--proc", "/proc", *_kernel_settings_files(), "--dev", "/dev", "--perms", "1777", "--tmpfs", _SHARED_MEMORY),
        *(part for path in writable for part in ("--bind", str(path), str(path))),
        *("--dir", str(view.folder), "--chdir", str(view.folder), "--remount-ro", "/dev", "--remount-ro", "/"),
    ]


def _kernel_settings_files() -> Iterator[str]:
    """Files in /proc that are not of a process: root may write many of them, without any capability."""
    for entry in os.scandir("/proc") if os.geteuid() == 0 else ():
        if not entry.name.isdigit() and not entry.is_symlink() and (entry.is_dir() or entry.stat().st_mode & 0o222):
            yield from ("--ro-bind-try", entry.path, entry.path)


@dataclass(frozen=True)
class Bubblewrap:
    """Namespaces of its own for an agent, in which only what it may see is mounted."""

    hidden: tuple[Path, ...] = ()

    mounts: ClassVar[bool] = True

    @staticmethod
    @cache
    def problem() -> str | None:
        """It is tried for real, with the interpreter that agents get."""
        program = shutil.which(BUBBLEWRAP)
        if program is None:
            return "bubblewrap is not installed (on Debian and Ubuntu: apt-get install bubblewrap)"
        view = View(interpreter_paths(), (), (), (), network=False, folder=Path("/"))
        command = [program, *bubblewrap_arguments(view), "--", sys.executable, "-I", "-S", "-c", "open('/proc/self/stat')"]
        try:
            probe = subprocess.run(  # noqa: S603  # bubblewrap itself
                command, capture_output=True, timeout=BUBBLEWRAP_PROBE_SECONDS, stdin=subprocess.DEVNULL, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"bubblewrap does not start ({type(error).__name__})"
        errors = probe.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = errors[-1] if errors else f"exit code {probe.returncode}"
        return f"bubblewrap does not work here ({reason})" if probe.returncode else None

    @staticmethod
    @cache
    def version() -> str:
        words = subprocess.run([BUBBLEWRAP, "--version"], capture_output=True, text=True, check=False).stdout.split()  # noqa: S603
        return f"bubblewrap {words[-1]}" if words else "bubblewrap"

    def command(self, command: list[str], view: View, scratch: Path, user: int | None, options: IO[bytes]) -> list[str]:
        """The same; what it is told is too long for a command line, and goes into the file of ``options``."""
        arguments = bubblewrap_arguments(view, [scratch], own_user=user is not None)
        options.write(b"".join(os.fsencode(each) + b"\0" for each in arguments))
        return [shutil.which(BUBBLEWRAP) or BUBBLEWRAP, "--args", str(options.fileno()), "--", *command]

    def confinement(self, view: View, scratch: Path, user: int | None) -> Confinement:
        """What mounts leave. A worker that keeps the number of root, to which files of the kernel belong, is confined once more."""
        keeps_root = os.geteuid() == 0 and user is None and Landlock.problem() is None
        rules = Ruleset(["/"], [], [str(scratch), _SHARED_MEMORY], network=True) if keeps_root else None
        return Confinement(user, rules, AllowedCalls(view.network, namespaces=True) if filter_available() else None)


Sandbox = Bubblewrap | Landlock

SANDBOXES: dict[str, type[Sandbox]] = {"bubblewrap": Bubblewrap, "landlock": Landlock}  # the better one first


def choose_sandbox(name: str, hidden_paths: Iterable[Path]) -> Sandbox | None:
    """The sandbox that was asked for, if any; where it cannot be had, nothing is run."""
    if name == "off":
        return None
    if sys.platform != "linux":
        raise UsageError("--sandbox works on Linux only; leave it out")
    problems = []
    for kind in SANDBOXES.values() if name == "auto" else (SANDBOXES[name],):
        problem = kind.problem()
        if problem is None:
            return kind((*hidden_paths, cache_folder(), Path(tempfile.gettempdir(), f"searchmark-{os.getuid()}")))
        problems.append(problem)
    raise UsageError(f"--sandbox cannot be enforced here: {'; '.join(problems)}")
