"""The header of a native suite may say how it is tested; the suite stays what it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from searchmark import FormatError, GateSettings, KnownFailure, Pin, load_suite
from searchmark.formats.suites import load_suite_with_setup
from searchmark.formats.suites.native import NO_SETUP, SuiteSetup
from searchmark.io.text import redirect_notes

CASES = "cases: [{id: q1, query: tea, judgments: [{target: a, grade: 1}]}]\n"
HEADER = """
agent: {name: mine, source: mine.py:Mine, config: {size: 5, share: 0.5, fast: true, name: "7"}}
corpus: docs
gates:
  thresholds: {P@5: 0.85}
  rules: [{measure: RR, where: {category: 3}, at_least: 0.5}]
  baseline: before.jsonl
  pins: [{case: q1, must_be_first: a, k: 3}]
  known_failures: [{case: q1, reason: not yet}]
only_in_ci: true
skip_if_missing: true
"""


@pytest.fixture
def both(file: Callable[[str, str], Path]) -> tuple[Path, Path]:
    return file("with.yaml", f"schema_version: 1\nname: shop\n{HEADER}{CASES}"), file(
        "without.yaml", f"schema_version: 1\nname: shop\n{CASES}"
    )


def test_a_header_is_no_part_of_the_suite_and_of_none_of_its_digests(both: tuple[Path, Path]) -> None:
    with_header, without = map(load_suite, both)
    assert with_header == without
    assert with_header.hashes == without.hashes


def test_fields_are_typed_and_paths_are_those_of_the_file(both: tuple[Path, Path]) -> None:
    folder = both[0].parent
    setup = load_suite_with_setup(both[0])[1]
    assert setup.corpus == folder / "docs"
    assert setup.gates.thresholds == {"P@5": 0.85}
    assert (setup.gates.rules[0].at_least, setup.gates.rules[0].where) == (0.5, {"category": "3"})
    assert setup.gates.baseline == str(folder / "before.jsonl")
    assert setup.gates.pins == (Pin("q1", must_be_first="a", k=3),)
    assert setup.gates.known_failures == (KnownFailure("q1", reason="not yet"),)
    assert (setup.only_in_ci, setup.skip_if_missing) == (True, True)


def test_options_of_an_agent_are_numbers_where_they_are_written_as_numbers(both: tuple[Path, Path]) -> None:
    agent = load_suite_with_setup(both[0])[1].agent
    assert agent == {"name": "mine", "source": "mine.py:Mine", "config": {"size": 5, "share": 0.5, "fast": True, "name": "7"}}


def test_a_suite_without_a_header_has_an_empty_one(both: tuple[Path, Path], file: Callable[[str, str], Path]) -> None:
    assert load_suite_with_setup(both[1])[1] == SuiteSetup(gates=GateSettings()) == NO_SETUP
    assert load_suite_with_setup(file("qrels.txt", "q1 0 a 1\n"))[1] == NO_SETUP


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("agents: bm25", "agents: is not a known field"),
        ("only_in_ci: perhaps", "only_in_ci: input should be a valid boolean"),
        ("gates: {threshold: {}}", "gates.threshold: is not a known field"),
        ("gates: {rules: [{at_least: 1}]}", "gates: a rule of a gate is about one of measure"),
        ("gates: {pins: [{case: q1}]}", "gates: the pin on case 'q1' asks for nothing"),
    ],
)
def test_a_mistake_is_named_with_its_field(file: Callable[[str, str], Path], header: str, said: str) -> None:
    with pytest.raises(FormatError, match=said.replace("'", ".")):
        load_suite(file("suite.yaml", f"schema_version: 1\n{header}\n{CASES}"))


OTHER_FORMATS = {
    "case-list": "cases: [{query: tea, expectedIds: [a]}]",
    "symbols": "queries: [{query: tea, expected_symbols: [TTea]}]",
    "gold-set": "test_cases: [{id: q1, query: tea, ground_truth_files: [a]}]",
    "fixtures": "fixtures: [{name: q1, query: tea, documents: {a: tea, b: milk}, expected_ranking: [a, b]}]",
    "table": "questions: [{question: tea, expected_file: a}]",
}


@pytest.mark.parametrize("format_name", OTHER_FORMATS)
def test_every_format_of_ours_has_the_same_header(
    both: tuple[Path, Path], file: Callable[[str, str], Path], format_name: str
) -> None:
    plain = file("other.yaml", OTHER_FORMATS[format_name])
    suite, setup = load_suite_with_setup(plain)
    assert (setup, dict(suite.metadata)) == (NO_SETUP, {})
    with_header, setup = load_suite_with_setup(file("other.yaml", f"{HEADER}{OTHER_FORMATS[format_name]}"))
    assert setup == load_suite_with_setup(both[0])[1]
    assert with_header == suite
    with pytest.raises(FormatError, match=r"gates\.threshold: is not a known field"):
        load_suite(file("other.yaml", f"gates: {{threshold: {{}}}}\n{OTHER_FORMATS[format_name]}"))


def test_documents_under_corpus_are_no_path(file: Callable[[str, str], Path]) -> None:
    _, setup = load_suite_with_setup(
        file("other.json", '{"corpus": {"a": "tea"}, "cases": [{"query": "tea", "expectedIds": ["a"]}]}')
    )
    assert setup == NO_SETUP


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("skip_missing: true\ncases: [{query: tea, expectedIds: [a]}]", "'skip_missing' (did you mean 'skip_if_missing'?)"),
        ("thresholds: {P@5: 0.9}\ncases: [{query: tea, expectedIds: [a]}]", "'thresholds'"),
        (
            OTHER_FORMATS["fixtures"].replace("expected_ranking", "Relevance: [a], expected_ranking"),
            "'relevance' (did you mean 'relevant'?)",
        ),
        ("description: Tea.\nversion: 2\ncases: [{query: tea, expectedIds: [a], query_id: 7, difficulty: 3}]", None),
    ],
    ids=["header", "unlike", "fixture", "none"],
)
def test_keys_that_nobody_reads_are_named_with_the_nearest_that_is_read(
    file: Callable[[str, str], Path], text: str, said: str | None
) -> None:
    path, notes = file("other.yaml", text), list[str]()
    with redirect_notes(notes.append):
        load_suite(path)
    assert notes == ([] if said is None else [f"{path}: not read: {said}"])
