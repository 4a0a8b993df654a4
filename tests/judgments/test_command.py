"""``searchmark perturb`` as it is typed, and what evaluate and compare make of what it wrote."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from searchmark import load_suite, read_report
from searchmark.cli.main import main
from searchmark.reports.run_tables import perturbation_table
from tests.conftest import ROOT

SUITE = str(ROOT / "examples/quickstart/suite.yaml")
CORPUS = str(ROOT / "examples/quickstart/corpus.jsonl")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 4) -> str:
    assert main(["perturb", *arguments]) == code
    return capsys.readouterr().err


def test_variants_are_written_behind_their_originals_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perturb", SUITE, "--kind", "typo", "--kind", "accents", "-o", "perturbed.jsonl"]) == 0
    told = capsys.readouterr()
    assert "typo     20 variants of 20 cases" in told.out
    assert "accents  1 variant of 1 case (left out: cases with nothing to change: 19)" in told.out
    assert "written: perturbed.jsonl, cases: 41, of them variants: 21" in told.err
    suite = load_suite("perturbed.jsonl")
    assert suite.table.ids[:2] == ("crud-create", "crud-create~typo-1")
    assert suite.metadata["perturbed"] == {"of": "quickstart", "kinds": ["typo", "accents"], "per_case": 1, "seed": 0}


def test_the_same_command_writes_the_same_bytes() -> None:
    for name in ("one.json", "two.json"):
        assert main(["perturb", SUITE, "--per-case", "2", "--seed", "5", "-o", name]) == 0
    assert Path("one.json").read_bytes() == Path("two.json").read_bytes()


def test_files_of_words_are_used(capsys: pytest.CaptureFixture[str]) -> None:
    Path("synonyms.txt").write_text("issue = ticket\nissue < thing\n")
    Path("pt.txt").write_text("create = criar\nissue = chamado\n")
    files = ["--synonyms", "synonyms.txt", "--glossary", "pt.txt"]
    assert main(["perturb", SUITE, "--kind", "synonym", "--kind", "translation", *files, "-o", "perturbed.jsonl"]) == 0
    assert "lines of --synonyms that name no words for each other, passed over: 1" in capsys.readouterr().err
    queries = {case.id: case.query for case in load_suite("perturbed.jsonl").cases}
    assert queries["crud-create~synonym-1"] == "create an ticket"
    assert queries["crud-create~translation-1"] == "criar an chamado"


def test_mistakes_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing says where to write; add -o perturbed.jsonl" in refused(capsys, SUITE)
    assert "suites are written as .json or .jsonl" in refused(capsys, SUITE, "-o", "out.yaml")
    assert "name it with --synonyms FILE" in refused(capsys, SUITE, "--kind", "synonym", "-o", "out.jsonl")
    assert "--corpus belongs to --adversarial" in refused(capsys, SUITE, "--corpus", CORPUS, "-o", "out.jsonl")
    assert "leave out --kind" in refused(capsys, SUITE, "--adversarial", "--corpus", CORPUS, "--kind", "typo")
    assert "name them with --corpus" in refused(capsys, SUITE, "--adversarial")
    Path("suite.json").write_text('{"schema_version": 1, "cases": [{"id": "a", "query": "issue", "judgments": [{"target": "d"}]}]}')
    assert "is the suite itself" in refused(capsys, "suite.json", "-o", "suite.json")
    assert "nothing was written" in refused(capsys, "suite.json", "--kind", "accents", "-o", "out.jsonl", code=5)
    assert not Path("out.jsonl").exists()


def test_how_a_suite_is_tested_is_said_to_be_lost(capsys: pytest.CaptureFixture[str]) -> None:
    header = {"schema_version": 1, "agent": "bm25", "cases": [{"id": "a", "query": "issue", "judgments": [{"target": "d"}]}]}
    Path("suite.json").write_text(json.dumps(header))
    assert "not in it: how the suite is tested" in refused(capsys, "suite.json", "-o", "out.jsonl", code=0)


def test_control_characters_of_a_suite_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    judged = [{"target": "d"}]
    Path("suite.json").write_text(
        json.dumps({"schema_version": 1, "cases": [{"id": "a\u001b[2J", "query": "beta \u001b[2J", "judgments": judged}]})
    )
    Path("corpus.jsonl").write_text('{"id": "d", "text": "alpha"}\n{"id": "e\\u001b[2J", "text": "beta"}\n')
    assert main(["perturb", "suite.json", "--adversarial", "--corpus", "corpus.jsonl"]) == 0
    told = capsys.readouterr()
    assert "lexical traps: 1 of 1 case" in told.out
    assert "\x1b" not in told.out + told.err


def test_traps_are_counted_and_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perturb", SUITE, "--adversarial", "--corpus", CORPUS]) == 0
    told = capsys.readouterr().out
    assert "lexical traps: 3 of 18 cases (17%)" in told
    assert "crud-bulk 'add many tickets in one go': attachment.add has" in told
    assert "cases not looked at, unanswerable: 2" in told
    assert main(["perturb", SUITE, "--adversarial", "--corpus", CORPUS, "-o", "traps.jsonl"]) == 0
    traps = load_suite("traps.jsonl")
    assert [case.fields["distractor"] for case in traps.cases if case.id == "crud-bulk"] == ["attachment.add"]
    assert all("lexical-trap" in case.tags for case in traps.cases)
    assert len(traps) == 3


def runs_of(perturbed: str) -> None:
    """Two saved runs: one that finds every original and no variant, one that finds all."""
    suite = load_suite(perturbed)
    answers = {case.id: [j.target for j in case.judgments] for case in suite.cases}
    Path("whole.json").write_text(json.dumps(answers))
    fragile = {case.id: answers[case.id] if "perturbed_from" not in case.fields else ["nothing"] for case in suite.cases}
    Path("fragile.json").write_text(json.dumps(fragile))


OUTPUTS = ("-o", "r.json", "-o", "r.md", "-o", "r.html", "-o", "r.txt")


def test_evaluate_shows_the_drop_by_kind_in_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perturb", SUITE, "--kind", "typo", "--kind", "accents", "-o", "perturbed.jsonl"]) == 0
    runs_of("perturbed.jsonl")
    capsys.readouterr()
    assert (
        main(["evaluate", "--gold-set", "perturbed.jsonl", "--run", "fragile.json", "-m", "Success@5", "--no-config", *OUTPUTS])
        == 0
    )
    told = capsys.readouterr().out
    report = read_report("r.json")
    drops = {each.kind: each for each in report.perturbations}
    typo, accents = drops["typo"], drops["accents"]
    # Two of twenty cases are unanswerable; sixteen observations are left of the other eighteen.
    assert (typo.cases, typo.originals, typo.origins, typo.left_out) == (18, 18, 16, 2)
    assert (typo.original_mean, typo.variant_mean, typo.drop) == (1.0, 0.0, 1.0)
    assert typo.low is not None
    assert 0.5 < typo.low < typo.drop == typo.high
    assert (accents.origins, accents.drop, accents.low, accents.high) == (1, 1.0, None, None)
    row = [cell.text for cell in perturbation_table(report).rows[1]]
    assert row == ["typo", "18", "16", "1.0000", "0.0000", "1.0000", f"{typo.low:.4f} to 1.0000", "2"]
    for text in (told, Path("r.txt").read_text()):
        assert "drop by perturbation, Hit rate@5 (Success@5)" in " ".join(text.split())
        assert " ".join(row) in " ".join(text.split())
    assert f"| {' | '.join(row)} |" in Path("r.md").read_text()
    page = Path("r.html").read_text()
    assert 'id="perturbations"' in page
    assert f"{typo.low:.4f} to 1.0000" in page


def test_compare_shows_every_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perturb", SUITE, "--kind", "typo", "-o", "perturbed.jsonl"]) == 0
    runs_of("perturbed.jsonl")
    capsys.readouterr()
    main(["compare", "--gold-set", "perturbed.jsonl", "--run", "whole.json", "fragile.json", "-m", "RR", "--no-config", *OUTPUTS])
    told = " ".join(capsys.readouterr().out.split())
    assert "whole typo 18 16 1.0000 1.0000 0.0000" in told
    assert "fragile typo 18 16 1.0000 0.0000 1.0000" in told
    assert {each["run"]: each["drop"] for each in json.loads(Path("r.json").read_text())["perturbations"]} == {
        "whole": 0.0, "fragile": 1.0,
    }  # fmt: skip
    assert "| fragile | typo | 18 | 16 |" in Path("r.md").read_text()


def test_variants_can_be_split_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perturb", SUITE, "--kind", "typo", "--kind", "case", "-o", "perturbed.jsonl"]) == 0
    runs_of("perturbed.jsonl")
    arguments = ["--run", "fragile.json", "-m", "RR", "--by", "perturbation", "--no-config", "-o", "r.json"]
    assert main(["evaluate", "--gold-set", "perturbed.jsonl", *arguments]) == 0
    (agent,) = read_report("r.json").agents.values()
    assert {kind: each["RR"].mean for kind, each in agent.segments["perturbation"].items()} == {"case": 0.0, "typo": 0.0}


def test_a_suite_without_variants_has_no_such_table(capsys: pytest.CaptureFixture[str]) -> None:
    Path("run.json").write_text(json.dumps({"crud-create": ["issue.create"]}))
    main(["evaluate", "--gold-set", SUITE, "--run", "run.json", "--no-config", *OUTPUTS])
    assert "perturbation" not in capsys.readouterr().out
    assert "perturbations" not in json.loads(Path("r.json").read_text())
    assert "perturbation" not in Path("r.md").read_text()
    assert 'id="perturbations"' not in Path("r.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("typed", [["--kind", "case"], ["--adversarial"]])
def test_what_a_built_in_suite_searches_is_told_as_it_can_be_typed(typed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perturb", "builtin:fashion", *typed, "-o", "perturbed.jsonl"]) == 0
    _, _, documents = capsys.readouterr().err.partition("to evaluate it, name its documents: --corpus ")
    (named,) = shlex.split(documents)
    evaluated = ["evaluate", "--gold-set", "perturbed.jsonl", "--corpus", named, "--agent", "bm25", "-k", "audience-14", "-q"]
    assert main(evaluated) == 0


def test_the_repository_of_a_built_in_suite_is_told_as_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perturb", "builtin:code-history", "--kind", "case", "-o", "perturbed.jsonl"]) == 0
    told = capsys.readouterr().err
    assert 'to evaluate it, name its repository: --repo "$(searchmark suites code-history --repository)"' in told
