"""How a worker is started: with which environment, and inside which sandbox."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from searchmark.agents.agent import AgentSpec
from searchmark.corpora.locations import Location
from searchmark.errors import UsageError
from searchmark.files.cache_folders import cache_folder, foreign_cache_folder
from searchmark.files.guarded import GUARD
from searchmark.running.sandbox import bubblewrap, landlock
from searchmark.running.sandbox.confinement import Confinement
from searchmark.running.sandbox.landlock import Ruleset
from searchmark.running.sandbox.needs import is_foreign, model_folder, needs_of
from searchmark.running.sandbox.snapshot_folder import SnapshotFolder
from searchmark.running.sandbox.system_calls import Calls, filter_available
from searchmark.running.sandbox.variables import allowed_in_sandbox, withheld_from, without
from searchmark.running.sandbox.view import View, first_unreadable, view_of

_USERS = range(61184, 65520)  # set aside for users that live as long as a service (systemd's DynamicUser)

Mechanism = Literal["bubblewrap", "landlock"]


@dataclass(frozen=True)
class Sandbox:
    """Who keeps agents inside, and from which files in particular, wherever these are."""

    mechanism: Mechanism
    hidden: tuple[Path, ...] = ()

    @property
    def version(self) -> str:
        return bubblewrap.version() if self.mechanism == "bubblewrap" else f"landlock ABI {landlock.abi()}"


def sandbox_of(wanted: str, hidden: Iterable[Path]) -> Sandbox | None:
    """The sandbox that was asked for, if any; where it cannot be had, nothing is run."""
    if wanted == "off":
        return None
    if sys.platform != "linux":
        raise UsageError("--sandbox works on Linux only; leave it out")
    problems: dict[str, Callable[[], str | None]] = {"bubblewrap": bubblewrap.problem, "landlock": landlock_problem}
    tried = {name: problems[name]() for name in (problems if wanted == "auto" else (wanted,))}
    usable = next((name for name, problem in tried.items() if problem is None), None)
    if usable is None:
        raise UsageError(f"--sandbox cannot be enforced here: {'; '.join(filter(None, tried.values()))}")
    ours = (cache_folder(), Path(tempfile.gettempdir(), f"searchmark-{os.getuid()}"))
    return Sandbox("bubblewrap" if usable == "bubblewrap" else "landlock", (*hidden, *ours))


def landlock_problem() -> str | None:
    if not filter_available():
        return "Landlock is used on x86-64 and 64-bit ARM only"
    found = landlock.abi()
    if found < landlock.LEAST_ABI:
        return f"Landlock needs Linux 6.12 with its ABI {landlock.LEAST_ABI} (this kernel has {found or 'none'})"
    return None


@dataclass(frozen=True)
class Prepared:
    """What to start, with which environment and which open files."""

    command: list[str]
    environment: dict[str, str]
    descriptors: tuple[int, ...] = ()


@dataclass(frozen=True)
class Launch:
    """How the workers of one agent are started.

    ``withheld``: the variables that it does not get. ``own_user``: where we are root, each worker becomes a user that is
    nobody else; one that has to read files of root alone stays root, without any of its privileges. ``guard``: an open file that
    tells a built-in agent which cached vectors it may use, where code of others could write any. ``folder``: the working directory,
    if it is not that of the runner.
    """

    environment: Mapping[str, str]
    withheld: frozenset[str] = frozenset()
    sandbox: Sandbox | None = None
    view: View | None = None
    own_user: bool = False
    guard: int | None = None
    folder: Path | None = None

    @classmethod
    def of(
        cls, spec: AgentSpec, locations: Mapping[str, Location], sandbox: Sandbox | None = None, guard: int | None = None
    ) -> Launch:
        needs = needs_of(spec)
        withheld = withheld_from(os.environ, needs.variables)
        if sandbox is None:
            environment = without(os.environ, withheld | {GUARD})
            if is_foreign(spec):
                return cls(environment | {"SEARCHMARK_CACHE": str(foreign_cache_folder())}, withheld)
            return cls(environment, withheld, guard=guard)
        if not spec.isolated:
            raise UsageError(
                f"the agent {spec.name!r} is an object of this process, which no sandbox can hold; put it into a module"
            )
        environment = allowed_in_sandbox(os.environ, needs.variables, network=needs.network)
        view = view_of(spec, needs, locations, sandbox.hidden)
        kept = frozenset(os.environ.keys() - environment.keys())
        return cls(environment | _model_variables(view), kept, sandbox, view, _has_own_user(view, sandbox.mechanism))

    def finding(self, spec: AgentSpec, code: Sequence[Path], folder: Path | None) -> Launch:
        """The same with folders of code that was sent along, and another working directory if it exists here.

        An agent of ours finds our modules alone: what lies in a wheel beside the agent that it is for must not pass for them.
        """
        modules = code if is_foreign(spec) else ()
        known = self.environment.get("PYTHONPATH")
        found = {"PYTHONPATH": os.pathsep.join((*map(str, modules), *([known] if known else [])))} if modules else {}
        view = self.view if self.view is None else replace(self.view, modules=(*self.view.modules, *modules))
        there = folder if folder is not None and folder.is_dir() else None
        return replace(self, environment={**self.environment, **found}, view=view, folder=there)

    @property
    def text(self) -> str | None:
        """The sandbox, for records."""
        if self.sandbox is None:
            return None
        return self.sandbox.version + (", root without privileges" if os.geteuid() == 0 and not self.own_user else "")

    def snapshot_folder(self) -> SnapshotFolder:
        """What shows the searched commits to the workers of one session, if the repositories are out of their sight."""
        return SnapshotFolder({} if self.view is None else self.view.commits)

    def showing(self, snapshots: SnapshotFolder) -> Launch:
        """The same with the folder that shows commits, if any are shown."""
        if self.view is None or not snapshots.commits:
            return self
        return replace(self, view=replace(self.view, corpus=(*self.view.corpus, snapshots.path)))

    @contextmanager
    def prepared(self, command: Sequence[str], scratch: Path) -> Iterator[Prepared]:
        """The command as it has to be started; open files that it needs are closed at the end."""
        if self.sandbox is None or self.view is None:
            guard = {} if self.guard is None else {GUARD: str(self.guard)}
            descriptors = () if self.guard is None else (self.guard,)
            yield Prepared([*command], {**self.environment, "TMPDIR": str(scratch), **guard}, descriptors)
            return
        environment = {**self.environment, **_own_folders(scratch)}
        user = _given_to_a_new_user(scratch) if self.own_user else None
        with tempfile.TemporaryFile() as confinement, tempfile.TemporaryFile() as options:
            confinement.write(Confinement(user, self._ruleset(scratch), self._calls()).to_json())
            inner, opened = [*command, str(confinement.fileno())], [confinement]
            if self.sandbox.mechanism == "bubblewrap":
                arguments = bubblewrap.arguments(self.view, [scratch], own_user=self.own_user)
                opened.append(options)
                options.write(b"".join(os.fsencode(each) + b"\0" for each in arguments))
                inner = [shutil.which(bubblewrap.PROGRAM) or bubblewrap.PROGRAM, "--args", str(options.fileno()), "--", *inner]
            for file in opened:
                file.seek(0)  # which also writes what is still in the buffer
            yield Prepared(inner, environment, tuple(file.fileno() for file in opened))

    def why_gone(self, printed: str) -> str:
        """What to say of a worker that has ended without a word; a sandbox that could not be set up has said why."""
        said = [line for line in printed.splitlines() if line.startswith(f"{bubblewrap.PROGRAM}:")]
        return f"the sandbox could not be set up ({said[-1]})" if self.sandbox is not None and said else "the worker is gone"

    def _ruleset(self, scratch: Path) -> Ruleset | None:
        if self.sandbox is None or self.view is None:
            return None
        if self.sandbox.mechanism == "bubblewrap":
            keeps_root = os.geteuid() == 0 and not self.own_user
            return bubblewrap.ruleset([scratch]) if keeps_root and landlock_problem() is None else None
        shown = self.view.shown()
        return Ruleset([*map(str, shown.readable)], [*map(str, shown.listed)], [str(scratch.resolve())], self.view.network)

    def _calls(self) -> Calls | None:
        if self.sandbox is None or self.view is None or not filter_available():
            return None
        return Calls(self.view.network, namespaces=self.sandbox.mechanism == "bubblewrap")


def _has_own_user(view: View, mechanism: Mechanism) -> bool:
    """Whether root can become someone else: it decides what is mounted, and what is searched can be read by all.

    Without mounts of our own, every folder on the way would have to be open to all users as well.
    """
    if os.geteuid() != 0:
        return False
    if mechanism == "bubblewrap" and first_unreadable(view, _USERS[0]) is None:
        return True
    found = first_unreadable(view, 0)
    if found is not None:
        raise UsageError(f"{found} can be read by its owner only, and a sandboxed agent lacks root's privileges: chmod -R o+rX it")
    return False


def _given_to_a_new_user(scratch: Path) -> int:
    user = secrets.choice(_USERS)
    os.chown(scratch, user, user)
    return user


def _own_folders(scratch: Path) -> dict[str, str]:
    folder = str(scratch)
    return {
        "TMPDIR": folder,
        "HOME": folder,
        "USER": "searchmark",
        "LOGNAME": "searchmark",
        "SEARCHMARK_CACHE": str(scratch / "cache"),
    }


def _model_variables(view: View) -> dict[str, str]:
    """Where downloaded models are, if they are shown; without a network nobody should wait for the hub."""
    folder = model_folder()
    shown = {"HF_HUB_CACHE": str(folder)} if folder is not None and folder in view.code else {}
    return shown if view.network else shown | {"HF_HUB_OFFLINE": "1"}
