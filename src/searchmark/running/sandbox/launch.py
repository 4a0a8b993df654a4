"""How a worker is started: its environment, sandbox, snapshot folder and caches."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from searchmark.config.agents import AgentSpec
from searchmark.errors import UsageError
from searchmark.formats.corpora.locations import Commit, Location, Plain
from searchmark.formats.corpora.snapshots import ExportedSource, SnapshotReader
from searchmark.git.repository import open_repository, ranks_along_history
from searchmark.git.worktree import Checkout
from searchmark.io.cache_keys import KEY_BYTES, withheld_key
from searchmark.io.folders import cache_folder, foreign_cache_folder, private_folder
from searchmark.io.guard import GUARD_VARIABLE, guard_start, open_guard
from searchmark.io.secrets import is_secret_variable, registered_secrets
from searchmark.running.sandbox.mechanisms import BUBBLEWRAP, Sandbox
from searchmark.running.sandbox.view import (
    View,
    build_view,
    find_unreadable_file,
    has_foreign_code,
    hub_cache_folder,
    needs_of,
)

# The folder through which a sandboxed agent sees a repository: the files of one commit at a time, and no history.
#
# A case's answer lies in the commits after the one that it is searched at. So the agent is shown neither the objects of the
# repository nor, before it is asked, the files of any later commit.

_READABLE = 0o755  # by the worker, which may have a user number of its own; no other user can enter the folder above


class SnapshotFolder:
    """One folder for the workers of a session, moved by the runner. ``commits``: those that will be shown, by repository."""

    def __init__(self, commits: Mapping[Path, Iterable[str]]) -> None:
        self.commits = commits
        self._ranks: dict[Path, dict[str, int]] = {}
        self._until_the_end = ExitStack()
        self._reading = ExitStack()
        self._history: object = None
        self._snapshots: SnapshotReader | None = None
        self._checkout: Checkout | None = None
        self._commits_seen: set[tuple[Path, str]] = set()

    @cached_property
    def path(self) -> Path:
        folder = self._until_the_end.enter_context(private_folder())
        folder.chmod(_READABLE)
        return folder

    def reveals_later(self, location: Commit) -> bool:
        """Whether the worker has seen a commit that may stem from this one, where the answers would be found."""
        commits = {commit for path, commit in self._commits_seen if path == location.path and commit != location.commit}
        if not commits:
            return False
        ranks = self._known_ranks(location.path)
        is_known = location.commit in ranks and commits <= ranks.keys()
        return not is_known or max(ranks[commit] for commit in commits) > ranks[location.commit]

    def forget_seen(self) -> None:
        """The next worker has seen nothing yet; the last one, and all that it could write to, is gone."""
        self._commits_seen.clear()

    def show(self, location: Commit) -> Plain:
        """Make the folder hold the files of a commit; what the worker has to know about them."""
        snapshots, checkout = self._open(location)
        self._commits_seen.add((location.path, location.commit))
        snapshot = snapshots.at(location.commit, near=checkout.snapshot)
        return ExportedSource.of(checkout.sync_to(snapshot), location.path.resolve(), snapshot).to_plain()

    def _open(self, location: Commit) -> tuple[SnapshotReader, Checkout]:
        if self._snapshots is None or self._checkout is None or self._history != location.history:
            self._reading.close()
            repository = self._reading.enter_context(open_repository(location.path))
            self._snapshots = self._reading.enter_context(SnapshotReader(repository, location.wanted))
            self._checkout = Checkout(self.path, self._snapshots.objects)
            self._history = location.history
        return self._snapshots, self._checkout

    def _known_ranks(self, path: Path) -> dict[str, int]:
        """Where the commits come in an order in which none comes before its ancestors; nothing where that cannot be known."""
        if path not in self._ranks:
            try:
                with open_repository(path) as repository:
                    self._ranks[path] = ranks_along_history(repository, self.commits[path])
            except UsageError:
                self._ranks[path] = {}
        return self._ranks[path]

    def close(self) -> None:
        self._snapshots = None
        self._reading.close()
        self._until_the_end.close()


# Which environment variables a worker gets.

# What decides how programs are found, how text is read, and how many threads compute.
_ALLOWED = re.compile(
    r"PATH|LANG|LANGUAGE|LC_\w+|TZ|TERM|NO_COLOR|LD_LIBRARY_PATH|SOURCE_DATE_EPOCH|TOKENIZERS_PARALLELISM|CUDA_VISIBLE_DEVICES"
    r"|VIRTUAL_ENV|SEARCHMARK_(DEBUG|GIT_SECONDS)|(PYTHON|OMP_|KMP_|GOMP_|MKL_|OPENBLAS_|BLIS_|NUMEXPR_|VECLIB_|RAYON_|POLARS_|MALLOC_)\w*"
)

_ALLOWED_WITH_NETWORK = re.compile(r"(?i)(https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE")

_KEY_ERROR = re.compile(r"\b(?:KeyError: '|environment variable )([A-Za-z_][A-Za-z0-9_]*)")


def withheld_variables(environment: Mapping[str, str], names: frozenset[str]) -> frozenset[str]:
    """The variables that are secrets, or look so, and that neither the agent's spec nor the command line names."""
    secret = registered_secrets()
    return frozenset(name for name in environment if (name in secret or is_secret_variable(name)) and name not in names)


def variables_in_sandbox(environment: Mapping[str, str], names: frozenset[str], *, network: bool) -> dict[str, str]:
    """The variables that are on the list, and those that the agent's spec or the command line names."""
    secret = registered_secrets()

    def is_passed(name: str) -> bool:
        allowed = _ALLOWED.fullmatch(name) or (network and _ALLOWED_WITH_NETWORK.fullmatch(name))
        return name in names or bool(allowed and not is_secret_variable(name) and name not in secret)

    return {name: value for name, value in environment.items() if is_passed(name)}


def explain_missing_variable(reason: str, withheld_names: frozenset[str]) -> str:
    """The reason of a failure; where a variable was missing because it was withheld, with what to do about it."""
    missing = next((name for name in _KEY_ERROR.findall(reason) if name in withheld_names), None)
    return reason if missing is None else f"{reason}; {missing} was withheld from the agent: pass it with --pass-env {missing}"


_USERS = range(61184, 65520)  # set aside for users that live as long as a service (systemd's DynamicUser)


@dataclass(frozen=True)
class PreparedLaunch:
    """What to start, with which environment and which open files."""

    command: list[str]
    environment: dict[str, str]
    descriptors: tuple[int, ...] = ()


@dataclass(frozen=True)
class Launch:
    """How the workers of one agent are started."""

    environment: Mapping[str, str]
    withheld: frozenset[str] = frozenset()  # variables that it does not get
    sandbox: Sandbox | None = None
    view: View | None = None  # of the files, in a sandbox
    # Where we are root, each worker becomes a user that is nobody else; one that has to read files of root alone stays root,
    # without any of its privileges.
    own_user: bool = False
    # An open file that gives the key of the caches to a built-in agent, where code of others must not have it.
    guard: int | None = None
    folder: Path | None = None  # the working directory, if it is not that of the runner

    @classmethod
    def of(
        cls, spec: AgentSpec, locations: Mapping[str, Location], sandbox: Sandbox | None = None, guard: int | None = None
    ) -> Launch:
        needs = needs_of(spec)
        withheld_names = withheld_variables(os.environ, needs.variables)
        if sandbox is None:
            environment = {name: value for name, value in os.environ.items() if name not in withheld_names | {GUARD_VARIABLE}}
            if has_foreign_code(spec):
                return cls(environment | {"SEARCHMARK_CACHE": str(foreign_cache_folder())}, withheld_names)
            return cls(environment, withheld_names, guard=guard)
        if not spec.isolated:
            raise UsageError(
                f"the agent {spec.name!r} is an object of this process, which no sandbox can hold; put it into a module"
            )
        environment = variables_in_sandbox(os.environ, needs.variables, network=needs.network)
        view = build_view(spec, needs, locations, sandbox.hidden)
        withheld_names = frozenset(os.environ.keys() - environment.keys())
        return cls(environment | _model_variables(view), withheld_names, sandbox, view, _has_own_user(view, sandbox))

    def with_code(self, spec: AgentSpec, code: Sequence[Path], folder: Path | None) -> Launch:
        """The same with folders of code that was sent along, and another working directory if it exists here.

        An agent of ours finds our modules alone: what lies in a wheel beside the agent that it is for must not pass for them.
        """
        modules = code if has_foreign_code(spec) else ()
        old_path = self.environment.get("PYTHONPATH")
        variables = {"PYTHONPATH": os.pathsep.join((*map(str, modules), *([old_path] if old_path else [])))} if modules else {}
        view = self.view if self.view is None else replace(self.view, modules=(*self.view.modules, *modules))
        there = folder if folder is not None and folder.is_dir() else None
        return replace(self, environment={**self.environment, **variables}, view=view, folder=there)

    @property
    def text(self) -> str | None:
        """The sandbox, for records."""
        if self.sandbox is None:
            return None
        return self.sandbox.version() + (", root without privileges" if os.geteuid() == 0 and not self.own_user else "")

    def snapshot_folder(self) -> SnapshotFolder:
        """What shows the searched commits to the workers of one session, if the repositories are out of their sight."""
        return SnapshotFolder({} if self.view is None else self.view.commits)

    def with_snapshots(self, snapshots: SnapshotFolder) -> Launch:
        """The same with the folder that shows commits, if any are shown."""
        if self.view is None or not snapshots.commits:
            return self
        return replace(self, view=replace(self.view, corpus=(*self.view.corpus, snapshots.path)))

    @contextmanager
    def prepared(self, command: Sequence[str], scratch: Path) -> Iterator[PreparedLaunch]:
        """The command as it has to be started; open files that it needs are closed at the end."""
        if self.sandbox is None or self.view is None:
            guard = {} if self.guard is None else {GUARD_VARIABLE: str(self.guard)}
            descriptors = () if self.guard is None else (self.guard,)
            yield PreparedLaunch([*command], {**self.environment, "TMPDIR": str(scratch), **guard}, descriptors)
            return
        own = {"TMPDIR": str(scratch), "HOME": str(scratch), "SEARCHMARK_CACHE": str(scratch / "cache")}
        names = dict.fromkeys(("USER", "LOGNAME"), "searchmark")
        environment = {**self.environment, **own, **names}
        user = secrets.choice(_USERS) if self.own_user else None
        if user is not None:
            os.chown(scratch, user, user)
        with tempfile.TemporaryFile() as confinement, tempfile.TemporaryFile() as options:
            confinement.write(self.sandbox.confinement(self.view, scratch, user).to_json())
            inner = self.sandbox.command([*command, str(confinement.fileno())], self.view, scratch, user, options)
            files = [file for file in (confinement, options) if file.tell()]
            for file in files:
                file.seek(0)  # which also writes what is still in the buffer
            yield PreparedLaunch(inner, environment, tuple(file.fileno() for file in files))

    def why_gone(self, output: str) -> str:
        """What to say of a worker that has ended without a word; a sandbox that could not be set up has said why."""
        errors = [line for line in output.splitlines() if line.startswith(f"{BUBBLEWRAP}:")]
        return f"the sandbox could not be set up ({errors[-1]})" if self.sandbox is not None and errors else "the worker is gone"


def _has_own_user(view: View, sandbox: Sandbox) -> bool:
    """Whether root can become someone else: it decides what is mounted, and what is searched can be read by all.

    Without mounts of our own, every folder on the way would have to be open to all users as well.
    """
    if os.geteuid() != 0:
        return False
    if sandbox.mounts and find_unreadable_file(view, _USERS[0]) is None:
        return True
    unreadable = find_unreadable_file(view, 0)
    if unreadable is not None:
        raise UsageError(
            f"{unreadable} can be read by its owner only, and a sandboxed agent lacks root's privileges: chmod -R o+rX it"
        )
    return False


def _model_variables(view: View) -> dict[str, str]:
    """Where downloaded models are, if they are shown; without a network nobody should wait for the hub."""
    folder = hub_cache_folder()
    variables = {"HF_HUB_CACHE": str(folder)} if folder is not None and folder in view.code else {}
    return variables if view.network else variables | {"HF_HUB_OFFLINE": "1"}


@dataclass(frozen=True)
class GuardedCaches:
    """The caches of a run in which code of others takes part."""

    guard: int | None = None  # for the workers of built-in agents
    key: bytes = b""

    def tampering(self) -> str | None:
        """What another process has changed of what was used, in a sentence; called when all agents have ended."""
        if self.guard is None:
            return None
        from searchmark.agents.lexical.cache import remove_unsealed_since
        from searchmark.agents.vectors.cache import FILE, remove_changed

        remove_unsealed_since(guard_start(self.guard) or 0, self.key)
        count = remove_changed(cache_folder(), self.guard, self.key)
        path = cache_folder() / FILE
        return f"cached vectors that another process changed during the run: {count} (removed from {path})" if count else None


@contextmanager
def guard_caches(specs: Sequence[AgentSpec], sandbox: Sandbox | None) -> Iterator[GuardedCaches]:
    """To be entered before any agent is loaded. Built-in agents need no guard against each other, nor any in a sandbox."""
    if sandbox is not None or not any(map(has_foreign_code, specs)):
        yield GuardedCaches()
        return
    with withheld_key(cache_folder()) as key, open_guard(key) as guard:
        yield GuardedCaches(guard, key)


@contextmanager
def launch_on_executor(
    spec: AgentSpec, specs: Sequence[AgentSpec], locations: Mapping[str, Location], sandbox: Sandbox | None
) -> Iterator[Launch]:
    """How one of these agents is started on an executor: beside code of others, a built-in agent has an empty cache of its own.

    A process of an executor may be started at any time, when that code has long been at work: nobody could tell any more what of
    the cache of the machine was there before.
    """
    if sandbox is not None or has_foreign_code(spec) or not any(map(has_foreign_code, specs)):
        yield Launch.of(spec, locations, sandbox)
        return
    with private_folder() as folder, open_guard(secrets.token_bytes(KEY_BYTES)) as guard:
        launch = Launch.of(spec, locations, None, guard)
        yield replace(launch, environment={**launch.environment, "SEARCHMARK_CACHE": str(folder)})
