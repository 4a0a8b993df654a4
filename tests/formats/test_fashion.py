"""The suite fashion keeps what its page promises: an untidy catalogue, labels that can be made again, and a gate that sees losses."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from searchmark import Suite, load_corpus, load_suite
from searchmark.agents.lexical.bm25 import Bm25Agent
from searchmark.agents.vectors.semantic import SemanticAgent
from searchmark.cli.main import main
from tests.conftest import ROOT

FOLDER = ROOT / "src/searchmark/builtin_suites/fashion"
CONFIG = str(FOLDER / "searchmark.yaml")
PAGE = ROOT / "docs/suites/fashion.md"
TYPES = ("category", "attribute", "audience", "brand")
FIELDS = ("title", "text", "brand", "category", "colour", "audience", "material")
LABEL = next(line.split() for line in (FOLDER / "README.md").read_text().splitlines() if line.startswith("    searchmark label "))
Item = dict[str, Any]


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite(FOLDER / "fashion.jsonl", topics=FOLDER / "queries.tsv")


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return [json.loads(line) for line in (FOLDER / "corpus.jsonl").read_text().splitlines()]


def labels() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / "fashion.jsonl").read_text().splitlines()]


def missing(items: list[Item], field: str) -> int:
    return sum(not str(item.get(field, "")).strip() for item in items)


def as_shown(text: str) -> list[str]:
    """Lines that say something, whatever the blanks between their words."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip(" ─.")]


def below(command: str) -> list[str]:
    """What the page shows below a command."""
    return as_shown(PAGE.read_text().split(f"$ searchmark {command}\n")[1].split("```")[0].split("\n$ ")[0])


def test_there_are_300_items_with_ids_and_names_of_their_own(items: list[Item]) -> None:
    assert len(items) == len({item["id"] for item in items}) == len({item["name"].casefold() for item in items}) == 300


def test_the_gaps_are_those_that_the_page_and_the_readme_count(items: list[Item]) -> None:
    gaps = {name: missing(items, name) for name in ("material", "audience", "category", "colour", "brand", "description")}
    assert f"| no {', '.join(gaps)} | {', '.join(map(str, gaps.values()))} |" in PAGE.read_text()
    readme = " ".join((FOLDER / "README.md").read_text().split())
    assert f"{gaps['material']} items have no material, {gaps['audience']} no audience, {gaps['category']} no category" in readme
    assert f"{gaps['colour']} no colour, {gaps['brand']} no brand and {gaps['description']} no description" in readme
    texts = sum(isinstance(item.get("price"), str) for item in items)
    assert f"or none | {texts}, {missing(items, 'price')} |" in PAGE.read_text()


def test_spellings_differ_as_in_real_catalogues(items: list[Item]) -> None:
    said = {field: {str(item.get(field, "")).strip() for item in items} for field in ("category", "brand", "audience")}
    assert {"Jeans", "jeans", "JEANS", "T-Shirts", "Tees"} <= said["category"]
    assert {"Hollin Pike", "HollinPike", "HOLLIN PIKE"} <= said["brand"]
    assert {"Women", "womens", "F", "W", "Ladies"} <= said["audience"]
    assert any("W30-W38" in item["name"] for item in items)
    assert any(item["name"].isupper() for item in items)


def test_each_type_has_22_queries_and_none_is_there_twice(suite: Suite) -> None:
    assert Counter(case.fields["type"] for case in suite.cases) == dict.fromkeys(TYPES, 22)
    assert len({str(case.query).casefold() for case in suite.cases}) == len(suite) == 88


def test_the_queries_of_the_usual_plan_are_among_them(suite: Suite) -> None:
    queries = {case.query for case in suite.cases}
    assert {"summer dress", "hoodie", "ankle boots", "slim-fit jeans"} <= queries
    assert {"red midi dress", "black leather jacket", "waterproof hiking boots", "v-neck t-shirt"} <= queries
    assert {"girls floral dress", "men's running shorts", "women's yoga leggings"} <= queries
    assert {"down puffer jacket", "cotton crewneck t-shirt", "running shoes breathable mesh", "girls floral skirt"} <= queries


def test_every_query_has_something_to_find_and_no_two_have_the_same_grades(suite: Suite) -> None:
    graded = [frozenset((each.target, each.grade) for each in case.judgments if each.grade > 0) for case in suite.cases]
    assert all(max(grade for _, grade in each) >= 2 for each in graded)
    assert len(set(graded)) == len(graded)


def test_the_brand_of_a_brand_query_counts(items: list[Item]) -> None:
    named = {item["name"]: item["id"] for item in items}
    grades = {each["item_id"]: each["grade"] for each in labels() if each["query"] == "Halvorn aviator sunglasses"}
    assert grades[named["Aviator Sunglasses"]] == 3
    assert grades[named["Sports Sunglasses Polarised"]] == 2
    assert grades[named["Sunglasses Case Hard Shell"]] == 1, "it has the brand, and is a case"


@pytest.mark.slow
def test_the_command_of_the_readme_makes_the_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    for name in ("corpus.jsonl", "queries.tsv", "synonyms.txt"):
        shutil.copy(FOLDER / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(LABEL[1:]) == 0
    assert (tmp_path / "fashion.jsonl").read_bytes() == (FOLDER / "fashion.jsonl").read_bytes()
    said = capsys.readouterr().err
    counts = Counter(each["grade"] for each in labels())
    assert f"pairs by grade: 3: {counts[3]}, 2: {counts[2]}, 1: {counts[1]:,}, 0: {88 * 300 - len(labels()):,}" in said
    page = PAGE.read_text()
    assert all(f"| {grade} | {counts[grade]:,} |" in page for grade in (1, 2, 3))
    rules = Counter(each["rule"] for each in labels())
    assert f"the category ({rules['category']}), or two attributes without it ({rules['two attributes']})" in page
    assert "grade 3 is out of reach for 22 of 88 queries" in said
    assert "In 22 queries no item can have grade 3" in page
    assert f"{len(labels()):,} pairs of grade 1 and higher" in (FOLDER / "README.md").read_text()


@pytest.mark.slow
def test_the_agreement_is_the_one_that_page_and_readme_report(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(FOLDER)
    assert main([*LABEL[1:-2], "--import", "review.csv"]) == 0
    printed = as_shown(capsys.readouterr().out)
    block = PAGE.read_text().split("**Agreement.**")[1].split("```text\n")[1].split("```")[0]
    assert [line for line in as_shown(block) if line not in printed] == []
    figures = " ".join(" ".join(printed).split())
    readme = " ".join((FOLDER / "README.md").read_text().split())
    assert "36 grades are equal and 56 at most one apart" in readme
    assert "36 equal, 56 at most one apart" in figures
    assert "0.80 in the sample (0.63 to 0.86)" in readme
    assert "strata alike: 0.80, 95% interval 0.63 to 0.86" in figures
    assert "0.55 over all pairs (0.04 to 0.68)" in readme
    assert "by its size: 0.55, 95% interval 0.04 to 0.68" in figures


@pytest.mark.slow
def test_the_sample_is_the_one_that_the_seed_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader got these pairs and no others, and the sample does not tell the rule's grade."""
    monkeypatch.chdir(FOLDER)
    assert main([*LABEL[1:-2], "--review", "60", "--seed", "2002", "-o", str(tmp_path / "drawn.csv")]) == 0
    texts = ((tmp_path / "drawn.csv").read_text(), (FOLDER / "review.csv").read_text())
    drawn, judged = (list(csv.DictReader(text.splitlines(keepends=True))) for text in texts)
    assert len(judged) == 60
    assert {row["grade"] for row in drawn} == {""}
    assert [row | {"grade": ""} for row in judged] == drawn


def test_the_measured_baseline_passes_its_gate(capsys) -> None:
    assert main(["gate", str(FOLDER / "baseline.jsonl"), "--config", CONFIG]) == 0
    assert "gate passed: all 11 rules are met" in capsys.readouterr().out


def test_the_bounds_are_those_of_the_measured_baseline_less_a_little(capsys) -> None:
    """What the config says behind each bound is what the baseline reaches."""
    assert main(["evaluate", "--run", str(FOLDER / "baseline.jsonl"), "--config", CONFIG, "--by", "type", "-o", "-"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["agents"].values()
    means = [each["mean"] for each in run["measures"].values()]
    means += [run["segments"]["type"][name]["nDCG(gain=exp)@10"]["mean"] for name in TYPES]
    lines = [line for line in Path(CONFIG).read_text().splitlines() if "# 0." in line]
    assert [line.rsplit("# ", 1)[1] for line in lines] == [f"{mean:.4f}" for mean in means]
    bounds = [float(line.split("#")[0].rstrip(" }").rsplit(": ", 1)[1]) for line in lines]
    assert all(0.01 < mean - bound < 0.05 for mean, bound in zip(means, bounds, strict=True))


def test_a_search_that_forgets_the_fields_fails_the_gate(suite: Suite, tmp_path: Path, capsys) -> None:
    agent = Bm25Agent(Bm25Agent.Config(fields=("title", "text")))
    agent.initialize(load_corpus(FOLDER / "corpus.jsonl"))
    answers = {case.id: agent.retrieve(str(case.query), 20).files for case in suite.cases}
    (tmp_path / "bm25-text.json").write_text(json.dumps(answers))
    assert main(["gate", str(tmp_path / "bm25-text.json"), "--config", CONFIG]) == 1
    assert below("evaluate --gold-set builtin:fashion --agent bm25-text")[0] in capsys.readouterr().out


@pytest.mark.slow
def test_on_vectors_of_length_1_cosine_and_inner_product_are_one_ranking(suite: Suite) -> None:
    corpus = load_corpus(FOLDER / "corpus.jsonl")
    answers = []
    for options in ({}, {"distance": "ip"}, {"distance": "ip", "embedder": {"name": "wordllama", "normalize": False}}):
        agent = SemanticAgent(SemanticAgent.Config(fields=FIELDS, **options))
        agent.initialize(corpus)
        answers.append([agent.retrieve(str(case.query), 20).files for case in suite.cases])
        agent.close()
    cosine, product, raw = answers
    assert cosine == product != raw


@pytest.mark.slow
def test_the_audit_finds_no_error_and_says_what_the_page_shows(capsys) -> None:
    assert main(["audit", "--config", CONFIG, "--run", str(FOLDER / "baseline.jsonl"), "--strict"]) == 0
    printed = as_shown(capsys.readouterr().out.replace("fashion (88 cases)", "builtin:fashion (88 cases)"))
    assert [line for line in below("audit builtin:fashion --run hybrid.jsonl --strict") if line not in printed] == []


@pytest.mark.slow
def test_the_page_shows_what_evaluate_prints(capsys) -> None:
    assert main(["evaluate", "--config", CONFIG, "--agent", "hybrid", "--by", "type", "--no-archive"]) == 0
    printed = as_shown(capsys.readouterr().out.replace("on fashion", "on builtin:fashion"))
    assert [line for line in below("evaluate --gold-set builtin:fashion --agent hybrid --by type") if line not in printed] == []


@pytest.mark.slow
def test_the_page_shows_what_compare_prints(capsys) -> None:
    main(["compare", "--config", CONFIG, "--no-archive"])
    out = capsys.readouterr().out
    printed = as_shown(out)
    rows = [line for line in below("compare --gold-set builtin:fashion") if not line.startswith("run on")]
    assert len(rows) == 9
    assert [line for line in rows if line not in printed] == []
    assert "lengths of 1.4 to 10" in PAGE.read_text()
    assert "semantic-raw: 600 vectors have lengths of 1.361 to 10.2" in " ".join(out.split())


@pytest.mark.slow
def test_the_self_test_of_the_gate_is_the_one_on_the_page(capsys) -> None:
    assert main(["gate", "--self-test", str(FOLDER / "baseline.jsonl"), "--config", CONFIG]) == 0
    printed = as_shown(capsys.readouterr().out)
    assert [line for line in below("gate --self-test hybrid.jsonl --gold-set builtin:fashion") if line not in printed] == []


@pytest.mark.slow
def test_a_coarse_index_costs_what_the_page_says(tmp_path: Path, capsys) -> None:
    """Of the sweep in the folder the two settings that the page names."""
    sweep = (FOLDER / "sweep.yaml").read_text()
    for more, one in (
        (", [title]]\n", "]\n"),
        ("[cosine, ip]", "[cosine]"),
        ("[true, false]", "[true]"),
        ("num_runs: 3", "num_runs: 1"),
    ):
        assert more in sweep
        sweep = sweep.replace(more, one)
    (tmp_path / "sweep.yaml").write_text(sweep)
    suite, corpus = (str(FOLDER / name) for name in ("fashion.jsonl", "corpus.jsonl"))
    told = ["--gold-set", suite, "--corpus", corpus, "--config", str(tmp_path / "sweep.yaml"), "--folder", str(tmp_path / "rows")]
    assert main(["sweep", *told, "-o", str(tmp_path / "sweep.json")]) == 0
    printed = capsys.readouterr().out
    assert "finds 79 % of the nearest ten and loses 0.04 of recall" in PAGE.read_text()
    assert all(number in printed for number in ("0.7875", "0.6345", "0.5902"))


def test_as_many_pairs_of_grade_3_have_another_colour_as_the_readme_says(items: list[Item]) -> None:
    colours = {item["id"]: str(item.get("colour") or "").casefold().replace("gray", "grey") for item in items}
    words = {word for colour in colours.values() for word in colour.replace("/", " ").replace(",", " ").split()} - {"dark", "light"}
    best = [row for row in labels() if row["grade"] == 3]
    other = [
        (row["query"], row["item_id"])
        for row in best
        if (named := words & set(row["query"].casefold().split())) and colours[row["item_id"]]
        if not any(name in colours[row["item_id"]] for name in named)
    ]
    assert f"But {len(other)} of all {len(best)} pairs of grade 3 have another" in (FOLDER / "README.md").read_text()
