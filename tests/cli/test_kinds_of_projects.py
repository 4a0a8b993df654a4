"""In every kind of project, what init writes runs at once: evaluate and compare take everything from the config."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from searchmark import load_config, load_suite
from searchmark.cli.main import main
from searchmark.io.data import parse_yaml
from tests.support.small_histories import git

SUBJECTS = (
    "login session cookies", "shopping cart totals", "invoice numbers and taxes", "password reset mails", "image upload limits",
    "export of tables", "search suggestions", "payment with vouchers", "delivery addresses abroad", "product reviews by customers",
    "stock warnings at night", "returns and refunds", "newsletter consent", "currency conversion",
)  # fmt: skip
PROGRAM = """\
import pathlib, sys
words = sys.argv[1].lower().split()
files = sorted(pathlib.Path(sys.argv[2]).glob("*.md"))
found = {file.name: sum(word in file.read_text().lower() for word in words) for file in files}
print("\\n".join(sorted((name for name in found if found[name]), key=lambda name: -found[name])))
"""
WROTE = (".github/workflows/search-quality.yml", ".gitignore", "searchmark.yaml")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def with_documents(folder: Path) -> None:
    (folder / "docs").mkdir()
    for number, subject in enumerate(SUBJECTS):
        (folder / "docs" / f"page{number:02}.md").write_text(f"# About {subject}\n\nHow {subject} work, step by step.\n")


def with_catalogue(folder: Path) -> None:
    rows = (f"{number},{subject},All about {subject}" for number, subject in enumerate(SUBJECTS))
    (folder / "catalogue.csv").write_text("\n".join(("id,title,description", *rows)) + "\n")


def with_trec_files(folder: Path) -> None:
    documents = (json.dumps({"id": f"d{number}", "text": subject}) for number, subject in enumerate(SUBJECTS))
    (folder / "corpus.jsonl").write_text("\n".join(documents) + "\n")
    (folder / "qrels.txt").write_text("".join(f"q{number} 0 d{number} 1\n" for number in range(len(SUBJECTS))))
    (folder / "topics.tsv").write_text("".join(f"q{number}\t{subject}\n" for number, subject in enumerate(SUBJECTS)))


def with_history(folder: Path, commits: int = 30) -> None:
    git(folder, "init", "-q", "-b", "main")
    stream = []
    for number in range(commits):
        subject = SUBJECTS[number % len(SUBJECTS)]
        name, content = subject.split()[0], f"def {subject.replace(' ', '_')}():\n    return '{subject} {number}'\n".encode()
        message = f"Fix how {subject} behave in round {number}".encode()
        head = b"commit refs/heads/main\ncommitter A <a@x> %d +0000\ndata %d\n%s\n" % (
            1_700_000_000 + 60 * number,
            len(message),
            message,
        )
        stream.append(head + b"M 100644 inline %s.py\ndata %d\n%s\n" % (name.encode(), len(content), content))
    git(folder, "fast-import", "--quiet", data=b"".join(stream))
    git(folder, "reset", "-q", "--hard")


def reported(*arguments: str) -> dict[str, Any]:
    """The report of a command that exits with 0."""
    assert main([*arguments, "--no-archive", "-o", "searchmark-results/out.json"]) == 0
    return json.loads(Path("searchmark-results/out.json").read_text())


def evaluated_and_compared(*named: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return reported("evaluate", *named), reported("compare", *named)


@pytest.mark.parametrize(
    ("make", "suite", "searched"),
    [
        (with_documents, "search-quality/suite.yaml", "docs"),
        (with_history, "search-quality/gold_set.json", None),
        pytest.param(with_catalogue, "search-quality/suite.yaml", "catalogue.csv", marks=pytest.mark.slow),
        pytest.param(with_trec_files, "qrels.txt", "corpus.jsonl", marks=pytest.mark.slow),
    ],
    ids=["documents", "history", "catalogue", "trec"],
)
def test_what_init_writes_runs_at_once(
    project: Path, make: Callable[[Path], None], suite: str, searched: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    make(project)
    assert main(["init", "--yes"]) == 0
    said = capsys.readouterr().out
    assert "measured: bm25 has nDCG@10 " in said
    assert said.endswith(
        "next:\n  searchmark evaluate  runs bm25 on the suite and checks the gate\n"
        "  searchmark compare   holds bm25 against fts5\n"
        "  searchmark audit     says whether scores on this suite can mean anything\n"
    )
    config = load_config()
    assert (config.suite.path, config.corpus.path) == (str(project / suite), searched and str(project / searched))
    evaluated, compared = evaluated_and_compared()
    assert (list(evaluated["agents"]), list(compared["agents"])) == (["bm25"], ["fts5", "bm25"])
    assert evaluated["gate"]["verdict"] == compared["gate"]["verdict"] == "passed"
    assert next(iter(evaluated["agents"]["bm25"]["measures"])) == "nDCG@10"


@pytest.mark.slow
def test_a_program_is_measured_with_the_config_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_documents(project)
    Path("search.py").write_text(PROGRAM)
    assert (
        main(["init", "--yes", "--corpus", "docs", "--agent", f"mine=command:{sys.executable} search.py {{query}} {{corpus}}"]) == 0
    )
    said = capsys.readouterr().out
    assert "searchmark evaluate --config searchmark.yaml  runs mine on the suite" in said
    assert "searchmark compare --config searchmark.yaml   holds mine against bm25" in said
    workflow = parse_yaml(Path(WROTE[0]), Path(WROTE[0]).read_text())
    steps = [step["run"].strip() for step in workflow["jobs"]["search"]["steps"] if "run" in step]
    assert steps[1] == "searchmark evaluate --config searchmark.yaml --github --save-run searchmark-results/run.jsonl"
    evaluated, compared = evaluated_and_compared("--config", "searchmark.yaml")
    assert (list(evaluated["agents"]), list(compared["agents"])) == (["mine"], ["bm25", "mine"])
    assert main(["evaluate", "--no-archive"]) == 4  # a config that is only found starts nothing
    assert "which only a config that you name may set" in capsys.readouterr().err


def test_python_code_is_named_on_the_command_line_as_well(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_documents(project)
    Path("mine.py").write_text("def find(query, k):\n    return [f'page{len(query) % 14:02}.md', f'page{len(query) % 5:02}.md']\n")
    assert main(["init", "--yes", "--no-measure", "--agent", "mine.py:find"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "searchmark evaluate --agent find=mine.py:find runs find" in said
    assert "searchmark compare --agents bm25 find=mine.py:find holds find against bm25" in said
    assert list(reported("evaluate", "--agent", "find=mine.py:find")["agents"]) == ["find"]


def test_a_service_with_its_own_documents_needs_none_here(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_trec_files(project)
    Path("corpus.jsonl").unlink()
    assert main(["init", "--yes"]) == 4
    assert "nothing was found that bm25 could search; name documents with --corpus" in capsys.readouterr().err
    assert main(["init", "--yes", "--no-measure", "--agent", "http://127.0.0.1:9/search?q={query}"]) == 0
    assert "searchmark compare" not in capsys.readouterr().out
    config = load_config("searchmark.yaml")
    assert ([spec.name for spec in config.agents], config.corpus.path) == (["my-search"], None)


def test_a_history_that_makes_too_few_cases_is_told_and_documents_take_its_place(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(project, "init", "-q")
    with_documents(project)
    git(project, "add", ".")
    for number in range(25):
        git(project, "commit", "-q", "--allow-empty", "-m", f"Nothing happens here, round {number}")
    assert main(["init", "--yes", "--no-measure"]) == 0
    assert "so the cases were made from documents" in capsys.readouterr().out
    assert load_config().corpus.path == str(project / "docs")


@pytest.mark.slow
def test_a_gold_set_that_is_committed_is_searched_in_the_clone_that_it_is_in(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_history(project, 25)
    assert main(["init", "--yes", "--no-measure"]) == 0
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "Measure the search")
    git(tmp_path, "clone", "-q", "project", "clone")
    (tmp_path / "clone" / "deeper").mkdir()
    monkeypatch.chdir(tmp_path / "clone" / "deeper")
    assert list(reported("evaluate", "-k", load_suite("../search-quality/gold_set.json").cases[0].id)["agents"]) == ["bm25"]


@pytest.mark.parametrize("column", ["sku", "asin", "product_id"])
def test_a_catalogue_of_a_shop_is_found_by_what_shops_call_an_id(column: str, project: Path, capsys) -> None:
    rows = (f"S{number},{subject},All about {subject}" for number, subject in enumerate(SUBJECTS))
    (project / "products.csv").write_text("\n".join((f"{column},name,description", *rows)) + "\n")
    assert main(["init", "--yes", "--no-measure"]) == 0
    assert "found: products.csv, a catalogue" in capsys.readouterr().err
    assert load_config(project / "searchmark.yaml").corpus.path == str(project / "products.csv")
    assert {judged.target for case in load_suite("search-quality/suite.yaml").cases for judged in case.judgments} <= {
        f"S{number}" for number in range(len(SUBJECTS))
    }


def test_a_table_whose_columns_say_nothing_is_named_with_what_to_do_and_never_asked_as_one_document(project: Path, capsys) -> None:
    rows = (f"S{number},{subject}" for number, subject in enumerate(SUBJECTS))
    (project / "products.csv").write_text("\n".join(("artikelnummer,bezeichnung", *rows)) + "\n")
    assert main(["init", "--yes"]) == 4
    told = capsys.readouterr().err
    assert "found: products.csv, a table without an id, or without a title or text, by name; call these columns id and" in told
    assert "'project' holds 1 document, which every search finds; name documents with --corpus" in told
    assert main(["init", "--yes", "--corpus", "products.csv"]) == 4
    assert "or call it id in the file" in capsys.readouterr().err
    assert [each.name for each in project.iterdir()] == ["products.csv"]


def test_a_folder_without_documents_is_said_to_hold_none(project: Path, capsys) -> None:
    assert main(["init", "--yes"]) == 4
    assert "'project' holds nothing that could be searched; name documents with --corpus" in capsys.readouterr().err
    (project / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\xff")
    assert main(["init", "--yes"]) == 4
    assert "'project' holds nothing that could be searched" in capsys.readouterr().err
    assert [each.name for each in project.iterdir()] == ["photo.png"]


def test_judgments_without_queries_are_named_and_are_taken_only_with_them(project: Path, capsys) -> None:
    with_trec_files(project)
    (project / "topics.tsv").rename(project / "asked.tsv")
    assert main(["init", "--yes", "--no-measure", "--corpus", "corpus.jsonl", "--suite", "qrels.txt"]) == 4
    told = capsys.readouterr().err
    assert "found: qrels.txt, judgments without the texts of their queries; to take them: --suite qrels.txt --topics FILE" in told
    assert "qrels.txt has judgments and no texts of queries, so nothing can be asked; name these with --topics FILE" in told
    assert not (project / "searchmark.yaml").exists()
    assert main(["init", "--yes", "--corpus", "corpus.jsonl", "--suite", "qrels.txt", "--topics", "asked.tsv"]) == 0
    assert "measured: bm25 has" in capsys.readouterr().out


def test_a_built_in_suite_needs_no_config_and_the_command_that_runs_it_is_told(project: Path, capsys) -> None:
    with_documents(project)
    assert main(["init", "--yes", "--suite", "builtin:fashion"]) == 4
    assert "searchmark evaluate --gold-set builtin:fashion runs it; init is about a suite of your own" in capsys.readouterr().err
    assert main(["init", "--yes", "--suite", "builtin:nothing"]) == 4
    assert "there is no built-in suite 'nothing'" in capsys.readouterr().err
