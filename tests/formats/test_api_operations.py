"""The suite api-operations keeps what its page promises, and its gate sees a real regression."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from searchmark import Case, Suite, load_corpus, load_suite
from searchmark.agents.lexical.bm25 import Bm25Agent
from searchmark.cli.main import main
from tests.conftest import ROOT

FOLDER = ROOT / "src/searchmark/builtin_suites/api-operations"
CONFIG = str(FOLDER / "searchmark.yaml")
PAGE = ROOT / "docs/suites/api-operations.md"
CATEGORIES = ("crud", "users", "workflows", "custom-fields", "boards-sprints", "advanced")
VARIATIONS = ("typo", "synonym", "natural-language", "multi-word", "portuguese", "spanish")


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite(FOLDER / "suite.jsonl")


@pytest.fixture(scope="module")
def operations() -> dict[str, dict[str, object]]:
    rows = [json.loads(line) for line in (FOLDER / "corpus.jsonl").read_text().splitlines()]
    return {row["id"]: row for row in rows}


def relevant(case: Case) -> frozenset[tuple[str, int]]:
    return frozenset((each.target, each.grade) for each in case.judgments if each.grade > 0)


def originals(suite: Suite) -> list[Case]:
    return [case for case in suite.cases if case.origin in (None, case.id) and not case.unanswerable]


def variants(suite: Suite) -> list[Case]:
    return [case for case in suite.cases if case.origin not in (None, case.id)]


def test_there_are_as_many_operations_as_the_readme_says(operations) -> None:
    assert len(operations) == 189
    assert f"{len(operations)} operations" in (FOLDER / "README.md").read_text()


def test_every_operation_has_all_fields_and_a_text_of_its_own(operations) -> None:
    assert {tuple(row) for row in operations.values()} == {("id", "summary", "description", "method", "path", "tags")}
    assert all(all(row.values()) for row in operations.values())
    assert len({row["description"] for row in operations.values()}) == len(operations)
    assert len({(row["method"], row["path"]) for row in operations.values()}) == len(operations)


def test_each_category_has_independent_cases(suite: Suite) -> None:
    counts = Counter(case.category for case in originals(suite))
    assert set(counts) == set(CATEGORIES)
    assert min(counts.values()) >= 15


def test_no_two_originals_have_the_same_targets(suite: Suite) -> None:
    targets = [relevant(case) for case in originals(suite)]
    assert len(set(targets)) == len(targets) == 94


def test_a_variant_is_linked_to_its_original_and_shares_its_grades(suite: Suite) -> None:
    known = {case.id: case for case in originals(suite)}
    for case in variants(suite):
        origin = known[str(case.origin)]
        assert origin.origin == origin.id, "otherwise both would be observations of their own"
        assert (case.category, relevant(case)) == (origin.category, relevant(origin))
        assert case.query != origin.query


def test_every_kind_of_variation_is_there(suite: Suite) -> None:
    counts = Counter(case.fields["variation"] for case in variants(suite))
    assert all(counts[kind] >= 12 for kind in VARIATIONS), counts
    assert {case.fields["language"] for case in suite.cases} == {"en", "pt", "es"}
    assert all(case.tags == (case.fields["variation"],) for case in suite.cases)


def test_the_page_has_the_counts_of_the_suite(suite: Suite) -> None:
    page = PAGE.read_text()
    assert f"| originals | {len(originals(suite))} |" in page
    assert f"| variants | {len(variants(suite))} |" in page
    assert f"| unanswerable | {sum(case.unanswerable for case in suite.cases)} |" in page
    assert f"{len(suite)} queries" in page


def test_a_case_has_several_grades_and_one_best_operation(suite: Suite, operations) -> None:
    for case in suite.cases:
        assert {each.target for each in case.judgments} <= set(operations)
        if not case.unanswerable:
            assert max(each.grade for each in case.judgments) == 3
    graded = [len(relevant(case)) for case in originals(suite)]
    assert sum(count >= 2 for count in graded) / len(graded) > 0.95


def test_a_query_is_not_the_summary_of_what_it_looks_for(suite: Suite, operations) -> None:
    summaries = {str(row["summary"]).casefold() for row in operations.values()}
    copied = [case.id for case in suite.cases if case.query and case.query.casefold() in summaries]
    assert all(case.endswith("-exact") for case in copied), copied


def test_everything_that_the_baseline_returned_is_judged(suite: Suite) -> None:
    judged = {case.id: {each.target for each in case.judgments} for case in suite.cases}
    lines = [json.loads(line) for line in (FOLDER / "baseline.jsonl").read_text().splitlines()[1:]]
    answers = {line["case"]: line["ids"] for line in lines if "ids" in line}
    assert set(answers) == set(judged)
    assert [case for case, ids in answers.items() if not set(ids[:10]) <= judged[case]] == []


def test_the_measured_baseline_passes_its_gate(capsys) -> None:
    assert main(["gate", str(FOLDER / "baseline.jsonl"), "--config", CONFIG]) == 0
    assert "gate passed: all 13 rules are met" in capsys.readouterr().out


def test_a_search_that_lost_its_vectors_fails_the_gate(suite: Suite, tmp_path: Path, capsys) -> None:
    agent = Bm25Agent()
    agent.initialize(load_corpus(FOLDER / "corpus.jsonl"))
    answers = {case.id: agent.retrieve(str(case.query), 10).files for case in suite.cases}
    (tmp_path / "bm25.json").write_text(json.dumps(answers))
    assert main(["gate", str(tmp_path / "bm25.json"), "--config", CONFIG]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "11 rules not met" in told
    for line in PAGE.read_text().split("among them\n\n```text\n")[1].split("```")[0].splitlines():
        assert " ".join(line.split()) in told


@pytest.mark.slow
def test_the_audit_finds_no_error(capsys) -> None:
    assert main(["audit", "--config", CONFIG, "--run", str(FOLDER / "baseline.jsonl"), "--strict"]) == 0
    assert "error " not in capsys.readouterr().out


@pytest.mark.slow
def test_the_self_test_of_the_gate_is_the_one_on_the_page(capsys) -> None:
    assert main(["gate", "--self-test", str(FOLDER / "baseline.jsonl"), "--config", CONFIG]) == 0
    printed = capsys.readouterr().out.splitlines()
    block = PAGE.read_text().split("by `gate --self-test`")[1].split("```text\n")[1].split("```")[0]
    assert [line for line in block.splitlines() if line not in printed] == []


def test_a_strict_audit_fails_where_no_target_is_in_the_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(FOLDER, tmp_path / "broken")
    suite = tmp_path / "broken/suite.jsonl"
    suite.write_text(re.sub(r'"target": "(\w+)\.', r'"target": "\1-', suite.read_text("utf-8")), "utf-8")
    assert main(["audit", str(suite), "--corpus", str(tmp_path / "broken/corpus.jsonl"), "--strict"]) == 1
    assert "error all-targets-missing" in capsys.readouterr().out
