"""What is said where a result cannot be relied on: why, and nothing else. Each command in a process of its own."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.support import commands

VERDICTS = ("IMPROVED", "REGRESSED", "WITHIN NOISE", "INCONCLUSIVE")


@pytest.fixture(scope="module")
def by_number(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Symbols that are looked for by name, in a table whose numbers are taken for the names."""
    here = tmp_path_factory.mktemp("numbers")
    with sqlite3.connect(here / "symbols.db") as table:
        table.execute("create table symbols (id integer primary key, name text, body text)")
        table.executemany("insert into symbols (name, body) values (?, ?)", [(f"Symbol{n}", f"word{n} common") for n in range(40)])
    queries = [{"id": f"C{n}", "category": 1 + n % 5, "query": f"word{n}", "expected_symbols": [f"Symbol{n}"]} for n in range(30)]
    categories = {str(n): f"category {n}" for n in range(1, 6)}
    (here / "dataset.json").write_text(json.dumps({"categories": categories, "queries": queries}))
    return here


def test_scores_that_are_all_0_since_no_name_fits_decide_nothing(by_number: Path) -> None:
    done = commands.searchmark(
        "compare", "--gold-set", "dataset.json", "--corpus", "symbols.db", "--no-config", "--agents", "fts5", "fts5+vector=bm25",
        "--decide", "vector-search", "--gate", "fts5-vector-reranker", "--no-archive",
        "-o", "r.json", "-o", "r.md", "-o", "r.comment.md", "-o", "r.xml", "-o", "r.html", "-o", "r.summary.txt", cwd=by_number,
    )  # fmt: skip
    assert done.returncode == 2
    assert "30 of 30" in done.stdout.splitlines()[0]
    report = json.loads((by_number / "r.json").read_text())
    assert [each["decision"] for each in report["decisions"]] == ["nothing is decided"]
    assert {each["verdict"] for each in report["comparisons"]} <= {"INVALID", "EXPLORATORY"}
    assert {each["verdict"] for each in report["gate"]["rules"]} == {"untrusted"}
    assert not report.get("recommendations")
    texts = [done.stdout, *((by_number / f"r.{ending}").read_text() for ending in ("md", "comment.md", "html", "summary.txt"))]
    for text in texts:
        assert "drop vector search" not in text
        assert "the highest possible" not in text
    for text in (texts[0], *texts[1:3], texts[4]):
        assert not any(word in text for word in VERDICTS)
    assert (by_number / "r.xml").read_text().count("<skipped") == 60, "no case is green"


def test_a_measure_that_is_undefined_has_no_highest_value(tmp_path: Path) -> None:
    """Fixtures that state an order and not what is relevant have no reciprocal rank: that is not 0."""
    fixtures = json.loads((ROOT / "examples" / "formats" / "fixtures.json").read_text())
    del fixtures["fixtures"][0]["relevant"]
    (tmp_path / "fixtures.json").write_text(json.dumps(fixtures))
    (tmp_path / "baseline.json").write_text((ROOT / "examples" / "formats" / "baseline_metrics.json").read_text())
    done = commands.searchmark(
        "evaluate", "--gold-set", "fixtures.json", "--agent", "bm25", "--against", "baseline.json", "--no-archive", cwd=tmp_path
    )
    assert done.returncode == 2
    assert "not which of them are relevant" in done.stdout
    assert "the highest possible" not in done.stdout


def saved_run(folder: Path, name: str, answers: dict[str, list[str]]) -> str:
    """A run in a TREC file, which has no line for an answer without hits."""
    lines = [
        f"{case} Q0 {hit} {rank} {100 - rank} {name}\n"
        for case, hits in answers.items()
        for rank, hit in enumerate(hits, 1)
    ]  # fmt: skip
    (folder / f"{name}.trec").write_text("".join(lines))
    return f"{name}.trec"


@pytest.fixture
def holes(tmp_path: Path) -> Path:
    """Twenty judged cases, a run of all of them, and runs that lack one, two, eight and nineteen."""
    (tmp_path / "qrels.txt").write_text("".join(f"q{n:02} 0 right{n} 1\n" for n in range(20)))
    whole = {f"q{n:02}": ["other", f"right{n}"][n % 2 - 1 :] for n in range(20)}
    saved_run(tmp_path, "whole", whole)
    for name, lost in (("lacks1", 1), ("lacks2", 2), ("lacks8", 8), ("lacks19", 19)):
        saved_run(tmp_path, name, dict(list(whole.items())[lost:]))
    suite = {
        "schema_version": 1, "name": "header", "missing": "zero",
        "cases": [{"id": case, "query": case, "judgments": [{"target": hits[-1]}]} for case, hits in whole.items()],
    }  # fmt: skip
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    return tmp_path


def compared(folder: Path, first: str, second: str, *more: str, suite: str = "qrels.txt") -> tuple[int, str, dict[str, Any]]:
    runs = ("--run", f"{first}.trec", "--run", f"{second}.trec")
    done = commands.searchmark("compare", "--gold-set", suite, *runs, "-m", "RR", "-o", "out.json", *more, cwd=folder)
    (pair,) = json.loads((folder / "out.json").read_text())["comparisons"]
    return done.returncode, done.stdout, pair


@pytest.mark.parametrize("order", [("whole", "lacks19"), ("lacks19", "whole"), ("whole", "lacks2"), ("lacks2", "whole")])
def test_a_run_that_lacks_cases_of_the_other_is_neither_better_nor_worse(holes: Path, order: tuple[str, str]) -> None:
    code, shown, pair = compared(holes, *order)
    assert (code, pair["verdict"]) == (2, "INVALID")
    lost = "19" if "lacks19" in order else "2"
    assert f"{lost} of 20 cases are" in shown.splitlines()[0]
    assert not any(word in shown for word in (*VERDICTS, "churn"))


def test_one_case_of_twenty_may_be_missing_and_counts_neither_as_lost_nor_as_changed(holes: Path) -> None:
    code, shown, pair = compared(holes, "whole", "lacks1")
    assert code == 0
    assert "lacks1: 1 of 20 cases are missing from the run" in shown.splitlines()[0]
    assert (pair["wins"], pair["ties"], pair["losses"]) == (0, 19, 0)
    assert "churn on 19 cases that both answered: the first hit changed in 0" in shown


@pytest.mark.parametrize(("suite", "more"), [("qrels.txt", ("--missing", "zero")), ("suite.json", ())])
def test_missing_may_mean_that_nothing_was_found(holes: Path, suite: str, more: tuple[str, ...]) -> None:
    code, shown, pair = compared(holes, "whole", "lacks8", *more, suite=suite)
    assert (code, pair["verdict"], pair["losses"]) == (0, "REGRESSED", 8)
    assert "missing from the run" not in shown
    assert "churn on 20 cases" in shown


def test_a_run_that_lacks_cases_says_so_first_and_is_not_believed_beyond_half_of_them(holes: Path) -> None:
    for lost, code in (("8", 0), ("19", 2)):
        arguments = ("evaluate", "--gold-set", "qrels.txt", "--run", f"lacks{lost}.trec", "-m", "RR")
        done = commands.searchmark(*arguments, cwd=holes)
        assert done.returncode == code
        assert f"{lost} of 20 cases are missing from the run" in done.stdout.splitlines()[0]
        assert f"{lost} of 20 cases are missing" in commands.searchmark(*arguments, "-q", cwd=holes).stdout.splitlines()[0]
        zero = commands.searchmark(*arguments, "--missing", "zero", cwd=holes)
        assert (zero.returncode, "missing from the run" in zero.stdout) == (0, False)


def test_a_gate_and_a_baseline_ask_the_same(holes: Path) -> None:
    gate = ("gate", "lacks2.trec", "--gold-set", "qrels.txt", "--against", "whole.trec", "-m", "RR")
    assert commands.searchmark(*gate, cwd=holes).returncode == 2
    assert commands.searchmark(*gate, "--missing", "zero", cwd=holes).returncode in (0, 1)
    update = ("baseline", "update", "lacks19.trec", "--gold-set", "qrels.txt", "--author", "a", "--yes")
    assert commands.searchmark(*update, cwd=holes).returncode == 2
    assert commands.searchmark(*update, "--missing", "zero", cwd=holes).returncode == 0


def test_the_quick_start_run_records_its_empty_answers() -> None:
    here = "examples/quickstart"
    runs = ("--run", f"{here}/bm25.json", "--run", f"{here}/semantic.json")
    done = commands.searchmark("compare", "--gold-set", f"{here}/suite.yaml", *runs, "--no-config", cwd=ROOT)
    assert (done.returncode, "missing from the run" in done.stdout) == (0, False)


@pytest.fixture
def kept(holes: Path) -> Path:
    """A project whose baseline was kept, and a run that has lost half of its first hits."""
    update = ("baseline", "update", "whole.trec", "--gold-set", "qrels.txt", "--author", "a", "--yes")
    assert commands.searchmark(*update, cwd=holes).returncode == 0
    saved_run(holes, "worse", {f"q{n:02}": ["other", "another", f"right{n}"] for n in range(20)})
    return holes


def evaluated(folder: Path, run: str, *more: str, suite: str = "qrels.txt") -> tuple[int, str, str]:
    done = commands.searchmark("evaluate", "--gold-set", suite, "--run", run, "-m", "RR", *more, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def test_a_baseline_that_is_there_is_used_and_that_is_said_first(kept: Path) -> None:
    code, shown, said = evaluated(kept, "worse.trec")
    assert said.splitlines()[0].startswith("searchmark: searchmark-baseline.jsonl is here, so RR must show no evidence")
    assert code == 1
    assert "Expected RR against the baseline not to be worse, but it REGRESSED" in shown
    assert evaluated(kept, "worse.trec", "--fail-under", "RR=0.1", "-q")[0] == 1
    assert commands.searchmark("gate", "worse.trec", "--gold-set", "qrels.txt", "-m", "RR", cwd=kept).returncode == 1
    assert evaluated(kept, "whole.trec")[0] == 0


def test_it_can_be_left_alone(kept: Path) -> None:
    code, shown, said = evaluated(kept, "worse.trec", "--no-baseline")
    assert (code, "baseline" in shown + said) == (0, False)


def test_a_baseline_of_another_suite_is_mentioned_and_skipped(kept: Path) -> None:
    (kept / "others.txt").write_text("".join(f"z{n:02} 0 right{n} 1\n" for n in range(20)))
    saved_run(kept, "other", {f"z{n:02}": [f"right{n}"] for n in range(20)})
    code, shown, said = evaluated(kept, "other.trec", suite="others.txt")
    assert (code, "baseline" in shown) == (0, False)
    assert "searchmark-baseline.jsonl is not compared with: it was asked other queries than those of 'others'" in said


def test_a_baseline_that_could_show_no_loss_is_mentioned_and_skipped(kept: Path) -> None:
    (kept / "few.txt").write_text("q00 0 right0 1\nq01 0 right1 1\nq02 0 right2 1\n")
    saved_run(kept, "few", {f"q{n:02}": [f"right{n}"] for n in range(3)})
    commands.searchmark("baseline", "update", "few.trec", "--gold-set", "few.txt", "--author", "a", "--yes", cwd=kept)
    code, shown, said = evaluated(kept, "few.trec", suite="few.txt")
    assert (code, "baseline" in shown) == (0, False)
    assert "searchmark-baseline.jsonl is not compared with: " in said
