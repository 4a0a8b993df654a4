"""Every case and every rule is an item, and says what the gate says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ext.support import COFFEE, SUITE, run_pytest, shop

pytestmark = pytest.mark.slow  # whole sessions of pytest

OUTCOMES = {
    "case[tea]": "passed",
    "case[mugs]": "failure",
    "case[milk]": "failure",
    "case[honey]": "pytest.xfail",
    "case[sugar]": "failure",
    "gate[Success@10 >= 0.5]": "passed",
    "gate[P@5 >= 0.9]": "failure",
    "gate[total cost <= 1]": "failure",
    "gate[RR in category hot >= 0.4]": "passed",
    "gate[RR against baseline (no evidence of harm)]": "failure",
    "gate[RR of every case >= 0.2]": "failure",
    "gate[tea must_be_first tea.md]": "passed",
    "gate[mugs must_be_first mugs.md]": "failure",
    "gate[honey known_failure]": "passed",
    "gate[sugar known_failure]": "failure",
}


def test_an_item_fails_for_what_the_gate_says_of_it(tmp_path: Path) -> None:
    done = run_pytest(shop(tmp_path))
    assert done.outcomes == OUTCOMES
    assert done.code == 1


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ("case[mugs]", ["case mugs: expected mugs.md to be first, but got tea.md, mugs.md", "  expected: mugs.md\n"]),
        ("case[milk]", ["Expected RR of case milk >= 0.2, but got 0\n", "  query: milk\n", "  got: honey.md\n"]),
        ("case[sugar]", ["case sugar is a known failure, but it passes now: take it off known_failures"]),
        ("gate[P@5 >= 0.9]", ["Expected P@5 >= 0.9, but got 0.12\n", "  case milk 'milk': expected milk.md\n"]),
        ("gate[total cost <= 1]", ["untrusted: Expected total cost <= 1, but there is no such number"]),
        (
            "gate[RR against baseline (no evidence of harm)]",
            ["untrusted: RR cannot be held against the baseline", "searchmark-baseline.jsonl"],
        ),
    ],
)
def test_a_message_says_what_is_wrong_and_what_to_run_next(tmp_path: Path, item: str, said: list[str]) -> None:
    done = run_pytest(shop(tmp_path), f"search.searchmark.yaml::{item}")
    assert list(done.outcomes) == [item]
    assert [sentence for sentence in said if sentence not in done.output] == []
    assert "next: searchmark evaluate --gold-set search.searchmark.yaml --agent " in done.output


def test_an_agent_that_fails_is_an_error_with_its_text_and_no_failure_of_the_case(tmp_path: Path) -> None:
    done = run_pytest(shop(tmp_path, SUITE + COFFEE))
    assert done.outcomes["case[coffee]"] == "error"
    assert "case coffee ended with error: RuntimeError: the machine is broken" in done.output


def test_a_run_with_too_many_errors_is_untrusted_whatever_its_means_are(tmp_path: Path) -> None:
    done = run_pytest(shop(tmp_path, SUITE + COFFEE), "-k", "Success")
    assert done.outcomes == {"gate[Success@10 >= 0.5]": "failure"}
    assert "untrusted: Success@10 >= 0.5" in done.output


def test_a_known_failure_fails_where_known_failures_are_run_as_tests(tmp_path: Path) -> None:
    done = run_pytest(shop(tmp_path), "--runxfail", "-k", "case and honey")
    assert done.outcomes == {"case[honey]": "failure"}


def test_pytest_stops_at_the_first_failure(tmp_path: Path) -> None:
    done = run_pytest(shop(tmp_path), "-x")
    assert list(done.outcomes) == ["case[tea]", "case[mugs]"]


def test_what_an_agent_is_asked_does_not_depend_on_the_number_of_items(tmp_path: Path) -> None:
    """One run: three searches per case, a warm-up, and no more."""
    run_pytest(shop(tmp_path))
    asked = (tmp_path / "asked.txt").read_text().splitlines()
    assert asked.count("tea") + asked.count("mugs") + asked.count("milk") + asked.count("honey") + asked.count("sugar") == 16


def test_a_suite_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    shop(tmp_path, SUITE.replace("at_most: 1", "at_most: much"))
    done = run_pytest(tmp_path)
    assert "search.searchmark.yaml, gates.rules.0.at_most: input should be a valid number" in done.output
    assert "Traceback" not in done.output
    assert done.code == 2


def test_a_rule_that_contradicts_itself_is_one_sentence_with_its_file(tmp_path: Path) -> None:
    shop(tmp_path, SUITE.replace("cost: total, ", ""))
    assert "search.searchmark.yaml, gates: a rule of a gate is about one of measure" in run_pytest(tmp_path).output


def test_a_suite_without_an_agent_says_so(tmp_path: Path) -> None:
    shop(tmp_path, SUITE.replace("agent: shop.py:search\n", ""))
    assert "search.searchmark.yaml names no agent: write 'agent: bm25' into it" in run_pytest(tmp_path).output


def test_agent_and_gates_may_come_from_the_config(tmp_path: Path) -> None:
    head, cases = SUITE.split("cases:\n")
    shop(tmp_path, f"schema_version: 1\ncorpus: docs\ncases:\n{cases}")
    (tmp_path / "searchmark.yaml").write_text("agents: [bm25]\ngates: {thresholds: {RR: 0.9}}\n")
    done = run_pytest(tmp_path)
    assert set(done.outcomes.values()) == {"passed"}
    assert "gate[RR >= 0.9]" in done.outcomes
    assert head  # what the header said is not needed


def test_the_config_may_be_named(tmp_path: Path) -> None:
    _, cases = SUITE.split("cases:\n")
    shop(tmp_path, f"schema_version: 1\ncorpus: docs\nagent: mine\ncases:\n{cases}")
    (tmp_path / "other.yaml").write_text("agents: [{name: mine, source: bm25}]\ngates: {thresholds: {RR: 0.9}}\n")
    assert set(run_pytest(tmp_path, "--searchmark-config", "other.yaml").outcomes.values()) == {"passed"}


def test_ids_with_colons_and_line_breaks_are_selected_by_their_names(tmp_path: Path) -> None:
    shop(tmp_path, SUITE + '  - {id: "a::b\\nc", query: tea, judgments: [{target: tea.md, grade: 1}]}\n')
    assert run_pytest(tmp_path, "search.searchmark.yaml::case[a::b\\nc]").outcomes == {"case[a::b\\nc]": "passed"}
