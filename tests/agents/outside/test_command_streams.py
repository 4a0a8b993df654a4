"""Where hits count as they are printed, they are given away before the program has ended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from searchmark.agents.outside.process import CommandFailed
from tests.agents.outside.programs import agent, python, staying
from tests.agents.outside.test_command_answers import is_gone


def waiting_program(folder: Path, then: str = "") -> tuple[str, ...]:
    """Prints a hit, and the next one when a pipe has been written to."""
    os.mkfifo(folder / "pipe")
    return python(f"print('first', flush=True); open({str(folder / 'pipe')!r}).read(); print('second'); {then}", "{query}")


def test_the_first_hit_comes_before_the_last(tmp_path: Path) -> None:
    hits = agent(waiting_program(tmp_path), streams=True).retrieve("q", 5)
    assert next(hits).id == "first"
    (tmp_path / "pipe").write_text("")
    assert [hit.id for hit in hits] == ["second"]
    assert hits.usage.start_ms > 0


def test_how_the_program_ended_is_raised_at_the_end(tmp_path: Path) -> None:
    hits = agent(waiting_program(tmp_path, "import sys; sys.exit('lost the index')"), streams=True).retrieve("q", 5)
    assert next(hits).id == "first"
    (tmp_path / "pipe").write_text("")
    assert next(hits).id == "second"
    with pytest.raises(CommandFailed, match="exit code 1: lost the index"):
        next(hits)


def test_a_program_whose_hits_are_not_wanted_any_more_is_ended() -> None:
    hits = agent(python("import os\nwhile True: print(os.getpid(), flush=True)", "{query}"), streams=True).retrieve("q", 5)
    pid = int(next(hits).id)
    hits.close()
    assert is_gone(pid)


def test_words_for_nothing_are_no_hit() -> None:
    made = agent(python("print('No hits\\nTry again')", "{query}"), streams=True, results={"nothing": "No hits|Try again"})
    assert list(made.retrieve("q", 5)) == []


def test_a_program_that_complains_or_prints_hits_has_not_found_nothing() -> None:
    crashing = agent(python("raise RuntimeError('index corrupt')", "{query}"), streams=True, nothing=(1,))
    with pytest.raises(CommandFailed, match=r"exit code 1: .*RuntimeError: index corrupt"):
        list(crashing.retrieve("q", 5))
    printing = agent(python("import sys; print('index corrupt'); sys.exit(1)", "{query}"), streams=True, nothing=(1,))
    with pytest.raises(CommandFailed, match="means that it found nothing, and printed 'index corrupt'"):
        list(printing.retrieve("q", 5))


def test_hits_of_a_program_that_stays_stream_line_by_line_and_it_can_be_asked_again() -> None:
    program = staying(
        """for i in range(3): print(json.dumps({"id": n, "hits": [query + str(i)], "more": True}), flush=True)""", streams=True
    )
    hits = program.retrieve("a", 1)
    assert next(hits).id == "a0"
    hits.close()
    hits = program.retrieve("b", 1)
    assert [hit.id for hit in hits] == ["b0", "b1", "b2", "b"]
    assert hits.metadata == {}
    program.close()
