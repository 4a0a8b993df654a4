"""The shape of the package: imports point one way, and nothing heavy is loaded before it is needed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import searchmark
from searchmark.cli.main import VERBS
from tests.conftest import ROOT

SOURCE = Path(searchmark.__file__).parent
DOCUMENTS = SOURCE / "builtin_suites" / "code_history" / "beginning"  # of a corpus: the code of a fictional shop


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
        "searchmark", "searchmark.cli", "searchmark.cli._verbosity", "searchmark.cli.main", "searchmark.errors",
    }  # fmt: skip


def test_the_process_of_an_agent_loads_nothing_heavy_by_itself() -> None:
    assert not loaded_modules("import searchmark.running.worker.server, searchmark.agents.keyword") & HEAVY


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_checks_and_draws_nothing(verb: str) -> None:
    """Options are made from records without pydantic; numpy alone comes along, with the records of runs and suites."""
    assert not loaded_modules(f"from searchmark.cli.main import main; main(['{verb}', '--help'])") & (HEAVY - {"numpy"})


def test_scoring_python_dicts_needs_no_polars() -> None:
    statement = (
        "import searchmark as s; "
        "s.score(s.judge(s.Suite.from_grades({'q': {'a': 1}}), s.Run.from_scores({'q': {'a': 1.0}})), ['RR'])"
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
    trees = [ast.parse(path.read_text()) for path in SOURCE.rglob("*.py") if not path.is_relative_to(DOCUMENTS)]
    return [node.name.lstrip("_") for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def test_no_class_name_is_used_twice() -> None:
    """Searching for a name is how a newcomer finds the way."""
    assert [name for name, count in Counter(class_names()).items() if count > 1] == []


PUBLIC = {"errors", "records", "testing", "agents", "corpora", "embedders"}


def test_every_room_is_public_or_says_that_it_is_private() -> None:
    files = {path.stem: path for path in SOURCE.glob("*.py")} | {path.parent.name: path for path in SOURCE.glob("*/__init__.py")}
    silent = {name for name, path in files.items() if "Private:" not in (ast.get_docstring(ast.parse(path.read_text())) or "")}
    assert silent - {"__init__", "__main__"} == PUBLIC


def test_docs_import_public_packages_only() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    imported = {
        name for page in pages for name in re.findall(r"^(?:from|import) searchmark\.(\w+)", page.read_text(), re.MULTILINE)
    }
    assert imported <= PUBLIC
