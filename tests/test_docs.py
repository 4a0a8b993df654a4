"""The docs tell the truth: examples run, help texts are current, nothing public is left out."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import searchmark
from searchmark import Case, DatasetSettings, Defaults, Document, GateRule, GateSettings, Judgment, KnownFailure, Pin
from searchmark.cli.main import ALIASES, VERBS, main
from searchmark.formats import SUITE_FORMATS
from searchmark.formats.suites.native import SuiteFile
from searchmark.git.mining.selection import ALL_RULES
from searchmark.measures.catalogue import DEFINITIONS, FORMULAS
from tests.generated_docs import (
    AUDIT_PAGE,
    CLI_PAGE,
    FORMATS_PAGE,
    MEASURES_PAGE,
    PLUGINS_PAGE,
    REPORTS_PAGE,
    ROOT,
    SCHEMA,
    SUITES_PAGE,
    TABLES_PAGES,
    audit_page,
    cli_page,
    commands_on_page,
    files_on_page,
    formats_of_examples,
    formats_page,
    printed_page,
    reports_page,
    schema_text,
    tables_page,
)
from tests.printed import ShownCommand, first_difference, shown_commands

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
_LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch) -> Path:
    """A folder with the examples, so that whatever the docs write stays out of the repository."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "demo-output").mkdir()
    (tmp_path / "demo-output" / "other.json").write_text('{"q1": ["a"]}')
    monkeypatch.chdir(tmp_path)
    # A reader has the environment with Searchmark active, so that 'python' is its own.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


# Pages whose examples run many agents.
HEAVY = {"charts.md", "gates.md", "mcp.md", "modes.md", "perturb.md", "running.md", "scale.md", "suites.md", "tutorial.md"}
HEAVY |= {"api-operations.md", "fashion.md", "gold-sets.md", "semantic-fixtures.md", "symbols.md", "time-travel.md"}
HEAVY |= {"addresses.md", "archive.md", "code-history.md", "command.md", "page.md", "shards.md", "troubleshooting.md"}
HEAVY |= {
    "benchmark-my-search.md",
    "code-search-from-history.md",
    "did-the-model-upgrade-hurt.md",
    "gate-in-ci.md",
    "is-vector-search-worth-it.md",
    "tune-my-ann-index.md",
    "which-chunk-size.md",
}
# What a reader does once, with a network or for long; the Makefile's own targets are tested by being used.
NOT_RUN = ("git clone ", "cd searchmark", "make ", "pip install ", "pytest ")


def pages() -> list[object]:
    return [pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.name in HEAVY else []) for page in PAGES]


def snippets() -> list[object]:
    return [
        pytest.param(code, id=f"{page.name}-{number}", marks=[pytest.mark.slow] if page.name in HEAVY else [])
        for page in PAGES
        for number, code in enumerate(_PYTHON.findall(page.read_text()), 1)
    ]


@pytest.mark.parametrize("code", snippets())
def test_python_examples_run(workplace: Path, code: str) -> None:
    exec(compile(code, "example", "exec"), {"__name__": "example"})  # noqa: S102  # our own docs


@pytest.mark.parametrize("page", pages())
def test_commands_print_what_the_docs_show(workplace: Path, page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All commands of a page, one after the other in one folder, as a reader types them."""
    for command in shown_commands(page.read_text()):
        if command.text.startswith(NOT_RUN):
            continue
        code, *streams = run_here(command, capsys)
        assert code == command.code, (command.text, streams)
        difference = first_difference(command.lines, *streams)
        assert difference is None, f"{command.text}\nis shown with: {difference}\nand prints:\n{streams[0]}{streams[1]}"


def run_here(command: ShownCommand, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    if command.is_ours:
        capsys.readouterr()
        code = main(shlex.split(command.text)[1:])
        return (code, *capsys.readouterr())
    if command.text.startswith("cd "):
        os.chdir(command.text.removeprefix("cd "))  # the fixture's chdir puts it back
        return 0, "", ""
    done = subprocess.run(["bash", "-c", command.text], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_help_texts_are_current() -> None:
    page = CLI_PAGE.read_text()
    assert page == cli_page(page), "run 'make docs'"


@pytest.mark.parametrize("page", [FORMATS_PAGE, PLUGINS_PAGE], ids=lambda page: page.stem)
def test_example_files_in_the_docs_are_current(page: Path) -> None:
    text = page.read_text()
    assert files_on_page(text)
    assert text == formats_page(text), "run 'make docs'"


def test_example_reports_in_the_docs_are_what_is_written() -> None:
    page = REPORTS_PAGE.read_text()
    assert formats_of_examples(page) == {".md", ".summary.txt", ".csv", ".summary.csv", ".tex"}
    assert page == reports_page(page), "run 'make docs'"


def test_the_codes_and_audits_in_the_docs_are_current() -> None:
    page = AUDIT_PAGE.read_text()
    assert page == audit_page(page), "run 'make docs'"


def test_the_list_of_built_in_suites_is_current() -> None:
    page = SUITES_PAGE.read_text()
    assert page == printed_page(page), "run 'make docs'"


@pytest.mark.parametrize("page", TABLES_PAGES, ids=lambda page: page.stem)
def test_the_tables_of_embedders_indexes_and_presets_are_current(page: Path) -> None:
    assert "<!-- table: " in page.read_text()
    assert tables_page(page.read_text()) == page.read_text(), "run 'make docs'"


def test_every_format_is_shown() -> None:
    page = FORMATS_PAGE.read_text()
    assert [name for name in SUITE_FORMATS if f"`{name}`" not in page] == []
    shown = {(ROOT / file).resolve() for file in files_on_page(page)}
    examples = {path.resolve() for path in (ROOT / "examples/formats").rglob("*") if path.is_file() and path.suffix != ".parquet"}
    assert examples <= shown


def test_every_verb_has_its_help_on_the_page() -> None:
    assert set(commands_on_page(CLI_PAGE.read_text())) >= {"searchmark", *(f"searchmark {verb}" for verb in VERBS)}


def test_every_environment_variable_that_is_read_is_on_the_page() -> None:
    package = Path(searchmark.__file__).parent
    lines = [line for path in package.rglob("*.py") for line in path.read_text().splitlines()]
    ours = {name for line in lines for name in re.findall(r"\bSEARCHMARK_[A-Z_]+\b", line)}
    others = {name for line in lines if "environ" in line for name in re.findall(r'"([A-Z][A-Z_]{3,})"', line)}
    page = CLI_PAGE.read_text()
    assert {"NO_COLOR", "SEARCHMARK_CACHE", "SEARCHMARK_WORKER"} <= ours | others
    assert {name for name in ours | others if f"`{name}`" not in page} == set()


def test_every_alias_of_a_verb_is_mentioned() -> None:
    assert all(f"`{alias}`" in CLI_PAGE.read_text() for alias in ALIASES)


def test_every_rule_and_option_of_mining_is_documented() -> None:
    page = (ROOT / "docs" / "gold-sets.md").read_text()
    options = [field.name for field in dataclasses.fields(DatasetSettings)]
    said = {name for line in page.splitlines() if line.startswith("|") for name in re.findall(r"`([\w-]+)`", line)}
    said |= {option.lstrip("-").replace("-", "_") for option in said} | set(re.findall(r"`--([\w-]+)`", page))
    said |= {name.replace("-", "_") for name in said}
    assert [name for name in (*ALL_RULES, *options) if name not in said] == []


def test_every_measure_is_documented() -> None:
    page = MEASURES_PAGE.read_text()
    assert [name for name in FORMULAS if f"`{name}` is" not in page] == []
    assert set(re.findall(r"^### (\w+)$", page, re.MULTILINE)) <= set(DEFINITIONS)


def test_the_map_names_every_room_and_only_files_that_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    source = Path(searchmark.__file__).parent
    rooms = {path.stem for path in source.iterdir() if (path.suffix == ".py" or path.is_dir()) and not path.stem.startswith("__")}
    assert {room for room in rooms if not re.search(rf"\b{room}\b", page)} == set()
    files = set(re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", page))
    assert {name for name in files if not (source / name).exists() and not (ROOT / name).exists()} == set()
    assert len(page.split()) <= 1500  # one can read it, and draw it


def test_the_schema_has_every_field() -> None:
    """Its wording is pydantic's and changes from version to version; its fields are ours."""
    schema = json.loads(SCHEMA.read_text())
    gates = {"GateSettings": GateSettings, "GateRule": GateRule, "KnownFailure": KnownFailure, "Pin": Pin}
    records = {"Case": Case, "Judgment": Judgment, "Document": Document, "Defaults": Defaults, **gates}
    expected = {name: {field.name for field in dataclasses.fields(record)} for name, record in records.items()}
    assert {name: set(part["properties"]) for name, part in schema["$defs"].items()} == expected, "run 'make docs'"
    assert set(schema["properties"]) == {field.name for field in dataclasses.fields(SuiteFile)}
    assert json.loads(schema_text())["properties"].keys() == schema["properties"].keys()


def test_a_suite_that_we_write_fits_the_schema(tmp_path: Path) -> None:
    suite = searchmark.load_suite(ROOT / "examples/quickstart/suite.yaml")
    searchmark.save_suite(suite, tmp_path / "suite.json")
    jsonschema.validate(json.loads((tmp_path / "suite.json").read_text()), json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"], ids=lambda page: page.name
)
def test_links_lead_somewhere(page: Path) -> None:
    assert [link for link in _LINK.findall(page.read_text()) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("target", ["make demo", "make test"])
def test_the_readme_names_the_two_commands(target: str) -> None:
    assert target in (ROOT / "README.md").read_text()
