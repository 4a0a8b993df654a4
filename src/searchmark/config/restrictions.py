"""What a config may not decide unless the user has named it: where things are sent, read from and written to, and what runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from searchmark.config.sections import Config
from searchmark.errors import FormatError
from searchmark.options.sensitive import Sensitive, SensitiveValue, is_local_model, sensitive_values


def refuse_reaching_out(file: Path, content: Mapping[str, Any], project: Path) -> None:
    """Refuse the first field by which a config that was only found reaches beyond its project."""
    try:
        for value in sensitive_values(Config, content):
            reason = _reason(value, project) if value.given else None
            if reason is not None:
                advice = f"say --config {file} if you trust it, or --no-config"
                raise FormatError(file, value.field, f"{reason}, which only a config that you name may set: {advice}")
    except RecursionError as error:
        raise FormatError(file, None, "nested too deeply") from error


def _reason(found: SensitiveValue, project: Path) -> str | None:
    """What is wrong with a value; None if it stays inside of the project."""
    match found.kind:
        case Sensitive.PATH | Sensitive.WRITTEN_FOLDER | Sensitive.REPOSITORY | Sensitive.MODEL:
            outside = next((path for path in _paths(found) if not _is_inside(path, project)), None)
            if outside is not None:
                return f"is outside of the project {project}"
            by_path = found.kind is Sensitive.MODEL and is_local_model(found.value)
            return "is a folder with a model, which may hold code" if by_path else None
        case _:
            return str(found.kind.value)


def _paths(found: SensitiveValue) -> Iterator[Any]:
    """Every path that a value may mean, and those that writing below it would follow."""
    yield found.value
    if found.kind is Sensitive.REPOSITORY:
        yield str(found.value).partition("=")[2]
    if found.kind is Sensitive.WRITTEN_FOLDER:
        for folder, folders, files in os.walk(found.value):
            yield from (path for name in (*folders, *files) if os.path.islink(path := os.path.join(folder, name)))  # noqa: PTH114, PTH118  # a folder may hold many


def _is_inside(path: Any, project: Path) -> bool:
    """Whether a path stays in the project, links resolved."""
    try:
        return Path(os.path.realpath(os.path.expanduser(path))).is_relative_to(os.path.realpath(project))  # noqa: PTH111  # takes what is no path, too
    except (ValueError, TypeError, OSError):  # no path at all
        return False
