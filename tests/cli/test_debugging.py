"""An agent that fails: where in its code, what it printed, which cases; one case in the foreground; and a check beforehand."""

from __future__ import annotations

import json
import os
import pty
import select
import sys
from pathlib import Path

import pytest

from searchmark import load_run, read_report
from searchmark.cli.main import main

AGENTS = """
import asyncio, os, sys

class Mine:
    def initialize(self, corpus):
        self.ids = [document.id for document in corpus]

    def retrieve(self, query, k):
        print("asked for", query)
        return self._hits(query, k)

    def _hits(self, query, k):
        if query.startswith("down"):
            raise ConnectionError(f"server said 503 to {query}")
        if query == "odd":
            try:
                return {}["secret-field"]
            except KeyError as error:
                print("\\x1b[31mred\\x1b[0m", os.environ.get("SHOP_API_KEY"), file=sys.stderr)
                raise RuntimeError(f"key {os.environ.get('SHOP_API_KEY')} refused") from error
        return self.ids[:k]

class NotReady(Mine):
    def initialize(self, corpus):
        print("opening the index")
        self._open()

    def _open(self):
        raise OSError("no index here")

class NotMade(Mine):
    def __init__(self):
        raise LookupError("no key")

class Stops(Mine):
    def retrieve(self, query, k):
        found = 41 + 1
        breakpoint()
        return self.ids[:k]

class Forgetful(Mine):
    def retrieve(self, query, k):
        return [asyncio.sleep(0)]

class Nothing(Mine):
    def retrieve(self, query, k):
        return None

class Triples(Mine):
    def retrieve(self, query, k):
        return [("a", 1, 2)]

class Searches:
    def search(self, query):
        return []

def needy(query, k, index):
    return []

def classy():
    return Mine
"""
QUERIES = {"c1": "down one", "c2": "down two", "c3": "odd", "c4": "tea", "c5": "down three"}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docs").mkdir()
    for name in ("tea", "cart"):
        (tmp_path / "docs" / f"{name}.md").write_text(f"about {name}")
    cases = [{"id": case, "query": query, "judgments": [{"target": "tea.md"}]} for case, query in QUERIES.items()]
    (tmp_path / "suite.json").write_text(json.dumps({"schema_version": 1, "name": "shop", "cases": cases}))
    (tmp_path / "mine.py").write_text(AGENTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOP_API_KEY", "hunter2-secret")
    return tmp_path


def evaluate(agent: str, *more: str) -> int:
    return main(
        ["evaluate", "--gold-set", "suite.json", "--agent", agent, "--corpus", "docs", "-m", "RR", "--num-runs", "1", *more]
    )


@pytest.mark.slow
def test_a_report_shows_where_the_first_failure_of_each_kind_arose(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--pass-env", "SHOP_API_KEY", "--save-run", "run.jsonl", "-o", "out.json", "-o", "out.md", "-o", "out.html")
    assert evaluate("mine.py:Mine", *arguments) == 2
    said = capsys.readouterr().out
    line = {name: AGENTS.splitlines().index(text) + 1 for name, text in {
        "call": "        return self._hits(query, k)",
        "raise": '            raise ConnectionError(f"server said 503 to {query}")',
    }.items()}  # fmt: skip
    shown = said[said.index("3 cases failed: ConnectionError: server said 503 to down one (c1, c2, c5)") :].splitlines()
    assert shown[1:5] == [
        f'  File "{shop}/mine.py", line {line["call"]}, in retrieve',
        f'  File "{shop}/mine.py", line {line["raise"]}, in _hits',
        "  printed meanwhile:",
        "    asked for down one",
    ]
    assert "1 case failed: RuntimeError: key" in said
    assert "which led to:" in said
    failures = json.loads(Path("out.json").read_text())["agents"]["Mine"]["failures"]
    assert [(each["status"], each["cases"]) for each in failures] == [("error", ["c1", "c2", "c5"]), ("error", ["c3"])]
    assert failures[0]["traceback"].splitlines() == [each.strip() for each in shown[1:3]]
    markdown = Path("out.md").read_text()
    assert (
        "<details><summary>3 cases failed: ConnectionError: server said 503 to down one (c1, c2, c5)</summary>\n<pre>" in markdown
    )
    page = Path("out.html").read_text()
    assert "<details><summary>3 cases failed: ConnectionError" in page
    for name in ("out.json", "out.md", "out.html", "run.jsonl"):
        text = Path(name).read_text()
        assert "hunter2" not in text
        assert "\x1b" not in text
    assert "hunter2" not in said
    assert read_report("out.json").agents["Mine"].failures[0].cases == ("c1", "c2", "c5")
    again = load_run("run.jsonl")
    assert (again.details_of(again.index["c1"]).printed, again.details_of(again.index["c4"]).printed) == (
        "asked for down one",
        None,
    )


@pytest.mark.slow
def test_the_traceback_survives_a_journal_and_a_saved_run(shop: Path) -> None:
    evaluate("mine.py:Mine", "-o", "first.json")
    evaluate("mine.py:Mine", "--resume", "--save-run", "run.jsonl", "-o", "resumed.json")
    main(["evaluate", "--gold-set", "suite.json", "--run", "run.jsonl", "-m", "RR", "-o", "saved.json"])
    found = [json.loads(Path(f"{name}.json").read_text())["agents"]["Mine"]["failures"] for name in ("first", "resumed", "saved")]
    assert found[0] == found[1] == found[2]
    assert found[0][0]["traceback"]


def test_an_agent_that_does_not_become_ready_says_where(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate("mine.py:NotReady") == 5
    said = capsys.readouterr().out
    assert "5 cases not run: the agent could not be started: OSError: no index here (c1, c2, c3, c4, c5)" in said
    assert ", in initialize\n" in said
    assert ", in _open\n  printed meanwhile:\n    opening the index\n" in said


def test_an_agent_that_cannot_be_made_says_in_which_line(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate("mine.py:NotMade") == 4
    line = AGENTS.splitlines().index('        raise LookupError("no key")') + 1
    assert f"cannot be made: LookupError: no key ({shop}/mine.py, line {line})" in capsys.readouterr().err


def test_a_failure_at_once_is_not_timed_at_the_limit(shop: Path) -> None:
    evaluate("mine.py:Mine", "-o", "out.json")
    report = json.loads(Path("out.json").read_text())["agents"]["Mine"]
    assert max(report["cases"]["c1"]["details"]["cold_ms"]) < 30_000
    assert report["latency_ms"]["cold"]["p99"] < 30_000


class TestDebug:
    def test_one_case_is_asked_here_with_the_output_of_the_agent(self, shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert evaluate("mine.py:Mine", "-k", "tea", "--debug") == 0
        out, err = capsys.readouterr()
        assert out == "asked for tea\nhits: 2\n  1  cart.md\n  2  tea.md\nexpected: tea.md (rank 2)\nRR: 0.5000\n"
        assert "debugging the case 'c4': tea" in err
        assert "it is not isolated, has no time limit, and sees every environment variable" in err

    def test_an_error_shows_the_lines_of_the_agent_alone(self, shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert evaluate("mine.py:Mine", "--debug") == 2
        err = capsys.readouterr().err
        assert 'raise ConnectionError(f"server said 503 to {query}")' in err
        assert err.rstrip().endswith("ConnectionError: server said 503 to down one")
        assert "searchmark/running" not in err
        assert "(Pdb)" not in err

    def test_an_answer_that_cannot_be_read_is_said_in_the_words_of_a_run(
        self, shop: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert evaluate("mine.py:Nothing", "--debug") == 4
        assert "retrieve returned None; an answer without hits is an empty list" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            (["--no-exec"], "--no-exec allows built-in agents only"),
            (["--sandbox"], "cannot be sandboxed; leave out --sandbox"),
            (["-o", "out.json"], "--debug asks an agent one case and writes nothing; leave out -o"),
            (["--save-run", "run.jsonl"], "leave out --save-run"),
        ],
    )
    def test_what_does_not_go_with_it_is_refused(
        self, shop: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str
    ) -> None:
        assert evaluate("mine.py:Mine", "--debug", *more) == 4
        assert said in capsys.readouterr().err

    def test_code_that_a_config_names_is_refused_as_in_a_run(self, shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
        Path("searchmark.yaml").write_text("agents:\n- name: theirs\n  source: mine.py:Mine\n")
        assert evaluate("theirs", "--debug") == 4
        assert "which is code: name it on the command line if you trust it" in capsys.readouterr().err

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("agent", "typed", "answer", "code"),
        [("Stops", [b"p found\n", b"c\n"], "42", 0), ("Stops", [b"q\n"], "the debugger was left", 130), ("Mine", [b"p query\n", b"q\n"], "'down one'", 2)],
    )  # fmt: skip
    def test_the_debugger_works_on_a_terminal(self, shop: Path, agent: str, typed: list[bytes], answer: str, code: int) -> None:
        """breakpoint() stops there, an error opens it where it arose; what is typed is obeyed."""
        ours, theirs = pty.openpty()
        child = os.fork()
        if not child:
            try:
                os.setsid()
                for standard in (0, 1, 2):
                    os.dup2(theirs, standard)
                os.closerange(3, 1024)
                os.execv(sys.executable, [sys.executable, "-m", "searchmark", *_arguments(agent)])  # noqa: S606
            finally:
                os._exit(99)
        os.close(theirs)
        seen = _talk(ours, typed)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == code
        os.close(ours)
        assert answer in seen
        assert "(Pdb)" in seen


def _arguments(agent: str) -> list[str]:
    return ["evaluate", "--gold-set", "suite.json", "--agent", f"mine.py:{agent}", "--corpus", "docs", "-m", "RR", "--debug"]


def _talk(terminal: int, typed: list[bytes]) -> str:
    """Everything that is seen on a terminal, where each line is typed when the debugger asks for one."""
    seen, rest = b"", list(typed)
    while select.select([terminal], [], [], 60)[0]:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other side has ended
            break
        if not piece:
            break
        seen += piece
        if seen.endswith(b"(Pdb) ") and rest:
            os.write(terminal, rest.pop(0))
    return seen.decode("utf-8", "replace")


class TestCheck:
    def test_a_fine_agent_passes(self, shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["agents", "--check", "mine.py:Mine", "--corpus", "docs"]) == 0
        assert capsys.readouterr().out == "Mine passed all checks: 6 queries, each asked twice\n"

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("agent", "said"),
        [
            ("Forgetful", "was not awaited: await it inside retrieve, which may be an async def"),
            ("Nothing", "retrieve returned None; an answer without hits is an empty list"),
            ("Triples", "('a', 1, 2) is not a hit: give an id, (id, score), a mapping with an id, or a document"),
            ("Searches", "has no method 'retrieve'; it has 'search': call that retrieve, or give a function (query, k)"),
            ("needy", "needs index beside the query and the number of hits; make it a class"),
            ("classy", "is made by a function that returns the class Mine"),
            ("NotMade", "cannot be made: LookupError: no key"),
            ("Mien", "has no attribute 'Mien'; did you mean Mine?"),
        ],
    )
    def test_it_says_what_a_run_says(self, shop: Path, capsys: pytest.CaptureFixture[str], agent: str, said: str) -> None:
        assert main(["agents", "--check", f"mine.py:{agent}"]) == 1
        assert said in capsys.readouterr().out
        assert evaluate(f"mine.py:{agent}", "-k", "tea") in (2, 4)
        run = capsys.readouterr()
        assert said in " ".join((run.out + run.err).split())

    def test_what_does_not_go_with_it_is_refused(self, shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for arguments, said in (
            (["--check", "mine.py:Mine", "--no-exec"], "--no-exec allows built-in agents only"),
            (["--check"], "--check needs an agent"),
            (["bm25", "--corpus", "docs"], "--corpus is what --check lets the agent search"),
        ):
            assert main(["agents", *arguments]) == 4
            assert said in capsys.readouterr().err
