"""Verdicts are the same in one process and in several, for all items and for some, in this session and in the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ext.support import run_pytest, shop
from tests.ext.test_items import OUTCOMES

pytestmark = pytest.mark.slow

BAD = {name: outcome for name, outcome in OUTCOMES.items() if outcome == "failure"}


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=" ".join)
@pytest.mark.parametrize("chosen", ["", *(pytest.param(each, marks=pytest.mark.slow) for each in ("gate[", "mugs or Success"))])
def test_verdicts_are_the_same(tmp_path: Path, workers: tuple[str, ...], chosen: str) -> None:
    done = run_pytest(shop(tmp_path), *workers, "-k", chosen)
    assert done.outcomes == {name: outcome for name, outcome in OUTCOMES.items() if _fits(name, chosen)}


def _fits(name: str, chosen: str) -> bool:
    return any(word.lower() in name.lower() for word in chosen.split(" or "))


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [((), ("-n", "2")), (("-n", "2"), ())], ids=["then several", "then one"])
def test_what_failed_last_fails_again(tmp_path: Path, first: tuple[str, ...], second: tuple[str, ...]) -> None:
    run_pytest(shop(tmp_path), *first)
    assert run_pytest(tmp_path, *second, "--lf").outcomes == BAD
    assert run_pytest(tmp_path, *second, "--lf", "-k", "gate[").outcomes == {n: o for n, o in BAD.items() if n.startswith("gate")}


def test_several_processes_make_one_run(tmp_path: Path) -> None:
    run_pytest(shop(tmp_path), "-n", "2")
    assert len((tmp_path / "asked.txt").read_text().splitlines()) == 16


@pytest.mark.slow
def test_a_new_session_asks_again_and_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    run_pytest(shop(tmp_path / "shop"), "-n", "2", TMPDIR=str(folder))
    (tmp_path / "shop" / "shop.py").write_text("def search(query, k): return [f'{query}.md']\n")
    done = run_pytest(tmp_path / "shop", "-k", "case", TMPDIR=str(folder))
    assert done.outcomes["case[mugs]"] == "passed"
    assert [path for path in folder.rglob("*") if path.is_file()] == []
