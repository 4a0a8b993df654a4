"""Which files a sandboxed agent sees, and what else it needs: network, variables, files of its config.

Gold sets and saved runs stay hidden.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from searchmark.agents.registry import (
    database_addresses,
    is_asking_service,
    program_files,
    spec_and_arms,
    uses_plugin,
    variables_of_config,
)
from searchmark.agents.vectors.models import OPENAI_KEY_VARIABLE, OPENAI_URL
from searchmark.config.agents import AgentSpec, BuiltInSource, HttpSource, PythonSource, options_record
from searchmark.config.permissions import Sensitive, SensitiveValue, sensitive_nested_values
from searchmark.errors import UsageError
from searchmark.formats.corpora.locations import Commit, Folder, Location
from searchmark.formats.corpora.source import SKIPPED_FOLDERS
from searchmark.io.network import key_variable_for
from searchmark.io.paths import walk
from searchmark.io.secrets import database_address

# Where Python, its packages and the programs that agents use are on this machine.

# Without -P the working directory would be among them. A package that is installed as a link to its sources may have a
# finder of its own, which knows where these are.
_PROBE = """
import json, sys
mapped = [path for name, module in sys.modules.items() if name.startswith("__editable__") for path in module.MAPPING.values()]
print(json.dumps([*sys.path, *mapped, sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]))
"""

PROBE_SECONDS = 60

AGENT_PROGRAMS = ("git", "rg")


# What programs need to start at all.
SYSTEM_PATHS = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/passwd", "/etc/group",
    "/etc/nsswitch.conf", "/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
    "/etc/pki/tls", "/etc/pki/ca-trust", "/etc/ca-certificates", "/sys/devices/system/cpu",
)  # fmt: skip

SYSTEM_NETWORK_PATHS = ("/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols")


@cache
def interpreter_paths() -> tuple[Path, ...]:
    """What a new interpreter imports from, PYTHONPATH included, and the programs that lie elsewhere than the system's."""
    command = [sys.executable, "-P", "-c", _PROBE]
    output = subprocess.run(command, capture_output=True, check=True, timeout=PROBE_SECONDS, stdin=subprocess.DEVNULL).stdout  # noqa: S603  # our own interpreter
    programs = [program for name in AGENT_PROGRAMS if (program := shutil.which(name))]
    paths = [Path(path) for path in (sys.executable, *json.loads(output), *programs) if path]
    return tuple(path for path in dict.fromkeys(paths) if path.exists())


def is_reached_by_socket(dsn: str) -> bool:
    """Whether an address is that of a Unix socket, as far as that is known without asking."""
    try:
        import psycopg

        address = database_address(dsn)
    except (ImportError, UsageError):  # whoever connects says what is wrong
        return False
    try:
        parts = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        return False
    return not parts.get("hostaddr") and str(parts.get("host") or "/").startswith(("/", "@"))


# What an agent needs beside its code and the corpus: the network, environment variables, files that its config names.

_FILES = ("vectors", "ids", "queries", "model", "database")  # files that an agent reads; others it makes

_INDEX = "index_file"

_KEY = "key_variable"


@dataclass(frozen=True)
class AgentNeeds:
    """What an agent and its arms may use in addition."""

    network: bool
    variables: frozenset[str]
    files: tuple[Path, ...]


def has_foreign_code(spec: AgentSpec) -> bool:
    """Whether an agent, or one that it asks, runs code here that is not ours."""
    return any(each.source.runs_code or uses_plugin(each) for each in spec_and_arms(spec))


def has_vector_cache(spec: AgentSpec) -> bool:
    """Whether an agent, or one that it asks, embeds a corpus and keeps its vectors on disk, batch by batch."""
    return any(_config_has_cache(each.config) for each in spec_and_arms(spec) if each.source == BuiltInSource("semantic"))


def _config_has_cache(config: Mapping[str, Any]) -> bool:
    from searchmark.agents.vectors import EMBEDDERS, embedder_settings
    from searchmark.agents.vectors.semantic import SemanticSettings

    embedder = config.get("embedder", SemanticSettings().embedder)
    return config.get("model") is not None or (EMBEDDERS.ours(embedder) is not None and embedder_settings(embedder).cache)


def needs_of(spec: AgentSpec) -> AgentNeeds:
    """What the spec allows, and what the config of an agent of ours means: a service is asked through the network."""
    specs = list(spec_and_arms(spec))
    ours = [value for each in specs if isinstance(each.source, BuiltInSource | HttpSource) for value in _sensitive_values(each)]
    addresses = [value for value in ours if value.kind is Sensitive.ADDRESS]
    keys = {value.field: str(value.value) for value in ours if value.kind is Sensitive.KEY_VARIABLE}
    # What the options of an agent mean that is not ours is known to its code alone, but for this one.
    named = [each.config.get(_KEY) for each in specs if not isinstance(each.source, BuiltInSource)]
    names = {name for each in specs for name in each.env} | {key for key in named if isinstance(key, str) and key}
    return AgentNeeds(
        network=bool(addresses) or any(each.network or is_asking_service(each) or database_addresses(each) for each in specs),
        variables=frozenset(names.union(keys.values(), _default_key_variables(addresses, keys), *map(variables_of_config, specs))),
        files=(
            *dict.fromkeys(path for value in ours for path in _named_files(value)),
            *(path for each in specs for path in program_files(each)),
        ),
    )


def _sensitive_values(spec: AgentSpec) -> Iterator[SensitiveValue]:
    """By the types of the fields: whatever a filter or a text holds, it is a value and describes nothing."""
    options = options_record(spec)
    return sensitive_nested_values(replace(options, below=f"{spec.name}.{options.below}"))


def _default_key_variables(addresses: Iterable[SensitiveValue], keys: Mapping[str, str]) -> Iterator[str]:
    """The variables whose keys go to their own service, where none is named beside its address."""
    for each in addresses:
        key = key_variable_for(
            str(each.value), keys.get(f"{each.field.rpartition('.')[0]}.{_KEY}"), OPENAI_URL, OPENAI_KEY_VARIABLE
        )
        if key is not None:
            yield key


def _named_files(value: SensitiveValue) -> Iterator[Path]:
    name = value.field.rpartition(".")[2]
    if value.kind not in (Sensitive.PATH, Sensitive.MODEL) or name not in _FILES:
        return
    path = Path(os.path.expanduser(str(value.value))).absolute()  # noqa: PTH111  # a user that does not exist is no error
    beside = (path.with_suffix(".json"),) if name == "vectors" else ()  # the ids of an array lie beside it
    yield from (each for each in (path, *beside) if each.exists())


def saved_index_files(spec: AgentSpec) -> Iterator[Path]:
    """The files that keep the vectors of a corpus; a sandboxed agent reads one, and cannot make it."""
    ours = [value for each in spec_and_arms(spec) if isinstance(each.source, BuiltInSource) for value in _sensitive_values(each)]
    for value in ours:
        if value.kind is Sensitive.WRITTEN_FILE and value.explicit and value.value is not None:
            raise UsageError(
                f"the index exact writes its vectors to a file ({value.value}), which a sandboxed agent cannot; set memory_mb"
            )
        if value.kind is Sensitive.PATH and value.field.rpartition(".")[2] == _INDEX:
            path = Path(str(value.value)).absolute()
            if not path.exists():
                raise UsageError(f"{path} does not exist, and a sandboxed agent cannot make it; make it without --sandbox first")
            yield path


def refuse_socket_databases(spec: AgentSpec) -> None:
    """Refuse a database that no sandbox lets an agent reach: that of a Unix socket, which is a file outside."""
    if any(is_reached_by_socket(dsn) for each in spec_and_arms(spec) for dsn in database_addresses(each)):
        raise UsageError(
            f"the agent {spec.name!r} asks PostgreSQL by a Unix socket, and a sandboxed agent reaches it by TCP only; "
            "name a host in dsn, as in postgresql://USER@127.0.0.1:5432/NAME"
        )


def hub_cache_folder() -> Path | None:
    """Where the models of the Hugging Face hub are kept that were downloaded before."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "huggingface"  # noqa: PTH111  # as in view.py
    folder = Path(os.environ.get("HF_HUB_CACHE") or Path(home, "hub"))
    return folder.absolute() if folder.is_dir() else None


# What a sandboxed agent sees of the files: the interpreter, its own code and what it searches, and nothing else.
#
# Files that would tell it the answers may lie beside its code: a gold set, journals, saved runs. Folders that hold one are
# therefore shown entry by entry, without those, and without whatever comes into being there later.

MOST_LINKS = 40  # as many as the kernel follows


@dataclass(frozen=True)
class View:
    """What a sandboxed agent sees."""

    code: tuple[Path, ...]  # the interpreter, its packages, and files that the config names
    modules: tuple[Path, ...]  # of the agent
    corpus: tuple[Path, ...]
    hidden: tuple[Path, ...]  # cannot be read, though it lies in one of those
    network: bool
    folder: Path  # the working directory
    commits: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)  # by repository; shown one at a time, as files

    def shown(self) -> VisiblePaths:
        """What can be read right now, as real paths, without what lies below another one of them."""
        names = SYSTEM_PATHS + (SYSTEM_NETWORK_PATHS if self.network else ())
        system = (path for path in map(Path, names) if path.exists())
        links: dict[Path, str] = {}
        visible = VisiblePaths([], [], links)
        for path in (*system, *self.code, *self.modules, *self.corpus):
            visible.add(_resolve_links(path, links), self.hidden)
        return visible.without_repetition()


@dataclass(frozen=True)
class VisiblePaths:
    """``readable`` with all that is below, ``listed`` folders of which some entries are readable, and links on the way."""

    readable: list[Path]
    listed: list[Path]
    links: dict[Path, str]

    def add(self, root: Path, hidden_paths: Iterable[Path]) -> None:
        inside = [path for path in hidden_paths if path == root or root in path.parents]
        if not inside:
            self.readable.append(root)
        elif root in inside and root.name == ".git":
            self.listed.append(root)  # nothing of it is shown, but programs that look for a repository still find one
        elif root not in inside and root.is_dir():
            self.listed.append(root)
            with os.scandir(root) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    self._add_entry(entry, inside)

    def _add_entry(self, entry: os.DirEntry[str], hidden_paths: Iterable[Path]) -> None:
        if entry.is_symlink():  # what it leads to is shown if it is shown elsewhere
            self.links[Path(entry.path)] = str(Path(entry.path).readlink())
        else:
            self.add(Path(entry.path), hidden_paths)

    def without_repetition(self) -> VisiblePaths:
        roots: list[Path] = []
        for path in sorted(set(self.readable), key=lambda path: len(path.parts)):
            if not _is_below(path, roots):
                roots.append(path)
        links = {link: target for link, target in self.links.items() if not _is_below(link, roots)}
        return VisiblePaths(roots, list(dict.fromkeys(self.listed)), links)


def _is_below(path: Path, roots: Iterable[Path]) -> bool:
    return any(root == path or root in path.parents for root in roots)


def _resolve_links(path: Path, links: dict[Path, str]) -> Path:
    """The real path, with every link on the way to it noted."""
    real_path, waiting = Path("/"), list(path.parts[1:])
    for _ in range(MOST_LINKS):
        while waiting and not (real_path / waiting[0]).is_symlink():
            step = waiting.pop(0)
            real_path = real_path.parent if step == ".." else real_path / step
        if not waiting:
            return real_path
        link = real_path / waiting.pop(0)
        links[link] = target = str(link.readlink())
        waiting = [*Path(target).parts, *waiting]
        if Path(target).is_absolute():
            real_path, waiting = Path("/"), waiting[1:]
    raise UsageError(f"{path} is a link without an end")


def build_view(spec: AgentSpec, needs: AgentNeeds, locations: Mapping[str, Location], hidden_paths: Iterable[Path]) -> View:
    """What this agent may see. What would tell it the answers must not lie in what it searches."""
    refuse_socket_databases(spec)
    modules = _agent_modules(spec)
    secret = tuple(dict.fromkeys(each for path in hidden_paths for each in _hidden_siblings(path.resolve(), modules)))
    distinct = {(type(each), each.path): each for each in locations.values() if isinstance(each, Folder | Commit)}
    foreign = has_foreign_code(spec)  # which could look into a history for the answers
    commits = _commits_by_repository(locations.values()) if foreign else {}
    _refuse_without_history(spec, commits)
    searched = [each for each in distinct.values() if each.path not in commits]
    roots = [(each.path.resolve(),) if isinstance(each, Folder) else _repository(each.path) for each in searched]
    corpus = tuple(dict.fromkeys(chain.from_iterable(roots)))
    for root in corpus:  # what lies below a folder is hidden there, and is not a document of it
        if root in secret and root.exists():
            raise UsageError(
                f"{root} is not for agents, and is searched; name the documents alone with --corpus, or leave out --sandbox"
            )
    repositories = [path.resolve() for path in commits]
    histories = _history_paths(distinct.values()) if foreign else ()
    models = hub_cache_folder() if isinstance(spec.source, BuiltInSource | HttpSource) else None
    files = (*needs.files, *saved_index_files(spec), *([models] if models else []))
    beside = (path.parent for path in modules if not _contains_home(path.parent) and not _is_below(path.resolve(), repositories))
    code = (*interpreter_paths(), *beside, *files)
    return View(code, modules, corpus, (*secret, *histories), needs.network, Path.cwd(), commits)


def _history_paths(locations: Iterable[Folder | Commit]) -> Iterator[Path]:
    """What tells of other states than the one that is searched: work trees and objects of repositories."""
    for location in locations:
        if isinstance(location, Commit):
            yield from (location.path.resolve(), *(path.resolve() for path in _repository(location.path)))
        elif (location.path / ".git").is_dir():
            yield (location.path / ".git").resolve()


def _refuse_without_history(spec: AgentSpec, commits: Mapping[Path, tuple[str, ...]]) -> None:
    if commits and any(isinstance(each.source, BuiltInSource) and each.source.agent.reads_history for each in spec_and_arms(spec)):
        raise UsageError(
            f"the agent {spec.name!r} asks 'popular', which reads the history, and code of others, which must not see it in a "
            "sandbox; leave one of them out, or leave out --sandbox"
        )


def _commits_by_repository(locations: Iterable[Location]) -> dict[Path, tuple[str, ...]]:
    commits_of: dict[Path, dict[str, None]] = {}
    for location in locations:
        if isinstance(location, Commit):
            commits_of.setdefault(location.path, {})[location.commit] = None
    return {path: tuple(commits) for path, commits in commits_of.items()}


def _hidden_siblings(path: Path, modules: Iterable[Path]) -> list[Path]:
    """What is hidden of a folder that the agent's own code is in: runs and journals, which may be written there."""
    holds_code = any(path == module.resolve() or path in module.resolve().parents for module in modules)
    return sorted(path.glob("*.jsonl*")) if holds_code else [path]


def _agent_modules(spec: AgentSpec) -> tuple[Path, ...]:
    """The agent's module; what is beside it is shown as well, unless that is the home folder or one above."""
    if not isinstance(spec.source, PythonSource):
        return ()
    module = spec.source.module
    top = Path.cwd() / module.partition(".")[0]
    candidates = [Path(module).absolute()] if module.endswith(".py") else [top, top.with_name(f"{top.name}.py")]
    return tuple(path for path in candidates if path.exists())


def _contains_home(folder: Path) -> bool:
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111  # Path would raise where there is no home
    return folder.resolve() == home or folder.resolve() in home.parents


@cache
def _repository(path: Path) -> tuple[Path, ...]:
    """What Git reads of a repository at a commit, the objects that it borrows from others included, and no work tree."""
    from searchmark.git.repository import open_repository

    with open_repository(path) as repository:
        pointer = path / ".git"
        own = [pointer] if pointer.exists() else []
        return tuple(dict.fromkeys((*own, repository.git_dir, repository.objects.parent, *_borrowed_objects(repository.objects))))


def _borrowed_objects(objects: Path, visited_paths: tuple[Path, ...] = ()) -> Iterator[Path]:
    alternates = objects / "info" / "alternates"
    lines = alternates.read_text("utf-8", "surrogateescape").splitlines() if alternates.is_file() else []
    for other in (Path(os.path.normpath(objects / line)) for line in lines if line and not line.startswith("#")):
        if other.is_dir() and other not in visited_paths:
            yield other
            yield from _borrowed_objects(other, (*visited_paths, other))


def find_unreadable_file(view: View, user: int) -> Path | None:
    """The first file of agent or corpus that this user could not read: it would be missing from the answers in silence."""
    return next(
        (path for root in (*view.modules, *view.corpus) for path in _files_below(root) if not _is_readable(path, user)), None
    )


def _files_below(root: Path) -> Iterator[Path]:
    yield root
    for folder, folders, files in walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        yield from (Path(folder, name) for name in (*folders, *files))


def _is_readable(path: Path, user: int) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    if stat.S_ISLNK(status.st_mode):
        return True
    bits = status.st_mode >> 6 if status.st_uid == user else status.st_mode
    bits_needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(status.st_mode) else 0)
    return bits & bits_needed == bits_needed
