"""Searchmark's own suite files: YAML, JSON, or JSONL with one case per line after a header line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from searchmark.errors import FormatError, UsageError
from searchmark.records import Case, Defaults, Suite
from searchmark.store import SCHEMA_VERSION, check_shape, check_version, parse_json, read_text, write_text
from searchmark.suites.checks import check_cases

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True)
class SuiteFile:
    """What a native suite file holds; in JSONL all but the cases stands in the first line."""

    schema_version: int
    name: str | None = None
    description: str | None = None
    defaults: Defaults = Defaults()
    model: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    cases: tuple[Case, ...] = ()

    __pydantic_config__: ClassVar = {"extra": "forbid"}


@cache
def suite_file_adapter() -> TypeAdapter[SuiteFile]:
    from pydantic import TypeAdapter

    return TypeAdapter(SuiteFile)


@cache
def _case_adapter() -> TypeAdapter[Case]:
    from pydantic import TypeAdapter

    return TypeAdapter(Case)


def read_native(path: str | PathLike[str]) -> Suite:
    """Read a native suite, in the syntax that its extension or first character says."""
    path = Path(path)
    text = read_text(path)
    extension = path.suffix.lower()
    if extension == ".jsonl":
        content = _read_jsonl(path, text)
    elif extension == ".json" or text.lstrip().startswith("{"):
        content = _checked(path, parse_json(path, text))
    else:
        content = _checked(path, _with_numeric_version(_parse_yaml(path, text)))
    check_cases(path, content.cases)
    _check_defaults(path, content.defaults)
    return Suite.from_cases(
        content.name or path.stem,
        content.cases,
        defaults=content.defaults,
        description=content.description,
        model=content.model,
        metadata=content.metadata,
    )


def write_native(suite: Suite, path: str | PathLike[str]) -> None:
    """Write a suite as native JSON or JSONL; what it says and what it omits is read back identical."""
    path = Path(path)
    header = {key: value for key, value in _header(suite).items() if value}
    cases = [_compact(case) for case in suite.cases]
    if path.suffix.lower() == ".jsonl":
        lines = [json.dumps(row) for row in (header, *cases)]
        write_text(path, "\n".join(lines) + "\n")
    elif path.suffix.lower() == ".json":
        write_text(path, json.dumps({**header, "cases": cases}, indent=1) + "\n")
    else:
        raise UsageError(f"{path}: suites are written as .json or .jsonl")


def _header(suite: Suite) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "name": suite.name,
        "description": suite.description,
        "defaults": asdict(suite.defaults),
        "model": suite.model,
        "metadata": suite.metadata,
    }


def _compact(case: Case) -> dict[str, Any]:
    """A case without the fields that have their default value."""
    plain = Case(case.id)
    names = [entry.name for entry in fields(Case)]
    row = {name: value for name in names if (value := getattr(case, name)) != getattr(plain, name)}
    row["id"] = case.id
    if case.judgments:
        row["judgments"] = [
            {name: value for name, value in asdict(judgment).items() if name in ("target", "grade") or value not in (None, "id")}
            for judgment in case.judgments
        ]
    return row


def _checked(path: Path, data: Any) -> SuiteFile:
    if not isinstance(data, dict):
        raise FormatError(path, None, "holds no mapping with 'schema_version' and 'cases' at its top")
    check_version(path, data)
    return check_shape(path, suite_file_adapter(), data)


def _with_numeric_version(data: Any) -> Any:
    """YAML numbers arrive as text; the version is checked before the shape that would turn it into a number."""
    if isinstance(data, dict) and str(data.get("schema_version")).isdecimal():
        data["schema_version"] = int(data["schema_version"])
    return data


def _read_jsonl(path: Path, text: str) -> SuiteFile:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise FormatError(path, None, "is empty; its first line must be the header with 'schema_version'")
    (first, header), *rest = lines
    content = _checked(path, parse_json(path, header, first))
    cases = tuple(check_shape(path, _case_adapter(), parse_json(path, line, number), f"line {number}") for number, line in rest)
    return SuiteFile(**{**content.__dict__, "cases": content.cases + cases})


def _check_defaults(path: Path, defaults: Defaults) -> None:
    if defaults.rel < 1:
        raise FormatError(path, "defaults.rel", f"{defaults.rel} is not a grade from 1")


def _parse_yaml(path: Path, text: str) -> Any:
    """YAML in which only null and booleans are more than text: ids that look like numbers stay as written."""
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import SafeConstructor
    from ruamel.yaml.error import YAMLError

    class TextConstructor(SafeConstructor):
        """Leaves numbers and dates to the check of each field, which knows what it wants."""

    for kind in ("int", "float", "timestamp"):
        TextConstructor.add_constructor(f"tag:yaml.org,2002:{kind}", lambda _, node: node.value)
    loader = YAML(typ="safe", pure=True)
    loader.Constructor = TextConstructor
    try:
        return loader.load(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = None if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
        raise FormatError(path, place, f"not valid YAML: {getattr(error, 'problem', None) or error}") from error
    except RecursionError as error:
        raise FormatError(path, None, "nested too deeply") from error
    except ValueError as error:
        raise FormatError(path, None, f"not valid YAML: {error}") from error
