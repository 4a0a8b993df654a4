"""Measures of other packages: one object and an entry point, and everything that knows measures knows them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = """
from pathlib import Path

import numpy as np

from searchmark import MeasureDefinition, MeasureParameter

Path(__file__).with_name("was loaded").touch()

def log_rank(hits, *, k=None, rel=1, base=2):
    mask = hits.relevant(rel, k)
    return hits.per_case(mask, np.log(base) / np.log(hits.rank[mask] + base - 1))

def by_chance(view):
    weights = np.log(view.options["base"]) / np.log(np.arange(1, int(view.first.max()) + 1) + view.options["base"] - 1)
    return view.relevant / view.documents * weights.sum()

LogRank = MeasureDefinition(
    "LogRank", log_rank, "relevant hits, each over the logarithm of its rank", missing="only what was returned pays",
    parameters=("rel", "base"), own_parameters=(MeasureParameter("base", 2, lambda value: value in (2, 10), "2 or 10", "base"),),
    high=float("inf"), word="Log rank", aliases=("log_r",), ideal="ranking", chance=by_chance, labels="add up",
)

def of(name, formula, **facts):
    return MeasureDefinition(name, formula, "is wrong", missing="-", cutoff=False, **facts)

WrongShape = of("WrongShape", lambda hits: np.zeros(hits.cases + 1))
Fails = of("Fails", lambda hits: hits.nothing)
WrongChance = of("WrongChance", lambda hits: np.zeros(hits.cases), chance=lambda view: "much")
P = of("P", lambda hits: np.ones(hits.cases))
Renamed = of("Other", lambda hits: np.ones(hits.cases))
number = 3
"""
NAMES = ("LogRank", "WrongShape", "Fails", "WrongChance")
WRONG = ("P", "Renamed", "number", "missing")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a suite and a run, and a package as it is installed."""
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 c 2\nq2 0 d 1\n")
    (tmp_path / "mine.run").write_text("q1 Q0 a 1 2 mine\nq1 Q0 x 2 1 mine\nq2 Q0 y 1 2 mine\nq2 Q0 c 2 1 mine\n")
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps({"id": each, "text": each}) + "\n" for each in "abcdxyzw"))
    install(tmp_path, NAMES)
    return tmp_path


def install(here: Path, names: tuple[str, ...]) -> None:
    site = here / "site" / "mypackage-1.0.dist-info"
    site.mkdir(parents=True, exist_ok=True)
    (site.parent / "mypackage.py").write_text(PACKAGE)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: mypackage\nVersion: 1.0\n")
    (site / "entry_points.txt").write_text("[searchmark.measures]\n" + "".join(f"{name} = mypackage:{name}\n" for name in names))


def python(here: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = os.environ | {"PYTHONPATH": str(here / "site"), "HOME": str(here)} | environment
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=here, env=variables, check=False)


def searchmark(here: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return python(here, "-m", "searchmark", *arguments, **environment)


def evaluate(here: Path, *measures: str) -> subprocess.CompletedProcess[str]:
    names = [word for measure in measures for word in ("-m", measure)]
    return searchmark(here, "evaluate", "--suite", "qrels.txt", "--run", "mine.run", "--no-archive", "-o", "out.json", *names)


def was_loaded(here: Path) -> bool:
    return (here / "site" / "was loaded").exists()


def test_it_is_computed_with_its_cutoff_options_aliases_and_in_formulas(here: Path) -> None:
    done = evaluate(here, "LogRank@2", "log_r(rel=2)", "logrank(base=10)", "mine = 0.5*LogRank@1 + 0.5*RR")
    assert done.returncode == 0, done.stderr
    (agent,) = json.loads((here / "out.json").read_text())["agents"].values()
    means = {name: round(each["mean"], 4) for name, each in agent["measures"].items()}
    assert means == {"LogRank@2": 0.8155, "LogRank(rel=2)": 0.3155, "LogRank(base=10)": 0.9801, "mine": 0.625}
    assert "Log rank@2 (LogRank@2)" in done.stdout


@pytest.mark.slow
def test_an_audit_has_its_chance_level_its_highest_value_and_what_labels_could_make_of_it(here: Path) -> None:
    command = ("audit", "qrels.txt", "--run", "mine.run", "--corpus", "corpus.jsonl", "-m", "LogRank@2", "-o", "audit.json")
    done = searchmark(here, *command)
    tables = json.loads((here / "audit.json").read_text())["tables"]
    (limits,) = tables["measures"]["rows"]
    assert {name: round(limits[name], 4) for name in ("attainable", "random", "mine")} == {
        "attainable": round((1 + 1.6309) / 2, 4), "random": round(1.6309 * (1 / 8 + 2 / 8) / 2, 4), "mine": 0.8155,
    }, done.stderr  # fmt: skip
    (bounds,) = tables["bounds"]["rows"]
    assert round(bounds["score if all are relevant"], 4) == 1.6309


@pytest.mark.slow
def test_it_is_listed_and_completed_and_the_nearest_name(here: Path) -> None:
    listed = searchmark(here, "measures").stdout
    assert "\n\nLogRank(rel=, base=)@k\n  relevant hits, each over the logarithm of its rank\n" in listed
    assert "  also       log rank, log_r\n  added by   mypackage 1.0\n" in listed
    assert "did you mean LogRank?" in evaluate(here, "LogRnk").stderr
    asked = {"_SEARCHMARK_COMPLETE": "bash_complete", "COMP_WORDS": "searchmark evaluate -m Log", "COMP_CWORD": "3"}
    (here / "site" / "was loaded").unlink()
    assert "LogRank" in searchmark(here, **asked).stdout
    assert not was_loaded(here)


def test_it_is_a_measure_in_python_unless_plugins_are_forbidden(here: Path) -> None:
    code = """if True:
        from searchmark import UnknownMeasure, load_run, load_suite, match_hits, parse_measure, score
        from searchmark.io.plugins import plugins_forbidden
        with plugins_forbidden():
            try:
                parse_measure("LogRank@2")
            except UnknownMeasure as error:
                print(error)
        print(parse_measure("lOGrANK@2").name, score(match_hits(load_suite("qrels.txt"), load_run("mine.run")), ["LogRank@2"]).names)
    """
    forbidden, allowed = python(here, "-c", code).stdout.splitlines()
    assert forbidden.startswith("there is no measure 'LogRank'")
    assert allowed == "LogRank@2 ['LogRank@2']"


@pytest.mark.slow
def test_nothing_is_loaded_for_measures_of_ours(here: Path) -> None:
    done = evaluate(here, "nDCG@10,MRR", "0.5*P@5 + 0.5*RR", "official")
    assert done.returncode == 0, done.stderr
    assert searchmark(here, "measures", "nDCG", "Relevance", "beir").returncode == 0
    assert not was_loaded(here)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "told"),
    [
        ("WrongShape", "the measure WrongShape of mypackage 1.0 returned an array of the shape (3,) instead of (2,)"),
        ("Fails", "the measure Fails of mypackage 1.0 failed: AttributeError: 'GradedHits' object has no attribute 'nothing'"),
    ],
)
def test_a_formula_that_goes_wrong_is_one_sentence(here: Path, measure: str, told: str) -> None:
    done = evaluate(here, measure)
    assert done.returncode == 4
    assert told in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_chance_level_that_goes_wrong_is_one_sentence(here: Path) -> None:
    done = searchmark(here, "audit", "qrels.txt", "--run", "mine.run", "--corpus", "corpus.jsonl", "-m", "WrongChance")
    assert done.returncode == 4
    assert "the measure WrongChance of mypackage 1.0 failed: ValueError: could not convert string to float" in done.stderr


@pytest.mark.slow
def test_what_is_no_measure_is_a_warning_and_ours_go_first(here: Path) -> None:
    install(here, (*NAMES, *WRONG))
    done = evaluate(here, "LogRank", "P@2")
    assert done.returncode == 0, done.stderr
    (agent,) = json.loads((here / "out.json").read_text())["agents"].values()
    assert agent["measures"]["P@2"]["mean"] == 0.5
    for name, reason in (
        ("P", "Searchmark has a measure of that name"),
        ("Renamed", "it defines the measure 'Other', and must be called so"),
        ("number", "mypackage:number is not an object of searchmark.measures.definition.MeasureDefinition"),
        ("missing", "mypackage:missing cannot be loaded"),
    ):
        assert f"the plug-in {name!r} (measures, mypackage 1.0) is not used: {reason}" in done.stderr


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"name": "two words"}, "its name must be a word"),
        ({"compute": 3}, "its formula cannot be called"),
        ({"parameters": ("nonsense",)}, "there is no option 'nonsense'"),
        ({"aliases": "alias"}, "aliases and at_most must be tuples"),
        ({"low": 1.0}, "low must be below high"),
    ],
)
def test_a_definition_that_makes_no_sense_is_refused(facts: dict[str, object], told: str) -> None:
    from searchmark import MeasureDefinition, UsageError

    usual: dict[str, object] = {"name": "Mine", "compute": len, "summary": "-", "missing": "-"}
    with pytest.raises(UsageError, match=told):
        MeasureDefinition(**(usual | facts))  # type: ignore[arg-type]  # wrong on purpose
