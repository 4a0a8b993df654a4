"""``searchmark baseline``: the difference first, then a whole file with who, when and why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from searchmark import Answer, FormatError, Hit, Provenance, Run, load_run, save_run
from searchmark.cli.main import main
from searchmark.records.answers import Status
from searchmark.records.provenance import AgentIdentity, SuiteIdentity
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples" / "baselines"
FIXTURES = str(EXAMPLES / "fixtures.json")
METRICS = (EXAMPLES / "baseline_metrics.json").read_text()
ANN = ["--author", "Ann <ann@example.org>"]


@pytest.fixture
def suite(file) -> str:
    return str(file("suite.txt", "q1 0 a 1\nq2 0 b 1\n"))


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., str]:
    def save(name: str, status: Status = "ok", model: str | None = None, **answers: str) -> str:
        agent = None if model is None else AgentIdentity("semantic", description={"embedder": {"model": model}})
        given = [Answer(case, status, tuple(Hit(each, rank) for rank, each in enumerate(ids, 1))) for case, ids in answers.items()]
        known = Provenance(suite=SuiteIdentity("suite"), agent=agent)
        save_run(Run.from_answers("agent", given, provenance=known), tmp_path / name)
        return str(tmp_path / name)

    return save


def update(run: str, suite: str, file: Path | str, *more: str) -> int:
    return main(["baseline", "update", run, "--gold-set", suite, "--against", str(file), "--yes", *more])


class TestSavedRuns:
    def test_versions_count_up_and_the_difference_is_shown_first(self, suite: str, saved, tmp_path: Path, capsys) -> None:
        kept = tmp_path / "baseline.jsonl"
        assert update(saved("one.jsonl", q1="xa", q2="b"), suite, kept, *ANN, "-m", "RR", "--reason", "first") == 0
        assert f"{kept}: version 1, model agent\n  RR  – -> 0.7500\n" == capsys.readouterr().out
        assert update(saved("two.jsonl", model="bge", q1="a", q2="b"), suite, kept, *ANN, "-m", "RR", "--reason", "better") == 0
        shown = f"{kept}: version 2, model bge\n  RR  0.7500 -> 1.0000 (+0.2500)\ncases that changed: 1\n  q1: RR 0.5000 -> 1.0000 (+0.5000)\n"
        assert capsys.readouterr().out == shown
        record = load_run(kept).provenance.baseline
        assert record is not None
        assert (record.version, record.author, record.reason, record.model) == (2, "Ann <ann@example.org>", "better", "bge")

    def test_fields_with_other_names_are_named_by_map(self, file, tmp_path: Path) -> None:
        questions = file("q.csv", "frage,datei\nwhere,a.md\n")
        answers = file("run.csv", "frage,treffer,rank\nwhere,a.md,1\n")
        names = [f"--map={each}" for each in ("suite.query=frage", "suite.target=datei", "run.query=frage", "run.id=treffer")]
        assert update(str(answers), str(questions), tmp_path / "new.jsonl", *names) == 0

    def test_it_is_written_where_the_config_says(self, suite: str, saved, file) -> None:
        config = file("searchmark.yaml", "gates: {baseline: kept/baseline.jsonl}\n")
        run = saved("one.jsonl", q1="a", q2="b")
        assert main(["baseline", "update", run, "--gold-set", suite, "--config", str(config), "--yes", *ANN]) == 0
        assert load_run(config.parent / "kept" / "baseline.jsonl").provenance.baseline is not None

    def test_beside_the_config_by_default(self, suite: str, saved, file) -> None:
        config = file("searchmark.yaml", "gates: {thresholds: {RR: 0.5}}\n")
        main(
            ["baseline", "update", saved("one.jsonl", q1="a", q2="b"), "--gold-set", suite, "--config", str(config), "--yes", *ANN]
        )
        assert (config.parent / "searchmark-baseline.jsonl").exists()

    def test_the_same_run_again_changes_nothing(self, suite: str, saved, tmp_path: Path, capsys) -> None:
        run, kept = saved("one.jsonl", q1="a", q2="b"), tmp_path / "baseline.jsonl"
        update(run, suite, kept, *ANN)
        before = kept.read_bytes()
        assert update(run, suite, kept, *ANN) == 0
        assert "is this run already; nothing is written" in capsys.readouterr().out
        assert kept.read_bytes() == before

    def test_the_updated_baseline_is_one_for_the_gate(self, suite: str, saved, tmp_path: Path) -> None:
        run, kept = saved("one.jsonl", q1="a", q2="b"), tmp_path / "baseline.jsonl"
        update(run, suite, kept, *ANN)
        assert main(["gate", run, "--gold-set", suite, "--against", str(kept)]) == 2  # two cases show nothing

    @pytest.mark.parametrize("status", ["error", "timeout", "not_run"])
    def test_untrusted_runs_are_refused(self, suite: str, saved, tmp_path: Path, status: Status, capsys) -> None:
        assert update(saved("bad.jsonl", status, q1="", q2=""), suite, tmp_path / "baseline.jsonl", *ANN) == 2
        assert "this run cannot be the baseline, since it is untrusted" in capsys.readouterr().err
        assert not (tmp_path / "baseline.jsonl").exists()

    def test_a_shard_is_refused_and_all_shards_are_one_run(self, suite: str, saved, tmp_path: Path) -> None:
        one, two, kept = saved("1.jsonl", q1="a"), saved("2.jsonl", q2="b"), tmp_path / "baseline.jsonl"
        assert update(one, suite, kept, *ANN) == 2
        assert main(["baseline", "update", one, two, "--gold-set", suite, "--against", str(kept), "--yes", *ANN]) == 0
        assert len(load_run(kept)) == 2

    def test_a_run_of_another_suite_is_refused(self, suite: str, file, tmp_path: Path) -> None:
        other = str(file("other.json", '{"z1": ["a"]}'))
        assert update(other, suite, tmp_path / "baseline.jsonl", *ANN) == 5
        assert not (tmp_path / "baseline.jsonl").exists()

    def test_a_former_baseline_of_another_suite_is_told_and_replaced(self, suite: str, saved, file, tmp_path: Path, capsys) -> None:
        kept = file("baseline.json", '{"z1": ["a"]}')
        assert update(saved("one.jsonl", q1="a", q2="b"), suite, kept, *ANN) == 0
        assert "the former baseline cannot be compared" in capsys.readouterr().err

    def test_a_damaged_baseline_is_not_overwritten(self, suite: str, saved, tmp_path: Path) -> None:
        run, kept = saved("one.jsonl", q1="a", q2="b"), tmp_path / "baseline.jsonl"
        kept.write_bytes(Path(run).read_bytes()[:-30])
        before = kept.read_bytes()
        assert update(saved("two.jsonl", q1="a", q2="b"), suite, kept, *ANN) == 4
        assert kept.read_bytes() == before

    def test_never_over_a_file_that_is_read_only(self, suite: str, saved, tmp_path: Path, capsys) -> None:
        file = tmp_path / "baseline.jsonl"
        assert update(saved("one.jsonl", q1="xa", q2="b"), suite, file, *ANN) == 0
        before = file.read_bytes()
        file.chmod(0o444)
        assert update(saved("two.jsonl", q1="a", q2="b"), suite, file, *ANN) == 4
        assert "is read-only, and is left as it is" in capsys.readouterr().err
        assert file.read_bytes() == before

    @pytest.mark.parametrize("name", [".searchmark/baseline.jsonl", "a/.searchmark/b/baseline.jsonl"])
    def test_never_below_the_folder_that_git_ignores(self, suite: str, saved, tmp_path: Path, name: str, capsys) -> None:
        assert update(saved("one.jsonl", q1="a", q2="b"), suite, tmp_path / name, *ANN) == 4
        assert "is below .searchmark, which Git ignores" in capsys.readouterr().err

    def test_a_link_into_that_folder_does_not_help(self, suite: str, saved, tmp_path: Path) -> None:
        (tmp_path / ".searchmark").mkdir()
        (tmp_path / "kept").symlink_to(tmp_path / ".searchmark")
        assert update(saved("one.jsonl", q1="a", q2="b"), suite, tmp_path / "kept" / "baseline.jsonl", *ANN) == 4

    def test_falling_values_are_warned_of_unless_there_is_a_reason(self, suite: str, saved, tmp_path: Path, capsys) -> None:
        kept = tmp_path / "baseline.jsonl"
        update(saved("one.jsonl", q1="a", q2="b"), suite, kept, *ANN)
        update(saved("two.jsonl", q1="xa", q2="b"), suite, kept, *ANN)
        assert "never to make a check pass" in capsys.readouterr().err


class TestAsking:
    @pytest.mark.slow
    def test_without_a_terminal_nothing_is_asked_or_written(self, suite: str, saved, tmp_path: Path) -> None:
        command = [
            sys.executable,
            "-m",
            "searchmark",
            "baseline",
            "update",
            saved("one.jsonl", q1="a", q2="b"),
            "--gold-set",
            suite,
        ]
        done = subprocess.run([*command, *ANN], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert (done.returncode, "this is not a terminal; use --yes" in done.stderr) == (4, True)
        assert not (tmp_path / "searchmark-baseline.jsonl").exists()

    @pytest.mark.slow
    @pytest.mark.parametrize(("answer", "written"), [("y", True), ("n", False), ("", False)])
    def test_on_a_terminal_it_asks(self, suite: str, saved, tmp_path: Path, answer: str, written: bool) -> None:
        command = [
            sys.executable,
            "-m",
            "searchmark",
            "baseline",
            "update",
            saved("one.jsonl", q1="a", q2="b"),
            "--gold-set",
            suite,
        ]
        ours, theirs = os.openpty()
        os.write(ours, f"{answer}\n".encode())
        done = subprocess.run([*command, *ANN], cwd=tmp_path, stdin=theirs, capture_output=True, text=True, check=False)
        os.close(ours)
        os.close(theirs)
        assert (done.returncode, (tmp_path / "searchmark-baseline.jsonl").exists()) == (0, written)
        assert "Write it? [y/N]:" in done.stderr


class TestFixtures:
    def test_only_values_version_date_and_reason_change(self, file) -> None:
        kept = file("baseline_metrics.json", METRICS)
        assert update(str(EXAMPLES / "today.json"), FIXTURES, kept, "--reason", "lower case") == 0
        old, new = METRICS.splitlines(), kept.read_text().splitlines()
        added, removed = [line for line in new if line not in old], [line for line in old if line not in new]
        assert removed == ['  "version": "1.0.0",', '        "ndcg": 0.95,', '        "ndcg": 0.93,']
        assert [line.strip()[:12] for line in added] == [
            '"version": "',
            '"created_at"',
            '"notes": "lo',
            '"ndcg": 1.0,',
            '"ndcg": 0.98',
        ]
        read = json.loads(kept.read_text())
        assert (read["version"], read["notes"], read["model"]) == ("1.1.0", "lower case", "bge-small-en-v1.5")

    def test_then_the_same_run_passes_and_changes_nothing_more(self, file, capsys) -> None:
        kept, today = file("baseline_metrics.json", METRICS), str(EXAMPLES / "today.json")
        update(today, FIXTURES, kept)
        before = kept.read_bytes()
        assert main(["gate", today, "--gold-set", FIXTURES, "--against", str(kept)]) == 0
        assert update(today, FIXTURES, kept) == 0
        assert "is as it was; nothing is written" in capsys.readouterr().out
        assert kept.read_bytes() == before

    def test_the_model_of_the_run_is_written(self, file, saved) -> None:
        kept = file(
            "baseline_metrics.json", METRICS.replace("high_similarity_pair", "other").replace("gradual_relevance_decay", "two")
        )
        documents = {"documents": {"a": "x", "b": "y"}, "expected_ranking": ["a", "b"], "relevant": ["a"]}
        fixtures = file("f.json", json.dumps([{"name": name, "query": "q", **documents} for name in ("Other", "Two")]))
        assert update(saved("run.jsonl", model="bge-base", Other="ab", Two="ab"), str(fixtures), kept) == 0
        assert json.loads(kept.read_text())["model"] == "bge-base"

    @pytest.mark.parametrize(
        ("wrong", "complaint"),
        [
            (METRICS.replace("high_similarity_pair", "gone"), "the suite has no fixture 'gone'"),
            (METRICS.replace('"mrr"', '"recall"'), "'recall' is not a metric of fixtures"),
        ],
    )
    def test_what_the_run_does_not_have_is_refused(self, file, wrong: str, complaint: str, capsys) -> None:
        kept = file("baseline_metrics.json", wrong)
        assert update(str(EXAMPLES / "today.json"), FIXTURES, kept) == 2
        assert complaint in capsys.readouterr().err
        assert kept.read_text() == wrong

    @pytest.mark.parametrize(("before", "after"), [('"1.0.0"', "1.1.0"), ('"2.9.4"', "2.10.0"), ('"7"', "8"), ("3", 4)])
    def test_versions_of_files_count_up(self, file, before: str, after: object) -> None:
        kept = file("baseline_metrics.json", METRICS.replace('"1.0.0"', before))
        assert update(str(EXAMPLES / "today.json"), FIXTURES, kept) == 0
        assert json.loads(kept.read_text())["version"] == after

    def test_a_version_that_cannot_be_counted_up_is_refused(self, file, capsys) -> None:
        kept = file("baseline_metrics.json", METRICS.replace("1.0.0", "spring"))
        assert update(str(EXAMPLES / "today.json"), FIXTURES, kept) == 4
        assert "version: 'spring' cannot be counted up" in capsys.readouterr().err


class TestShowing:
    def test_a_run_that_was_made_the_baseline(self, suite: str, saved, tmp_path: Path, capsys) -> None:
        kept = tmp_path / "baseline.jsonl"
        update(saved("one.jsonl", q1="a", q2="b"), suite, kept, *ANN, "--reason", "first")
        capsys.readouterr()
        assert main(["baseline", "show", str(kept), "--gold-set", suite, "-m", "RR"]) == 0
        shown = capsys.readouterr().out
        assert all(
            part in shown
            for part in ("saved run of agent, 2 answers", "version  1", "Ann <ann@example.org>", "first", "RR  1.0000")
        )

    def test_a_run_that_was_not(self, saved, capsys) -> None:
        assert main(["baseline", "show", saved("one.jsonl", q1="a")]) == 0
        assert "it was not made a baseline by 'searchmark baseline update'" in capsys.readouterr().out

    def test_the_metrics_of_fixtures(self, capsys) -> None:
        assert main(["baseline", "show", str(EXAMPLES / "baseline_metrics.json")]) == 0
        assert "high_similarity_pair, k: 3: ndcg 0.95, mrr 1, precision_at_k 0.667\n" in capsys.readouterr().out

    def test_no_file(self, tmp_path: Path) -> None:
        assert main(["baseline", "show", str(tmp_path / "nowhere.jsonl")]) == 4


def test_the_record_of_a_baseline_needs_a_time_zone(suite: str, saved, tmp_path: Path) -> None:
    kept = tmp_path / "baseline.jsonl"
    update(saved("one.jsonl", q1="a", q2="b"), suite, kept, *ANN)
    kept.write_text(kept.read_text().replace("+00:00", "", 1))
    with pytest.raises(FormatError, match="a time has no time zone"):
        load_run(kept)


def test_a_baseline_is_judged_with_the_corpus_as_an_evaluation_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What ``exclude`` leaves out is known only with the fields of the documents."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.jsonl").write_text('{"id": "NewBill", "text": "a"}\n{"id": "OldBill", "text": "b", "deprecated": true}\n')
    judgments = '[{"target": "*Bill", "match": "glob"}]'
    case = f'{{"id": "q", "query": "bill", "judgments": {judgments}, "exclude": {{"deprecated": true}}}}'
    (tmp_path / "suite.json").write_text(f'{{"schema_version": 1, "name": "s", "corpus": "corpus.jsonl", "cases": [{case}]}}')
    (tmp_path / "run.json").write_text('{"q": ["OldBill", "NewBill"]}')
    update = ["baseline", "update", "run.json", "--gold-set", "suite.json", "-m", "RR", "--author", "Ann", "--reason", "r", "--yes"]
    assert main(update) == 0
    assert "RR  – -> 0.5000" in capsys.readouterr().out
    assert main(["baseline", "show", "searchmark-baseline.jsonl", "--gold-set", "suite.json", "-m", "RR"]) == 0
    assert "RR  0.5000" in capsys.readouterr().out
