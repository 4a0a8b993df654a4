"""What runs are held against: a saved run or the metrics of fixtures, and the exit code where something is missing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from searchmark import (
    Answer,
    Evaluation,
    FormatError,
    Hit,
    Provenance,
    Run,
    load_baseline,
    load_baseline_metrics,
    load_suite,
    save_run,
)
from searchmark.cli.main import main
from searchmark.gates.rules import RuleResult
from searchmark.records.answers import Status
from searchmark.records.provenance import AgentIdentity, SuiteIdentity
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples" / "baselines"
FIXTURES = EXAMPLES / "fixtures.json"
CASES = 14
FIRST = ("doc1", "doc2", "doc3")
DECAY = ("loaf", "dough", "oven", "cake", "tyres")


def saved(
    path: Path,
    *,
    status: Status = "ok",
    cases: Iterable[int] = range(CASES),
    prefix: str = "q",
    depth: int | None = None,
    ids: tuple[str, ...] = ("a", "x", "y"),
) -> str:
    """A run that Searchmark made itself, on the suite of `suite`; ids are followed by the number of the case."""
    known = Provenance(suite=SuiteIdentity("suite"), options={} if depth is None else {"depth": depth})
    hits = {n: tuple(Hit(f"{each}{n}", rank) for rank, each in enumerate(ids, 1)) if status == "ok" else () for n in cases}
    save_run(Run.from_answers("agent", [Answer(f"{prefix}{n}", status, hits[n]) for n in hits], provenance=known), path)
    return str(path)


def _empty(path: Path) -> str:
    path.write_bytes(b"")
    return str(path)


@pytest.fixture
def suite(file) -> str:
    return str(file("suite.txt", "".join(f"q{n} 0 a{n} 1\n" for n in range(CASES))))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Runs and baselines, one of each kind."""
    whole = Path(saved(tmp_path / "whole.jsonl")).read_bytes()
    (tmp_path / "half-written.jsonl").write_bytes(whole[: len(whole) * 2 // 3])
    return {
        "whole": str(tmp_path / "whole.jsonl"),
        "half-written": str(tmp_path / "half-written.jsonl"),
        "no file": str(tmp_path / "nowhere.jsonl"),
        "other suite": saved(tmp_path / "other.jsonl", prefix="z"),
        "cut at 3": saved(tmp_path / "cut.jsonl", depth=3),
        "deeper": saved(tmp_path / "deeper.jsonl", ids=("a", "x", "y", "z")),
        "zero cases": saved(tmp_path / "none.jsonl", cases=()),
        "empty": _empty(tmp_path / "empty.trec"),
        "all errors": saved(tmp_path / "errors.jsonl", status="error"),
        "a shard": saved(tmp_path / "shard.jsonl", cases=range(5)),
    }


# The table of docs/baselines.md.
MISSING = [
    ("whole", "whole", 0),
    ("whole", "no file", 2),
    ("whole", "other suite", 2),
    ("deeper", "cut at 3", 2),
    ("whole", "zero cases", 2),
    ("whole", "all errors", 2),
    ("whole", "a shard", 2),
    ("whole", "half-written", 4),
    ("whole", "empty", 4),
    ("no file", "whole", 4),
    ("other suite", "whole", 5),
    ("cut at 3", "deeper", 2),
    ("zero cases", "whole", 5),
    ("all errors", "whole", 2),
    ("a shard", "whole", 2),
    ("half-written", "whole", 4),
    ("empty", "whole", 4),
]


@pytest.mark.parametrize("verb", [["gate"], ["evaluate", "--run"]])
@pytest.mark.parametrize(("run", "baseline", "code"), MISSING)
def test_what_is_missing_has_its_exit_code(
    suite: str, files: dict[str, str], verb: list[str], run: str, baseline: str, code: int
) -> None:
    assert main([*verb, files[run], "--gold-set", suite, "--against", files[baseline]]) == code


@pytest.mark.parametrize("verb", ["gate", "evaluate"])
def test_without_an_agent_or_a_run_there_is_nothing_to_check(suite: str, files: dict[str, str], verb: str) -> None:
    assert main([verb, "--gold-set", suite, "--against", files["whole"]]) == 4


def test_a_suite_without_cases_has_no_verdict(file, files: dict[str, str]) -> None:
    empty = str(file("empty.txt", ""))
    assert main(["gate", files["whole"], "--gold-set", empty, "--against", files["whole"]]) == 4


def test_a_baseline_of_another_suite_is_refused_before_anything_is_run(capsys) -> None:
    suite, corpus = (str(ROOT / "examples" / "quickstart" / name) for name in ("suite.yaml", "corpus.jsonl"))
    code = main(["evaluate", "--gold-set", suite, "--agent", "bm25", "--corpus", corpus, "--against", str(EXAMPLES / "today.json")])
    assert (code, "the baseline does not fit" in capsys.readouterr().err) == (2, True)


def test_a_run_that_got_worse_than_the_baseline_fails(suite: str, files: dict[str, str], tmp_path: Path, capsys) -> None:
    worse = saved(tmp_path / "worse.jsonl", ids=("x", "y", "a"))
    assert main(["gate", worse, "--gold-set", suite, "--against", files["whole"], "-m", "RR"]) == 1
    assert "gate failed: Expected RR against the baseline not to be worse, but it REGRESSED" in capsys.readouterr().out


def test_a_baseline_is_judged_with_the_judgments_of_today(file, files: dict[str, str], tmp_path: Path) -> None:
    """By the new judgments the baseline was wrong, and the run that differs from it is right."""
    today = str(file("today.txt", "".join(f"q{n} 0 x{n} 1\n" for n in range(CASES))))
    other = saved(tmp_path / "other-first.jsonl", ids=("x", "a"))
    assert main(["gate", other, "--gold-set", today, "--against", files["whole"], "-m", "RR"]) == 0
    assert main(["gate", files["whole"], "--gold-set", today, "--against", other, "-m", "RR"]) == 1


def test_a_baseline_that_the_config_names_is_used_and_missed(suite: str, files: dict[str, str], file) -> None:
    named = str(file("searchmark.yaml", "gates: {baseline: team.jsonl}\n"))
    assert main(["gate", files["whole"], "--gold-set", suite, "--config", named]) == 2
    saved(Path(named).parent / "team.jsonl")
    assert main(["gate", files["whole"], "--gold-set", suite, "--config", named]) == 0


@pytest.mark.parametrize("verb", [["gate"], ["evaluate", "--run"]])
@pytest.mark.parametrize("name", [".searchmark/base.jsonl", "link.jsonl"])
def test_a_baseline_below_the_folder_that_git_ignores_is_refused(
    suite: str, files: dict[str, str], tmp_path: Path, verb: list[str], name: str, capsys
) -> None:
    (tmp_path / ".searchmark").mkdir()
    saved(tmp_path / ".searchmark" / "base.jsonl")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / ".searchmark" / "base.jsonl")
    config = tmp_path / "searchmark.yaml"
    config.write_text(f"gates: {{baseline: {name}}}\n")
    assert main([*verb, files["whole"], "--gold-set", suite, "--config", str(config)]) == 4
    assert main([*verb, files["whole"], "--gold-set", suite, "--against", str(tmp_path / name)]) == 4
    assert capsys.readouterr().err.count("is below .searchmark, which Git ignores") == 2


def test_a_baseline_that_is_no_json_is_said_to_be_no_baseline(suite: str, files: dict[str, str], file, capsys) -> None:
    broken = str(file("baseline_metrics.json", '{"version": "1.0.0", "test_cases": [{"name": "a", "metrics": {"ndcg": NaN}}]}'))
    assert main(["gate", files["whole"], "--gold-set", suite, "--against", broken]) == 4
    assert "is not a valid baseline: not valid JSON: NaN" in capsys.readouterr().err


# Fixtures


def checked(baseline: dict[str, Any], tmp_path: Path, first: tuple[str, ...] = FIRST, **provenance: Any) -> list[RuleResult]:
    """The rules of a baseline, on a run with this answer to the first fixture and the expected one to the second."""
    path = tmp_path / "baseline_metrics.json"
    path.write_text(json.dumps(baseline))
    answers = {"HighSimilarityPair": first, "GradualRelevanceDecay": DECAY}
    given = [Answer(case, "ok", tuple(Hit(each, rank) for rank, each in enumerate(ids, 1))) for case, ids in answers.items()]
    run = Run.from_answers("agent", given, provenance=Provenance(**provenance))
    _, gate = Evaluation(load_suite(FIXTURES), baseline=load_baseline(path)).gate([run])
    assert gate is not None
    return list(gate.rules)


def one_case(name: str = "high_similarity_pair", *, k: int | None = None, metrics: dict[str, float], **more: Any) -> dict[str, Any]:
    return {"test_cases": [{"name": name, "metrics": metrics, **({} if k is None else {"k": k})}], **more}


def test_the_message_is_that_of_the_format(tmp_path: Path) -> None:
    """(2 + 1/log2(3) + 3/2) / (3 + 2/log2(3) + 1/2), by hand."""
    (rule,) = checked(one_case(k=3, metrics={"ndcg": 0.95}), tmp_path, ("doc2", "doc3", "doc1"))
    assert rule.actual == pytest.approx((2 + 1 / math.log2(3) + 1.5) / (3.5 + 2 / math.log2(3)))
    assert rule.message.split("\n")[:3] == [
        "REGRESSION DETECTED: high_similarity_pair NDCG below threshold",
        "Actual:   0.868",
        "Expected: >= 0.9025 (0.95 * 0.95)",
    ]
    assert (rule.verdict, rule.bound, rule.expected, rule.cases) == ("failed", "at_least", 0.9025, ("HighSimilarityPair",))


@pytest.mark.parametrize(
    ("metrics", "answer", "actual"),
    [
        ({"mrr": 1.0}, ("doc3", "doc1", "doc2"), 0.5),
        ({"precision_at_k": 0.667}, ("doc3", "doc1", "doc2"), 2 / 3),
        ({"ndcg": 1.0}, ("doc1", "doc2"), (3 + 2 / math.log2(3)) / (3.5 + 2 / math.log2(3))),
    ],
)
def test_every_ranked_document_counts_for_ndcg_and_relevant_ones_for_the_others(
    tmp_path: Path, metrics: dict[str, float], answer: tuple[str, ...], actual: float
) -> None:
    (rule,) = checked(one_case(metrics=metrics), tmp_path, answer)
    assert rule.actual == pytest.approx(actual)


@pytest.mark.parametrize(("k", "precision"), [(None, 2 / 3), (1, 1.0), (2, 1.0), (4, 0.5)])
def test_the_k_of_the_file_counts_or_else_the_number_of_ranked_documents(tmp_path: Path, k: int | None, precision: float) -> None:
    (rule,) = checked(one_case(k=k, metrics={"precision_at_k": 0.1}), tmp_path)
    assert (rule.actual, rule.subject) == (pytest.approx(precision), f"high_similarity_pair Precision@{k or 3}")


@pytest.mark.parametrize(
    ("more", "shares"),
    [
        ({}, (0.95, 0.95, 0.95)),
        ({"tolerance": 0.2}, (0.8, 0.8, 0.8)),
        ({"tolerance": 0.2, "regression_thresholds": {"threshold_multiplier": 0.9}}, (0.9, 0.9, 0.9)),
        (
            {
                "tolerance": 0.2,
                "regression_thresholds": {
                    "threshold_multiplier": 0.9,
                    "ndcg_threshold_multiplier": 0.7,
                    "precision_threshold_multiplier": 0.6,
                },
            },
            (0.7, 0.9, 0.6),
        ),
        ({"regression_thresholds": {"mrr_threshold_multiplier": 0.5, "note": "words"}}, (0.95, 0.5, 0.95)),
    ],
)
def test_the_multiplier_of_the_metric_comes_before_that_of_all_and_before_the_tolerance(
    tmp_path: Path, more: dict[str, Any], shares: tuple[float, ...]
) -> None:
    rules = checked(one_case(metrics={"ndcg": 1.0, "mrr": 1.0, "precision_at_k": 1.0}, **more), tmp_path)
    assert tuple(rule.expected for rule in rules) == pytest.approx(shares)


def test_averages_are_rules_over_all_cases_each_cut_at_its_own_k(tmp_path: Path) -> None:
    targets = {"min_avg_ndcg": 0.9, "min_avg_mrr": 0.95, "min_avg_precision": 0.65}
    rules = checked({"aggregate_targets": targets}, tmp_path)
    assert [rule.actual for rule in rules] == pytest.approx([1.0, 1.0, (2 / 3 + 3 / 5) / 2])
    assert [rule.verdict for rule in rules] == ["passed", "passed", "failed"]


@pytest.mark.parametrize(
    ("baseline", "reason"),
    [
        (one_case("no_such_fixture", metrics={"ndcg": 0.1}), "the suite has no fixture 'no_such_fixture'"),
        (one_case(metrics={"recall": 0.1}), "'recall' is not a metric of fixtures that is known"),
        ({"aggregate_targets": {"min_avg_recall": 0.1}}, "'min_avg_recall' is not a metric of fixtures that is known"),
    ],
)
def test_what_the_suite_does_not_have_is_untrusted(tmp_path: Path, baseline: dict[str, Any], reason: str) -> None:
    (rule,) = checked(baseline, tmp_path)
    assert (rule.verdict, rule.actual) == ("untrusted", None)
    assert reason in rule.message


def test_answers_that_end_before_the_k_of_a_fixture_are_untrusted(tmp_path: Path) -> None:
    (rule,) = checked(one_case(k=3, metrics={"precision_at_k": 0.1}), tmp_path, ("doc1", "doc2"), options={"depth": 2})
    assert "its k is 3, and the answers end after 2 hits" in rule.message


@pytest.mark.parametrize(
    ("metrics", "more", "note"),
    [
        ({"mrr": 1.0}, {"tolerance": 1.0}, "every ranking meets this bound: no MRR is lower than 0"),
        ({"ndcg": 1.0}, {"regression_thresholds": {"threshold_multiplier": 0}}, "every ranking meets this bound: no NDCG@k is"),
        ({"precision_at_k": 0.667}, {}, "a random ranking gets 0.6667 on average and meets this bound, so it says nothing"),
    ],
)
def test_what_every_or_a_random_ranking_meets_is_said_with_the_rule_of_a_fixture(
    tmp_path: Path, metrics: dict[str, float], more: dict[str, Any], note: str
) -> None:
    (rule,) = checked(one_case(metrics=metrics, **more), tmp_path)
    assert [each.message.startswith(note) for each in rule.findings] == [True]


def test_a_run_with_another_model_is_told(tmp_path: Path) -> None:
    agent = AgentIdentity("semantic", description={"embedder": {"model": "hashing"}})
    (rule,) = checked(one_case(metrics={"mrr": 1.0}, model="BAAI/bge-small"), tmp_path, agent=agent)
    told = "the baseline was made with the model BAAI/bge-small, and this run with hashing"
    assert [(each.code, each.message) for each in rule.findings] == [("baseline-of-another-model", told)]
    named = replace(agent, description={"embedder": {"model": "bge-small"}})
    assert checked(one_case(metrics={"mrr": 1.0}, model="BAAI/bge-small"), tmp_path, agent=named)[0].findings == ()


class TestWithoutRelevant:
    """A fixture that does not say what is relevant takes it from the baseline."""

    @pytest.fixture
    def fixtures(self, tmp_path: Path, monkeypatch) -> None:
        content = json.loads(FIXTURES.read_text())
        del content["fixtures"][0]["relevant"]
        (tmp_path / "fixtures.json").write_text(json.dumps(content))
        monkeypatch.setattr("tests.gates.test_baselines.FIXTURES", tmp_path / "fixtures.json")

    @pytest.mark.usefixtures("fixtures")
    def test_the_relevant_docs_of_the_baseline_decide(self, tmp_path: Path) -> None:
        baseline = one_case(metrics={"precision_at_k": 0.1})
        baseline["test_cases"][0]["relevant_docs"] = ["doc1"]
        assert checked(baseline, tmp_path)[0].actual == pytest.approx(1 / 3)

    @pytest.mark.usefixtures("fixtures")
    def test_without_them_nothing_is_known(self, tmp_path: Path) -> None:
        ndcg, mrr = checked(one_case(metrics={"ndcg": 0.9, "mrr": 0.1}), tmp_path)
        assert (ndcg.verdict, mrr.verdict) == ("passed", "untrusted")
        assert "not which of them are relevant" in mrr.message


def test_two_opinions_on_what_is_relevant_are_untrusted(tmp_path: Path) -> None:
    baseline = one_case(metrics={"mrr": 0.1})
    baseline["test_cases"][0]["relevant_docs"] = ["doc1"]
    (rule,) = checked(baseline, tmp_path)
    assert rule.verdict == "untrusted"
    assert "to the baseline doc1 is relevant, to the suite doc1, doc2" in rule.message


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({"test_cases": []}, "holds no fixtures"),
        ({"test_cases": [{"name": "a", "metrics": {}}]}, "test_cases.0.metrics: is empty"),
        ({"test_cases": [{"name": "a", "k": 0, "metrics": {"mrr": 1}}]}, "test_cases.0.k: 0 is not a number of documents"),
        ({"test_cases": [{"name": "a", "metrics": {"mrr": 95}}]}, "95 is not a number from 0 to 1"),
        ({"test_cases": [{"name": each, "metrics": {"mrr": 1}} for each in ("AB", "a_b", "aB")]}, "'aB' is a duplicate"),
        (one_case(metrics={"mrr": 1}, regression_thresholds={"ndgc_threshold_multiplier": 1}), "is about no metric that is known"),
    ],
)
def test_a_baseline_that_could_check_nothing_is_refused(file, content: dict[str, Any], complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_baseline_metrics(file("baseline_metrics.json", json.dumps(content)))
    assert complaint in str(caught.value)


def test_the_listing_of_an_update_is_read(file) -> None:
    """It has no k, and facts about itself."""
    listing = one_case(metrics={"ndcg": 0.93, "mrr": 1.0}, version="1.1.0", created_at="2026-01-20", notes="for bge-base")
    read = load_baseline_metrics(file("baseline_metrics.json", json.dumps({**listing, "description": "five fixtures"})))
    assert (read.cases[0].k, read.created_at, read.notes, read.description) == (None, "2026-01-20", "for bge-base", "five fixtures")


def test_words_among_the_targets_are_not_numbers(tmp_path: Path) -> None:
    (rule,) = checked({"aggregate_targets": {"description": "means of all fixtures", "min_avg_precision": 0.6}}, tmp_path)
    assert rule.subject == checked({"aggregate_targets": {"min_avg_precision": 0.6}}, tmp_path)[0].subject


@pytest.mark.parametrize(("run", "code"), [("today", 1), ("worse", 1)])
def test_the_preset_has_the_aggregate_targets(run: str, code: int, capsys) -> None:
    """The best precision of these two fixtures is 0.633, below the target of 0.65."""
    assert main(["gate", str(EXAMPLES / f"{run}.json"), "--gold-set", str(FIXTURES), "--gate", "semantic-fixtures"]) == code
    shown = " ".join(capsys.readouterr().out.split())
    assert "Expected Precision@k (k of each case) >= 0.65, but got 0.6333" in shown
    assert "the highest possible Precision@k on these cases is 0.6333: no ranking can meet this bound" in shown


def test_an_average_that_a_random_ranking_meets_is_told(tmp_path: Path) -> None:
    (rule,) = checked({"aggregate_targets": {"min_avg_precision": 0.6}}, tmp_path)
    told = "a random ranking gets 0.6333 on average and meets this bound, so it says nothing about quality"
    assert [(each.code, each.message) for each in rule.findings] == [("threshold-below-random", told)]
