"""What is searched is what was meant, as a new user types it: ``--corpus .`` in a project with a suite and reports in it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from searchmark import Corpus, Document, load_corpus, load_run, load_suite
from searchmark.cli.main import main
from tests.support.small_histories import git

SUITE = """schema_version: 1
name: questions
cases:
- {id: install, query: how to install, judgments: [{target: docs/install.md}]}
- {id: login, query: how to log in, judgments: [{target: docs/login.md}]}
"""
FILES = {
    "docs/install.md": "how to install it with docker",
    "docs/login.md": "how to log in to the shop",
    "docs/other.md": "nothing about that",
    "src/app.py": "install = log = how",
    "node_modules/x/README.md": "how to install how to log in",
    ".venv/pyvenv.cfg": "home = /usr",
    ".venv/lib/copy.md": "how to install how to log in",
    "build/copy.md": "how to install how to log in",
    ".gitignore": "build/\n",
    "suite.yaml": SUITE,
    "searchmark.yaml": "evaluation: {num_runs: 1}\n",
}
OUR_FILES = {"suite.yaml", "searchmark.yaml"}
LEFT_OUT = {"node_modules/x/README.md", ".venv/pyvenv.cfg", ".venv/lib/copy.md", "build/copy.md"}
HITS = ["docs/install.md", "docs/login.md", "build/copy.md", "suite.yaml", "src/app.py"]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    git(tmp_path, "init", "-q", str(folder))
    (folder / "a.json").write_text(json.dumps({"install": HITS, "login": HITS}))
    monkeypatch.chdir(folder)
    return folder


def report(*arguments: str, verb: str = "evaluate", expected: int = 0) -> dict[str, Any]:
    suite = ["--gold-set", "suite.yaml"]
    assert main([verb, *suite, *arguments, "-m", "RR", "-o", "report.json", "--no-archive"]) == expected
    found: dict[str, Any] = json.loads(Path("report.json").read_text())
    return found


def findings(found: dict[str, Any]) -> list[dict[str, Any]]:
    of_runs = [each for agent in found["agents"].values() for each in agent.get("findings", [])]
    return [*of_runs, *found["audit"]]


def told(found: dict[str, Any], code: str) -> str:
    return next(str(each["message"]) for each in findings(found) if each["code"] == code)


@pytest.mark.slow
def test_the_suite_reports_ignored_files_and_packages_are_not_searched() -> None:
    for _ in range(2):  # the second time there are a report and a run of the first
        found = report("--agent", "bm25", "--corpus", ".", "--save-run", "out.jsonl")
        assert {*load_run("out.jsonl").ids} <= {
            "docs/install.md",
            "docs/login.md",
            "docs/other.md",
            "src/app.py",
            ".gitignore",
            "a.json",
        }
    note = told(found, "left-out-files")
    assert "4 of the suite or of this program, like 'out.jsonl', 'report.json', 'searchmark.yaml', ...;" in note
    assert "1 that Git ignores, like 'build/'; 2 of tools (node_modules, virtual environments, __pycache__), like '.venv/'" in note
    assert note.endswith("(--no-ignore searches what Git ignores and what belongs to tools, too)")


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["random", "keyword"])
def test_no_ignore_brings_them_back_but_never_the_suite(agent: str) -> None:
    arguments = ["--agent", agent, "--corpus", ".", "--no-ignore", "--save-run", "out.jsonl"]
    report(*arguments)
    hits = {*load_run("out.jsonl").ids}
    assert {"node_modules/x/README.md", "build/copy.md"} <= hits
    assert not hits & OUR_FILES


@pytest.mark.slow
def test_ripgrep_finds_the_same_files_as_others() -> None:
    report("--agent", "keyword", "--corpus", ".", "--save-run", "out.jsonl")
    hits = {*load_run("out.jsonl").ids}
    assert {"docs/install.md", "docs/login.md", "src/app.py"} <= hits
    assert not hits & (LEFT_OUT | OUR_FILES)


@pytest.mark.slow
def test_a_program_that_searches_the_folder_itself_is_told_what_is_left_out() -> None:
    found = report("--agent", "command:grep -rl {query} {corpus}", "--corpus", ".", expected=0)
    assert "in files that are left out of the corpus, like" in told(found, "invalid-hits")


def test_the_hits_of_a_saved_run_are_held_against_the_same_files() -> None:
    found = report("--run", "a.json", "--corpus", ".")
    message = told(found, "invalid-hits")
    assert "hits that do not exist in the corpus: 4 of 10" in message
    assert "4 hits in files that are left out of the corpus, like 'build/copy.md' (that Git ignores)" in message


DOCS = ("docs/install.md", "docs/login.md", "docs/other.md")
PACKAGES = ("node_modules/x/README.md", ".venv/lib/copy.md", "build/copy.md")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "config", "documents"),
    [
        (["--include", "docs/**"], "", DOCS),
        (["--include", "*.md", "--exclude", "docs/login.md"], "", ("docs/install.md", "docs/other.md")),
        (["--kinds", "code"], "", ("src/app.py",)),
        ([], "corpus: {include: ['docs/**'], exclude: ['**/login.md'], kinds: [doc], ignore: true}", (DOCS[0], DOCS[2])),
        (["--include", "src/**"], "corpus: {include: ['docs/**']}", ("src/app.py",)),
        (["--include", "*.md"], "corpus: {ignore: false}", (*DOCS, *PACKAGES)),
        (["--include", "*.md", "--ignore"], "corpus: {ignore: false}", DOCS),
    ],
)
@pytest.mark.parametrize("verb", ["evaluate", "gate"])
def test_globs_and_kinds_on_the_command_line_and_in_the_config(
    verb: str, arguments: list[str], config: str, documents: tuple[str, ...]
) -> None:
    Path("searchmark.yaml").write_text(config)
    expected = Corpus.of("expected", [Document(name, FILES[name]) for name in documents]).survey.digest
    asked = {
        "evaluate": ["evaluate", "--gold-set", "suite.yaml", "--run", "a.json", "--no-archive"],
        "gate": ["gate", "a.json", "--gold-set", "suite.yaml", "--fail-under", "RR=0"],
    }[verb]
    assert main([*asked, "--corpus", ".", *arguments, "-o", "report.json"]) in (0, 2)  # 2 where no target is left to be found
    assert json.loads(Path("report.json").read_text())["suite"]["hashes"]["corpus"] == expected


def test_the_next_command_says_what_was_searched_again(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--run", "a.json", "--corpus", ".", "--no-ignore", "--include", "*.md", "--fail-under", "RR=1"]
    report(*arguments, expected=1)
    assert "--corpus . --include '*.md' --no-ignore --run a.json" in capsys.readouterr().err


def test_an_environment_variable_sets_it_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCHMARK_CORPUS_KINDS", "doc")
    found = report("--run", "a.json", "--corpus", ".")
    assert found["suite"]["hashes"]["corpus"] == Corpus.of("x", [Document(name, FILES[name]) for name in DOCS]).survey.digest


def test_a_word_that_is_no_kind_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--gold-set", "suite.yaml", "--run", "a.json", "--corpus", ".", "--kinds", "docs"]) == 4
    assert "'code', 'test', 'doc'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_snapshot_is_searched_with_the_same_choice(project: Path) -> None:
    git(project, "add", "docs", "src", "suite.yaml", "-f", "build")
    git(project, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "all")
    hits, digests = [], set[str]()
    for more in ([], ["--include", "*.md", "--exclude", "build/"], ["--kinds", "code"]):
        arguments = ["--agent", "random", "--repo", ".", "--snapshot", "head", *more, "--save-run", "out.jsonl"]
        report(*arguments, expected=2 if "code" in more else 0)
        run = load_run("out.jsonl")
        hits.append({*run.ids})
        digests.add(str(run.provenance.corpora))
    assert hits == [{*DOCS, "src/app.py", "build/copy.md"}, {*DOCS}, {"src/app.py"}]
    assert len(digests) == 3


@pytest.mark.parametrize("arguments", [["--exclude", "docs/login.md"], ["--kinds", "code", "--kinds", "config"]])
def test_an_audit_looks_at_the_chosen_documents(arguments: list[str]) -> None:
    codes = []
    for more in ([], arguments):
        assert main(["audit", "suite.yaml", "--corpus", ".", *more, "-o", "audit.json"]) == 0
        codes.append({each["code"] for each in json.loads(Path("audit.json").read_text())["audit"]})
    assert "left-out-files" in codes[0]
    assert codes[1] - codes[0] & {"unreachable-targets", "most-targets-missing", "all-targets-missing"}


@pytest.mark.parametrize("how", ["option", "header"])
def test_a_beir_folder_is_its_corpus(how: str, project: Path) -> None:
    assert main(["convert", "suite.yaml", "../beir", "--corpus", "docs"]) == 0
    expected = load_corpus("docs").survey.digest
    assert load_corpus("../beir").survey.digest == expected
    if how == "header":
        Path("suite.yaml").write_text(SUITE + f"corpus: {project.parent / 'beir'}\n")
    named = ["--corpus", "../beir"] if how == "option" else []
    for asked in (["evaluate", "--run", "a.json", "--no-archive"], ["gate", "a.json", "--fail-under", "RR=0"]):
        main([*asked, "--gold-set", "suite.yaml", *named, "-o", "report.json"])
        assert json.loads(Path("report.json").read_text())["suite"]["hashes"]["corpus"] == expected


def test_convert_writes_a_whole_beir_folder_that_reads_back_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "--corpus", ".", "suite.yaml", "out/", "--include", "docs/"]) == 0
    assert "written: out/corpus.jsonl, documents: 3" in capsys.readouterr().err
    assert sorted(path.name for path in Path("out").rglob("*.*")) == ["corpus.jsonl", "queries.jsonl", "test.tsv"]
    suite, again = load_suite("suite.yaml"), load_suite("out")
    assert [(case.id, case.query, case.judgments[0].target) for case in suite.cases] == [
        (case.id, case.query, case.judgments[0].target) for case in again.cases
    ]
    assert {document.id: document.text for document in load_corpus("out")} == {name: FILES[name] for name in DOCS}


def test_convert_leaves_no_suite_beside_documents_that_cannot_be_read() -> None:
    Path("c.jsonl").write_text('{"id": "docs/install.md", "text": "x"}\n{"id": "cut')
    assert main(["convert", "--corpus", "c.jsonl", "suite.yaml", "out/"]) == 4
    assert list(Path("out").rglob("*.*")) == []


def test_files_are_not_chosen_of_a_corpus_that_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.jsonl").write_text('{"id": "docs/install.md", "text": "x"}\n')
    for asked in (["--run", "a.json"], ["--agent", "bm25"]):
        assert main(["evaluate", "--gold-set", "suite.yaml", *asked, "--corpus", "c.jsonl", "--include", "*.md"]) == 4
        assert "choose files of a folder, and " in capsys.readouterr().err


def test_documents_need_a_folder_to_be_written_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "--corpus", "docs", "suite.yaml", "out.qrels"]) == 4
    assert "documents are written into a BEIR folder; name a folder, or leave out --corpus" in capsys.readouterr().err


def test_a_table_of_a_database_is_a_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect("symbols.db") as database:
        database.execute("CREATE TABLE symbols (name TEXT, doc TEXT)")
        database.executemany("INSERT INTO symbols VALUES (?, ?)", [("docs/install.md", "x"), ("docs/login.md", "y")])
    found = report("--run", "a.json", "--corpus", "symbols.db", "--map", "id=name", "--map", "text=doc")
    assert "hits that do not exist in the corpus: 6 of 10" in told(found, "invalid-hits")
    assert main(["evaluate", "--gold-set", "suite.yaml", "--run", "a.json", "--corpus", "symbols.db"]) == 4
    assert "its fields are name, doc: name the right one with --map id=NAME" in capsys.readouterr().err


def test_a_folder_of_parquet_is_a_corpus() -> None:
    Path("hf/corpus").mkdir(parents=True)
    pl.DataFrame({"_id": HITS, "text": HITS}).write_parquet("hf/corpus/part-0.parquet")
    found = report("--run", "a.json", "--corpus", "hf")
    assert "invalid-hits" not in {each["code"] for each in findings(found)}


def test_without_git_the_report_says_that_ignored_files_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    found = report("--run", "a.json", "--corpus", ".")
    assert told(found, "ignored-files-unknown").startswith(
        "files that Git ignores are searched like others: git is not on the PATH"
    )
