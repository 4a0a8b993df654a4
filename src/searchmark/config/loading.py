"""The config that applies: the file that was named, or one that is found, or the defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

from searchmark.config.found import find_config
from searchmark.config.parsing import parse_config
from searchmark.config.restrictions import refuse_other_meanings, refuse_reaching_out
from searchmark.config.sections import Config
from searchmark.errors import FormatError, UsageError
from searchmark.files.recognised import CONFIG, telling_what_it_is
from searchmark.files.store import check_readable, check_shape, read_utf8
from searchmark.options.addresses import is_address
from searchmark.options.user_paths import user_path
from searchmark.suites.builtin import PREFIX


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
        with telling_what_it_is(file, CONFIG):
            return _checked(file, parse_config(file, read_utf8(file)), named=True)
    found = find_config(Path.cwd()) if search else None
    if found is None:
        return Config()
    content = parse_config(found.file, found.text)
    config = _checked(found.file, content)
    refuse_reaching_out(found.file, content, found.project)
    refuse_other_meanings(found.file, config.agents)
    return config


def _checked(file: Path, content: Any, *, named: bool = False) -> Config:
    from pydantic import TypeAdapter

    try:
        return _beside(file, check_shape(file, TypeAdapter(Config), content), named)
    except FormatError:
        raise
    except UsageError as error:  # fields that are right one by one, and not together
        raise FormatError(file, None, str(error)) from error


def _beside(file: Path, config: Config, named: bool) -> Config:
    """The config with the files that it names where they belong: beside its own, so that all are under version control."""
    loaded = LoadedConfig(**{each.name: getattr(config, each.name) for each in fields(config)}, file=file, named=named)
    suite, folder = config.suite, file.parent
    return replace(
        loaded,
        gates=replace(config.gates, baseline=_from(folder, config.gates.baseline)),
        suite=replace(suite, path=_from(folder, suite.path), topics=_from(folder, suite.topics)),
        corpus=replace(config.corpus, path=_from(folder, config.corpus.path)),
    )


def _from(folder: Path, path: str | None) -> str | None:
    return path if path is None or path.startswith(PREFIX) or is_address(path) else str(folder / user_path(path))
