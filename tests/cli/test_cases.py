"""searchmark cases: what a suite asks, and what runs made of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from searchmark.cli.main import main

SUITE = """
schema_version: 1
cases:
  - id: login-1
    query: login form
    category: auth
    judgments: [{target: login.md, match: path, grade: 2}, {target: gone.md, match: path}]
  - {id: login-2, query: log out, category: auth, judgments: [{target: out.md, match: path}]}
  - {id: cart, query: shopping cart, tags: [slow], judgments: [{target: cart.md, match: path}]}
"""
RUN = "login-1 Q0 elsewhere.md 1 3 a\nlogin-1 Q0 login.md 2 2 a\nlogin-1 Q0 ./login.md 3 1 a\nlogin-2 Q0 out.md 1 1 a\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    for name in ("login.md", "out.md", "cart.md"):
        (Path("docs") / name).write_text(name)
    Path("suite.yaml").write_text(SUITE)
    Path("a.trec").write_text(RUN)
    Path("b.trec").write_text("cart Q0 cart.md 1 1 b\n")


def lines(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    return [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]


def test_without_a_case_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases", "suite.yaml"]) == 0
    assert lines(capsys)[2:] == [
        ["login-1", "login", "form", "auth", "2"],
        ["login-2", "log", "out", "auth", "1"],
        ["cart", "shopping", "cart", "–", "1"],
    ]


def test_the_list_is_filtered_bounded_and_says_how_many_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases", "suite.yaml", "-k", "login", "--limit", "1"]) == 0
    printed = capsys.readouterr().out
    assert "login-1" in printed
    assert "login-2" not in printed
    assert printed.endswith("and 1 more of 2 cases; --limit 0 lists all\n")
    assert main(["cases", "suite.yaml", "--category", "auth"]) == 0
    assert "cart" not in capsys.readouterr().out


def test_the_worst_cases_of_a_run_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases", "suite.yaml", "--run", "a.trec", "--run", "b.trec", "--sort", "RR", "--limit", "2"]) == 0
    heading, *rest = lines(capsys)
    assert " ".join(heading) == "lowest RR of a first"
    assert [line[0] for line in rest if line[0] in ("cart", "login-1", "login-2")] == ["cart", "login-1"]


def test_a_case_shows_judgments_ranks_duplicates_and_hits_that_do_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases", "suite.yaml", "login-1", "--corpus", "docs", "--run", "a.trec", "--run", "b.trec", "-m", "RR"]) == 0
    found = lines(capsys)
    assert ["login.md", "2", "path", "yes", "2", "–"] in found
    assert ["gone.md", "1", "path", "no", "–", "–"] in found
    assert ["a:", "ok,", "hits:", "3"] in found
    assert ["RR", "0.5000"] in found
    assert ["1", "elsewhere.md", "–", "3.0000", "not", "in", "the", "corpus"] in found
    assert ["2", "login.md", "2", "2.0000"] in found
    assert ["–", "./login.md", "–", "1.0000", "duplicate"] in found
    assert ["b:", "empty,", "hits:", "0"] in found


@pytest.mark.parametrize(
    ("arguments", "case", "runs"),
    [
        (("suite.yaml", "cart", "--run", "x=a.trec", "b.trec"), "cart", ["x", "b"]),
        (("suite.yaml", "--run", "a.trec", "b.trec", "-m", "RR"), None, ["a", "b"]),
        (("suite.yaml", "--run", "x=a.trec", "y=b.trec"), None, ["x", "y"]),
        (("suite.yaml", "--run", "a.trec", "cart"), "cart", ["a"]),
        (("--run", "a.trec", "suite.yaml", "cart"), "cart", ["a"]),
        (("--run", "a.trec", "b.trec", "-m", "RR", "suite.yaml", "cart"), "cart", ["a", "b"]),
        (("--run", "a.trec", "suite.yaml", "docs/cart.md"), "docs/cart.md", ["a"]),
        (("suite.yaml", "shopping cart", "--run", "a.trec", "b.trec"), "cart", ["a", "b"]),
    ],
)
def test_several_runs_are_named_beside_suite_and_case(
    arguments: tuple[str, ...], case: str | None, runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("suite.yaml").write_text(SUITE + "  - {id: docs/cart.md, query: a path, judgments: [{target: cart.md}]}\n")
    assert main(["cases", *arguments, "-o", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.get("id") == case
    assert ([each["run"] for each in found["answers"]] if case else list(found["cases"][0]["values"])) == runs


def test_what_is_searched_is_known_from_suite_and_config_as_in_reports(capsys: pytest.CaptureFixture[str]) -> None:
    shown = ["cases", "suite.yaml", "login-1", "--run", "a.trec", "-o", "-"]
    Path("suite.yaml").write_text(SUITE + "corpus: docs\n")
    assert main(shown) == 0
    assert [each["exists"] for each in json.loads(capsys.readouterr().out)["judgments"]] == [True, False]
    Path("searchmark.yaml").write_text("corpus: {exclude: [login.md]}\nsuite: {measures: [P@1, RR]}")
    assert main(shown) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["exists"] for each in found["judgments"]] == [False, False]
    assert list(found["answers"][0]["values"]) == ["P@1"]


def test_both_are_written_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases", "suite.yaml", "login-1", "--run", "a.trec", "-m", "RR", "-o", "-"]) == 0
    case = json.loads(capsys.readouterr().out)
    assert (case["record"], case["id"], case["category"]) == ("case", "login-1", "auth")
    assert [judgment["found"] for judgment in case["judgments"]] == [{"a": 2}, {"a": None}]
    assert [(hit["rank"], hit["id"], hit["duplicate"]) for hit in case["answers"][0]["hits"]] == [
        (1, "elsewhere.md", False),
        (2, "login.md", False),
        (None, "./login.md", True),
    ]
    assert main(["cases", "suite.yaml", "-o", "list.json", "-o", "list.txt"]) == 0
    assert [case["id"] for case in json.loads(Path("list.json").read_text())["cases"]] == ["login-1", "login-2", "cart"]
    assert "shopping cart" in Path("list.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("login-",), "the suite 'suite' has no case 'login-'; nearest: 'login-1', 'login-2'"),
        (("carts",), "nearest: 'cart'"),
        (("cart", "-k", "x"), "-k, --category and --sort are for the list of cases"),
        (("--sort", "RR"), "name the run with --run"),
        (("-m", "RR"), "-m is computed for runs; name them with --run"),
        (("-o", "x.md"), "x.md: the extension must be one of .json, .txt"),
    ],
)
def test_what_cannot_be_shown_is_said(arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases", "suite.yaml", *arguments]) == 4
    assert said in capsys.readouterr().err


def test_a_query_of_several_cases_names_none(capsys: pytest.CaptureFixture[str]) -> None:
    Path("suite.yaml").write_text(SUITE + "  - {id: again, query: log out, judgments: [{target: out.md}]}\n")
    assert main(["cases", "suite.yaml", "log out"]) == 4
    assert "2 cases ask 'log out'; name one by its id: 'login-2', 'again'" in capsys.readouterr().err


def test_texts_of_others_are_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    case = {"id": "c\x1b[2J", "query": "q\x1b]0;x\x07" + "y" * 5000, "judgments": [{"target": "t\u202e"}]}
    Path("bad.json").write_text(json.dumps({"schema_version": 1, "cases": [case]}))
    Path("bad-run.json").write_text(json.dumps({case["id"]: ["t\u202e", "h\x1b[31m"]}))
    for arguments in ((), (str(case["id"]), "--run", "bad-run.json")):
        assert main(["cases", "bad.json", *arguments]) == 0
        printed = capsys.readouterr().out
        assert not {"\x1b", "\x07", "\u202e"} & set(printed)
        assert len(printed) < 8000
