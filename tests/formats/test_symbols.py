"""The suite symbols keeps what its page promises, its gate sees real regressions, and its decision table can decide."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from searchmark import Suite, load_corpus, load_suite
from searchmark.agents.lexical.fts5 import Fts5Agent
from searchmark.cli.main import main
from searchmark.scoring.match import expand_suite
from tests.conftest import ROOT

FOLDER = ROOT / "src/searchmark/builtin_suites/symbols"
CONFIG = str(FOLDER / "searchmark.yaml")
BASELINE = FOLDER / "baseline.jsonl"
PAGE = ROOT / "docs/suites/symbols.md"
CATEGORIES = {"conceptual", "bilingual", "functionality", "business domain", "abstract"}
FULL = ("id", "words", "text", "signature", "file")


@pytest.fixture(scope="module")
def symbols() -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in (FOLDER / "corpus.jsonl").read_text().splitlines()]
    return {row["id"]: row for row in rows}


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite(FOLDER / "symbols.json")


@pytest.fixture(scope="module")
def queries() -> list[dict[str, Any]]:
    return list(json.loads((FOLDER / "symbols.json").read_text())["queries"])


@pytest.fixture(scope="module")
def answers() -> dict[str, list[str]]:
    lines = [json.loads(line) for line in BASELINE.read_text().splitlines()[1:]]
    return {line["case"]: line["ids"] for line in lines if "ids" in line}


def never_relevant(symbol: dict[str, Any]) -> bool:
    return bool(symbol.get("deprecated") or symbol.get("scope"))


def grades(suite: Suite, symbols: dict[str, dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Of every case the grades of the symbols that its judgments speak of."""
    expanded = expand_suite(suite, symbols)
    return {case.id: {each.target: each.grade for each in case.judgments} for case in expanded.cases}


def relevant(suite: Suite, symbols: dict[str, dict[str, Any]]) -> dict[str, frozenset[tuple[str, int]]]:
    return {
        case: frozenset((each, grade) for each, grade in of_case.items() if grade > 0 and not never_relevant(symbols[each]))
        for case, of_case in grades(suite, symbols).items()
    }


def test_symbols_have_all_fields_and_comments_of_their_own(symbols: dict[str, dict[str, Any]]) -> None:
    assert len(symbols) == 281
    wanted = {"id", "kind", "file", "signature", "words", "description"}
    assert all(wanted <= set(row) and all(row[name] for name in wanted) for row in symbols.values())
    assert len({row["description"] for row in symbols.values()}) == len(symbols)
    assert len({row["file"] for row in symbols.values()}) == 29


def test_generic_test_internal_and_deprecated_symbols_are_among_them(symbols: dict[str, dict[str, Any]]) -> None:
    assert Counter(row.get("scope") for row in symbols.values() if "scope" in row) == {"generic": 16, "test": 14, "internal": 4}
    assert sum(row.get("deprecated", False) for row in symbols.values()) == 9
    assert "16 are generic, 14 tests or examples, 4 internal (`scope`) and 9 `deprecated`" in (FOLDER / "README.md").read_text()


def test_every_category_has_26_queries_about_26_parts_of_the_program(suite: Suite) -> None:
    assert Counter(case.category for case in suite.cases) == dict.fromkeys(CATEGORIES, 26)
    assert len({(case.category, case.fields["area"]) for case in suite.cases}) == len(suite.cases) == 130
    assert {case.fields["category_number"] for case in suite.cases} == {"1", "2", "3", "4", "5"}
    assert Counter(case.fields["language"] for case in suite.cases) == {"en": 70, "es": 60}


def test_no_two_queries_have_the_same_targets_or_words(suite: Suite, symbols: dict[str, dict[str, Any]]) -> None:
    assert len(set(relevant(suite, symbols).values())) == 130
    assert len({str(case.query).casefold() for case in suite.cases}) == 130


def test_every_query_names_symbols_that_exist_and_may_be_relevant(queries, symbols: dict[str, dict[str, Any]]) -> None:
    for query in queries:
        assert query["expected_symbols"], query["id"]
        assert query["expected_patterns"], query["id"]
        assert not [each for each in query["expected_symbols"] if never_relevant(symbols[each])]
        assert not set(query["expected_symbols"]) & set(query.get("exclusion_patterns", []))
    assert sum(any("*" in each for each in query["expected_patterns"]) for query in queries) > 100


def test_everything_that_the_baseline_returned_is_judged(suite: Suite, symbols, answers: dict[str, list[str]]) -> None:
    judged = grades(suite, symbols)
    left = {
        case: [each for each in ids if each not in judged[case] and not never_relevant(symbols[each])]
        for case, ids in answers.items()
    }
    assert set(answers) == set(judged)
    assert not any(left.values())


def test_the_measured_baseline_passes_its_gate(capsys) -> None:
    assert main(["gate", str(BASELINE), "--config", CONFIG]) == 0
    assert "gate passed: all 6 rules are met" in capsys.readouterr().out


def gate_of(fields: tuple[str, ...], suite: Suite, folder: Path) -> int:
    agent = Fts5Agent(Fts5Agent.Config(language="english", fields=fields))
    agent.initialize(load_corpus(FOLDER / "corpus.jsonl"))
    found = {case.id: list(agent.retrieve(str(case.query), 10).files) for case in suite.cases}
    agent.close()
    (folder / "worse.json").write_text(json.dumps(found))
    return main(["gate", str(folder / "worse.json"), "--config", CONFIG])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lost", "rules"), [("description", "6 rules not met"), ("words", "2 rules not met")], ids=["comments-lost", "names-not-split"]
)
def test_a_search_that_lost_a_field_fails_the_gate(lost: str, rules: str, suite: Suite, tmp_path: Path, capsys) -> None:
    fields = tuple(each for each in FULL if each != ("text" if lost == "description" else lost))
    assert gate_of(fields, suite, tmp_path) == 1
    assert rules in capsys.readouterr().out


def test_the_same_search_passes_the_gate(suite: Suite, tmp_path: Path) -> None:
    assert gate_of(FULL, suite, tmp_path) == 0


def decided(candidate: dict[str, list[str]], baseline: dict[str, list[str]], folder: Path, capsys) -> str:
    """What the table says of a vector search with these answers."""
    for name, found in {"fts5": baseline, "fts5+vector": candidate}.items():
        (folder / f"{name}.json").write_text(json.dumps(found))
    runs = [f"--run={name}={folder / name}.json" for name in ("fts5", "fts5+vector")]
    main(["compare", "--config", CONFIG, *runs, "--brief"])
    return str(capsys.readouterr().out)


@pytest.mark.slow
def test_26_queries_of_each_category_are_enough_to_promote(answers, suite: Suite, symbols, tmp_path: Path, capsys) -> None:
    """A vector search that puts three more of the right symbols first is promoted."""
    known = relevant(suite, symbols)
    missed = {case: sorted(each for each, _ in known[case] if each not in ids[:5])[:3] for case, ids in answers.items()}
    better = {case: [*missed[case], *(each for each in ids if each not in missed[case])][:10] for case, ids in answers.items()}
    assert "fts5+vector against fts5 by P@5: keep vector search and promote it" in decided(better, answers, tmp_path, capsys)


@pytest.mark.slow
def test_vectors_that_bring_noise_are_dropped(answers, symbols, tmp_path: Path, capsys) -> None:
    noise = sorted(each for each, row in symbols.items() if never_relevant(row))
    worse = {case: [*noise[:2], *ids][:10] for case, ids in answers.items()}
    told = decided(worse, answers, tmp_path, capsys)
    assert "fts5+vector against fts5 by P@5: drop vector search, simplify the system" in told


def blocks(command: str) -> list[str]:
    """The lines that the page shows below a command, whatever the blanks between their words."""
    block = PAGE.read_text().split(f"$ searchmark {command}")[1].split("```")[0]
    return [" ".join(line.split()) for line in block.splitlines()[1:] if line.strip()]


def lines_of(printed: str) -> list[str]:
    return [" ".join(line.split()) for line in printed.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--decide", "vector-search"]], ids=["by-config", "by-preset"])
def test_the_comparison_tells_each_decision_once(more: list[str], capsys) -> None:
    assert main(["compare", "--config", CONFIG, "--brief", "--no-archive", *more]) == 0
    printed = lines_of(capsys.readouterr().out)
    assert sum(line.startswith("fts5+vector against fts5 by P@5:") for line in printed) == 1


@pytest.mark.slow
def test_the_audit_finds_nothing_wrong(capsys) -> None:
    assert main(["audit", "--config", CONFIG, "--run", str(BASELINE), "--strict"]) == 0
    assert "symbols (130 cases): no findings" in capsys.readouterr().out


@pytest.mark.slow
def test_the_self_test_of_the_gate_is_the_one_on_the_page(capsys) -> None:
    assert main(["gate", "--self-test", str(BASELINE), "--config", CONFIG]) == 0
    printed = lines_of(capsys.readouterr().out)
    assert [line for line in blocks("gate --self-test") if line not in printed] == []
