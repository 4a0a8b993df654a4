"""Options: where a value may come from, which one wins, and how the help shows them."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from searchmark import CompareSettings, DatasetSettings, RunSettings
from searchmark.cli.main import app, main
from searchmark.config.option import OptionField, option_fields
from tests.conftest import ROOT
from tests.support.small_histories import git

QUICKSTART = ROOT / "examples/quickstart"
SUITE = ["--gold-set", str(QUICKSTART / "suite.yaml")]
RUNS = ["--run", str(QUICKSTART / "bm25.json"), "--run", str(QUICKSTART / "semantic.json")]
LIVE = ["--agent", "bm25", "--corpus", str(QUICKSTART / "corpus.jsonl"), "--num-runs", "1"]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def run_options(*arguments: str) -> dict[str, Any]:
    assert main(["evaluate", *SUITE, *LIVE, *arguments, "-o", "out.json"]) == 0
    options: dict[str, Any] = json.loads(Path("out.json").read_text())["agents"]["bm25"]["run"]["options"]
    return options


def verdict(*arguments: str) -> str:
    assert main(["compare", *SUITE, *RUNS, "-m", "nDCG@10", *arguments, "-o", "out.json"]) == 0
    found: str = json.loads(Path("out.json").read_text())["comparisons"][0]["verdict"]
    return found


def dataset_options(*arguments: str) -> dict[str, Any]:
    assert main(["generate", "--repo", "repository", *arguments, "-o", "gold.json"]) == 0
    options: dict[str, Any] = json.loads(Path("gold.json").read_text())["metadata"]["options"]
    return options


@pytest.fixture
def repository() -> Path:
    folder = Path("repository")
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for content in ("one", "two"):
        (folder / "shelf.py").write_text(content)
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", f"Sort the jars on shelf {content} by their date")
    return folder


class TestPrecedence:
    @pytest.mark.slow
    def test_how_to_run_comes_from_command_line_environment_file_or_default(self, monkeypatch) -> None:
        assert run_options()["depth"] == RunSettings().depth
        Path("searchmark.yaml").write_text("evaluation: {depth: 2, timeout_seconds: 7, warm_up: false}\n")
        assert run_options()["depth"] == 2
        monkeypatch.setenv("SEARCHMARK_EVALUATION_DEPTH", "4")
        assert run_options()["depth"] == 4
        options = run_options("--depth", "5")
        assert (options["depth"], options["timeout_seconds"], options["warm_up"]) == (5, 7.0, False)

    @pytest.mark.slow
    def test_what_equals_the_default_still_overrides_the_file(self, monkeypatch) -> None:
        Path("searchmark.yaml").write_text("evaluation: {depth: 2, warm_up: false, randomize_order: false}\n")
        monkeypatch.setenv("SEARCHMARK_EVALUATION_RANDOMIZE_ORDER", "true")
        options = run_options("--depth", "100", "--warm-up")
        assert (options["depth"], options["warm_up"], options["randomize_order"]) == (100, True, True)

    @pytest.mark.slow
    def test_how_to_compare_comes_from_command_line_environment_file_or_default(self, monkeypatch) -> None:
        assert verdict() == "IMPROVED"
        Path("searchmark.yaml").write_text("compare: {min_effect: 0.9}\n")
        assert verdict() == "WITHIN NOISE"
        monkeypatch.setenv("SEARCHMARK_COMPARE_MIN_EFFECT", "0.02")
        assert verdict() == "IMPROVED"
        assert verdict("--min-effect", "0.9") == "WITHIN NOISE"

    def test_how_to_mine_comes_from_command_line_environment_file_or_default(self, repository: Path, monkeypatch) -> None:
        assert dataset_options()["max_files"] == DatasetSettings().max_files
        Path("searchmark.yaml").write_text("dataset: {max_files: 2, paths: [shelf.py], first_parent: true}\n")
        assert dataset_options()["max_files"] == 2
        monkeypatch.setenv("SEARCHMARK_DATASET_MAX_FILES", "3")
        monkeypatch.setenv("SEARCHMARK_DATASET_EXCLUDE_PATTERNS", "*.md *.txt")
        options = dataset_options()
        assert (options["max_files"], options["exclude_patterns"], options["paths"]) == (3, ["*.md", "*.txt"], ["shelf.py"])
        options = dataset_options("--max-files", "4", "--path", ".", "--no-first-parent")
        assert (options["max_files"], options["paths"], options["first_parent"]) == (4, ["."], False)

    def test_a_file_that_allows_all_agents_does_not_undo_no_exec(self, capsys) -> None:
        Path("searchmark.yaml").write_text("evaluation: {no_exec: false}\n")
        assert main(["evaluate", *SUITE, "--agent", "my.module:Agent", "--corpus", ".", "--no-exec"]) == 4
        assert "--no-exec allows built-in agents only" in capsys.readouterr().err

    def test_the_environment_can_allow_built_in_agents_only(self, monkeypatch, capsys) -> None:
        monkeypatch.setenv("SEARCHMARK_EVALUATION_NO_EXEC", "true")
        assert main(["evaluate", *SUITE, "--agent", "my.module:Agent", "--corpus", "."]) == 4
        assert "--no-exec allows built-in agents only" in capsys.readouterr().err

    @pytest.mark.slow
    def test_a_sample_has_a_journal_of_its_own_for_every_seed(self) -> None:
        for seed in (1, 2):
            Path("searchmark.yaml").write_text(f"evaluation: {{seed: {seed}}}\n")
            run_options("--sample", "3")
        assert len([*Path(".searchmark").glob("*.jsonl")]) == 2


class TestRefusal:
    @pytest.mark.parametrize(
        ("arguments", "complaint"),
        [
            (["--num-runs", "0"], "Invalid value for '--num-runs': 0 is not in the range x>=1."),
            (["--timeout", "nan"], "timeout_seconds must be a number above 0 and at most 1000000, not nan"),
            (["--candidates", "some"], "'some' is not one of 'gold', 'all'"),
        ],
    )
    def test_the_command_line_is_refused_by_its_option(self, arguments: list[str], complaint: str, capsys) -> None:
        assert main(["evaluate", *SUITE, *LIVE, *arguments]) == 4
        assert complaint in capsys.readouterr().err

    def test_the_environment_is_refused_by_its_variable(self, monkeypatch, capsys) -> None:
        monkeypatch.setenv("SEARCHMARK_EVALUATION_JOBS", "0")
        assert main(["evaluate", *SUITE, *LIVE]) == 4
        assert "'--jobs' (environment variable SEARCHMARK_EVALUATION_JOBS): 0 is not in" in capsys.readouterr().err

    def test_an_option_and_a_file_that_do_not_go_together_are_refused(self, repository: Path, capsys) -> None:
        Path("searchmark.yaml").write_text("dataset: {min_files: 5}\n")
        assert main(["generate", "--repo", "repository", "--max-files", "4", "-o", "gold.json"]) == 4
        assert "max_files must be at least min_files (5), not 4" in capsys.readouterr().err

    def test_a_saved_run_takes_no_options_about_running(self, capsys) -> None:
        assert main(["evaluate", *SUITE, *RUNS[:2], "--timeout", "3", "--save-run", "x.jsonl", "-k", "a"]) == 4
        assert "--run scores a saved run; --save-run, --timeout belong to a run with --agent" in capsys.readouterr().err

    def test_a_saved_run_ignores_what_the_environment_says_about_running(self, monkeypatch) -> None:
        monkeypatch.setenv("SEARCHMARK_EVALUATION_DEPTH", "5")
        assert verdict("--corpus", str(QUICKSTART / "corpus.jsonl")) == "IMPROVED"


def command(verb: str) -> click.Command:
    found: click.Command = import_module(f"searchmark.cli.verbs.{verb}").command
    return found


def help_of(verb: str) -> str:
    return CliRunner().invoke(app, [verb, "--help"], prog_name="searchmark", terminal_width=300).output


class TestHelp:
    @pytest.mark.parametrize(
        ("verb", "sections"),
        [
            ("evaluate", ["What to run", "What to search", "Which cases", "How to run", "Resume", "Gate", "Output", "Other"]),
            (
                "compare",
                ["What to run", "What to search", "Which cases", "How to run", "Resume", "Comparison", "Gate", "Output", "Other"],
            ),
            ("generate", ["What to mine", "Which commits", "Which files", "Queries", "How to run", "Output", "Other"]),
        ],
    )
    def test_options_stand_under_headings(self, verb: str, sections: list[str]) -> None:
        assert re.findall(r"^(\w.*):$", help_of(verb), re.MULTILINE) == sections

    @pytest.mark.parametrize(
        ("verb", "field"),
        [
            pytest.param(verb, field, id=f"{verb}-{field.name}")
            for verb, section in [
                ("evaluate", RunSettings),
                ("compare", RunSettings),
                ("compare", CompareSettings),
                ("generate", DatasetSettings),
            ]
            for field in option_fields(section)
            if field.kind is not bool and field.default not in (None, ())
        ],
    )
    def test_the_help_shows_the_default_of_the_record(self, verb: str, field: OptionField) -> None:
        default = ", ".join(field.default) if field.several else field.default
        assert re.search(rf"{re.escape(field.option.help)}  \[default: {default}[;\]]", help_of(verb))

    def test_what_both_verbs_know_means_the_same(self) -> None:
        context = click.Context(click.Command("any"))
        evaluated, compared = (
            {each.name: each.get_help_record(context) for each in command(verb).params} for verb in ("evaluate", "compare")
        )
        shared = evaluated.keys() & compared.keys()
        assert {name for name in shared if evaluated[name] != compared[name]} == set()
        assert evaluated.keys() - shared == {"agent", "against", "bisect", "no_baseline", "mode", "per_case", "debug"}

    def test_every_option_has_a_sentence(self) -> None:
        options = [each for verb in ("generate", "evaluate", "compare") for each in command(verb).params]
        assert [each.name for each in options if not (getattr(each, "help", None) or "").endswith(".")] == []


def test_the_format_of_saved_runs_can_be_said_to_compare(capsys) -> None:
    assert main(["compare", *SUITE, "--run", str(QUICKSTART / "bm25.trec"), *RUNS[2:], "--run-format", "trec"]) == 4
    assert "semantic.json" in capsys.readouterr().err


def test_an_option_that_is_required_takes_whatever_follows_as_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--gold-set=--help", "--run", "x"]) == 4
    assert "--help: cannot be read" in capsys.readouterr().err
