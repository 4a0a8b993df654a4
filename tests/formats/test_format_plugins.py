"""Formats that another package brings along, through a real entry point, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = """
from searchmark import Run, Suite
from searchmark.formats import CorpusFormat, RunFormat, SuiteFormat

print("house is loaded")


def lines_of(file):
    return [line.split("|") for line in file.text.splitlines()[1:]]


def read_suite(file):
    grades = {}
    for query, target, grade in lines_of(file):
        grades.setdefault(query, {})[target] = int(grade)
    return Suite.from_grades(grades, name=file.name)


def write_suite(suite, path):
    judged = [(case.id, each.target, each.grade) for case in suite.cases for each in case.judgments]
    path.write_text("".join(f"{line}\\n" for line in ("#house", *("|".join(map(str, each)) for each in judged))))
    return ["queries"]


def read_run(file):
    return Run.from_scores({query: {hit: float(score)} for query, hit, score in lines_of(file)}, file.name)


def fits(file):
    return file.text.startswith("#house")


house = SuiteFormat("house", fits=fits, read=read_suite, write=write_suite)
house_run = RunFormat("house-run", fits=fits, read=read_run)
house_corpus = CorpusFormat("house-corpus", fits=fits, read=lambda file: ({"id": name, "text": text} for name, text in lines_of(file)))
no_records = CorpusFormat("no-records", fits=lambda file: file.name == "odd", read=lambda file: 5)
half = CorpusFormat("half", fits=lambda file: file.name == "half", read=lambda file: ({"id": "a", "text": 1 // n} for n in (1, 0)))
no_suite = SuiteFormat("no-suite", read=lambda file: [file.name])
double = SuiteFormat("double", read=lambda file: Suite.from_grades({"": {"a": 1}}))
broken = SuiteFormat("broken", fits=lambda file: 1 / 0, read=lambda file: {}["grade"])
other_name = SuiteFormat("another", read=read_suite)
no_format = "house"
"""

NAMES = ("no-records", "half", "house", "house-run", "house-corpus", "no-suite", "double", "broken", "other-name", "no-format")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with a package as an installer would leave it, and with files of its formats."""
    (tmp_path / "house_formats.py").write_text(PACKAGE)
    info = tmp_path / "house-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: house\nVersion: 1.0\n")
    points = "".join(f"{name} = house_formats:{name.replace('-', '_')}\n" for name in NAMES)
    (info / "entry_points.txt").write_text(f"[searchmark.formats]\n{points}")
    (tmp_path / "suite.house").write_text("#house\nq1|a|1\nq2|b|2\n")
    (tmp_path / "run.house").write_text("#house\nq1|a|0.5\nq2|c|0.5\n")
    (tmp_path / "corpus.house").write_text("#house\na|red\nb|blue\nc|green\n")
    return tmp_path


def searchmark(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH", ""))))}
    return subprocess.run(
        [sys.executable, "-m", "searchmark", *arguments], capture_output=True, text=True, cwd=folder, env=environment, check=False
    )


EVALUATE = ("evaluate", "--no-config", "--no-archive", "-m", "P@1", "-q")


def test_suites_runs_and_corpora_of_a_plug_in_are_detected(installed: Path) -> None:
    files = ("--gold-set", "suite.house", "--run", "run.house", "--corpus", "corpus.house")
    done = searchmark(installed, *EVALUATE, *files, "-o", "out.json")
    assert done.returncode == 0, done.stderr
    report = json.loads((installed / "out.json").read_text())
    assert (report["suite"]["name"], report["suite"]["cases"]) == ("suite", 2)
    assert "P@1 0.5000" in done.stdout


@pytest.mark.slow
def test_they_can_be_named(installed: Path) -> None:
    named = ("--gold-set", "suite.house", "--format", "house", "--run", "run.house", "--run-format", "house-run")
    assert "P@1 0.5000" in searchmark(installed, *EVALUATE, *named).stdout


def test_a_suite_is_written_in_the_format_of_a_plug_in(installed: Path) -> None:
    done = searchmark(installed, "convert", "suite.house", "again.house", "--to", "house")
    assert (installed / "again.house").read_text() == "#house\nq1|a|1\nq2|b|2\n"
    assert "not in it: queries" in done.stderr


def test_a_file_of_ours_loads_no_plug_in(installed: Path) -> None:
    (installed / "qrels.txt").write_text("q1 0 a 1\n")
    (installed / "run.trec").write_text("q1 Q0 a 1 0.5 x\n")
    done = searchmark(installed, *EVALUATE, "--gold-set", "qrels.txt", "--run", "run.trec")
    assert (done.returncode, "house is loaded" in done.stdout) == (0, False)


@pytest.mark.slow
def test_errors_list_the_formats_of_plug_ins(installed: Path) -> None:
    wrong = searchmark(installed, *EVALUATE, "--gold-set", "suite.house", "--format", "nonsense", "--run", "run.house")
    assert "'house'" in wrong.stderr
    assert "house is loaded" not in wrong.stdout
    of_runs = searchmark(installed, *EVALUATE, "--gold-set", "suite.house", "--format", "house-run", "--run", "run.house")
    assert "there is no suite format 'house-run'; the formats are native, " in of_runs.stderr
    assert ", swe-bench, broken, double, house, no-suite" in of_runs.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no-suite", "suite.house: the format 'no-suite', which a plug-in adds, read list, not a Suite"),
        ("double", "suite.house, cases.0.id: is empty"),
        ("broken", "suite.house: the format 'broken', which a plug-in adds, failed: KeyError: 'grade'"),
        ("other-name", "the plug-in 'other-name' (formats) is not used: it is a format called 'another'"),
        ("no-format", "is not an object of searchmark.formats.Format"),
    ],
)
def test_what_a_plug_in_does_wrong_is_a_sentence(installed: Path, name: str, sentence: str) -> None:
    done = searchmark(installed, *EVALUATE, "--gold-set", "suite.house", "--format", name, "--run", "run.house")
    assert done.returncode == 4
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("odd", "the format 'no-records', which a plug-in adds, failed: TypeError: 'int' object is not iterable"),
        ("half", "the format 'half', which a plug-in adds, failed: ZeroDivisionError"),
    ],
)
def test_what_a_plug_in_does_wrong_with_documents_is_a_sentence(installed: Path, name: str, sentence: str) -> None:
    (installed / f"{name}.docs").write_text("x")
    files = ("--gold-set", "suite.house", "--run", "run.house", "--corpus", f"{name}.docs")
    done = searchmark(installed, *EVALUATE, *files)
    assert done.returncode == 4
    assert f"{name}.docs: {sentence}" in done.stderr


def test_no_plug_in_is_asked_where_plug_ins_are_forbidden(installed: Path) -> None:
    code = (
        "from searchmark import FormatError, load_suite\n"
        "from searchmark.io.plugins import plugins_forbidden\n"
        "with plugins_forbidden():\n"
        "    try:\n        load_suite('suite.house')\n    except FormatError as error:\n        print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=installed, env=environment, check=True)
    assert "has 1 columns instead of 4" in done.stdout
    assert "house is loaded" not in done.stdout
