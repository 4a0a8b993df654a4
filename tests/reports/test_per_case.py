"""Values per case, laid out as trec_eval prints them."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark import Case, Judgment, Run, Suite, build_report, match_hits, read_report, score
from searchmark.cli.main import main
from searchmark.reports.csv_file import to_per_case
from searchmark.reports.render import write_report

OFFICIAL = {
    "map": "AP", "Rprec": "Rprec", "bpref": "Bpref", "recip_rank": "RR", "P_5": "P@5", "P_100": "P@100", "recall_10": "R@10",
    "ndcg": "nDCG", "ndcg_cut_10": "nDCG@10",
}  # fmt: skip


def official_lines(path: Path) -> list[str]:
    """The lines of trec_eval for measures that are ours too, under our names."""
    named = [line.split("\t", 1) for line in path.read_text().splitlines()]
    return [f"{OFFICIAL[name.strip()]:<22}\t{rest}" for name, rest in named if name.strip() in OFFICIAL]


def test_the_output_is_that_of_trec_eval_but_for_the_names(shared_data: Path, capsys) -> None:
    folder = shared_data / "trec_eval_tests"
    measures = [part for name in OFFICIAL.values() for part in ("-m", name)]
    inputs = ["--gold-set", str(folder / "qrels.test"), "--run", str(folder / "results.test")]
    assert main(["evaluate", *inputs, *measures, "--per-case"]) == 0
    expected = official_lines(folder / "out.test.aq")
    printed = capsys.readouterr().out.splitlines()
    assert sorted(printed) == sorted(expected)
    assert [line.split("\t")[1] for line in printed] == [line.split("\t")[1] for line in expected]


def report_of(measures: list[str]):
    cases = [Case("b", "query", (Judgment("x"),)), Case("a", "query", (Judgment("y"),)), Case("c\t1", "query", unanswerable=True)]
    return build_report(score(match_hits(Suite.from_cases("s", cases), Run.from_scores({"b": {"x": 1.0}})), measures))


def test_cases_are_in_the_order_of_their_ids_and_an_undefined_value_has_no_line() -> None:
    assert "".join(to_per_case(report_of(["RR", "Abstain"]))).splitlines() == [
        "RR                    \ta\t0.0000",
        "RR                    \tb\t1.0000",
        "Abstain               \tc 1\t1.0000",
        "RR                    \tall\t0.5000",
        "Abstain               \tall\t1.0000",
    ]


def test_a_report_that_was_read_gives_the_same_lines(tmp_path: Path) -> None:
    report = report_of(["RR", "nDCG@10", "Abstain"])
    write_report(report, tmp_path / "report.json")
    assert list(to_per_case(read_report(tmp_path / "report.json"))) == list(to_per_case(report))


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\n")
    (tmp_path / "run.trec").write_text("q1 Q0 a 1 1.0 mine\n")
    return ["evaluate", "--gold-set", str(tmp_path / "qrels.txt"), "--run", str(tmp_path / "run.trec"), "-m", "RR"]


def test_files_are_written_as_ever_and_a_gate_still_fails(inputs: list[str], tmp_path: Path, capsys) -> None:
    report = tmp_path / "report.json"
    assert main([*inputs, "--per-case", "-o", str(report), "--fail-under", "P@5=0.9"]) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "RR                    \tall\t1.0000",
        "P@5                   \tall\t0.2000",
    ]
    assert read_report(report).gate is not None


def test_two_things_on_stdout_are_refused(inputs: list[str], capsys) -> None:
    assert main([*inputs, "--per-case", "-o", "-"]) == 4
    assert "--per-case and -o - both print to stdout; give one of them" in capsys.readouterr().err


def test_undefined_values_are_counted(tmp_path: Path, capsys) -> None:
    (tmp_path / "suite.json").write_text(
        '{"schema_version": 1, "cases": [{"id": "q", "judgments": [{"target": "a"}]}, {"id": "none", "unanswerable": true}]}'
    )
    (tmp_path / "run.trec").write_text("q Q0 a 1 1.0 mine\n")
    arguments = ["evaluate", "--gold-set", str(tmp_path / "suite.json"), "--run", str(tmp_path / "run.trec"), "-m", "RR"]
    assert main([*arguments, "--per-case"]) == 0
    assert "undefined values, which have no line: 1; reports give the reason for each" in capsys.readouterr().err
