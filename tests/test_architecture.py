"""The shape of the package: imports point one way, and nothing heavy is loaded before it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import searchmark

SOURCE = Path(searchmark.__file__).parent

# A room may import from itself and from any room further down.
LAYERS = [
    {"__main__"},
    {"cli", "testing"},
    {"reports"},
    {"gate"},
    {"decisions"},
    {"comparison"},
    {"scores"},
    {"statistics", "judging"},
    {"intervals", "exact"},
    {"running"},
    {"registry"},
    {"agents"},
    {"embedders"},
    {"indexes"},
    {"mining"},
    {"suites", "runs", "corpora"},
    {"config"},
    {"matching", "trec", "yaml", "latencies"},
    {"git"},
    {"store", "private_folders", "sqlite"},
    {"measures"},
    {"catalogue"},
    {"metrics"},
    {"records"},
    {"texts"},
    {"errors"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    names = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    names += [f"searchmark.{alias.name}" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
              for alias in node.names if node.module == "searchmark"]  # fmt: skip
    names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return {name.split(".")[1] for name in names if name.startswith("searchmark.")}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    room = room_of(path)
    upwards = {other for other in imported_rooms(path) - {room} if LEVEL[other] <= LEVEL[room]}
    assert not upwards, f"{room} must not import {upwards}"


def test_every_room_has_its_place() -> None:
    assert {room_of(path) for path in modules()} == set(LEVEL)


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
        "searchmark", "searchmark.cli", "searchmark.cli.main", "searchmark.errors",
    }  # fmt: skip


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
    assert not set(searchmark.__all__) & {room_of(path) for path in modules()}
