"""What a config may not decide unless the user has named it: where things are sent, read from and written to, and what runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from searchmark.agents.agent import AgentSpec
from searchmark.agents.source import BUILT_IN, BuiltIn
from searchmark.config.sections import Config
from searchmark.errors import FormatError
from searchmark.files.walking import walk
from searchmark.options.addresses import is_address
from searchmark.options.sensitive import Sensitive, SensitiveValue, is_local_model, sensitive_values


def refuse_reaching_out(file: Path, content: Mapping[str, Any], project: Path) -> None:
    """Refuse the first field by which a config that was only found reaches beyond its project."""
    try:
        for value in sensitive_values(Config, content):
            reason = _reason(value, file.parent, project) if value.reaches_out else None
            if reason is not None:
                raise _refusal(file, value.field, reason)
    except RecursionError as error:
        raise FormatError(file, None, "nested too deeply") from error


def refuse_other_meanings(file: Path, agents: Iterable[AgentSpec]) -> None:
    """Refuse a name of ours for another agent: whoever types it on the command line means ours."""
    for number, spec in enumerate(agents):
        if spec.name in BUILT_IN and spec.source != BuiltIn(spec.name):
            reason = f"gives the name of the built-in agent {spec.name!r} to another ({spec.source.text!r})"
            raise _refusal(file, f"agents.{number}.name", reason)


def _refusal(file: Path, field: str, reason: str) -> FormatError:
    advice = f"say --config {file} if you trust it, or --no-config"
    return FormatError(file, field, f"{reason}, which only a config that you name may set: {advice}")


def _reason(found: SensitiveValue, folder: Path, project: Path) -> str | None:
    """What is wrong with a value; None if it stays inside of the project."""
    match found.kind:
        case Sensitive.PATH | Sensitive.PATH_BESIDE | Sensitive.WRITTEN_FOLDER | Sensitive.REPOSITORY | Sensitive.MODEL:
            if is_address(found.value) or (found.kind is Sensitive.REPOSITORY and is_address(_named_path(found.value))):
                return str(Sensitive.ADDRESS.value)
            outside = next((path for path in _paths(found, folder) if not _is_inside(path, project)), None)
            if outside is not None:
                return f"is outside of the project {project}"
            if found.kind is not Sensitive.REPOSITORY and any(_belongs_to_git(path) for path in _paths(found, folder)):
                return "is inside of a .git folder"
            by_path = found.kind is Sensitive.MODEL and is_local_model(found.value)
            return "is a folder with a model, which may hold code" if by_path else None
        case _:
            return str(found.kind.value)


def _paths(found: SensitiveValue, folder: Path) -> Iterator[Any]:
    """Every path that a value may mean, and those that writing below it would follow."""
    if found.kind is Sensitive.PATH_BESIDE and isinstance(found.value, str):
        yield str(folder / os.path.expanduser(found.value))  # noqa: PTH111  # as it is read
        return
    yield found.value
    if found.kind is Sensitive.REPOSITORY:
        yield _named_path(found.value)
    if found.kind is Sensitive.WRITTEN_FOLDER:
        for inner, folders, files in walk(found.value):
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
