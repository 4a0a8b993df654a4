"""A program that stays answers line by line; one that says anything else is started again for the next query."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark import Changes, load_corpus
from searchmark.agents.outside.process import CommandFailed
from searchmark.agents.outside.results import UnreadableAnswer
from tests.agents.outside.programs import agent, python, staying
from tests.agents.outside.test_command_answers import is_gone, is_running


def test_one_process_answers_all_queries() -> None:
    program = staying("query = str(os.getpid())")
    first, second = (program.retrieve("q", 1) for _ in range(2))
    assert first.files == second.files
    assert is_running(int(first.files[0]))
    assert first.usage.start_ms is None
    program.close()
    assert is_gone(int(first.files[0]))


def test_hits_may_have_scores_and_lines_and_an_answer_a_price() -> None:
    reply = '{"id": n, "hits": [{"id": "a", "score": 2, "lines": [3, 4]}, "b"], "cost": 0.25, "tokens": 7}'
    program = staying(f"print(json.dumps({reply}), flush=True); continue")
    found = program.retrieve("q", 2)
    assert (found.files, found.lines, found.cost) == (["a", "b"], [(3, 4), None], 0.25)
    assert (found.usage.tokens, found.usage.tokens_by) == (7, "the program")
    program.close()


def test_hits_are_found_by_jmespath_where_they_have_other_names() -> None:
    program = staying(
        """print(json.dumps({"id": n, "data": [{"file": {"name": "a"}, "rank": 9}]}), flush=True); continue""",
        results={"hits": "data", "id": "file.name", "score": "rank"},
    )
    found = program.retrieve("q", 2)
    assert (found.files, found.scores) == (["a"], [9.0])
    program.close()


def test_an_answer_may_come_in_several_lines() -> None:
    program = staying("""print(json.dumps({"id": n, "hits": ["first"], "more": True}), flush=True)""")
    assert program.retrieve("q", 5).files == ["first", "q", "q", "q"]
    assert program.retrieve("r", 1).files == ["first", "r"]
    program.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("does", "reason"),
    [
        ("print('loading...')", "answered with what is not JSON .*: loading..."),
        ("print('[1]')", "answered with what is not an object"),
        ("n += 1", "was asked 1 and answered something else"),
        ("sys.exit('out of memory')", "ended with exit code 1: out of memory"),
        ("os.kill(os.getpid(), 9)", "was ended by SIGKILL"),
        ("print('{\"id\": 1, ', end='', flush=True); sys.exit(0)", 'ended with exit code 0: {"id": 1,'),
        ("print(json.dumps({'id': n, 'hits': ['a'], 'more': 'true'}), flush=True)", "more is true or false; python"),
        ("print('x' * 3000)", r"answered with more than 2000 bytes \(max_output_bytes\)"),
    ],
)
def test_a_process_that_says_anything_else_is_started_again(does: str, reason: str) -> None:
    program = staying(f"if query == 'odd': {does}", max_output_bytes=2000)
    with pytest.raises(CommandFailed, match=reason):
        program.retrieve("odd", 1)
    found = program.retrieve("even", 1)
    assert (found.files, found.metadata) == (["even"], {"restarts": 1})
    assert found.usage.start_ms > 0
    assert program.retrieve("even", 1).usage.start_ms is None
    program.close()


def test_a_second_answer_to_one_query_is_no_answer_to_the_next() -> None:
    program = staying("if query == 'twice': print(json.dumps({'id': n, 'hits': []}), flush=True)")
    assert program.retrieve("twice", 1).files == []
    with pytest.raises(CommandFailed, match="was asked 2 and answered something else"):
        program.retrieve("q", 1)
    assert program.retrieve("q", 1).files == ["q"]
    program.close()


@pytest.mark.parametrize(
    ("reply", "error", "reason"),
    [
        ('{"id": n, "error": "the index is locked"}', CommandFailed, "says: the index is locked"),
        ('{"id": n}', UnreadableAnswer, "the answer has no list at 'hits'"),
        ('{"id": n, "hits": [{"name": "a"}]}', UnreadableAnswer, "a hit cannot be read"),
    ],
)
def test_a_search_that_failed_leaves_the_process_as_it_is(reply: str, error: type[Exception], reason: str) -> None:
    program = staying(f"if query == 'odd': print(json.dumps({reply}), flush=True); continue")
    with pytest.raises(error, match=reason):
        program.retrieve("odd", 1)
    assert program.retrieve("q", 1).metadata == {}
    program.close()


def test_complaints_of_any_length_do_not_block_it() -> None:
    program = staying("sys.stderr.write('w' * 300_000)")
    assert [program.retrieve("q", 1).files for _ in range(3)] == [["q"]] * 3
    program.close()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("print('hello')", "answered with what is not JSON"),
        ("print('{}')", 'a program that stays says {"ready": true} first'),
        ("import sys; sys.exit('no index')", "ended with exit code 1: no index"),
    ],
)
def test_a_process_that_does_not_get_ready_fails_when_it_is_started(code: str, reason: str) -> None:
    with pytest.raises(CommandFailed, match=reason):
        agent(python(code), stays=True).start()


def test_it_is_started_again_for_another_state_of_the_corpus(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a")
    code = "import json, os, sys\nprint('{\"ready\": true}', flush=True)\nfor line in sys.stdin:\n"
    code += "    print(json.dumps({'id': json.loads(line)['id'], 'hits': [str(os.getpid()), sys.argv[1]]}), flush=True)"
    program, corpus = agent(python(code, "{corpus}"), stays=True), load_corpus(tmp_path)
    program.initialize(corpus)
    first = program.retrieve("q", 2)
    assert program.update(Changes(corpus, ("a.md",), ())) is False
    program.initialize(corpus)
    second = program.retrieve("q", 2)
    program.close()
    assert first.files[1] == second.files[1] == str(tmp_path)
    assert first.files[0] != second.files[0]
    assert second.metadata == {}


def test_one_that_is_not_told_of_the_corpus_stays(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a")
    program = staying()
    assert program.update(Changes(load_corpus(tmp_path), (), ()))
    program.close()
