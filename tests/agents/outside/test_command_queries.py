"""A query arrives as it was typed, or it is said why it cannot."""

from __future__ import annotations

import os
from ast import literal_eval
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from searchmark import UsageError
from searchmark.agents.outside.command import CommandAgent
from searchmark.agents.outside.options import CommandSettings
from searchmark.agents.outside.process import CommandFailed
from tests.agents.outside.programs import ECHO, agent, python, script, search, staying

READ = "import sys; print(ascii(sys.stdin.buffer.read().decode('utf-8', 'surrogateescape')))"
QUERIES = [
    '"; rm -rf / #',
    "--help",
    "-",
    "--",
    "$(touch x)",
    "`touch x`",
    "a\nb\r\nc\t",
    'it\'s "quoted" \\',
    "{query} {k} {corpus} ${HOME} $HOME %s",
    "*?[a]~",
    "",
    "  blanks  ",
    "naïve 日本語 🙂",
    "caf\udce9",  # a byte that is no UTF-8, as Python keeps it
]


@pytest.mark.parametrize("query", QUERIES, ids=ascii)
def test_an_argument_is_the_query_as_it_was_typed(query: str) -> None:
    assert literal_eval(search(python(ECHO, "{query}"), query).files[0]) == query


@pytest.mark.parametrize("query", [*QUERIES, "NUL \0 here", "x" * 200_000], ids=lambda query: ascii(query[:20]))
def test_the_input_is_the_query_as_it_was_typed(query: str) -> None:
    assert literal_eval(search(python(READ), query, stdin="{query}").files[0]) == query


@pytest.mark.slow
@pytest.mark.parametrize("query", [*QUERIES, "NUL \0 here", "x" * 4000, "\ud800"], ids=lambda query: ascii(query[:20]))
def test_a_program_that_stays_reads_the_query_as_it_was_typed(query: str) -> None:
    program = staying("query = ascii(query)")
    assert literal_eval(program.retrieve(query, 1).files[0]) == query
    program.close()


def test_a_program_that_stays_reads_a_query_larger_than_any_pipe() -> None:
    program = staying("query = str(len(query))")
    assert program.retrieve("x" * 200_000, 1).files == ["200000"]
    program.close()


def test_a_query_is_a_part_of_an_argument_wherever_the_template_says_so() -> None:
    found = search(python("import sys; print(sys.argv[1:])", "--q={query}:{k}", "{other}", "${x"), "a b", 7)
    assert found.files == ["['--q=a b:7', '{other}', '${x']"]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("a\0b", r"the query holds a NUL character, which no argument can: let the program read the query \(stdin: '\{query\}'\)"),
        ("\ud800", r"the query holds '\\ud800', which is half of a character and cannot be sent"),
        ("x" * 200_000, r"an argument of 200000 bytes is too long for this system: let the program read the query"),
    ],
    ids=["NUL", "surrogate", "long"],
)
def test_what_no_argument_can_hold_is_an_error_of_the_case(query: str, reason: str) -> None:
    with pytest.raises(CommandFailed, match=reason):
        search(python(ECHO, "{query}"), query)


def test_no_shell_is_started(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for query in ("$(touch made)", "`touch made`", "; touch made", "| touch made", "> made", "\n touch made"):
        search(python("", "{query}"), query)
    assert os.listdir(tmp_path) == []


def test_a_program_that_does_not_read_its_input_answers_all_the_same() -> None:
    assert search(python("print('a.py')"), "x" * 1_000_000, stdin="{query}").files == ["a.py"]


def test_input_and_output_larger_than_any_pipe_do_not_wait_for_each_other() -> None:
    code = "import sys; sys.stderr.write('e' * 500_000); sys.stdout.write(('o' * 999 + '\\n') * 500); print(len(sys.stdin.read()))"
    found = search(python(code), "x" * 1_000_000, stdin="{query}")
    assert (len(found.files), found.files[-1]) == (501, "1000000")


@pytest.mark.slow
def test_no_piece_of_input_or_output_is_ever_lost_under_load() -> None:
    """Whichever of the pipes and the process ends first, and also where the program stops reading before its input ends."""
    all_read = (
        "import sys; sys.stderr.write('e' * 500_000); sys.stdout.write(('o' * 999 + '\\n') * 500); print(len(sys.stdin.read()))"
    )
    some_read = "import os, sys; os.read(0, 10); os.close(0); sys.stdout.write(('o' * 999 + '\\n') * 500); os.close(2)"

    def lines(code: str) -> int:
        return len(search(python(code), "x" * 1_000_000, stdin="{query}").files)

    with ThreadPoolExecutor(8) as pool:  # more than there are processors: each waits for the others
        assert set(pool.map(lines, [all_read] * 200)) == {501}
        assert set(pool.map(lines, [some_read] * 200)) == {500}


def test_without_an_input_there_is_nothing_to_read() -> None:
    assert search(python("import sys; print(repr(sys.stdin.read()))", "{query}")).files == ["''"]


def test_a_program_has_no_terminal_to_ask_at() -> None:
    code = "import os\ntry:\n    os.open('/dev/tty', os.O_RDWR)\nexcept OSError:\n    print('none')"
    assert search(python(code, "{query}")).files == ["none"]


def test_a_relative_program_is_looked_for_where_the_user_is(tmp_path: Path, monkeypatch) -> None:
    script(tmp_path, "#!/bin/sh\necho found\n")
    monkeypatch.chdir(tmp_path)
    made = agent(("./program", "{query}"), folder="/")
    assert made.describe()["program"] == str(tmp_path / "program")
    assert made.retrieve("q", 1).files == ["found"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "needs argv"),
        ({"argv": ("no-such-program", "{query}")}, "the program 'no-such-program' cannot be started: it is not on the PATH"),
        ({"argv": ("./none", "{query}")}, "the program './none' cannot be started: there is no such file below"),
        ({"argv": ("cat", "{query}"), "startup": ("none", "-V")}, "the program 'none' cannot be started"),
        ({"argv": ("cat", "x")}, "the query goes nowhere: write {query} in argv or in stdin"),
        ({"argv": ("{query}", "x")}, "the first of argv has no placeholder"),
        ({"argv": ("{corpus}/run", "{query}")}, "the first of argv has no placeholder"),
        ({"argv": ("cat", "--password=${PASSWORD}", "{query}")}, r"argv names ${PASSWORD}, and every process can see arguments"),
        ({"argv": ("cat", "{query}"), "stays": True}, "a program that stays reads every query as a line of JSON"),
        ({"argv": ("cat",), "stdin": "{query}", "stays": True}, "a program that stays reads every query as a line of JSON"),
        ({"argv": ("cat",), "stays": True, "startup": ("cat", "-V")}, "startup is for a program that is started for every query"),
    ],
)
def test_a_command_that_cannot_be_is_refused_before_any_search(options: dict[str, object], reason: str) -> None:
    with pytest.raises(UsageError) as raised:
        CommandAgent(CommandSettings(**options))
    assert reason in str(raised.value)


def test_what_is_only_printed_at_once_cannot_stream() -> None:
    with pytest.raises(UsageError, match="a piece of JSON is read as a whole and cannot stream"):
        agent(("cat", "{query}"), streams=True, results={"format": "json"})
