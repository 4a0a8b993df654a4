"""The parts of the docs that are written by the program itself: ``make docs`` writes them, a test compares them."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from click.testing import CliRunner

from searchmark.cli.main import VERBS, app
from searchmark.findings import FINDING_KINDS, FindingKind
from searchmark.suites.native import suite_file_adapter

ROOT = Path(__file__).parent.parent
CLI_PAGE = ROOT / "docs" / "cli.md"
SCHEMA = ROOT / "docs" / "schemas" / "suite.schema.json"

FORMATS_PAGE = ROOT / "docs" / "formats.md"
REPORTS_PAGE = ROOT / "docs" / "reports.md"
AUDIT_PAGE = ROOT / "docs" / "audit.md"
SUITES_PAGE = ROOT / "docs" / "suites.md"

_FILE = re.compile(r"<!-- file: (?P<file>[^ ]+) -->\n+```(?P<language>\w+)\n.*?```", re.DOTALL)
_REPORT = re.compile(r"<!-- report: (?P<command>[^\n]*?)(?:, (?P<lines>\d+) lines)? -->\n+```(?P<language>\w+)\n.*?```", re.DOTALL)
_ENVIRONMENT = re.compile(r"(?<=<!-- environment -->\n).*?(?=\n\n)", re.DOTALL)
_CODES = re.compile(r"(?<=<!-- codes -->\n).*?(?=\n\n)", re.DOTALL)
_PRINTED = re.compile(r"<!-- printed -->\n+```text\n\$ searchmark (?P<command>[^\n]*)\n.*?```", re.DOTALL)
_HELP = re.compile(r"<!-- help: (?P<command>searchmark[^>]*?) -->\n+```text\n(?P<text>.*?)```", re.DOTALL)


def schema_text() -> str:
    """The JSON Schema of a native suite file."""
    schema = _bare(suite_file_adapter().json_schema())
    return (
        json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Searchmark suite", **schema}, indent=2)
        + "\n"
    )


def _bare(schema: Any) -> Any:
    """The schema without titles and descriptions, which change from one pydantic to the next."""
    if isinstance(schema, dict):
        return {
            key: {name: _bare(inner) for name, inner in value.items()} if key == "properties" else _bare(value)
            for key, value in schema.items()
            if key not in ("title", "description") or isinstance(value, dict)
        }
    return [_bare(item) for item in schema] if isinstance(schema, list) else schema


def help_text(command: str) -> str:
    """What ``searchmark ... --help`` prints."""
    arguments = [*command.split()[1:], "--help"]
    return CliRunner().invoke(app, arguments, prog_name="searchmark", terminal_width=80).output


def environment_table() -> str:
    """Every environment variable that stands for an option, as the commands themselves have them."""
    rows: dict[str, tuple[str, list[str]]] = {}
    for verb in VERBS:
        for parameter in import_module(f"searchmark.cli.verbs.{verb}").command.params:
            if isinstance(parameter, click.Option) and parameter.envvar is not None:
                option = " / ".join([*parameter.opts, *parameter.secondary_opts])
                rows.setdefault(str(parameter.envvar), (option, []))[1].append(f"`{verb}`")
    lines = (f"| `{variable}` | `{option}` | {', '.join(verbs)} |" for variable, (option, verbs) in rows.items())
    return "\n".join(["| variable | option | of |", "|---|---|---|", *lines])


def cli_page(current: str) -> str:
    """The page about the command line with every help text and environment variable as it is now."""
    page = _HELP.sub(lambda found: f"<!-- help: {found['command']} -->\n```text\n{help_text(found['command'])}```", current)
    return _ENVIRONMENT.sub(lambda _: environment_table(), page)


def formats_page(current: str) -> str:
    """A page with every example file as it is now."""

    def fence(found: re.Match[str]) -> str:
        content = (ROOT / found["file"]).read_text().rstrip()
        return f"<!-- file: {found['file']} -->\n```{found['language']}\n{content}\n```"

    return _FILE.sub(fence, current)


def report_text(command: str, lines: int | None = None) -> str:
    """The file that a command writes, or its first lines; the command names it by its extension alone."""
    with TemporaryDirectory() as folder:
        *arguments, suffix = command.split()
        file = Path(folder) / f"out{suffix}"
        CliRunner().invoke(app, [*_with_examples(arguments), str(file)])
        written = file.read_text().rstrip("\n").split("\n")
    return "\n".join(written[:lines])


def _with_examples(arguments: list[str]) -> list[str]:
    """The arguments with the examples where they are, whatever folder this runs in."""
    return [str(ROOT / part) if part.startswith("examples/") else part for part in arguments]


def audit_page(current: str) -> str:
    """The page about audits with every code there is, and its example files and what is printed of them as they are now."""
    return printed_page(_CODES.sub(lambda _: codes_table(), formats_page(current)))


def printed_page(current: str) -> str:
    """A page with everything that commands print as it is now."""

    def fence(found: re.Match[str]) -> str:
        shown = CliRunner().invoke(app, _with_examples(found["command"].split())).stdout
        return f"<!-- printed -->\n```text\n$ searchmark {found['command']}\n{shown}```"

    return _PRINTED.sub(fence, current)


def codes_table() -> str:
    """Every code that a finding may have."""
    return "\n".join(["| code | severity | what it is about |", "|---|---|---|", *map(_code_row, FINDING_KINDS.values())])


def _code_row(kind: FindingKind) -> str:
    return f"| `{kind.code}` | {kind.severity}{', untrusted' if kind.spoils else ''} | {kind.about} |"


def reports_page(current: str) -> str:
    """The page about reports with every example as it is written now."""

    def fence(found: re.Match[str]) -> str:
        text = report_text(found["command"], int(found["lines"]) if found["lines"] else None)
        return f"{found[0].split('```')[0]}```{found['language']}\n{text}\n```"

    return _REPORT.sub(fence, current)


def formats_of_examples(page: str) -> set[str]:
    """The extensions of the reports that are shown on the page."""
    return {found["command"].split()[-1] for found in _REPORT.finditer(page)}


def files_on_page(page: str) -> list[str]:
    return [found["file"] for found in _FILE.finditer(page)]


def commands_on_page(page: str) -> list[str]:
    return [found["command"] for found in _HELP.finditer(page)]


if __name__ == "__main__":
    SCHEMA.parent.mkdir(exist_ok=True)
    SCHEMA.write_text(schema_text())
    CLI_PAGE.write_text(cli_page(CLI_PAGE.read_text()))
    FORMATS_PAGE.write_text(formats_page(FORMATS_PAGE.read_text()))
    REPORTS_PAGE.write_text(reports_page(REPORTS_PAGE.read_text()))
    AUDIT_PAGE.write_text(audit_page(AUDIT_PAGE.read_text()))
    SUITES_PAGE.write_text(printed_page(SUITES_PAGE.read_text()))
