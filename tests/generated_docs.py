"""The parts of the docs that are written by the program itself: ``make docs`` writes them, a test compares them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from click.testing import CliRunner

from searchmark.agents.outside.presets import PRESETS, Engine
from searchmark.agents.vectors import EMBEDDERS, INDEXES, VectorPart, VectorParts
from searchmark.audit.check import all_kinds
from searchmark.cli.main import VERBS, app
from searchmark.cli.verbs.measures import usage
from searchmark.formats import CORPUS_FORMATS, RUN_FORMATS, SUITE_FORMATS, WRITABLE_FORMATS, CorpusFormat, SuiteFormat
from searchmark.formats.suites.native import suite_file_adapter
from searchmark.measures.catalogue import DEFINITIONS
from searchmark.measures.definition import PARAMETERS, MeasureDefinition, format_value
from searchmark.records.finding import FindingKind

ROOT = Path(__file__).parent.parent
CLI_PAGE = ROOT / "docs" / "cli.md"
SCHEMA = ROOT / "docs" / "schemas" / "suite.schema.json"

FORMATS_PAGE = ROOT / "docs" / "formats.md"
REPORTS_PAGE = ROOT / "docs" / "reports.md"
AUDIT_PAGE = ROOT / "docs" / "audit.md"
MEASURES_PAGE = ROOT / "docs" / "measures.md"
SUITES_PAGE = ROOT / "docs" / "suites.md"
PLUGINS_PAGE = ROOT / "docs" / "plugins.md"
TABLES_PAGES = [ROOT / "docs" / name for name in ("measures.md", "embedders.md", "indexes.md", "http-presets.md")]

_FILE = re.compile(r"<!-- file: (?P<file>[^ ]+) -->\n+```(?P<language>\w+)\n.*?```", re.DOTALL)
_REPORT = re.compile(r"<!-- report: (?P<command>[^\n]*?)(?:, (?P<lines>\d+) lines)? -->\n+```(?P<language>\w+)\n.*?```", re.DOTALL)
_FORMATS = re.compile(r"<!-- formats of (?P<what>[a-z ]+) -->\n.*?(?=\n\n)", re.DOTALL)
_ENVIRONMENT = re.compile(r"(?<=<!-- environment -->\n).*?(?=\n\n)", re.DOTALL)
_CODES = re.compile(r"(?<=<!-- codes -->\n).*?(?=\n\n)", re.DOTALL)
_TABLE = re.compile(r"(?P<mark><!-- table: (?P<name>\w+) -->\n).*?(?=\n\n)", re.DOTALL)
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


def formats_table(what: str) -> str:
    """Every format of a kind, as its object describes it; corpora are also what has no format, which the page adds."""
    tables = {
        "suites": (
            ("`--format`", "what it is", "recognised by"),
            [(f"`{n}`", f.about, f.known_by) for n, f in SUITE_FORMATS.items()],
        ),
        "saved suites": (("format", "holds"), [(_written_as(SUITE_FORMATS[n]), SUITE_FORMATS[n].holds) for n in WRITABLE_FORMATS]),
        "corpora": (("corpus", "a document is"), [(_known_as(f), f.about) for f in CORPUS_FORMATS.values()]),
        "runs": (("format", "what it is", "order of the hits"), [(f"`{n}`", f.about, f.order) for n, f in RUN_FORMATS.items()]),
    }
    head, rows = tables[what]
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([f"<!-- formats of {what} -->", lines[0], "|---" * len(head) + "|", *lines[1:]])


def _written_as(suite_format: SuiteFormat) -> str:
    endings = ", ".join(f"`{each}`" for each in suite_format.extensions)
    return f"`{suite_format.name}`" + (f" ({endings})" if endings else "")


def _known_as(corpus_format: CorpusFormat) -> str:
    return ", ".join(f"`{each}`" for each in corpus_format.extensions) or corpus_format.called.split(" (")[0].replace(
        "<DOC>", "`<DOC>`"
    )


def formats_page(current: str) -> str:
    """A page with every example file and every table of formats as they are now."""

    def fence(found: re.Match[str]) -> str:
        content = (ROOT / found["file"]).read_text().rstrip()
        return f"<!-- file: {found['file']} -->\n```{found['language']}\n{content}\n```"

    return _FORMATS.sub(lambda found: formats_table(found["what"]), _FILE.sub(fence, current))


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
    return "\n".join(["| code | severity | what it is about |", "|---|---|---|", *map(_code_row, all_kinds().values())])


def _code_row(kind: FindingKind) -> str:
    return f"| `{kind.code}` | {kind.label} | {kind.about} |"


def options_table() -> list[str]:
    """Every option of measures, what it takes, and which measures have it."""
    rows = []
    for name, parameter in PARAMETERS.items():
        having = [each.name for each in DEFINITIONS.values() if name in each.parameters]
        others = [each for each in DEFINITIONS if each not in having]
        of = f"all but {', '.join(others)}" if len(having) > len(others) else ", ".join(having)
        own = [
            f"{each.name} {format_value(each.parameter(name).default)}" for each in DEFINITIONS.values() if name in own_names(each)
        ]
        required = any(name in each.budgets or (each.needs_at and name == each.at) for each in DEFINITIONS.values())
        default = "" if required else f"`{format_value(parameter.default)}`" if parameter.default != "" else ""
        rows.append(f"| `{name}` | {'; '.join(filter(None, [default, *own]))} | {parameter.wanted} | {of} | {parameter.summary} |")
    return ["| option | default | takes | of | meaning |", "|---|---|---|---|---|", *rows]


def own_names(definition: MeasureDefinition) -> set[str]:
    return {each.name for each in definition.own_parameters}


def spellings_table() -> list[str]:
    """What else measures are called."""
    rows = []
    for each in DEFINITIONS.values():
        numbered = f"`{each.numbered}_{'0.1' if each.at == 'recall' else '10'}`" if each.numbered else ""
        names = [f"`{name}`" for name in (each.word, *each.aliases) if name]
        if numbered or names:
            rows.append(f"| {each.name} | {', '.join(names)} | {numbered} |")
    return ["| measure | also read | with its cutoff |", "|---|---|---|", *rows]


def measures_table() -> list[str]:
    """Every measure in a line."""
    return [
        "| measure | what it is | range | needs | known beside it |",
        "|---|---|---|---|---|",
        *map(_measure_row, DEFINITIONS.values()),
    ]


def _measure_row(each: MeasureDefinition) -> str:
    reach = f"{each.low:g} to {each.high:g}" if each.high < inf else f"{each.low:g} upwards"
    needs = {
        "a cutoff": each.needs_at and each.at == "cutoff",
        "a recall": each.needs_at and each.at == "recall",
        "a budget": each.budgets,
        "all targets by id": each.needs_targets,
        "judged lines": each.needs_lines,
        "an unanswerable case": each.unanswerable,
        "aspects": "aspects" in each.undefined,
    }
    known = {
        "highest value": each.ideal or each.highest,
        "chance level": each.chance,
        "what labels could change": each.labels,
        "tells " + each.tells: each.tells,
        f"one number, of {each.over_cases}": each.over_cases,
    }
    columns = (reach, *(", ".join(name for name, holds in column.items() if holds) for column in (needs, known)))
    return f"| `{usage(each)}` | {each.summary} | {' | '.join(columns)} |"


def tables_page(current: str) -> str:
    """A page with its tables of measures, embedders, indexes or presets as these say of themselves."""
    return _TABLE.sub(lambda found: found["mark"] + "\n".join(TABLES[found["name"]]()), current)


def _part_rows(parts: VectorParts, last: str) -> Iterator[str]:
    yield from (f"| name | what it is | {last} |", "|---|---|---|")
    for part in parts.parts.values():
        aliases = ", ".join(
            f"`{alias}`" for alias in part.aliases if alias.replace("_", "-").lower() not in _spellings(part, alias)
        )
        yield f"| `{part.name}`{f' (also {aliases})' if aliases else ''} | {part.about} | {part.advice} |"


def _spellings(part: VectorPart, alias: str) -> set[str]:
    """The aliases before this one in small letters, with hyphens: another spelling of one is not shown."""
    return {each.replace("_", "-").lower() for each in part.aliases[: part.aliases.index(alias)]}


def _preset_rows() -> Iterator[str]:
    yield from ("| preset | searched by | `index` is | `fields` | checked against |", "|---|---|---|---|---|")
    names_by_engine: dict[Engine, list[str]] = {}
    for name, engine in PRESETS.items():
        names_by_engine.setdefault(engine, []).append(f"`{name}`")
    for each, names in names_by_engine.items():
        yield f"| {', '.join(names)} | {each.searched_by} | {each.index} | {each.fields} | {each.checked} |"


TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "options": options_table,
    "spellings": spellings_table,
    "measures": measures_table,
    "embedders": lambda: _part_rows(EMBEDDERS, "needs"),
    "indexes": lambda: _part_rows(INDEXES, "when"),
    "presets": _preset_rows,
}


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
    PLUGINS_PAGE.write_text(formats_page(PLUGINS_PAGE.read_text()))
    for page in TABLES_PAGES:
        page.write_text(tables_page(page.read_text()))
