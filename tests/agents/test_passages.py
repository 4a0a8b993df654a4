"""Passages: what ranks documents ranks passages with lines, and an update gives what a new index gives."""

from __future__ import annotations

import pytest

from searchmark import Changes, Corpus, Document, load_agent
from searchmark.agents.chunks import passages
from searchmark.agents.registry import create_agent

TEXT = "\n\nimport re\n\n\ndef comma(row):\n    return row\n\n\ndef semicolon(row):\n    return row\n"
BEFORE = [Document("a.py", TEXT), Document("b.py", "def semicolon():\n    pass\n"), Document("c.py", "\n \n")]
AFTER = [Document("a.py", "# new\n" + TEXT), Document("d.py", "semicolon = 1\n")]
AGENTS = ["bm25", "fts5", pytest.param("keyword", marks=pytest.mark.slow)]


def test_passages_have_the_lines_of_the_file() -> None:
    lines = TEXT.split("\n")
    for passage in passages(BEFORE[0]):
        first, last = passage.lines
        assert "\n".join(lines[first - 1 : last]) == passage.document.text
        assert passage.document.text.strip("\n") == passage.document.text
    assert [passage.document.id for passage in passages(BEFORE[0])] == ["a.py#L3-L3", "a.py#L6-L7", "a.py#L10-L11"]
    assert list(passages(BEFORE[2])) == []


def ready(agent: str, documents: list[Document]):
    made = create_agent(load_agent(agent, lines=True))
    made.initialize(Corpus.of("code", documents))
    return made


@pytest.mark.parametrize("agent", AGENTS)
def test_hits_are_passages_with_their_lines(agent: str) -> None:
    made = ready(agent, BEFORE)
    found = made.retrieve("semicolon", 9)
    assert set(zip(found.files, found.lines, strict=True)) == {("a.py", (10, 11)), ("b.py", (1, 2))}
    assert made.describe()["hits"] == "passages"
    made.close()


@pytest.mark.parametrize("agent", AGENTS)
def test_an_update_gives_what_a_new_index_gives(agent: str) -> None:
    made, new = ready(agent, BEFORE), ready(agent, AFTER)
    assert made.update(Changes(Corpus.of("code", AFTER), ("a.py", "d.py"), ("b.py", "c.py")))
    for query in ("semicolon", "comma row", "new", "a"):
        assert made.retrieve(query, 9) == new.retrieve(query, 9)
    assert ("a.py", (11, 12)) in zip(made.retrieve("semicolon", 9).files, made.retrieve("semicolon", 9).lines, strict=True)
    made.close()
    new.close()


@pytest.mark.parametrize("agent", ["bm25", "fts5", "semantic"])
def test_lines_of_fields_are_refused(agent: str) -> None:
    with pytest.raises(Exception, match="lines are those of the text"):
        create_agent(load_agent(agent, lines=True, fields=["bullets"]))
