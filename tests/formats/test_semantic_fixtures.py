"""The suite semantic-fixtures keeps what its page promises, and its gate sees a model that lost its meaning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from searchmark import Corpus, Suite, load_suite
from searchmark.agents.vectors.semantic import SemanticAgent
from searchmark.cli.main import main
from tests.conftest import ROOT

FOLDER = ROOT / "src/searchmark/builtin_suites/semantic-fixtures"
CONFIG = str(FOLDER / "searchmark.yaml")
PAGE = ROOT / "docs/suites/semantic-fixtures.md"
WORDLLAMA, MINILM, HASHING = "wordllama/l2_supercat_256", "all-MiniLM-L6-v2", "hashing"
BASELINES = {"baseline.json": WORDLLAMA, "baseline-minilm.json": f"minilm/{MINILM}", "baseline-hashing.json": HASHING}
NAMED = ["high_similarity_pair", "low_similarity_pair", "synonym_handling", "multi_topic_documents", "gradual_relevance_decay"]
OTHERS = {"negation", "typo", "language", "code", "length", "near-duplicate", "no-answer"}


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite(FOLDER / "semantic-fixtures.json")


@pytest.fixture(scope="module")
def scores(suite: Suite) -> dict[str, dict[str, dict[str, float]]]:
    """What the two models that every installation has answer now: {model: {case: {document: score}}}."""
    return {embedder: answered(suite, embedder) for embedder in ("wordllama", "hashing")}


def answered(suite: Suite, embedder: str) -> dict[str, dict[str, float]]:
    agent = SemanticAgent(SemanticAgent.Config(embedder={"name": embedder, "cache": False}, paths=False))
    answers = {}
    for case in suite.cases:
        agent.initialize(Corpus.of(case.id, case.documents))
        found = agent.retrieve(str(case.query), 10)
        answers[case.id] = dict(zip(found.files, found.scores, strict=True))
    agent.close()
    return answers


def baseline(name: str) -> Any:
    return json.loads((FOLDER / name).read_text())


def test_the_five_named_fixtures_come_first(suite: Suite) -> None:
    assert [case.id for case in suite.cases if case.category == "named"] == NAMED == [case.id for case in suite.cases][:5]


def test_every_other_kind_is_there(suite: Suite) -> None:
    assert {case.category for case in suite.cases} - {"named"} >= OTHERS
    assert len(suite) == 16


def test_k_is_below_the_number_of_documents(suite: Suite) -> None:
    assert all(1 <= int(case.fields["k"]) < len(case.documents) == 9 for case in suite.cases)


def test_every_fixture_says_what_it_is_about_and_no_text_is_there_twice(suite: Suite) -> None:
    assert all(str(case.fields["description"]).endswith(".") for case in suite.cases)
    texts = [document.text for case in suite.cases for document in case.documents]
    assert len(set(texts)) == len(texts)


def test_every_score_has_a_range_for_each_model(suite: Suite) -> None:
    for case in suite.cases:
        for judgment in case.judgments:
            assert isinstance(judgment.score_range, Mapping)
            assert set(judgment.score_range) == {WORDLLAMA, MINILM, HASHING}
            assert all(0.03 < high - low < 0.07 for low, high in judgment.score_range.values())


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_says_what_it_was_measured_with(suite: Suite, name: str) -> None:
    measured = baseline(name)
    assert measured["model"] == BASELINES[name]
    assert measured["notes"].startswith("measured with ")
    ks = {case.id: int(case.fields["k"]) for case in suite.cases}
    assert all(ks[each["name"]] == each["k"] for each in measured["test_cases"])


@pytest.mark.parametrize(("embedder", "model"), [("wordllama", WORDLLAMA), ("hashing", HASHING)])
def test_scores_lie_where_they_were_measured(suite: Suite, scores, embedder: str, model: str) -> None:
    for case in suite.cases:
        for judgment in case.judgments:
            assert isinstance(judgment.score_range, Mapping)
            low, high = judgment.score_range[model]
            assert low <= scores[embedder][case.id][judgment.target] <= high, (case.id, judgment.target)


def bounds_of(tmp_path: Path) -> str:
    """The gate without the rule on scores, which a list of ids does not have."""
    text = Path(CONFIG).read_text()
    for name in ("semantic-fixtures.json", "baseline.json"):
        text = text.replace(f" {name}", f" {FOLDER / name}", 1)
    kept = [line for line in text.splitlines() if not line.strip().startswith("InRange:")]
    (tmp_path / "gate.yaml").write_text("\n".join(kept))
    return str(tmp_path / "gate.yaml")


def saved(answers: dict[str, dict[str, float]], folder: Path) -> str:
    (folder / "run.json").write_text(json.dumps({case: list(ranked) for case, ranked in answers.items()}))
    return str(folder / "run.json")


def test_wordllama_keeps_its_baseline(scores, tmp_path: Path, capsys) -> None:
    assert main(["gate", saved(scores["wordllama"], tmp_path), "--config", bounds_of(tmp_path)]) == 0
    assert "gate passed: all 46 rules are met" in capsys.readouterr().out


def test_a_model_without_meaning_fails_the_gate(scores, tmp_path: Path, capsys) -> None:
    assert main(["gate", saved(scores["hashing"], tmp_path), "--config", bounds_of(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert "gate failed: 30 rules not met" in told
    shown = PAGE.read_text().split("misses 30 of the 47 rules:\n\n```text\n")[1].split("```")[0]
    assert shown in told


def test_the_table_of_the_page_is_what_the_baselines_hold(suite: Suite) -> None:
    columns = [{each["name"]: each["metrics"] for each in baseline(name)["test_cases"]} for name in list(BASELINES)[:2]]
    page = PAGE.read_text()
    for case in suite.cases:
        values = [column.get(case.id, {}).get(metric) for column in columns for metric in ("ndcg", "mrr", "precision_at_k")]
        row = " | ".join("–" if value is None else f"{value:.3f}" for value in values)
        assert f"| `{case.id}` | {case.category} | {case.fields['k']} | {row} |" in page


def test_nothing_looks_like_an_answer_where_there_is_none(suite: Suite) -> None:
    case = next(case for case in suite.cases if case.id == "no_answer")
    for model, highest in ((WORDLLAMA, 0.34), (MINILM, 0.22)):
        assert max(judgment.score_range[model][1] for judgment in case.judgments) == highest  # type: ignore[index]


@pytest.mark.slow
def test_the_audit_finds_no_error(capsys) -> None:
    assert main(["audit", "--config", CONFIG, "--strict"]) == 0
    assert "error " not in capsys.readouterr().out


@pytest.mark.slow
def test_the_gate_passes_and_its_self_test_is_the_one_on_the_page(tmp_path: Path, capsys) -> None:
    run = str(tmp_path / "run.jsonl")
    command = ["evaluate", "--agent", "wordllama", "--by", "category", "--save-run", run]
    assert main([*command, "--config", CONFIG, "--no-archive"]) == 0
    capsys.readouterr()
    assert main(["gate", "--self-test", run, "--config", CONFIG]) == 0
    printed = capsys.readouterr().out.splitlines()
    block = PAGE.read_text().split("`gate --self-test`")[1].split("```text\n")[1].split("```")[0]
    assert [line for line in block.splitlines() if line not in printed] == []
