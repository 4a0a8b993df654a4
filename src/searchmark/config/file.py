"""The config that applies: find the file, decide whether to trust it, parse it, check it.

A config that was only found may not reach beyond its project.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

from searchmark.config.agents import BUILT_IN, AgentSpec, BuiltInSource
from searchmark.config.builtin import BUILTIN_PREFIX, BuiltinSuite
from searchmark.config.permissions import Sensitive, SensitiveValue, is_local_model, sensitive_values
from searchmark.config.run import RunSettings
from searchmark.config.sections import Config
from searchmark.errors import FormatError, UsageError
from searchmark.io.data import check_shape, parse_toml
from searchmark.io.paths import is_address, user_path, walk
from searchmark.io.plugins import load_code
from searchmark.io.store import check_readable, read_utf8
from searchmark.io.text import strict_text

# The text of a config file becomes plain data: YAML, TOML, or the table ``[tool.searchmark]`` of a project file.

PROJECT_FILE = "pyproject.toml"


def parse_config(file: Path, text: str) -> Any:
    """The plain data; that of an empty file is empty."""
    if file.suffix.lower() == ".toml":
        content: Any = parse_toml(file, text)
        content = project_section(content) if file.name == PROJECT_FILE else content
    else:
        from searchmark.io.data import parse_yaml

        content = parse_yaml(file, text, numbers=True)
    return {} if content is None else content


def project_section(project: dict[str, Any]) -> Any:
    """What a project file says about us."""
    tool = project.get("tool")
    return tool.get("searchmark", {}) if isinstance(tool, dict) else {}


# The config that applies without being named: looked for from the working directory upwards, and obeyed only if it is the
# user's.
#
# A project is the repository that the working directory lies in, or else that directory alone. A file above it, or one that
# another user owns or may write, might be a stranger's: such a file is refused, not skipped, since it may as well be
# the user's own.

_LARGEST_CONFIG = 1 << 20  # bytes of a config; others may have put a larger file there to be read

BENCHMARK_FILE = "benchmark_config.yaml"

NAMES = ("searchmark.yaml", "searchmark.yml", "searchmark.toml", BENCHMARK_FILE, PROJECT_FILE)

_SHARED_NAMES = (BENCHMARK_FILE, PROJECT_FILE)  # names that files of other programs have too

_SECTION = re.compile(rb"^([A-Za-z_][\w-]*)[ \t]*:", re.MULTILINE)  # of YAML: a key at the beginning of a line


@dataclass(frozen=True)
class FoundConfig:
    """A config that may be obeyed: its file, its text, and the project that it is about."""

    file: Path
    text: str
    project: Path


def find_config(folder: Path) -> FoundConfig | None:
    """The nearest one, or None; one that may be a stranger's is refused."""
    project = _project_of(folder)
    for parent in (folder, *folder.parents):
        for file in (parent / name for name in NAMES):
            content = _read_if_about_us(file)
            if content is not None:
                return FoundConfig(file, _trusted_text(file, content, project), project)
    return None


def _project_of(folder: Path) -> Path:
    """The top of the repository, whose ``.git`` is a file in a worktree or a submodule."""
    return next((parent for parent in (folder, *folder.parents) if os.path.lexists(parent / ".git")), folder)


@dataclass(frozen=True)
class _ReadFile:
    """What a file was when it was read, all from one descriptor."""

    content: bytes
    status: os.stat_result


def _read_if_about_us(file: Path) -> _ReadFile | None:
    """The file, if it is there and about us. A pipe is opened without waiting for its other end, and read no further."""
    if not os.path.lexists(file):
        return None
    try:
        config = _read_once(file)
    except OSError as error:
        if file.name in _SHARED_NAMES:
            return None
        raise _refuse_found_file(file, f"cannot be read ({error.strerror})") from error
    return config if file.name not in _SHARED_NAMES or _is_ours(file.name, config.content) else None


def _read_once(file: Path) -> _ReadFile:
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return _ReadFile(b"", status)
        with open(handle, "rb", closefd=False) as reader:  # a descriptor, whose status is known
            return _ReadFile(reader.read(_LARGEST_CONFIG + 1), status)
    finally:
        os.close(handle)


def _is_ours(name: str, content: bytes) -> bool:
    """Whether a file whose name does not tell is meant for us."""
    return _is_benchmark(content) if name == BENCHMARK_FILE else _is_project(content)


def _is_benchmark(content: bytes) -> bool:
    """Whether it lists agents, and has no section that we do not have. It is not parsed for that: if it is broken, that is told."""
    sections = {name.decode() for name in _SECTION.findall(content[:_LARGEST_CONFIG])}
    return "agents" in sections and sections <= {each.name for each in fields(Config)}


def _is_project(content: bytes) -> bool:
    """Whether a project file has something for us; one that is broken is not our business."""
    if b"searchmark" not in content or len(content) > _LARGEST_CONFIG:  # most have nothing, and need not be understood for that
        return False
    try:
        return bool(project_section(parse_toml(Path(PROJECT_FILE), strict_text(PROJECT_FILE, content))))
    except FormatError:
        return False


def _trusted_text(file: Path, config: _ReadFile, project: Path) -> str:
    for reason in _reasons_for_doubt(file, config.status, project):
        raise _refuse_found_file(file, reason)
    return strict_text(file, config.content)


def _reasons_for_doubt(file: Path, status: os.stat_result, project: Path) -> Iterator[str]:
    """Why a file may not be the user's own, the plainest reason first."""
    if not stat.S_ISREG(status.st_mode):
        yield "is not a regular file"
    if status.st_size > _LARGEST_CONFIG:
        yield f"is larger than {_LARGEST_CONFIG >> 20} MiB"
    if not file.is_relative_to(project):
        yield f"lies above the project {project}"
    target = Path(os.path.realpath(file))
    if not target.is_relative_to(os.path.realpath(project)):
        yield f"is a link to {target}, outside of the project {project}"
    if not os.path.samestat(target.stat(), status):
        yield "was replaced while it was read"
    if sys.platform != "win32":
        if status.st_uid != os.geteuid():
            yield "belongs to a different user"
        if status.st_mode & stat.S_IWOTH:
            yield "may be written by every user"
        if status.st_mode & stat.S_IWGRP and status.st_gid != _own_group():
            yield "may be written by a group that is not your primary one"


def _own_group() -> int:
    """The group that the account of this user has by default, whatever group this process was started with."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_gid
    except KeyError:  # a user without an account, as in containers
        return os.getgid()


def _refuse_found_file(file: Path, reason: str) -> UsageError:
    return UsageError(
        f"the config {file} was found and {reason}, so it is not obeyed: say --config {file} if you trust it, or --no-config"
    )


# What a config may not decide unless the user has named it: where things are sent, read from and written to, and what runs.


def refuse_sensitive_values(file: Path, content: Mapping[str, Any], project: Path) -> None:
    """Refuse the first field by which a config that was only found reaches beyond its project."""
    try:
        for value in sensitive_values(Config, content):
            reason = _reason_to_refuse(value, file.parent, project) if value.reaches_out else None
            if reason is not None:
                raise _refuse_field(file, value.field, reason)
    except RecursionError as error:
        raise FormatError(file, None, "nested too deeply") from error


def refuse_shadowed_agents(file: Path, agents: Iterable[AgentSpec]) -> None:
    """Refuse a name of ours for another agent: a user who types it on the command line means ours."""
    for number, spec in enumerate(agents):
        if spec.name in BUILT_IN and spec.source != BuiltInSource(spec.name):
            reason = f"gives the name of the built-in agent {spec.name!r} to another ({spec.source.text!r})"
            raise _refuse_field(file, f"agents.{number}.name", reason)


def _refuse_field(file: Path, field: str, reason: str) -> FormatError:
    advice = f"say --config {file} if you trust it, or --no-config"
    return FormatError(file, field, f"{reason}, which only a config that you name may set: {advice}")


def _reason_to_refuse(sensitive: SensitiveValue, folder: Path, project: Path) -> str | None:
    """What is wrong with a value; None if it stays inside of the project."""
    match sensitive.kind:
        case Sensitive.PATH | Sensitive.PATH_BESIDE | Sensitive.WRITTEN_FOLDER | Sensitive.REPOSITORY | Sensitive.MODEL:
            if is_address(sensitive.value) or (sensitive.kind is Sensitive.REPOSITORY and is_address(_named_path(sensitive.value))):
                return str(Sensitive.ADDRESS.value)
            outside = next((path for path in _possible_paths(sensitive, folder) if not _is_inside(path, project)), None)
            if outside is not None:
                return f"is outside of the project {project}"
            if sensitive.kind is not Sensitive.REPOSITORY and any(
                _belongs_to_git(path) for path in _possible_paths(sensitive, folder)
            ):
                return "is inside of a .git folder"
            by_path = sensitive.kind is Sensitive.MODEL and is_local_model(sensitive.value)
            return "is a folder with a model, which may hold code" if by_path else None
        case Sensitive.PLUGIN:
            return None
        case _:
            return str(sensitive.kind.value)


def _possible_paths(sensitive: SensitiveValue, folder: Path) -> Iterator[Any]:
    """Every path that a value may mean, and those that writing below it would follow."""
    if sensitive.kind is Sensitive.PATH_BESIDE and isinstance(sensitive.value, str):
        yield str(folder / os.path.expanduser(sensitive.value))  # noqa: PTH111  # as it is read
        return
    yield sensitive.value
    if sensitive.kind is Sensitive.REPOSITORY:
        yield _named_path(sensitive.value)
    if sensitive.kind is Sensitive.WRITTEN_FOLDER:
        for inner, folders, files in walk(sensitive.value):
            yield from (path for name in (*folders, *files) if os.path.islink(path := os.path.join(inner, name)))  # noqa: PTH114, PTH118  # a folder may hold many


def _named_path(repository: Any) -> str:
    """What follows the name of a repository; empty if it has none."""
    return str(repository).partition("=")[2]


def _is_inside(path: Any, project: Path) -> bool:
    """Whether a path stays in the project, links resolved."""
    try:
        return Path(os.path.realpath(os.path.expanduser(path))).is_relative_to(os.path.realpath(project))  # noqa: PTH111  # takes what is no path, too
    except (ValueError, TypeError, OSError):  # no path at all
        return False


def _belongs_to_git(path: Any) -> bool:
    """Whether something written there could be run by Git, as a hook or a filter."""
    return ".git" in map(str.lower, Path(os.path.realpath(os.path.expanduser(path))).parts)  # noqa: PTH111  # as above


# The config that applies: the file that was named, or one that is found, or the defaults.


@dataclass(frozen=True)
class LoadedConfig(Config):
    """A config from a file; where that is, and whether the user has ``named`` it, the file itself does not say."""

    file: Path | None = None
    named: bool = False


def load_config(path: str | PathLike[str] | None = None, *, search: bool = True) -> Config:
    """The config in this file; without one that which is found, unless ``search`` is False; or else the defaults.

    A file that was named is taken as it is. One that was only found sets no addresses, key variables, commands
    and options of foreign agents, and no paths outside of the project.
    """
    if path is not None:
        file = user_path(path)
        check_readable(file)
        try:
            return _check_config(file, parse_config(file, read_utf8(file)), named=True)
        except FormatError as error:
            # By its name: formats stand above the config, and only they know what else a file may be.
            load_code("searchmark.formats.detection:raise_hint")(file, "config", error)
            raise
    source = find_config(Path.cwd()) if search else None
    if source is None:
        return Config()
    content = parse_config(source.file, source.text)
    config = _check_config(source.file, content)
    refuse_sensitive_values(source.file, content, source.project)
    refuse_shadowed_agents(source.file, config.agents)
    return config


def _check_config(file: Path, content: Any, *, named: bool = False) -> Config:
    from pydantic import TypeAdapter

    try:
        return _resolve_paths(file, check_shape(file, TypeAdapter(Config), content), named)
    except FormatError:
        raise
    except UsageError as error:  # fields that are right one by one, and not together
        raise FormatError(file, None, str(error)) from error


def _resolve_paths(file: Path, config: Config, named: bool) -> Config:
    """The config with the files that it names where they belong: beside its own, so that all are under version control."""
    loaded_config = LoadedConfig(**{each.name: getattr(config, each.name) for each in fields(config)}, file=file, named=named)
    suite, folder = config.suite, file.parent
    return replace(
        loaded_config,
        gates=replace(config.gates, baseline=_path_from(folder, config.gates.baseline)),
        suite=replace(suite, path=_path_from(folder, suite.path), topics=_path_from(folder, suite.topics)),
        corpus=replace(config.corpus, path=_path_from(folder, config.corpus.path)),
    )


def _path_from(folder: Path, path: str | None) -> str | None:
    return path if path is None or path.startswith(BUILTIN_PREFIX) or is_address(path) else str(folder / user_path(path))


# The config of a built-in suite, with what the user's own config adds to it.

_SECTIONS_OF_THE_SUITE = ("corpus", "gates", "compare", "versions")


@dataclass(frozen=True)
class BuiltinConfig(LoadedConfig):
    """What applies to a built-in suite. ``listed_agents`` are those that are asked where a command names none."""

    builtin: BuiltinSuite | None = None
    gates_of_suite: bool = False
    listed_agents: tuple[str, ...] = ()


def with_builtin(suite: BuiltinSuite, config: Config) -> Config:
    """The sections of a built-in suite, and of the user's config what is about agents, how they are run, and outputs.

    A config that the user has named, or that names this suite itself, is about it: its sections go first. One that was found is
    about a search of the user's, and its gates and documents are not those of this suite.
    """
    own = load_config(suite.config_file)
    about = config if config.named or config.suite.path == suite.reference else Config()
    configured_names = {spec.name for spec in config.agents}
    sections = {each.name: getattr(config, each.name) for each in fields(Config)}
    sections |= {name: _first_set(about, own, name) for name in _SECTIONS_OF_THE_SUITE}
    sections |= {
        "agents": (*config.agents, *(spec for spec in own.agents if spec.name not in configured_names)),
        "dataset": own.dataset,
        "evaluation": replace(own.evaluation, **_fields_set(config.evaluation)),
        "suite": replace(
            own.suite, path=suite.reference, format=None, topics=None, measures=about.suite.measures or own.suite.measures
        ),
    }
    agent_names = own.listed_agents or config.listed_agents
    own_gates = about.gates == Config().gates
    return BuiltinConfig(**sections, file=config.file, builtin=suite, gates_of_suite=own_gates, listed_agents=agent_names)


def _first_set(first: Config, second: Config, name: str) -> object:
    value = getattr(first, name)
    return getattr(second, name) if value == getattr(Config(), name) else value


def _fields_set(section: RunSettings) -> dict[str, Any]:
    """The fields of a section that differ from their defaults."""
    values = {each.name: getattr(section, each.name) for each in fields(section)}
    return {name: value for name, value in values.items() if value != getattr(RunSettings(), name)}
