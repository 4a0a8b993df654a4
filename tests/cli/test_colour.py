"""Colours: on a terminal, unless the user says otherwise, and then nowhere."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from searchmark.cli.main import main
from searchmark.cli.terminal import in_colour, is_live

FILES = {
    "suite.yaml": "schema_version: 1\ncases:\n  - {id: c1, query: a, judgments: [{target: x}]}\n",
    "a.trec": "c1 Q0 x 1 1.0 a\n",
    "test_it.py": "def test_it():\n    assert 1 == 2\n",
}
EVALUATE = ("evaluate", "--gold-set", "suite.yaml", "--run", "a.trec", "-m", "RR", "--fail-under", "RR=0.5")
ESCAPE = "\x1b"


class Stream(io.StringIO):
    """A stream that may be a terminal."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)


@pytest.mark.parametrize(
    ("terminal", "environment", "coloured", "live"),
    [
        (True, {"TERM": "xterm"}, True, True),
        (True, {}, True, True),
        (False, {"TERM": "xterm"}, False, False),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, False, True),
        (True, {"TERM": "xterm", "NO_COLOR": ""}, True, True),
        (True, {"TERM": "dumb"}, False, False),
        (False, {"FORCE_COLOR": "1"}, True, False),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_what_the_environment_says_decides(terminal: bool, environment: dict[str, str], coloured: bool, live: bool) -> None:
    assert in_colour(Stream(terminal), environment) is coloured
    assert is_live(Stream(terminal), environment) is live
    assert not in_colour(None, environment)


def on_terminal(*command: str, **variables: str) -> str:
    """What a command writes to a terminal, on stdout and stderr alike."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "PY_COLORS")}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env={**kept, "TERM": "xterm-256color", **variables}
    ) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            written += part
        process.wait()
    os.close(ours)
    return written.decode()


def colours(printed: str) -> list[str]:
    """Every code that sets a colour; codes that move the cursor of a bar set none."""
    codes = (found for each in re.findall(r"\x1b\[([\d;]*)m", printed) for found in each.split(";"))
    return [code for code in codes if code[:1] in ("3", "4", "9") and code not in ("3", "4", "9")]


def searchmark(*arguments: str, **variables: str) -> str:
    return on_terminal(sys.executable, "-m", "searchmark", *arguments, **variables)


@pytest.mark.slow
def test_a_terminal_gets_colours() -> None:
    printed = searchmark(*EVALUATE)
    assert colours(printed) != []
    assert "gate passed" in printed


@pytest.mark.slow
@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"])
@pytest.mark.parametrize(
    "arguments",
    [
        EVALUATE,
        ("audit", "suite.yaml"),
        ("cases", "suite.yaml", "c1", "--run", "a.trec"),
        ("evaluate", "--help"),
        ("evaluate", "-m"),
    ],
    ids=["report", "audit", "case", "help", "usage"],
)
def test_a_terminal_that_wants_none_gets_none(arguments: tuple[str, ...], variables: dict[str, str]) -> None:
    printed = searchmark(*arguments, **variables)
    assert printed
    assert colours(printed) == []
    assert ESCAPE not in printed or "TERM" not in variables


@pytest.mark.slow
def test_a_traceback_has_no_colours_either() -> None:
    failing = (
        "import searchmark.experiments.evaluation as e; from searchmark.cli.main import main; e.match_hits = lambda *_: 1 / 0; main"
    )
    printed = on_terminal(sys.executable, "-c", f"{failing}({list(EVALUATE)!r})", NO_COLOR="1", SEARCHMARK_DEBUG="1")
    assert "ZeroDivisionError" in printed
    assert ESCAPE not in printed


@pytest.mark.slow
def test_bars_of_a_live_run_have_no_colours() -> None:
    Path("docs").mkdir()
    Path("docs/x").write_text("a")
    run = ("evaluate", "--gold-set", "suite.yaml", "--agent", "bm25", "--corpus", "docs", "--no-archive", "--num-runs", "1")
    printed = searchmark(*run, NO_COLOR="1")
    assert "MRR" in printed
    assert colours(printed) == []
    assert ESCAPE not in searchmark(*run, TERM="dumb")


@pytest.mark.slow
def test_the_pytest_plugin_has_no_colours_of_its_own() -> None:
    suite = on_terminal(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py", NO_COLOR="1")
    assert "1 failed" in suite
    assert ESCAPE not in suite


def test_colours_can_be_forced_where_no_terminal_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(EVALUATE) == 0
    assert ESCAPE in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(EVALUATE) == 0
    assert ESCAPE not in capsys.readouterr().out


def test_forced_colours_are_not_in_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main([*EVALUATE, "-o", "-"]) == 0
    assert ESCAPE not in capsys.readouterr().out
