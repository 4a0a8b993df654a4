"""Cases that exclusions leave without a target: gold, gate and numbers say the same of them."""

from __future__ import annotations

from searchmark import Case, Corpus, Document, Judgment, Suite, audit_suite, mean_bound, parse_measure
from searchmark.audit.check import Subject
from searchmark.audit.gold import without_target

CORPUS = Corpus.of("sources", [Document(f"src/f{number}.py", f"text {number}", fields={"kind": "a"}) for number in range(3)])
EXCLUDED = Case("b", "bar baz", (Judgment("src/*.py", "glob"),), exclude={"kind": "a"})
GRADED_0 = Case("a", "foo bar", (Judgment("**/f2.py", "glob", 2), Judgment("src/*.py", "glob", 0)))


def test_patterns_whose_documents_are_all_excluded_leave_no_target() -> None:
    (found,) = without_target(Subject(Suite.from_cases("s", [EXCLUDED, GRADED_0]), CORPUS.survey))
    assert found.cases == ("b", "a")


def test_a_gate_on_them_cannot_be_passed() -> None:
    rules = [mean_bound(parse_measure("nDCG@10"), "at_least", 0.3)]
    codes = {each.code for each in audit_suite(Suite.from_cases("s", [EXCLUDED]), CORPUS, rules=rules).findings}
    assert "unattainable-threshold" in codes
    assert not codes & {"threshold-below-random", "gate-passed-by-chance"}


def test_cases_about_an_order_say_nothing_of_what_is_relevant() -> None:
    ordered = Case("a", "foo bar", (Judgment("d1", grade=0, rank=1), Judgment("d2", grade=0, rank=2)), order_only=True)
    assert list(without_target(Subject(Suite.from_cases("s", [ordered])))) == []
