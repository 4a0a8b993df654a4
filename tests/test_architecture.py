"""The shape of the package: imports point one way, and nothing heavy is loaded before it is needed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import searchmark
from searchmark.cli.main import VERBS
from searchmark.measures.catalogue import DEFINITIONS, FORMULAS
from tests.conftest import ROOT

SOURCE = Path(searchmark.__file__).parent


def rooms() -> set[str]:
    return {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}


def test_imports_point_one_way_and_nowhere_in_a_circle() -> None:
    """The contracts in pyproject.toml, which every room must be part of."""
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout


def loaded_modules(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


HEAVY = {"numpy", "polars", "pydantic", "rich", "ruamel.yaml", "scipy", "importlib.metadata"}


def test_import_searchmark_loads_nothing_heavy() -> None:
    assert not loaded_modules("import searchmark") & HEAVY


def test_help_loads_nothing_heavy_and_only_the_way_in() -> None:
    loaded = loaded_modules("from searchmark.cli.main import main; main(['--help'])")

    assert not loaded & HEAVY
    assert {name for name in loaded if name.startswith("searchmark")} == {
        "searchmark", "searchmark.cli", "searchmark.cli.terminal", "searchmark.cli.main", "searchmark.errors",
    }  # fmt: skip


def test_the_process_of_an_agent_loads_nothing_heavy_by_itself() -> None:
    assert not loaded_modules("import searchmark.running.worker.server, searchmark.agents.lexical.ripgrep") & HEAVY


def test_the_help_of_a_verb_checks_and_draws_nothing() -> None:
    """Options are made from records without pydantic; numpy alone comes along, with the records of runs and suites."""
    helps = "; ".join(f"main(['{verb}', '--help'])" for verb in VERBS)
    assert not loaded_modules(f"from searchmark.cli.main import main; {helps}") & (HEAVY - {"numpy"})


def test_scoring_python_dicts_needs_no_polars() -> None:
    statement = (
        "import searchmark as s; "
        "s.score(s.match_hits(s.Suite.from_grades({'q': {'a': 1}}), s.Run.from_scores({'q': {'a': 1.0}})), ['RR'])"
    )
    assert not loaded_modules(statement) & {"polars", "pydantic", "rich", "scipy"}


def test_every_public_name_can_be_imported() -> None:
    assert all(getattr(searchmark, name) is not None for name in searchmark.__all__)


def test_public_names_are_listed_for_type_checkers_as_well() -> None:
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    declared = {alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(searchmark.__all__) == declared - {None}


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = searchmark.nonsense


def test_no_module_has_the_name_of_a_public_function() -> None:
    """Importing searchmark.x sets the attribute x of the package, so a function x would be lost."""
    assert not set(searchmark.__all__) & rooms()


def class_names() -> list[str]:
    texts = (path.read_text() for path in SOURCE.rglob("*.py"))
    return [name for text in texts for name in re.findall(r"^ *class _*(\w+)", text, re.MULTILINE)]


def test_no_class_name_is_used_twice() -> None:
    """Searching for a name is how a newcomer finds the way."""
    assert [name for name, count in Counter(class_names()).items() if count > 1] == []


# What is known of a measure stands in its definition. These files name one for a reason of their own.
NAMES_MEASURES = {
    "audit/agents.py": "a table says how precise runs are among the hits that are judged",
    "audit/claims.py": "inequalities between particular measures",
    "cli/verbs/demo.py": "what the demo asks for",
    "config/gates.py": "a default that the config may change",
    "experiments/sweep_grid.py": "a default that the config may change",
    "formats/suites/engines.py": "what the metrics of search engines are called here",
    "gates/section.py": "presets",
    "scoring/decisions.py": "presets",
    "scoring/scores.py": "the measures that suit a kind of suite",
    "testing/__init__.py": "functions for single measures, with their names",
}


def test_what_is_known_of_a_measure_is_in_its_definition() -> None:
    """No table of names elsewhere, which a new measure would be missing from."""
    name = re.compile(rf"({'|'.join(map(re.escape, (*DEFINITIONS, *FORMULAS)))})([@(]\S*)?")
    files = {str(path.relative_to(SOURCE)): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}
    texts = {file: [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)] for file, tree in files.items()}
    naming = {file for file, values in texts.items() if any(isinstance(each, str) and name.fullmatch(each) for each in values)}
    assert {"measures/common.py", "scoring/scores.py"} <= naming
    assert {file for file in naming if not file.startswith("measures/")} == set(NAMES_MEASURES)


PUBLIC = {"errors", "testing", "agents", "formats"}


def test_every_room_is_public_or_says_that_it_is_internal() -> None:
    files = {path.stem: path for path in SOURCE.glob("*.py")} | {path.parent.name: path for path in SOURCE.glob("*/__init__.py")}
    silent = {name for name, path in files.items() if "Internal:" not in (ast.get_docstring(ast.parse(path.read_text())) or "")}
    assert silent - {"__init__", "__main__"} == PUBLIC


def test_optional_features_may_import_public_packages_only() -> None:
    """The contract in pyproject.toml names every room but those; import-linter itself would not miss a new one."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (each for each in contracts if each.get("source_modules") == ["searchmark.ext"])
    internal = rooms() - PUBLIC - {"__init__", "__main__", "ext"}
    assert set(contract["forbidden_modules"]) == {f"searchmark.{room}" for room in internal}


def test_optional_features_import_names_that_their_modules_export() -> None:
    for path in (SOURCE / "ext").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("searchmark"):
                exported = getattr(import_module(str(node.module)), "__all__", None)
                assert exported is None or {each.name for each in node.names} <= set(exported), path


def test_docs_import_public_packages_only() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    imported = {
        name for page in pages for name in re.findall(r"^(?:from|import) searchmark\.(\w+)", page.read_text(), re.MULTILINE)
    }
    assert imported <= PUBLIC


LONGEST_VERB = 40


def lines_of(function: ast.FunctionDef) -> int:
    """From ``def`` to its last line, with the docstring, which is the help."""
    return (function.end_lineno or 0) - function.lineno + 1


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_parses_makes_a_call_and_renders(verb: str) -> None:
    tree = ast.parse((SOURCE / "cli" / "verbs" / f"{verb}.py").read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert {each.name: lines for each in functions if (lines := lines_of(each)) > LONGEST_VERB} == {}
