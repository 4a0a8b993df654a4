"""What the files of a report are called: by the user, by a pattern of the config, or ``report`` with an extension."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path

from searchmark.config import OutputConfig
from searchmark.errors import UsageError
from searchmark.files.name_patterns import files_like, filled
from searchmark.reports import RENDERERS, renderer_of
from searchmark.reports.agent_kinds import indexes_of
from searchmark.reports.report import Report

UNNAMED = "report"
NONE = "none"  # of a model or an index, where there is none or the agent does not say


@dataclass(frozen=True)
class ReportFile:
    """A file to be written, and its format. A ``pattern`` is the rest of a path that is complete only with the report."""

    path: Path
    format: str
    pattern: str | None = None

    def at(self, values: Mapping[str, str]) -> Path:
        """Where it is written, by the values of the placeholders."""
        return self.path if self.pattern is None else _below(self.path, self.path / filled(self.pattern, values))

    def existing(self) -> list[Path]:
        """The file, or those that earlier reports have left under its pattern: they tell what is right."""
        return [self.path] if self.pattern is None else sorted(files_like(self.path, self.pattern))


def files_in(folder: Path, config: OutputConfig) -> list[ReportFile]:
    """One file for each configured format."""
    _refuse_names_of_nothing(config)
    patterns = {name: _pattern(name, config.file_name) for name in dict.fromkeys(config.formats)}
    _refuse_one_name_for_two(patterns)
    for pattern in patterns.values():  # as far as it is known; the rest when it is
        _below(folder, folder / Path(*takewhile(lambda part: "{" not in part, Path(pattern).parent.parts)))
    named = config.file_name is not None
    return [ReportFile(folder if named else folder / name, each, name if named else None) for each, name in patterns.items()]


def _below(folder: Path, path: Path) -> Path:
    """A path that a pattern gives; refused if a link leads it out of the folder."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{path} cannot be written: a link leads out of {folder}, where output.file_name must stay")
    return path


def _refuse_names_of_nothing(config: OutputConfig) -> None:
    for name in config.file_name if isinstance(config.file_name, Mapping) else ():
        renderer_of(name)
        if name not in config.formats:
            raise UsageError(f"output.file_name has a name for {name!r}, which output.formats does not list; add it there")


def _refuse_one_name_for_two(patterns: Mapping[str, str]) -> None:
    seen: dict[str, str] = {}
    for name, pattern in patterns.items():
        other = seen.setdefault(pattern, name)
        if other != name:
            raise UsageError(f"output.file_name gives {other!r} and {name!r} one file, {pattern!r}; name them differently")


def _pattern(name: str, named: str | Mapping[str, str] | None) -> str:
    """The name of the file of a format, with its extension: in full, where one name is for all formats; or else its last part."""
    extension = renderer_of(name).suffixes[0]
    if isinstance(named, str):
        return _without_extension(named) + extension
    if named is None or name not in named:
        return UNNAMED + extension
    own = extension[extension.rindex(".") :]
    return named[name] if named[name].lower().endswith((own, *RENDERERS[name].suffixes)) else named[name] + own


def _without_extension(pattern: str) -> str:
    """The pattern without an extension of any format, the longest that it has."""
    endings = [suffix for each in RENDERERS.values() for suffix in each.suffixes if pattern.lower().endswith(suffix)]
    return pattern.removesuffix(pattern[-max(map(len, endings)) :]) if endings else pattern


def name_values(report: Report, time: datetime) -> dict[str, str]:
    """The values of the placeholders; ``time`` is that of the command, shown in UTC."""
    known = [agent.run.agent for agent in report.agents.values() if agent.run.agent is not None]
    moment = time.astimezone(UTC)
    return {
        "timestamp": f"{moment:%Y%m%dT%H%M%SZ}",
        "date": f"{moment:%Y%m%d}",
        "suite": report.suite.name,
        "agent": _together(agent.name for agent in report.agents.values()),
        "model": _together(each.model for each in known),
        "index": _together(index for each in known for index in indexes_of(each)),
    }


def _together(names: Iterable[str | None]) -> str:
    return "+".join(dict.fromkeys(name for name in names if name)) or NONE
