"""-v and -q: how much is said beside what was asked for, before a verb or after it."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

import searchmark
from searchmark.cli.main import VERBS, app, main

FILES = {
    "suite.yaml": "schema_version: 1\ncases:\n  - {id: c1, query: a, judgments: [{target: x}]}\n  - {id: c2, query: b, judgments: [{target: y}]}\n",
    "a.trec": "c1 Q0 x 1 1.0 a\nc2 Q0 y 1 1.0 a\n",
    "b.trec": "c1 Q0 x 1 1.0 b\nc2 Q0 z 1 1.0 b\n",
}
EVALUATE = ("evaluate", "--gold-set", "suite.yaml", "--run", "b.trec", "-m", "RR", "-o", "out.md")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)


def every_command(command: click.Command, context: click.Context) -> list[click.Command]:
    if not isinstance(command, click.Group):
        return [command]
    inner = [command.get_command(context, name) for name in command.list_commands(context)]
    return [command, *(each for found in inner if found is not None for each in every_command(found, context))]


def test_every_verb_has_both() -> None:
    context = click.Context(app)
    commands = every_command(app, context)
    assert len(commands) > len(VERBS)
    for command in commands:
        flags = [flag for parameter in command.params for flag in parameter.opts]
        assert [flags.count(flag) for flag in ("-v", "--verbose", "-q", "--quiet")] == [1, 1, 1, 1], command.name


@pytest.mark.parametrize("arguments", [("-q", *EVALUATE), (*EVALUATE, "-q"), (*EVALUATE, "--quiet")])
def test_quiet_prints_the_result_and_nothing_else(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.out == "b: RR 0.5000\n"
    assert printed.err == ""
    assert Path("out.md").exists()


def test_quiet_says_how_a_gate_ended_and_exits_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*EVALUATE, "-q", "--fail-under", "RR=0.8"]) == 1
    assert capsys.readouterr().out == "b: RR 0.5000\ngate failed: Expected RR >= 0.8, but got 0.5\n"


def test_quiet_says_who_is_better(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--gold-set", "suite.yaml", "--run", "a.trec", "--run", "b.trec", "-m", "RR", "-q"]) == 0
    first, second, verdict = capsys.readouterr().out.splitlines()
    assert (first, second) == ("a: RR 1.0000", "b: RR 0.5000")
    assert verdict.startswith("b against a: RR ")


def test_quiet_says_why_a_result_is_doubtful(capsys: pytest.CaptureFixture[str]) -> None:
    documents = ({"_id": name, "text": name} for name in ("x", "z"))
    Path("corpus.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in documents))
    cases = "".join(f"  - {{id: d{number}, query: q, judgments: [{{target: gone{number}}}]}}\n" for number in range(3))
    Path("suite.yaml").write_text(FILES["suite.yaml"] + cases)
    assert main([*EVALUATE, "-q", "--corpus", "corpus.jsonl", "--missing", "zero"]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "b: RR 0.2000"
    assert rest[0].startswith("error most-targets-missing: 4 of 5 relevant targets (80 %) are not in the corpus: ")
    assert all(line.startswith(("error ", "warning ")) for line in rest)


def test_quiet_leaves_errors_and_json_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-q", "evaluate", "--gold-set", "missing.yaml", "--run", "a.trec"]) == 4
    assert "missing.yaml" in capsys.readouterr().err
    assert main(["-q", *EVALUATE, "-o", "-"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["agents"]["b"]["measures"]["RR"]["mean"] == 0.5
    assert printed.err == ""


def test_quiet_still_says_what_a_file_could_not_hold(capsys: pytest.CaptureFixture[str]) -> None:
    text = FILES["suite.yaml"].replace("query: a,", "query: a, tags: [t],")
    Path("tagged.yaml").write_text(text)
    assert main(["convert", "-q", "tagged.yaml", "out.qrels"]) == 0
    error = capsys.readouterr().err
    assert "not in it: " in error
    assert "written" not in error


@pytest.mark.parametrize("arguments", [("-v", *EVALUATE), (*EVALUATE, "-v"), ("--verbose", *EVALUATE, "-v")])
def test_verbose_says_what_is_read_and_which_versions_are_at_work(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(f"searchmark {searchmark.__version__}, Python 3.")
    assert "config: none, so the defaults apply" in said
    assert "suite: suite.yaml, 2 cases, 2 judgments" in said
    assert "run: b.trec, b, 2 answers" in said
    assert len([line for line in said if line.startswith("searchmark ")]) == 1


def test_verbose_says_which_config_is_in_force(capsys: pytest.CaptureFixture[str]) -> None:
    Path("searchmark.yaml").write_text("agents: [bm25]\n")
    main(["-v", *EVALUATE])
    assert f"config: {Path.cwd() / 'searchmark.yaml'} (found), agents: bm25" in capsys.readouterr().err
    main(["-v", *EVALUATE, "--config", "searchmark.yaml"])
    assert "config: searchmark.yaml (named), agents: bm25" in capsys.readouterr().err


def test_verbose_json_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-v", *EVALUATE, "-o", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["suite"]["cases"] == 2


def test_one_command_says_nothing_about_the_next(capsys: pytest.CaptureFixture[str]) -> None:
    main(["-q", *EVALUATE])
    capsys.readouterr()
    main([*EVALUATE])
    assert "written: out.md" in capsys.readouterr().err


def test_both_at_once_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-q", *EVALUATE, "-v"]) == 4
    assert "--verbose wants more to be said and --quiet less; give one of them" in capsys.readouterr().err
