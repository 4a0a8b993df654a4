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
from searchmark.cli.main import ALIASES, VERBS, main
from searchmark.config import DatasetConfig
from searchmark.measures.catalogue import DEFINITIONS, FORMULAS
from searchmark.mining.commits import ALL_RULES
from searchmark.options.gate_options import GateOptions, GateRule, KnownFailure, Pin
from searchmark.records import Case, Defaults, Document, Judgment
from searchmark.suites.detect import FORMATS
from searchmark.suites.native import SuiteFile
from tests.generated_docs import (
    AUDIT_PAGE,
    CLI_PAGE,
    FORMATS_PAGE,
    REPORTS_PAGE,
    ROOT,
    SCHEMA,
    SUITES_PAGE,
    audit_page,
    cli_page,
    commands_on_page,
    files_on_page,
    formats_of_examples,
    formats_page,
    printed_page,
    reports_page,
    schema_text,
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
HEAVY = {"gates.md", "modes.md", "perturb.md", "running.md", "suites.md", "tutorial.md"}
HEAVY |= {"api-operations.md", "fashion.md", "gold-sets.md", "semantic-fixtures.md", "symbols.md", "time-travel.md"}
HEAVY |= {
    "benchmark-my-search.md",
    "code-search-from-history.md",
    "did-the-model-upgrade-hurt.md",
    "gate-in-ci.md",
    "is-vector-search-worth-it.md",
    "tune-my-ann-index.md",
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


def test_example_files_in_the_docs_are_current() -> None:
    page = FORMATS_PAGE.read_text()
    assert page == formats_page(page), "run 'make docs'"


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


def test_every_format_is_shown() -> None:
    page = FORMATS_PAGE.read_text()
    assert [name for name in FORMATS if f"`{name}`" not in page] == []
    shown = {(ROOT / file).resolve() for file in files_on_page(page)}
    examples = {path.resolve() for path in (ROOT / "examples/formats").rglob("*") if path.is_file() and path.suffix != ".parquet"}
    assert examples <= shown


def test_every_verb_has_its_help_on_the_page() -> None:
    assert set(commands_on_page(CLI_PAGE.read_text())) >= {"searchmark", *(f"searchmark {verb}" for verb in VERBS)}


def test_every_environment_variable_that_is_read_is_on_the_page() -> None:
    package = Path(searchmark.__file__).parent
    shop = package / "builtin_suites" / "code_history"  # a corpus: the code of a fictional shop
    files = [path for path in package.rglob("*.py") if not path.is_relative_to(shop)]
    lines = [line for path in files for line in path.read_text().splitlines()]
    ours = {name for line in lines for name in re.findall(r"\bSEARCHMARK_[A-Z_]+\b", line)}
    others = {name for line in lines if "environ" in line for name in re.findall(r'"([A-Z][A-Z_]{3,})"', line)}
    page = CLI_PAGE.read_text()
    assert {"NO_COLOR", "SEARCHMARK_CACHE", "SEARCHMARK_WORKER"} <= ours | others
    assert {name for name in ours | others if f"`{name}`" not in page} == set()


def test_every_alias_of_a_verb_is_mentioned() -> None:
    assert all(f"`{alias}`" in CLI_PAGE.read_text() for alias in ALIASES)


def test_every_rule_and_option_of_mining_is_documented() -> None:
    page = (ROOT / "docs" / "gold-sets.md").read_text()
    options = [field.name for field in dataclasses.fields(DatasetConfig)]
    said = {name for line in page.splitlines() if line.startswith("|") for name in re.findall(r"`([\w-]+)`", line)}
    said |= {option.lstrip("-").replace("-", "_") for option in said} | set(re.findall(r"`--([\w-]+)`", page))
    said |= {name.replace("-", "_") for name in said}
    assert [name for name in (*ALL_RULES, *options) if name not in said] == []


def test_every_measure_is_documented() -> None:
    page = (ROOT / "docs" / "measures.md").read_text()
    assert [name for name in (*DEFINITIONS, *FORMULAS) if f"### {name}\n" not in page and f"`{name}` is" not in page] == []


def test_every_module_stands_in_the_architecture() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rooms = {path.name for path in Path(searchmark.__file__).parent.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert {room for room in rooms - {"__pycache__"} if room not in page} == set()


def test_the_schema_has_every_field() -> None:
    """Its wording is pydantic's and changes from version to version; its fields are ours."""
    schema = json.loads(SCHEMA.read_text())
    gates = {"GateOptions": GateOptions, "GateRule": GateRule, "KnownFailure": KnownFailure, "Pin": Pin}
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
