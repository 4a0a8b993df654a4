"""What init asks, finds, writes and refuses."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest

from searchmark import AgentSpec, load_config, load_suite, rules_of
from searchmark.cli import init_files
from searchmark.cli.init_config import FirstAgents, FirstConfig, FirstNumbers, config_text
from searchmark.cli.init_project import inspect_project
from searchmark.cli.main import main
from searchmark.cli.verbs import init
from searchmark.config.agents import BuiltInSource
from searchmark.io.data import parse_yaml
from tests.conftest import ROOT

QUICK = ("init", "--yes", "--no-measure")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "docs").mkdir(parents=True)
    for name in ("alpha beta", "gamma delta", "epsilon zeta", "eta theta"):
        (folder / "docs" / f"{name.split()[0]}.md").write_text(f"# All about {name}\n\nWords of {name}.\n")
    monkeypatch.chdir(folder)
    return folder


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def folders(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_dir()}


class TestQuestions:
    def test_three_are_asked_on_a_terminal_each_with_what_was_found(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        asked = []

        def answer(flag: str, default: str, err: bool) -> str:
            asked.append((flag, default))
            return {"--agent": "fts5"}.get(flag, default)

        monkeypatch.setattr(init, "_is_interactive", lambda: True)
        monkeypatch.setattr("click.prompt", answer)
        assert main(["init", "--no-measure"]) == 0
        assert asked == [("--corpus", "docs"), ("--agent", "bm25"), ("--suite", "draft")]
        assert "What searches it?" in capsys.readouterr().err
        assert [spec.name for spec in load_config().agents] == ["bm25", "fts5"]

    def test_a_flag_is_an_answer(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(init, "_is_interactive", lambda: True)
        monkeypatch.setattr("click.prompt", lambda *_, **__: pytest.fail("it was asked"))
        assert main(["init", "--no-measure", "--corpus", "docs", "--agent", "bm25", "--suite", "draft"]) == 0

    def test_nothing_is_asked_without_a_terminal(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["init", "--no-measure"]) == 0
        said = capsys.readouterr().err
        assert [f"taken: {each}" in said for each in ("--corpus docs", "--agent bm25", "--suite draft")] == [True] * 3

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (("--suite", "history"), "has no Git history to make cases of; say --suite draft, or name a suite"),
            (("--suite", "history", "--corpus", "docs"), "leave out --corpus docs, or say --suite draft"),
            (("--suite", "nowhere.yaml"), "nowhere.yaml"),
            (("--corpus", "nowhere"), "nowhere"),
            (("--agent", "nothing-like-it"), "nothing-like-it"),
        ],
    )
    def test_an_answer_that_cannot_be_is_refused(
        self, project: Path, arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = everything(project)
        assert main([*QUICK, *arguments]) == 4
        assert sentence in capsys.readouterr().err
        assert everything(project) == before

    def test_an_empty_folder_has_nothing_to_search(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert main([*QUICK]) == 4
        assert "holds nothing that could be searched; name documents with --corpus" in capsys.readouterr().err
        assert everything(tmp_path) == {}

    def test_below_the_top_of_a_repository_the_top_is_named(self, project: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
        (project / ".git").mkdir()
        monkeypatch.chdir("docs")
        assert main([*QUICK]) == 4
        assert f"go to {project}, and name this folder with --corpus docs" in capsys.readouterr().err


class TestFound:
    def test_an_existing_suite_is_taken_before_a_draft_and_examples_are_not(self, project: Path) -> None:
        (project / "examples").mkdir()
        case = {"id": "c1", "query": "alpha", "judgments": [{"target": "alpha.md", "match": "path"}]}
        for path in ("examples/suite.json", "search/suite.json"):
            (project / path).parent.mkdir(exist_ok=True)
            (project / path).write_text(json.dumps({"schema_version": 1, "cases": [case]}))
        found = inspect_project(project)
        assert [each.path for each in found.suites] == ["search/suite.json", "examples/suite.json"]
        assert main([*QUICK]) == 0
        assert load_config().suite.path == str(project / "search/suite.json")

    def test_a_beir_folder_is_suite_and_corpus(self, project: Path) -> None:
        (project / "data" / "qrels").mkdir(parents=True)
        (project / "data" / "corpus.jsonl").write_text('{"_id": "d1", "title": "", "text": "green tea"}\n')
        (project / "data" / "queries.jsonl").write_text('{"_id": "q1", "text": "tea"}\n')
        (project / "data" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
        (suite,) = inspect_project(project).suites
        assert (suite.path, suite.corpus, suite.cases) == ("data", "data", 1)

    def test_searches_that_files_name_are_told_and_not_started(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        operation = {"get": {"parameters": [{"in": "query", "name": "term"}]}}
        described = {"openapi": "3.1.0", "servers": [{"url": "https://shop.example/v1/"}], "paths": {"/search": operation}}
        Path("openapi.json").write_text(json.dumps(described))
        Path(".mcp.json").write_text(json.dumps({"mcpServers": {"code": {"command": "touch", "args": ["started"]}}}))
        Path("package.json").write_text(json.dumps({"scripts": {"search": "touch started"}}))
        Path("pyproject.toml").write_text('[project.scripts]\nshop-search = "shop:main"\n')
        assert main([*QUICK]) == 0
        said = capsys.readouterr().err
        for agent in (
            "https://shop.example/v1/search?term={query}",
            "mcp:touch started",
            "command:npm run --silent search -- {query}",
            "command:shop-search {query}",
        ):
            assert f"to measure it: --agent '{agent}'" in said
        assert not Path("started").exists()

    def test_a_project_of_many_files_is_looked_at_in_part_and_that_is_told(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("searchmark.cli.init_project.MOST_FOLDERS", 1)
        assert main([*QUICK, "--corpus", "docs"]) == 0
        assert "more files than are looked at" in capsys.readouterr().err


class TestDraft:
    def test_every_case_asks_for_a_real_document_in_its_words(self, project: Path) -> None:
        assert main([*QUICK]) == 0
        suite = load_suite("search-quality/suite.yaml")
        assert {case.query: case.judgments[0].target for case in suite.cases}["All about gamma delta"] == "gamma.md"
        assert len(suite) == 4

    def test_text_of_documents_is_text(self, project: Path) -> None:
        (project / "docs" / "odd: {x}.md").write_text('# "quoted": {brace} # hash \\ back\n')
        (project / "docs" / "bell.md").write_text("# ring \x1b[31m\x07 bell ring\n\nsecond line of words\n")
        assert main([*QUICK]) == 0
        cases = {case.judgments[0].target: case.query for case in load_suite("search-quality/suite.yaml").cases}
        assert cases["odd: {x}.md"] == 'quoted": {brace} # hash \\ back'
        assert cases["bell.md"] == "second line of words"

    def test_a_query_that_two_documents_would_have_is_left_out(self, project: Path) -> None:
        for name in ("one.md", "two.md"):
            (project / "docs" / name).write_text("# The same title\n")
        assert main([*QUICK]) == 0
        assert "The same title" not in Path("search-quality/suite.yaml").read_text()


class TestWriting:
    def test_nothing_is_replaced_unless_it_is_forced(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        Path("searchmark.yaml").write_text("agents: [keyword]\n")
        before = everything(project)
        assert main([*QUICK]) == 4
        assert "searchmark.yaml is there already, so nothing was written; --force replaces it" in capsys.readouterr().err
        assert everything(project) == before
        assert main([*QUICK, "--force"]) == 0
        assert [spec.name for spec in load_config().agents] == ["fts5", "bm25"]

    @pytest.mark.parametrize("name", ["searchmark.toml", "benchmark_config.yaml"])
    def test_a_config_of_another_name_is_there_already_too(self, project: Path, name: str, capsys) -> None:
        Path(name).write_text("")
        assert main([*QUICK]) == 4
        assert f"{name} is there already, so nothing was written" in capsys.readouterr().err

    def test_a_suite_that_was_corrected_is_kept_also_if_it_is_forced(self, project: Path) -> None:
        assert main([*QUICK]) == 0
        suite = Path("search-quality/suite.yaml")
        suite.write_text(suite.read_text().replace("All about gamma delta", "what is gamma?"))
        assert main([*QUICK, "--force"]) == 0
        assert "what is gamma?" in suite.read_text()

    @pytest.mark.parametrize("before", ["", "build/", "build/\n", "/searchmark-results\n"])
    def test_the_results_are_ignored_once(self, project: Path, before: str) -> None:
        Path(".gitignore").write_text(before)
        assert main([*QUICK]) == 0
        assert main([*QUICK, "--force"]) == 0
        lines = Path(".gitignore").read_text().splitlines()
        assert [line.strip("/") for line in lines].count("searchmark-results") == 1
        assert ("build/" in lines) == before.startswith("build")

    @pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
    @pytest.mark.parametrize("at", [0, 1, 2, 3])
    def test_all_is_written_or_nothing(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, at: int, error: type[BaseException]
    ) -> None:
        from searchmark.cli import init_files

        Path(".gitignore").write_text("build/\n")
        before, there = everything(project), folders(project)
        write, calls = init_files.atomic_write, []

        def interrupted(path: Path):
            calls.append(path)
            if len(calls) == at + 1:
                raise error
            return write(path)

        monkeypatch.setattr(init_files, "atomic_write", interrupted)
        assert main([*QUICK]) == (130 if error is KeyboardInterrupt else 4)
        assert (everything(project), folders(project)) == (before, there)

    def test_ctrl_c_while_it_is_measured_leaves_nothing(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before, there = everything(project), folders(project)

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(init_files, "first_numbers", interrupted)
        assert main(["init", "--yes"]) == 130
        assert (everything(project), folders(project)) == (before, there)

    @pytest.mark.parametrize("name", [".gitignore", "search-quality", ".github"])
    def test_a_link_that_leads_out_is_not_followed(self, project: Path, tmp_path: Path, name: str, capsys) -> None:
        target = tmp_path / "outside"
        target.write_text("mine\n") if name == ".gitignore" else target.mkdir()
        Path(name).symlink_to(target)
        assert main([*QUICK]) == 4
        assert "so nothing was written; remove it first" in capsys.readouterr().err
        assert not Path("searchmark.yaml").exists()
        assert (target.read_text() == "mine\n") if target.is_file() else not list(target.iterdir())


def first_config(numbers: FirstNumbers | str, path: Path, agents: FirstAgents | None = None) -> str:
    chosen = agents or FirstAgents(AgentSpec("bm25", BuiltInSource("bm25")), "fts5")
    text = config_text(FirstConfig("s.yaml", None, "docs", False, ("nDCG@10", "RR"), chosen, numbers, date(2026, 11, 16)))
    path.write_text(text)
    return text


class TestGate:
    @pytest.mark.parametrize(
        ("numbers", "rule", "comment"),
        [
            (FirstNumbers("bm25", "nDCG@10", 0.5312, 0.4199, 0.6444, 57), {"nDCG@10": 0.41}, "The threshold is the lower end"),
            (FirstNumbers("bm25", "nDCG@10", 0.5371, None, None, 4), {"nDCG@10": 0.53}, "the mean, rounded down"),
        ],
    )
    def test_a_threshold_is_what_was_measured_and_says_how(
        self, numbers: FirstNumbers, rule: dict[str, float], comment: str, tmp_path: Path
    ) -> None:
        text = first_config(numbers, tmp_path / "searchmark.yaml")
        assert load_config(tmp_path / "searchmark.yaml").gates.thresholds == rule
        assert f"# Measured on 2026-11-16: {numbers.sentence}." in text
        assert comment in text

    @pytest.mark.parametrize(
        "numbers", ["the service cannot be reached", FirstNumbers("bm25", "nDCG@10", 0.002, 0.0, 0.004, 40)], ids=["none", "little"]
    )
    def test_without_a_number_the_gate_has_a_rule_that_fails_where_nothing_is_found(
        self, numbers: FirstNumbers | str, tmp_path: Path
    ) -> None:
        first_config(numbers, tmp_path / "searchmark.yaml")
        gates = load_config(tmp_path / "searchmark.yaml").gates
        assert (dict(gates.thresholds), gates.rules[0].measure, gates.rules[0].above) == ({}, "nDCG@10", 0)

    def test_where_nothing_right_was_found_no_rule_is_made_up(self, tmp_path: Path) -> None:
        text = first_config(FirstNumbers("bm25", "nDCG@10", 0.0, 0.0, 0.1, 20), tmp_path / "searchmark.yaml")
        assert rules_of(load_config(tmp_path / "searchmark.yaml").gates) == []
        assert "Look at the cases first" in text

    def test_a_search_that_finds_nothing_right_trips_the_gate_that_was_not_measured(self, project: Path) -> None:
        assert main([*QUICK]) == 0
        run = "".join(f"{case.id} Q0 nothing.md 1 1.0 x\n" for case in load_suite("search-quality/suite.yaml").cases)
        Path("run.trec").write_text(run)
        assert main(["gate", "run.trec"]) == 1


class TestWorkflow:
    def test_every_step_says_why_it_exists(self, project: Path) -> None:
        assert main([*QUICK]) == 0
        text = Path(".github/workflows/search-quality.yml").read_text()
        steps = re.split(r"(?m)^(?=      - )", text)[1:]
        before = [text[: text.index(step)].rstrip("\n").splitlines()[-1] for step in steps]
        assert len(steps) == 5
        assert all(line.startswith("      # ") for line in before)
        assert parse_yaml(Path("w.yml"), text)["permissions"] == {"contents": "read"}

    def test_its_actions_are_those_of_the_page_about_ci(self, project: Path) -> None:
        assert main([*QUICK]) == 0
        used = re.findall(r"uses: (.+)", Path(".github/workflows/search-quality.yml").read_text())
        page = (ROOT / "docs" / "ci.md").read_text()
        assert len(used) == 3
        assert all(f"uses: {each}" in page for each in used)

    @pytest.mark.parametrize(
        ("agent", "expected"),
        [
            ("http://127.0.0.1:9/?q={query}", "searchmark evaluate --config searchmark.yaml --github"),
            ("mine=my.module:Find", "searchmark evaluate --agent mine=my.module:Find --github"),
            ("fts5", "searchmark evaluate --github"),
        ],
    )
    def test_it_runs_the_command_that_was_printed(self, project: Path, agent: str, expected: str) -> None:
        assert main([*QUICK, "--agent", agent]) == 0
        workflow = parse_yaml(Path("w.yml"), Path(".github/workflows/search-quality.yml").read_text())
        runs = [step["run"].strip() for step in workflow["jobs"]["search"]["steps"] if "run" in step]
        assert runs[1] == f"{expected} --save-run searchmark-results/run.jsonl"


def test_documents_outside_of_the_project_need_the_config_named(project: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "elsewhere.csv").write_text("id,title\n1,green tea\n2,black coffee\n3,white milk\n")
    assert main([*QUICK, "--corpus", "../elsewhere.csv"]) == 0
    assert "searchmark evaluate --config searchmark.yaml" in capsys.readouterr().out


def test_a_program_that_greps_may_find_nothing(project: Path) -> None:
    assert main([*QUICK, "--agent", "command:grep -rl -e {query} {corpus}"]) == 0
    (spec,) = (each for each in load_config("searchmark.yaml").agents if each.name == "my-search")
    assert spec.config["nothing"] == [1]
