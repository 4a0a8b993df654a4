"""The gate of an audit on suites with cases of every kind, with every gate that comes with Searchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark import (
    Case,
    Corpus,
    Document,
    GateRule,
    GateSettings,
    Judgment,
    KnownFailure,
    Pin,
    Suite,
    audit_suite,
    load_baseline,
    rules_of,
)
from searchmark.audit.check import Audit, AuditTable, Subject
from searchmark.audit.gate_chance import gate_chances
from searchmark.cli.main import main
from searchmark.gates.section import PRESETS
from searchmark.reports.audit import audit_text
from tests.conftest import ROOT

QUICKSTART = ROOT / "examples" / "quickstart"
FIXTURES = ROOT / "examples" / "baselines" / "fixtures.json"
METRICS = ROOT / "examples" / "baselines" / "baseline_metrics.json"
DOCUMENTS = [Document(f"docs/{each}.md", each) for each in "abcdefgh"]
CORPUS = Corpus.of("documents", DOCUMENTS)
FOUND = Case("found", "q", (Judgment("docs/a.md"),))
ORDER = tuple(Judgment(f"docs/{each}.md", rank=rank) for rank, each in enumerate("abc", 1))
KINDS = {
    "unanswerable": Case("odd", "q", unanswerable=True),
    "not judged": Case("odd", "q"),
    "mistyped": Case("odd", "q", (Judgment("docs/zz.md"),)),
    "glob without match": Case("odd", "q", (Judgment("nowhere/*.md"),)),
    "glob": Case("odd", "q", (Judgment("docs/*.md"),)),
    "order only": Case("odd", "q", ORDER, order_only=True),
    "fixture": Case("odd", "q", ORDER, documents=tuple(DOCUMENTS[:3])),
    "fixture without target": Case("odd", "q", (Judgment("elsewhere"),), documents=tuple(DOCUMENTS[:3])),
}
EVERY_RULE = GateSettings(
    thresholds={"nDCG@10": 0.5, "P@1": 0.9},
    rules=(GateRule(measure="RR", against="baseline"), GateRule(own_k="mrr", at_least=0.5)),
    each_case={"RR@5": 0.5},
    pins=(Pin("odd", must_contain="docs/a.md", k=3), Pin("odd", before=("docs/a.md", "docs/b.md"))),
    known_failures=(KnownFailure("odd"),),
)
GATES = {**{name: GateSettings(preset=name) for name in PRESETS}, "every rule": EVERY_RULE}


@pytest.mark.slow
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_gate_is_audited_with_every_kind_of_case(kind: str, gate: str) -> None:
    for cases in ([FOUND, KINDS[kind]], [KINDS[kind]]):
        found = audit_suite(Suite.from_cases("any", cases), CORPUS, rules=rules_of(GATES[gate]))
        assert "gate" in {each.name for each in found.tables}


def test_a_case_that_no_document_meets_has_one_ranking_and_changes_no_share() -> None:
    rules = rules_of(GateSettings(thresholds={"P@1": 1.0}))
    suite = Suite.from_cases("any", [FOUND, KINDS["unanswerable"]])
    found = gate_chances(Subject(suite, CORPUS.survey, rules=rules)).all
    assert found is not None
    assert found.share == pytest.approx(1 / 8)  # 'found' alone has a value: its target is first in one of eight rankings


@pytest.mark.slow
@pytest.mark.parametrize("config", sorted((ROOT / "examples").glob("*/searchmark.yaml")), ids=lambda path: path.parent.name)
def test_the_configs_of_the_examples_are_audited(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(QUICKSTART / "suite.yaml"), "--corpus", str(QUICKSTART / "corpus.jsonl"), "--config", str(config)]
    assert main(["audit", *files]) == 0
    assert capsys.readouterr().err == ""


def test_fixtures_and_their_baseline_are_audited(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(FIXTURES), "--against", str(METRICS)]) == 0
    assert "What the rules of the gate let pass" in capsys.readouterr().out
    assert load_baseline(METRICS).rules


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((str(QUICKSTART / "suite.yaml"),), "there is none; add --fail-under"),
        (("--claims", "table.csv"), "name the suite"),
    ],
)
def test_a_wanted_loss_without_any_rule_is_refused(
    given: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", *given, "--sees", "0.02", "--no-config"]) == 4
    assert message in capsys.readouterr().err


def test_numbers_that_are_small_and_not_0_do_not_read_0() -> None:
    numbers = AuditTable("t", "t", ("p",), ((2.0**-60,), (0.0,), (0.5,)))
    shown = audit_text(Audit("s", 1, (), tables=(numbers,)))
    assert [line.strip() for line in shown.rstrip().splitlines()[-3:]] == ["< 0.0001", "0.0000", "0.5000"]
