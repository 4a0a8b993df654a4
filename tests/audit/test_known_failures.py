"""What went wrong in published search evaluations, in made-up data with the same flaw: an audit says so, each time with its code.

Published tables are retyped. Suites, runs and fixtures are made so that the published figure comes out; they are not the published ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from searchmark import (
    Answer,
    Case,
    CompareSettings,
    Corpus,
    Document,
    Finding,
    GateSettings,
    Hit,
    Judgment,
    Provenance,
    Run,
    Suite,
    audit_suite,
    rules_of,
)
from searchmark.audit.claim_table import read_claims
from searchmark.audit.claims import check_claims
from searchmark.config.gates import DecisionRule, DecisionTable
from searchmark.records.answers import Status
from searchmark.records.provenance import AgentIdentity

DOCUMENTS = [f"d{37 * number % 200:03}" for number in range(200)]  # each once, in no order that a tie would give
CORPUS = Corpus.of("catalogue", [Document(each, f"text of {each}") for each in sorted(DOCUMENTS)])
# Made up so that no ranking has a mean P@5 above .641, which is the limit on a published hand-labelled set.
RIGHT_ANSWERS = [5] * 10 + [4] * 5 + [3] * 8 + [2] * 15 + [1]


def asked(number: int, targets: Iterable[str], **rest: object) -> Case:
    return Case(f"c{number:02}", f"question {number}", tuple(map(Judgment, targets)), **rest)  # type: ignore[arg-type]  # fields of a case


def suite_of(sizes: Sequence[int]) -> Suite:
    """Cases with so many targets each, none of which is a target of another."""
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    found = [DOCUMENTS[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    return Suite.from_cases("small", [asked(number, targets) for number, targets in enumerate(found)])


def run_of(name: str, answers: Mapping[str, Sequence[str]]) -> Run:
    hits = {case: tuple(Hit(each, rank, 1 / rank) for rank, each in enumerate(found, 1)) for case, found in answers.items()}
    return Run.from_answers(name, [Answer(case, "ok" if found else "empty", found) for case, found in hits.items()])


def targets_of(suite: Suite) -> dict[str, list[str]]:
    return {case.id: [each.target for each in case.judgments] for case in suite.cases}


def codes(findings: Iterable[Finding]) -> set[str]:
    return {each.code for each in findings}


def audited(
    suite: Suite, runs: Sequence[Run] = (), measures: Sequence[str] = (), gates: Mapping[str, object] | None = None
) -> set[str]:
    rules = rules_of(GateSettings(**(gates or {})))  # type: ignore[arg-type]  # as in a config
    return codes(audit_suite(suite, CORPUS, runs, measures, rules=rules).findings)


def test_gold_that_an_engine_has_written_itself() -> None:
    """P@5 = MRR = 100 %, since the expected ids were what the engine returned; BM25 gets less and is right."""
    suite = suite_of([5] * 20)
    own = run_of("hashed words", targets_of(suite))
    other = run_of(
        "bm25", {case: [DOCUMENTS[150 + row], *found[:2]] for row, (case, found) in enumerate(targets_of(suite).items())}
    )
    assert "circular-gold" in audited(suite, [own, other])


def test_a_gate_that_no_honest_labels_can_pass() -> None:
    assert "unattainable-threshold" in audited(suite_of(RIGHT_ANSWERS), gates={"thresholds": {"P@5": 0.85}})


def test_a_gate_that_the_best_ranking_passes_is_not_called_unattainable() -> None:
    assert "unattainable-threshold" not in audited(suite_of(RIGHT_ANSWERS), gates={"thresholds": {"P@5": 0.64}})


def test_two_measures_that_are_one_number() -> None:
    """With five targets in every case and k = 5, P@5 and R@5 divide by the same five."""
    suite = suite_of([5] * 20)
    run = run_of("bm25", {case: [*found[: row % 5], DOCUMENTS[199]] for row, (case, found) in enumerate(targets_of(suite).items())})
    assert "identical-measures" in audited(suite, [run], ["P@5", "R@5"])


def test_a_measure_that_every_ranking_gets_alike() -> None:
    """P@k where k is the number of documents: whatever comes first, all of them come."""
    assert "constant-measure" in codes(audit_suite(_fixture(4), None, [_backwards(4)], ["P@4"]).findings)


@pytest.mark.parametrize(
    ("table", "code"),
    [
        pytest.param("name,n,P@10,HitRate@10\nours,24,35 %,30 %\n", "claim-precision-above-hit-rate", id="P@10 above HitRate@10"),
        pytest.param("name,n,HitRate@5,HitRate@10\nours,24,30 %,95 %\n", "claim-no-count", id="shares of 23, not of 24"),
        pytest.param("name,n,nDCG@10\nours,24,1.31\n", "claim-outside-range", id="nDCG above 1"),
    ],
)
def test_published_numbers_that_no_ranking_gives(tmp_path: Path, table: str, code: str) -> None:
    file = tmp_path / "table.csv"
    file.write_text(table)
    assert code in codes(check_claims(read_claims(file)))


def _fixture(documents: int) -> Suite:
    """A case with documents of its own, each with a grade of its own."""
    own = tuple(Document(f"doc-{number}", f"text {number}") for number in range(documents))
    judgments = tuple(Judgment(each.id, "id", documents - 1 - number) for number, each in enumerate(own))
    return Suite.from_cases("fixture", [Case("one", "question", judgments, documents=own)])


def _backwards(documents: int) -> Run:
    return run_of("search", {"one": [f"doc-{number}" for number in reversed(range(documents))]})


@pytest.mark.parametrize(
    ("documents", "threshold", "passing"),
    [
        pytest.param(3, 0.80, "3 of 6", id="3 of 6"),
        pytest.param(4, 0.92, "6 of 24", id="6 of 24"),
        pytest.param(4, 0.91, "7 of 24", id="7 of 24"),
        pytest.param(5, 0.836, "50 of 120", id="50 of 120"),
    ],
)
def test_gates_that_a_good_part_of_all_rankings_passes(documents: int, threshold: float, passing: str) -> None:
    """The shares are those of published fixtures; the thresholds are chosen so that these fixtures have them."""
    rules = rules_of(GateSettings(thresholds={f"nDCG@{documents}": threshold}))
    findings = audit_suite(_fixture(documents), rules=rules).findings
    assert [passing in each.message for each in findings if each.code == "gate-passed-by-chance"] == [True]


def test_score_ranges_that_were_read_off_another_model() -> None:
    """Two names of one language are at 0.74 with one model and at 0.38 with the other."""
    judged = Judgment("go", score_range={"all-MiniLM-L6-v2": (0.7, 0.8)})
    suite = Suite.from_cases("names", [Case("one", "Golang", (judged,))])
    by_other = Provenance(agent=AgentIdentity("semantic", description={"embedder": {"model": "wordllama"}}))
    run = Run.from_answers("semantic", [Answer("one", "ok", (Hit("go", 1, 0.38),))], provenance=by_other)
    assert "ranges-of-another-model" in codes(audit_suite(suite, None, [run]).findings)


@pytest.mark.parametrize(
    ("status", "code"), [("empty", "all-answers-empty"), ("error", "too-many-failures"), ("not_run", "cases-not-run")]
)
def test_an_arm_that_never_ran(status: Status, code: str) -> None:
    """Its table was missing, so it was scored zero and certified as significantly worse."""
    suite = suite_of([2] * 30)
    arms = [run_of("vector", targets_of(suite)), Run.from_answers("fts5", [Answer(each, status) for each in suite.table.ids])]
    assert code in audited(suite, arms)


def test_each_model_judged_on_a_pool_of_its_own() -> None:
    """A gain of .096 was retracted: what the other model found had not been judged."""
    cases = [asked(row, DOCUMENTS[5 * row : 5 * row + 2]) for row in range(30)]
    pooled = {
        case.id: [*targets, *DOCUMENTS[5 * row + 2 : 5 * row + 5]] for row, (case, targets) in enumerate(_with_targets(cases))
    }
    judged = [_also_judged(case, pooled[case.id]) for case in cases]
    other = {case.id: [targets[0], *DOCUMENTS[160 + row % 8 : 190 : 8]] for row, (case, targets) in enumerate(_with_targets(cases))}
    runs = [run_of("upgraded", pooled), run_of("before", other)]
    assert "judged-unevenly" in audited(Suite.from_cases("pooled", judged), runs)


def _with_targets(cases: Sequence[Case]) -> list[tuple[Case, list[str]]]:
    return [(case, [each.target for each in case.judgments]) for case in cases]


def _also_judged(case: Case, pool: Sequence[str]) -> Case:
    known = {each.target for each in case.judgments}
    return replace(case, judgments=(*case.judgments, *(Judgment(each, grade=0) for each in pool if each not in known)))


def test_targets_that_are_gone_at_head() -> None:
    """Gold from old commits, searched at HEAD: a part of the paths does not exist any more."""
    suite = suite_of([2] * 30)
    moved = [replace(case, judgments=(Judgment(f"old/{case.judgments[0].target}"), case.judgments[1])) for case in suite.cases[:9]]
    assert "unreachable-targets" in audited(Suite.from_cases("head", [*moved, *suite.cases[9:]]))


def test_a_table_of_decisions_with_a_hole() -> None:
    """More than 10 % is adopted and less than 5 % is rejected: no rule says what 7 % means."""
    table = DecisionTable("after", "before", (DecisionRule("adopt", above=0.10), DecisionRule("reject", below=0.05)), "nDCG@10")
    assert "decision-hole" in codes(audit_suite(suite_of([2] * 30), options=CompareSettings(decisions=(table,))).findings)
