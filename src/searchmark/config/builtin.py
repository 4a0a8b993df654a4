"""Suites that come with Searchmark: `builtin:NAME` wherever a suite is taken."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from searchmark.errors import UsageError, shortened
from searchmark.io.store import read_utf8

BUILTIN_PREFIX = "builtin:"

CONFIG_FILE = "searchmark.yaml"

_FOLDER = "builtin_suites"

_LONGEST_NAME = 60


@dataclass(frozen=True)
class BuiltinSuite:
    """One of them. Its files are read where they are installed, and nothing is ever written there."""

    name: str
    folder: Path

    @property
    def reference(self) -> str:
        """What it is called wherever a suite is taken."""
        return f"{BUILTIN_PREFIX}{self.name}"

    @property
    def config_file(self) -> Path:
        return self.folder / CONFIG_FILE

    @property
    def readme(self) -> str:
        """What it is, how it was made and what its limits are, as its authors say it."""
        return read_utf8(self.folder / "README.md")

    @property
    def purpose(self) -> str:
        """What it is for: the first sentence below the title of its README."""
        paragraphs = [" ".join(part.split()) for part in self.readme.split("\n\n") if part.strip() and not part.startswith("#")]
        return re.split(r"(?<=[.?!]) ", (paragraphs or [""])[0])[0].removesuffix(".")

    @property
    def file(self) -> Path:
        """The file with its cases."""
        return self.folder / str(self._section("suite")["path"])

    @property
    def format(self) -> str | None:
        return self._section("suite").get("format")

    @property
    def topics(self) -> Path | None:
        return self._path("suite", "topics")

    @property
    def corpus(self) -> Path | None:
        """What is searched; None for one whose cases bring their documents along or are about commits."""
        return self._path("corpus", "path")

    def answers(self) -> tuple[Path, ...]:
        """What tells the answers: all in its folder but documents, the file with the cases first."""
        corpus = self.corpus
        rest = [entry for entry in sorted(self.folder.iterdir()) if entry != self.file]
        return (self.file, *(entry for entry in rest if corpus is None or not corpus.is_relative_to(entry)))

    def _path(self, section: str, field: str) -> Path | None:
        value = self._section(section).get(field)
        return None if value is None else self.folder / str(value)

    def _section(self, name: str) -> Mapping[str, Any]:
        return self._config.get(name) or {}

    @cached_property
    def _config(self) -> Mapping[str, Any]:
        from searchmark.io.data import parse_yaml

        config: Mapping[str, Any] = parse_yaml(self.config_file, read_utf8(self.config_file), numbers=True)
        return config


def builtin_suites_folder() -> Path:
    """Where the suites are installed."""
    from importlib.resources import files

    return Path(str(files("searchmark"))) / _FOLDER


def builtin_suites() -> dict[str, BuiltinSuite]:
    """All of them by name; a folder may be called with underscores."""
    folders = [file.parent for file in sorted(builtin_suites_folder().glob(f"*/{CONFIG_FILE}"))]
    suites = [BuiltinSuite(folder.name.replace("_", "-"), folder) for folder in folders]
    return {suite.name: suite for suite in suites}


def builtin_suite_at(path: str | PathLike[str]) -> BuiltinSuite | None:
    """The suite that is meant; None for the path of a file, such as ``./builtin:x`` or every `Path`."""
    is_reference = isinstance(path, str) and path.startswith(BUILTIN_PREFIX)
    return builtin_named(str(path).removeprefix(BUILTIN_PREFIX)) if is_reference else None


def builtin_named(name: str) -> BuiltinSuite:
    """The suite of this name, or a sentence with the nearest names."""
    suites = builtin_suites()
    suite = suites.get(name.strip().lower().replace("_", "-"))
    if suite is None:
        near = get_close_matches(name.lower(), suites, 3)
        hint = f"did you mean {' or '.join(f'{BUILTIN_PREFIX}{each}' for each in near)}? " if near else ""
        raise UsageError(
            f"there is no built-in suite {shortened(name, _LONGEST_NAME)!r}; {hint}'searchmark suites' lists all of them"
        )
    return suite


def refuse_builtin_target(path: str | PathLike[str]) -> None:
    """Refuse to write where a built-in suite is named: what is installed stays as it is."""
    suite = builtin_suite_at(path)
    if suite is not None:
        raise UsageError(
            f"{suite.reference} comes with Searchmark and is never changed; "
            f"make it a suite of your own first: searchmark convert {suite.reference} {suite.name}.jsonl"
        )
