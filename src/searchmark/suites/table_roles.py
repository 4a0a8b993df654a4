"""Which column of a table is what: by the names that such columns usually have, or by those that ``--map`` gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from searchmark.errors import FormatError, shortened
from searchmark.files.known_kinds import snake
from searchmark.options.column_names import OF_SUITES
from searchmark.records import Judgment, Match
from searchmark.records.shown import listed

SHOWN = 12
RANKED = ("rank", "position", "doc_position")  # what tells a list of answers from a list of judgments


@dataclass(frozen=True)
class TableRoles:
    """The columns of a table by role, in snake_case; None where it has none."""

    query: str | None
    target: str
    grade: str | None
    case: str | None
    category: str | None

    @property
    def match(self) -> Match:
        """Files and paths are compared as paths, anything else as ids."""
        return "path" if {"file", "files", "path", "paths"} & {*self.target.split("_")} else "id"

    @property
    def read(self) -> set[str]:
        return {name for name in (self.query, self.target, self.grade, self.case, self.category) if name is not None}


def table_roles(path: Path, columns: Iterable[str], given: Mapping[str, str]) -> TableRoles:
    """The roles of columns; a name that was given must be one of theirs, and a table needs a target and a query or a case."""
    columns = list(columns)
    roles = {**usual_roles(columns), **{role: _given(path, columns, role, name) for role, name in given.items()}}
    missing = missing_roles(roles)
    if missing:
        raise FormatError(path, None, f"has no column for the {missing[0]}; {columns_told(columns)}; {how_to_map(missing)}")
    return TableRoles(**{role: roles.get(role) for role in OF_SUITES})  # type: ignore[arg-type]  # a target is there


def usual_roles(columns: Iterable[str]) -> dict[str, str]:
    """The roles that names of columns tell by themselves, each column in one role."""
    names, roles = {snake(name) for name in columns}, dict[str, str]()
    for role, usual in OF_SUITES.items():
        found = next((name for name in usual if name in names and name not in roles.values()), None)
        if found is not None:
            roles[role] = found
    return roles


def missing_roles(roles: Mapping[str, str]) -> list[str]:
    """What a table cannot do without: the target, and the query or at least the id of its case."""
    return [*([] if "query" in roles or "case" in roles else ["query"]), *([] if "target" in roles else ["target"])]


def refuse_run(path: Path, columns: Iterable[str]) -> None:
    """Refuse a table that lists answers with their ranks, where nothing but a score grades them."""
    names = {snake(name) for name in columns}
    rank = next((name for name in RANKED if name in names), None)
    if rank is not None and not names & {*OF_SUITES["grade"]} - {"score"}:
        raise FormatError(path, None, f"has a column {rank!r} and no grades, so it lists answers of a search: give it with --run")


def refuse_scores(path: Path, judgments: Iterable[Judgment]) -> None:
    """Refuse a table whose scores are fractions: those of a search are, and grades called so are hardly ever."""
    scored = next((each.gain for each in judgments if each.gain is not None), None)
    if scored is not None:
        told = f"its scores are fractions, like {scored}, so it lists answers of a search: give it with --run"
        raise FormatError(path, "score", f"{told}; if they are grades, say so with --map suite.grade=score")


def columns_told(columns: list[str]) -> str:
    return f"it has {listed([shortened(repr(name), 42) for name in columns], SHOWN)}" if columns else "it has no columns"


def how_to_map(missing: Iterable[str]) -> str:
    options = " ".join(f"--map suite.{role}=COLUMN" for role in missing)
    return f"name yours with {options}"


def _given(path: Path, columns: list[str], role: str, name: str) -> str:
    if snake(name) in {snake(column) for column in columns}:
        return snake(name)
    near = get_close_matches(snake(name), {snake(column): column for column in columns}, 1)
    meant = next((column for column in columns if near and snake(column) == near[0]), None)
    hint = f"; did you mean {meant!r}?" if meant is not None else ""
    raise FormatError(path, None, f"has no column {name!r}, which --map names as suite.{role}; {columns_told(columns)}{hint}")
