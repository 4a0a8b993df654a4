"""Searchmark's own suite files in YAML, JSON and JSONL."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from searchmark.config.gates import GateSettings
from searchmark.config.strict import Whole, strict_record
from searchmark.errors import FormatError, UsageError
from searchmark.formats.suites.checks import check_cases, check_defaults
from searchmark.formats.suites.source import HEADER_FIELDS, Entry, Source
from searchmark.io.data import Schema, check_shape
from searchmark.io.packed import inner_stem
from searchmark.io.paths import user_path
from searchmark.io.store import write_text
from searchmark.records.suite import Case, Defaults, Suite, SuiteKind

if TYPE_CHECKING:
    from pydantic import TypeAdapter


SUITE_SCHEMA = Schema("suite", 1)

APPROVALS_FIELD = "approvals"  # who took which expectations from a run; a part of the metadata in memory


@strict_record
class SuiteFile:
    """What a native suite file holds; in JSONL all but the cases is in the first line."""

    schema_version: Whole
    name: str | None = None
    kind: SuiteKind | None = None
    description: str | None = None
    defaults: Defaults = Defaults()
    model: str | None = None
    missing: Literal["zero"] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    approvals: tuple[Mapping[str, Any], ...] = ()
    cases: tuple[Case, ...] = ()
    agent: str | Mapping[str, Any] | None = None
    mode: str | None = None
    corpus: str | None = None
    gates: GateSettings = GateSettings()
    only_in_ci: bool = False
    skip_if_missing: bool = False


@dataclass(frozen=True)
class SuiteSetup:
    """How a suite is tested, as far as its file says so. It is no part of the suite and of none of its digests.

    Paths are those of the file, relative ones from its folder on.
    """

    agent: str | Mapping[str, Any] | None = None  # a name, or ``{name, source, config}``
    mode: str | None = None  # the mode of the agent to ask
    corpus: Path | None = None
    gates: GateSettings = GateSettings()
    only_in_ci: bool = False
    skip_if_missing: bool = False


NO_SETUP = SuiteSetup()


@cache
def suite_file_adapter() -> TypeAdapter[SuiteFile]:
    from pydantic import TypeAdapter

    return TypeAdapter(SuiteFile)


def read_native(source: Source) -> Suite:
    """Read a native suite."""
    return read_native_with_setup(source)[0]


def read_native_with_setup(source: Source) -> tuple[Suite, SuiteSetup]:
    """Read a native suite, and what its header says about testing it."""
    path = source.path
    content = (
        _read_jsonl(source)
        if source.by_line
        else _check_suite(path, _parse_with_numbers(source) if source.is_yaml else source.data)
    )
    check_defaults(path, content.defaults)
    if not content.cases:
        raise FormatError(path, None if source.by_line else "cases", "holds no cases")
    check_cases(path, content.cases)
    return _build_suite(path, content), _read_setup(source, content)


def _read_setup(source: Source, content: SuiteFile) -> SuiteSetup:
    """What the header says, with paths that do not depend on the working directory."""
    folder, gates, agent = source.path.absolute().parent, content.gates, content.agent
    if gates.baseline is not None:
        gates = replace(gates, baseline=str(folder / user_path(gates.baseline)))
    if isinstance(agent, Mapping):
        agent = source.with_numbers.top().values["agent"]  # options of an agent are settings, and no ids
    corpus = None if content.corpus is None else folder / user_path(content.corpus)
    return SuiteSetup(agent, content.mode, corpus, gates, content.only_in_ci, content.skip_if_missing)


def read_header(source: Source) -> SuiteSetup:
    """What the top of a suite in another format says about testing it; a ``corpus`` that is no path are documents."""
    top = source.top() if source.structured else Entry(source.path, "", {})
    header = {name: top.values[name] for name in HEADER_FIELDS if top.has(name)}
    if not isinstance(header.get("corpus", ""), str):
        del header["corpus"]
    if not header:
        return NO_SETUP
    return _read_setup(source, _check_suite(source.path, {"schema_version": SUITE_SCHEMA.version, **header}))


def _build_suite(path: Path, content: SuiteFile) -> Suite:
    return Suite.from_cases(
        content.name or inner_stem(path),
        content.cases,
        kind=content.kind,
        defaults=content.defaults,
        description=content.description,
        model=content.model,
        missing=content.missing,
        metadata={**content.metadata, **({APPROVALS_FIELD: list(content.approvals)} if content.approvals else {})},
    )


def write_native(suite: Suite, path: str | PathLike[str]) -> Iterator[str]:
    """Write a suite as native JSON or JSONL, which hold all of it: nothing is ever lost."""
    path = Path(path)
    if not len(suite):
        raise UsageError(f"{path} cannot be written: the suite {suite.name!r} has no cases")
    header = {key: value for key, value in _header(suite).items() if value}
    cases = [_compact_case(case) for case in suite.cases]
    if path.suffix.lower() == ".jsonl":
        lines = [json.dumps(row) for row in (header, *cases)]
        write_text(path, "\n".join(lines) + "\n")
    elif path.suffix.lower() == ".json":
        write_text(path, json.dumps({**header, "cases": cases}, indent=1) + "\n")
    else:
        raise UsageError(f"{path}: suites are written as .json or .jsonl")
    return iter(())


def _header(suite: Suite) -> dict[str, Any]:
    approvals = suite.metadata.get(APPROVALS_FIELD)
    if not isinstance(approvals, list) or not all(isinstance(each, dict) for each in approvals):
        approvals = []  # something else of this name is metadata like any other
    return {
        "schema_version": SUITE_SCHEMA.version,
        "name": suite.name,
        "kind": suite.kind,
        "description": suite.description,
        "defaults": {
            name: value for name, value in asdict(suite.defaults).items() if name != "overlap" or suite.judgments.of_text.any()
        },
        "model": suite.model,
        "missing": suite.missing,
        "metadata": {name: value for name, value in suite.metadata.items() if name != APPROVALS_FIELD or value != approvals},
        APPROVALS_FIELD: approvals,
    }


def _compact_case(case: Case) -> dict[str, Any]:
    """A case without the fields that have their default value."""
    plain = Case(case.id)
    names = [entry.name for entry in fields(Case)]
    row = {name: value for name in names if (value := getattr(case, name)) != getattr(plain, name)}
    row["id"] = case.id
    if case.documents:
        row["documents"] = [
            {name: value for name, value in asdict(document).items() if value not in (None, {})} for document in case.documents
        ]
    if case.judgments:
        row["judgments"] = [
            {name: value for name, value in asdict(judgment).items() if name in ("target", "grade") or value not in (None, "id")}
            for judgment in case.judgments
        ]
    return row


def _check_suite(path: Path, data: Any) -> SuiteFile:
    if not isinstance(data, dict):
        raise FormatError(path, None, "is not a mapping with 'schema_version' and 'cases' at its top")
    if "schema_version" not in data:
        reason = "is missing: this is not a native suite, and no other format was recognised (name one with --format)"
        raise FormatError(path, "schema_version", reason)
    try:
        return check_shape(path, suite_file_adapter(), SUITE_SCHEMA.upgrade(path, data))
    except FormatError:
        raise
    except UsageError as error:  # fields of a gate that are right one by one, and not together
        raise FormatError(path, "gates", str(error)) from error


def _parse_with_numbers(source: Source) -> Any:
    """YAML numbers arrive as text; the version is checked before the shape that would turn it into a number.

    Requests of cases are sent as they stand: their numbers are such.
    """
    data = source.data
    if not isinstance(data, dict):
        return data
    if re.fullmatch(r"\d{1,9}", str(data.get("schema_version"))):
        data = {**data, "schema_version": int(data["schema_version"])}
    cases = data.get("cases")
    if not isinstance(cases, list) or not any(isinstance(case, dict) and "request" in case for case in cases):
        return data
    exact = source.with_numbers.data["cases"]
    restored = [
        case | {"request": each["request"]} if isinstance(case, dict) and "request" in case else case
        for case, each in zip(cases, exact, strict=True)
    ]
    return {**data, "cases": restored}


def _read_jsonl(source: Source) -> SuiteFile:
    path = source.path
    if not source.lines:
        raise FormatError(path, None, "is empty; its first line must be the header with 'schema_version'")
    (_, header), *rest = source.lines
    content = _check_suite(path, header)
    from pydantic import TypeAdapter, ValidationError

    try:  # all cases at once, which is much faster; one by one only to find the line of the first flaw
        cases = TypeAdapter(tuple[Case, ...]).validate_python([value for _, value in rest])
    except (ValidationError, RecursionError):
        cases = tuple(check_shape(path, TypeAdapter(Case), value, place) for place, value in rest)
    return replace(content, cases=content.cases + cases)
