"""Formats that other packages add, found by their entry points as an installer leaves them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from searchmark import Renderer
from searchmark.reports.render import write_report
from tests.reports.samples import report_of

CODE = """
import os, sys
from searchmark import Renderer

print("loaded", file=sys.stderr)

def to_org(report):
    yield f"* {report.suite.name}\\n"
    yield os.environ.get("MY_API_KEY", "no key") + "\\n"

def fails_late(report):
    yield "half of it"
    raise ValueError("no more ink")

def leaves(report):
    sys.exit(0)

org = Renderer("org", (".org", ".emacs.org"), to_org)
late = Renderer("late", (".late",), fails_late)
exits = Renderer("exits", (".exits",), leaves)
bytes_ = Renderer("bytes", (".bytes",), lambda report: [b"no text"])
ours = Renderer("json", (".json", ".js"), to_org)
"""
POINTS = """[searchmark.renderers]
org = inked:org
late = inked:late
exits = inked:exits
bytes = inked:bytes_
json = inked:ours
missing = inked:nothing_here
function = inked:to_org
"""


@pytest.fixture
def inked(tmp_path: Path) -> Path:
    """A package that adds formats, and a report beside it."""
    site = tmp_path / "site"
    info = site / "inked-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "inked.py").write_text(CODE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: inked\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    write_report(report_of(), tmp_path / "report.json")
    return tmp_path


def python(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(folder / "site")} | environment
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False)


def report(folder: Path, *outputs: str, **environment: str) -> subprocess.CompletedProcess[str]:
    arguments = [part for output in outputs for part in ("-o", output)]
    return python(folder, "-m", "searchmark", "report", "report.json", *arguments, **environment)


def test_an_extension_of_a_plug_in_is_written(inked: Path) -> None:
    done = report(inked, "out.org", "out.md")

    assert done.returncode == 0
    assert (inked / "out.org").read_text() == "* demo\nno key\n"
    assert "written: out.org" in done.stderr


@pytest.mark.slow
def test_a_config_may_name_a_format_of_a_plug_in(inked: Path) -> None:
    (inked / "searchmark.yaml").write_text("output: {formats: [json, org], file_name: 'on_{suite}.org'}\n")

    assert report(inked, "out/").returncode == 0
    assert sorted(path.name for path in (inked / "out").iterdir()) == ["on_demo.json", "on_demo.org"]


@pytest.mark.slow
def test_no_plug_in_is_loaded_for_a_format_of_ours_and_ours_go_first(inked: Path) -> None:
    done = report(inked, "out.json", "out.html")

    assert "loaded" not in done.stderr
    assert '"schema_version"' in (inked / "out.json").read_text()
    assert report(inked, "out.js").returncode == 4  # of a format that has our name nothing is taken


def test_a_secret_that_a_plug_in_writes_is_removed(inked: Path) -> None:
    report(inked, "out.org", MY_API_KEY="s3cr3t-of-the-house-42")

    assert (inked / "out.org").read_text() == "* demo\n(removed)\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reason"),
    [("late", "ValueError: no more ink"), ("exits", "SystemExit: 0"), ("bytes", "TypeError: it gives a bytes in place of text")],
)
def test_what_a_plug_in_raises_is_one_sentence_and_no_file_is_left(name: str, reason: str, inked: Path) -> None:
    done = report(inked, f"out.{name}")

    assert done.returncode == 4
    assert done.stderr.splitlines()[-1].endswith(f"the plug-in that writes the format '{name}' has failed: {reason}")
    assert [path.name for path in inked.iterdir() if "out" in path.name] == []


def test_one_that_cannot_be_used_is_one_warning_and_the_others_are_listed(inked: Path) -> None:
    done = report(inked, "out.pdf")

    assert done.returncode == 4
    assert done.stderr.count("the plug-in 'missing' (renderers, inked 1.0) is not used: inked:nothing_here cannot be loaded") == 1
    assert done.stderr.count("is not an object of searchmark.reports.render.Renderer") == 1
    assert ".tex, .bytes, .exits, .late, .org, .emacs.org" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_where_plug_ins_are_forbidden_there_are_none(inked: Path) -> None:
    code = (
        "import searchmark\nfrom searchmark.io.plugins import plugins_forbidden\nreport = searchmark.read_report('report.json')\n"
        "with plugins_forbidden():\n    try: searchmark.render(report, 'org')\n    except searchmark.UsageError as error: print(error)\n"
        "print(searchmark.render(report, 'org'))\n"
    )
    done = python(inked, "-c", code)

    assert done.stdout.splitlines()[0].startswith("there is no report format 'org'; available: comment, csv,")
    assert done.stdout.splitlines()[1:3] == ["* demo", "no key"]


@pytest.mark.parametrize(("name", "suffixes"), [("a/b", (".x",)), ("x", ()), ("x", ("x",)), ("x", ("./../x",)), ("x", (".",))])
def test_a_name_or_an_extension_that_no_file_can_have_is_refused(name: str, suffixes: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="a renderer has a name of small letters"):
        Renderer(name, suffixes, str)
