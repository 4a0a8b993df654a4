"""Folders that tools fill, such as node_modules and virtual environments: searched only if that is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from searchmark.corpora.file_kinds import ChosenPaths, literal
from searchmark.history.ignored import committed_paths

TOOLS = frozenset({"node_modules", "__pycache__"})
ENVIRONMENT = "pyvenv.cfg"  # is in every virtual environment of Python
LOOKED_AT = 10  # commits, the first and the last among them


def is_tool_folder(parent: str, name: str) -> bool:
    return name in TOOLS or Path(parent, name, ENVIRONMENT).is_file()


def committed_tools(repository: Path, commits: Sequence[str], searched: ChosenPaths) -> Iterator[str]:
    """Globs of the folders of tools that were committed and would be searched; of many commits some are looked at."""
    step = max(1, -(-len(commits) // LOOKED_AT))
    paths = {path for commit in {*commits[::step], *commits[-1:]} for path in committed_paths(repository, commit)}
    yield from sorted(set(_globs(path for path in paths if searched(path) or path.endswith(f"/{ENVIRONMENT}"))))


def _globs(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        *folders, name = path.split("/")
        yield from (f"**/{folder}/**" for folder in TOOLS.intersection(folders))
        if name == ENVIRONMENT and folders and TOOLS.isdisjoint(folders):
            yield literal("/".join(folders)) + "/**"
