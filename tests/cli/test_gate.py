"""Gates as a script sees them: exit codes, messages, files."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from searchmark.cli.main import main
from tests.conftest import ROOT

CONFIG = """
gates:
  rules:
    - {measure: RR, against: baseline}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twenty cases with a good run, a bad one, and a corpus."""
    monkeypatch.chdir(tmp_path)
    cases = [{"id": f"c{n}", "query": f"word{n}", "judgments": [{"target": f"d{n}"}]} for n in range(20)]
    (tmp_path / "suite.json").write_text(json.dumps({"schema_version": 1, "name": "s", "cases": cases}))
    (tmp_path / "good.json").write_text(json.dumps({f"c{n}": [f"d{n}"] for n in range(20)}))
    (tmp_path / "bad.json").write_text(json.dumps({f"c{n}": [f"d{n}" if n < 8 else "x"] for n in range(20)}))
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps({"id": f"d{n}", "text": f"word{n}"}) + "\n" for n in range(20)))
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path


def gate(*arguments: str) -> int:
    return main(["gate", *arguments, "--gold-set", "suite.json"])


def test_a_run_that_got_worse_fails_with_its_losses_and_what_to_run_next(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate("bad.json", "--config", "config.yaml", "--against", "good.json") == 1
    said = capsys.readouterr()
    assert "gate failed: Expected RR against the baseline not to be worse, but it REGRESSED: -0.6000" in said.out
    assert "c8 'word8': expected d8; got x" in said.out
    assert (
        said.err
        == "next: searchmark compare --gold-set suite.json --config config.yaml --run good.json --run bad.json -o report.md shows every case\n"
    )


def test_the_baseline_is_beside_the_config_unless_it_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate("good.json", "--config", str(here / "config.yaml"), "-o", "-") == 2
    (rule,) = json.loads(capsys.readouterr().out)["gate"]["rules"]
    assert f"there is no file {here / 'searchmark-baseline.jsonl'}; name it with --against FILE" in rule["message"]
    (here / "sub").mkdir()
    (here / "sub" / "config.yaml").write_text(CONFIG + "  baseline: ../good.json\n")
    assert gate("good.json", "--config", "sub/config.yaml") == 0


def test_whoever_names_a_baseline_wants_to_be_no_worse(here: Path) -> None:
    assert gate("bad.json", "--against", "good.json") == 1
    assert gate("good.json", "--against", "bad.json") == 0


def test_without_rules_there_is_nothing_to_pass(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate("good.json") == 4
    assert "there is no rule to check" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("run", "code"),
    [("good.json", 0), ("bad.json", 1), ("missing.json", 125), ("suite.json", 125)],
    ids=["good", "bad", "missing", "no run"],
)
def test_a_bisection_hears_good_bad_and_neither(here: Path, run: str, code: int) -> None:
    assert gate(run, "--fail-under", "RR=0.9", "--bisect") == code


def test_an_untrusted_gate_is_neither_good_nor_bad_to_a_bisection(here: Path) -> None:
    assert gate("good.json", "--config", "config.yaml", "--bisect") == 125


def test_thresholds_work_in_a_comparison(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare = ["compare", "--gold-set", "suite.json", "--run", "good.json", "--run", "bad.json", "-m", "RR"]
    assert main([*compare, "--fail-under", "RR=0.9"]) == 1
    assert "gate failed: Expected bad: RR >= 0.9, but got 0.4" in capsys.readouterr().out
    assert main([*compare, "--fail-under", "RR=0.3"]) == 0
    assert main([*compare, "--config", "config.yaml"]) == 1  # REGRESSED, and a gate asks for it
    assert main(compare) == 0


class TestNamedBaselineInComparison:
    """A comparison holds every run against a baseline that the config names, as evaluate and gate do."""

    RUNS = ["compare", "--gold-set", "suite.json", "--config", "named.yaml", "-m", "RR", "--run"]

    @pytest.fixture(autouse=True)
    def named(self, here: Path) -> None:
        (here / "named.yaml").write_text("gates: {baseline: base.json}\n")
        (here / "base.json").write_text((here / "good.json").read_text())

    @pytest.mark.parametrize("runs", [["bad.json", "--run", "good.json"], ["good.json", "--run", "bad.json", "--baseline", "bad"]])
    def test_a_run_that_is_worse_than_it_fails_whatever_its_position(self, runs: list[str], capsys) -> None:
        assert main([*self.RUNS, *runs]) == 1
        assert "gate failed: Expected bad: RR against the baseline not to be worse, but it REGRESSED" in capsys.readouterr().out

    def test_it_is_in_no_table(self, capsys) -> None:
        assert main([*self.RUNS, "good.json", "--run", "bad.json", "-o", "-"]) == 1
        assert {"good", "bad"} == set(json.loads(capsys.readouterr().out)["agents"])

    def test_runs_that_are_as_good_pass(self, here: Path) -> None:
        (here / "same.json").write_text((here / "good.json").read_text())
        assert main([*self.RUNS, "good.json", "--run", "same.json"]) == 0

    def test_rules_that_compare_mean_it_and_no_run(self, here: Path, capsys) -> None:
        (here / "named.yaml").write_text(CONFIG + "  baseline: base.json\n")
        (here / "same.json").write_text((here / "bad.json").read_text())
        assert main([*self.RUNS, "bad.json", "--run", "same.json"]) == 1

    @pytest.mark.parametrize(("content", "code"), [(None, 2), (json.dumps({"z": ["d"]}), 2), ("{broken", 4)])
    def test_one_that_is_missing_or_does_not_fit_is_no_pass(self, here: Path, content: str | None, code: int) -> None:
        (here / "base.json").unlink() if content is None else (here / "base.json").write_text(content)
        assert main([*self.RUNS, "good.json", "--run", "bad.json"]) == code

    def test_looks_are_counted_beside_it(self, here: Path) -> None:
        (here / "named.yaml").write_text(CONFIG.replace("}", ", policy: sequential}") + "  baseline: base.json\n")
        main([*self.RUNS, "good.json", "--run", "bad.json"])
        looks = [json.loads(line)["number"] for line in (here / "base.looks.jsonl").read_text().splitlines()]
        assert looks == [1, 2]

    def test_rules_of_fixtures_are_checked(self, here: Path, capsys) -> None:
        examples = ROOT / "examples" / "baselines"
        (here / "named.yaml").write_text(f"gates: {{baseline: '{examples / 'baseline_metrics.json'}'}}\n")
        compare = ["compare", "--gold-set", str(examples / "fixtures.json"), "--config", "named.yaml"]
        assert main([*compare, "--run", str(examples / "worse.json"), "--run", str(examples / "today.json")]) == 1
        assert "REGRESSION DETECTED: high_similarity_pair NDCG below threshold" in capsys.readouterr().out


def test_the_next_command_reads_the_files_in_the_same_way(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "suite.qrels").write_text("".join(f"c{n} 0 d{n} 1\n" for n in range(20)))
    (here / "my topics.tsv").write_text("".join(f"c{n}\tword{n}\n" for n in range(20)))
    more = ["--format", "qrels", "--topics", "my topics.tsv", "--corpus", "corpus.jsonl", "--no-config"]
    assert main(["gate", "bad.json", "--gold-set", "suite.qrels", *more, "--fail-under", "RR=0.9", "--run-format", "json"]) == 1
    step = capsys.readouterr().err.removeprefix("next: searchmark ").removesuffix(" shows every case\n")
    assert "'my topics.tsv'" in step
    assert main(shlex.split(step)) == 0
    assert "c8" in Path("report.md").read_text()


@pytest.mark.slow
def test_what_a_gate_could_see_is_said_before_the_agent_is_asked(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate = ["evaluate", "--gold-set", "suite.json", "--agent", "bm25", "--corpus", "corpus.jsonl", "--num-runs", "1"]
    assert main([*evaluate, "--config", "config.yaml", "--against", "good.json"]) == 0
    assert "gate: RR against the baseline: 20 independent cases can lose something; a loss of " in capsys.readouterr().err


def test_a_gate_that_could_never_fail_stops_before_the_agent_is_asked(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "poor.json").write_text(json.dumps({f"c{n}": [f"d{n}" if n < 3 else "x"] for n in range(20)}))
    evaluate = ["evaluate", "--gold-set", "suite.json", "--agent", "bm25", "--corpus", "corpus.jsonl"]
    assert main([*evaluate, "--config", "config.yaml", "--against", "poor.json"]) == 2
    said = capsys.readouterr()
    assert "gate unresolvable: RR against the baseline: only 3 independent cases can lose something" in said.err
    assert said.out == ""


def test_looks_of_a_sequential_rule_are_counted_beside_the_baseline(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "config.yaml").write_text(CONFIG.replace("}", ", policy: sequential}") + "  baseline: good.json\n")
    assert gate("good.json", "--config", "config.yaml") == 0
    assert gate("bad.json", "--config", "config.yaml") == 1
    assert gate("good.json", "--config", "config.yaml") == 0
    assert "look 2 at level" in capsys.readouterr().out
    looks = [json.loads(line) for line in (here / "good.looks.jsonl").read_text().splitlines()]
    assert [look["number"] for look in looks] == [1, 2]


def test_a_self_test_is_written_as_json(here: Path) -> None:
    assert gate("--self-test", "good.json", "--fail-under", "RR=0.9", "-o", "seen.json") == 0
    seen = json.loads(Path("seen.json").read_text())
    assert seen["verdict"] == "passed"
    assert {each["mutation"] for each in seen["caught"]} >= {"relevant hits dropped", "agent dead"}
    assert gate("--self-test", "good.json", "--fail-under", "RR=0.9", "-o", "seen.md") == 4


def test_a_self_test_ends_as_the_gate_does_where_the_baseline_is_not_there_or_does_not_fit(here: Path) -> None:
    (here / "other.json").write_text(json.dumps({"z": ["d1"]}))
    for baseline in ("nothing.json", "other.json"):
        assert gate("good.json", "--against", baseline) == 2
        assert gate("--self-test", "good.json", "--against", baseline) == 2


def test_a_self_test_of_a_run_that_fails_shows_no_sizes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate("--self-test", "bad.json", "--fail-under", "RR=0.9") == 2
    assert "caught" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ("gates: {rules: [{measure: RR}]}", "a rule of a gate needs a bound"),
        ("gates: {rules: [{measure: RR, at_least: high}]}", "gates.rules.0.at_least"),
        ("gates: {thresholds: {nDGC: 0.5}}", "there is no measure 'nDGC'; did you mean nDCG"),
        ("gates: {preset: none}", "there is no preset 'none' of gates"),
        ("gates: {pins: [{case: c1}]}", "the pin on case 'c1' asks for nothing"),
        ("gates: {colour: red}", "gates.colour"),
    ],
)
def test_a_config_that_makes_no_sense_is_one_sentence(
    here: Path, config: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "config.yaml").write_text(config)
    assert gate("good.json", "--config", "config.yaml") == 4
    said = capsys.readouterr().err
    assert reason in said
    assert said.count("\n") == 1
