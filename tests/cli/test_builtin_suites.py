"""``builtin:NAME`` wherever a suite is taken: its own sections apply, nothing is written beside it, and no path of it gets out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import searchmark
from searchmark import UsageError
from searchmark.cli.main import main
from searchmark.config import builtin

CASES = {f"q{number}": (f"apple{number} pie", f"d{number}") for number in range(12)}
CONFIG = """
suite: {path: suite.json, measures: [RR@3, Success@1]}
corpus: {path: corpus.jsonl}
evaluation: {num_runs: 1, depth: 3}
agents:
  - {name: first, source: bm25}
  - {name: second, source: keyword}
gates:
  thresholds: {RR@3: 0.9}
compare: {min_effect: 0.03}
"""


def install(room: Path) -> None:
    for name in ("orchard", "small_kitchen"):
        folder = room / name
        folder.mkdir(parents=True)
        rows = [{"id": target, "text": f"{query} recipe"} for query, target in CASES.values()]
        (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        cases = [{"id": case, "query": query, "judgments": [{"target": target}]} for case, (query, target) in CASES.items()]
        (folder / "suite.json").write_text(json.dumps({"schema_version": 1, "name": "fruit", "cases": cases}))
        (folder / "searchmark.yaml").write_text(CONFIG)
        (folder / "README.md").write_text(f"# {name}\n\nSays how well fruit is found. It is small.\n")
    (room / "not_a_suite").mkdir()


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two suites as they are installed, and a working directory that is not theirs."""
    room = tmp_path / "installed"
    install(room)
    monkeypatch.setattr(builtin, "builtin_suites_folder", lambda: room)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return room


@pytest.fixture(scope="module")
def bm25_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bm25")
    install(folder / "installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtin, "builtin_suites_folder", lambda: folder / "installed")
        patch.chdir(folder)
        assert main(["evaluate", "--gold-set", "builtin:orchard", "--agent", "bm25", "--save-run", "r.jsonl"]) == 0
    return folder / "r.jsonl"


@pytest.fixture
def saved(bm25_run: Path, installed: Path) -> None:
    """A run of the suite lies here."""
    shutil.copy(bm25_run, "r.jsonl")


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_evaluate_takes_corpus_measures_and_gates_of_the_suite_and_writes_only_here(installed: Path, capsys) -> None:
    before = content(installed)
    assert (
        main(
            ["evaluate", "--gold-set", "builtin:orchard", "--agent", "bm25", "-o", "r.json", "-o", "r.md", "--save-run", "r.jsonl"]
        )
        == 0
    )
    report = json.loads(Path("r.json").read_text())
    assert list(report["agents"]["bm25"]["measures"]) == ["RR@3", "Success@1"]
    assert "gate passed" in capsys.readouterr().out
    assert content(installed) == before
    written = [path for path in Path.cwd().rglob("*") if path.is_file()]
    assert len(written) > 4  # reports, the run, its journal, the archive
    assert [path for path in written if str(installed).encode() in path.read_bytes()] == []
    (run,) = [searchmark.load_run("r.jsonl")]
    assert run.provenance.suite.name == "builtin:orchard"


@pytest.mark.slow
def test_a_worse_agent_trips_the_gate_of_the_suite() -> None:
    assert main(["evaluate", "--gold-set", "builtin:orchard", "--agent", "random"]) == 1


@pytest.mark.slow
def test_the_command_line_goes_before_the_sections_of_the_suite(tmp_path: Path) -> None:
    Path("other.jsonl").write_text(json.dumps({"id": "d0", "text": "apple0 pie"}) + "\n")
    said = ["--corpus", "other.jsonl", "-m", "P@1", "--depth", "1", "-o", "r.json"]
    assert (
        main(["evaluate", "--gold-set", "builtin:orchard", "--agent", "bm25", *said]) == 2
    )  # eleven of twelve targets are not there
    measures = json.loads(Path("r.json").read_text())["agents"]["bm25"]["measures"]
    assert measures["P@1"]["mean"] == pytest.approx(1 / 12)


@pytest.mark.slow
def test_compare_asks_the_agents_of_the_suite_where_none_is_named() -> None:
    assert main(["compare", "--gold-set", "builtin:orchard", "-o", "r.json"]) == 0
    assert list(json.loads(Path("r.json").read_text())["agents"]) == ["first", "second"]


@pytest.mark.slow
def test_agents_of_a_found_config_can_be_named_and_win_on_equal_names_and_its_gates_do_not_apply() -> None:
    Path("searchmark.yaml").write_text(
        "agents: [{name: mine, source: bm25}, {name: second, source: random}]\n"
        "gates: {thresholds: {nDCG@10: 1.0}}\ncorpus: {path: nowhere}\nsuite: {path: mine.json, measures: [P@1]}\n"
    )
    assert main(["evaluate", "--gold-set", "builtin:orchard", "--agent", "mine", "-o", "r.json"]) == 0
    assert list(json.loads(Path("r.json").read_text())["agents"]["mine"]["measures"]) == ["RR@3", "Success@1"]
    assert main(["evaluate", "--gold-set", "builtin:orchard", "--agent", "second"]) == 1
    assert main(["compare", "--gold-set", "builtin:orchard", "-o", "c.json"]) == 0
    assert list(json.loads(Path("c.json").read_text())["agents"]) == ["first", "second"]


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False])
def test_a_config_that_names_the_suite_or_is_named_goes_before_its_sections(named: bool) -> None:
    suite = "" if named else "suite: {path: 'builtin:orchard'}\n"
    file = "own.yaml" if named else "searchmark.yaml"
    Path(file).write_text(f"{suite}gates: {{thresholds: {{Success@1: 0.5}}}}\n")
    said = ["--config", file, "--gold-set", "builtin:orchard"] if named else []
    assert main(["evaluate", *said, "--agent", "bm25", "-o", "r.json"]) == 0
    (rule,) = json.loads(Path("r.json").read_text())["gate"]["rules"]
    assert rule["subject"] == "Success@1"


@pytest.mark.slow
def test_a_config_alone_may_name_a_built_in_suite_in_toml_too() -> None:
    Path("searchmark.toml").write_text('[suite]\npath = "builtin:small-kitchen"\n')
    assert main(["compare", "-o", "r.json"]) == 0


@pytest.mark.slow
def test_the_gates_of_the_suite_are_about_its_first_agent_so_compare_leaves_them_out_and_yours_stay() -> None:
    assert main(["compare", "--gold-set", "builtin:orchard", "--agents", "first", "random", "-o", "r.json"]) == 0
    assert json.loads(Path("r.json").read_text()).get("gate") is None
    assert main(["compare", "--gold-set", "builtin:orchard", "--agents", "first", "random", "--fail-under", "RR@3=0.9"]) == 1


@pytest.mark.slow
def test_evaluate_asks_the_first_agent_of_the_suite_where_none_is_named() -> None:
    assert main(["evaluate", "--gold-set", "builtin:orchard", "-o", "r.json"]) == 0
    assert list(json.loads(Path("r.json").read_text())["agents"]) == ["first"]


@pytest.mark.slow
@pytest.mark.usefixtures("saved")
def test_audit_cases_gate_and_convert_take_it(capsys) -> None:
    assert main(["audit", "builtin:orchard", "--run", "r.jsonl", "--strict"]) == 0
    assert main(["audit", "--gold-set", "builtin:orchard", "--strict"]) == 0
    capsys.readouterr()
    assert main(["cases", "builtin:orchard", "q3", "--run", "r.jsonl"]) == 0
    assert "apple3 pie" in capsys.readouterr().out
    assert main(["gate", "r.jsonl", "--gold-set", "builtin:orchard"]) == 0
    assert "gate passed: RR@3" in capsys.readouterr().out
    assert main(["convert", "builtin:orchard", "mine.jsonl"]) == 0
    assert len(searchmark.load_suite("mine.jsonl")) == len(CASES)


def test_label_adds_grades_to_a_copy(capsys) -> None:
    Path("graded.csv").write_text("query_id,query,item_id,grade\nq0,apple0 pie,d1,1\n")
    assert main(["label", "--gold-set", "builtin:orchard", "--import", "graded.csv", "-o", "judged.jsonl"]) == 0
    assert len(searchmark.load_suite("judged.jsonl").judgments) == len(CASES) + 1
    assert main(["label", "--gold-set", "builtin:orchard", "--import", "graded.csv", "-o", "judged.jsonl"]) == 0


def test_sweep_searches_the_corpus_of_the_suite(capsys) -> None:
    Path("sweep.yaml").write_text("grid: {embedder: [hashing]}\n")
    assert main(["sweep", "--gold-set", "builtin:orchard", "--config", "sweep.yaml", "--dry-run"]) == 0
    assert "1 setting" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("saved")
def test_looks_are_counted_here_and_not_beside_the_installed_baseline(installed: Path) -> None:
    (installed / "orchard" / "base.jsonl").write_bytes(Path("r.jsonl").read_bytes())
    (installed / "orchard" / "searchmark.yaml").write_text(
        CONFIG.replace("gates:", "gates:\n  baseline: base.jsonl\n  looks: true\n  rules: [{measure: RR@3, policy: sequential}]")
    )
    before = content(installed)
    main(["evaluate", "--gold-set", "builtin:orchard", "--agent", "keyword"])
    assert Path("orchard-baseline.looks.jsonl").is_file()
    assert content(installed) == before


@pytest.mark.parametrize(
    "said",
    [
        ["approve", "builtin:orchard", "--run", "r.jsonl", "--yes", "--author", "me"],
        ["baseline", "update", "r.jsonl", "--gold-set", "builtin:orchard", "--yes", "--author", "me"],
        ["convert", "builtin:orchard", "builtin:orchard", "--to", "native"],
    ],
)
@pytest.mark.usefixtures("saved")
def test_what_would_write_into_it_is_refused(said: list[str], installed: Path, capsys) -> None:
    before = content(installed)
    capsys.readouterr()
    assert main(said) == 4
    assert "comes with Searchmark and is never changed" in capsys.readouterr().err
    assert content(installed) == before


@pytest.mark.usefixtures("saved")
def test_a_baseline_of_your_own_can_be_made_with_it() -> None:
    update = [
        "baseline",
        "update",
        "r.jsonl",
        "--gold-set",
        "builtin:orchard",
        "--against",
        "mine.jsonl",
        "--yes",
        "--author",
        "me",
    ]
    assert main(update) == 0
    assert Path("mine.jsonl").is_file()


def test_an_unknown_name_gets_the_nearest_ones(capsys) -> None:
    assert main(["evaluate", "--gold-set", "builtin:orchad", "--agent", "bm25"]) == 4
    said = capsys.readouterr().err
    assert said == (
        "searchmark: there is no built-in suite 'orchad'; did you mean builtin:orchard? 'searchmark suites' lists all of them\n"
    )


def test_load_suite_takes_it_under_its_name_whichever_way_that_is_spelled() -> None:
    assert repr(searchmark.load_suite("builtin:orchard")) == "Suite('builtin:orchard', 12 cases, 12 judgments)"
    assert searchmark.load_suite("builtin:small_kitchen").name == "builtin:small-kitchen"
    with pytest.raises(UsageError, match="there is no built-in suite 'x'"):
        searchmark.load_suite("builtin:x")


def test_everything_but_the_documents_is_kept_from_agents(installed: Path) -> None:
    hidden = {path.name for path in searchmark.load_suite("builtin:orchard").files}
    assert hidden == {"suite.json", "searchmark.yaml", "README.md"}


def test_a_file_of_that_name_is_meant_with_a_folder_before_it() -> None:
    assert main(["convert", "builtin:orchard", "./builtin:orchard.jsonl"]) == 0
    assert searchmark.load_suite("./builtin:orchard.jsonl").name == "builtin:orchard"
    assert searchmark.load_suite(Path("builtin:orchard.jsonl")).name == "builtin:orchard"


def test_suites_lists_them_and_shows_one(capsys) -> None:
    assert main(["suites"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "name           cases  documents  what it is for",
        "orchard           12         12  Says how well fruit is found",
        "small-kitchen     12         12  Says how well fruit is found",
    ]
    assert main(["suites", "orchard"]) == 0
    shown = capsys.readouterr().out
    for line in (
        "# orchard",
        "  searchmark evaluate --gold-set builtin:orchard --agent first",
        "  searchmark compare --gold-set builtin:orchard",
        "  RR@3 >= 0.9",
    ):
        assert line in shown.splitlines()
    assert main(["suites", "kitchen"]) == 4
    assert "builtin:small-kitchen" in capsys.readouterr().err
