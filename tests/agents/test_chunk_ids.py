"""The ids of chunks go to their files by a rule; what does not fit it is left alone, and a rule that tells nothing is refused."""

from __future__ import annotations

from typing import Any

import pytest

from searchmark import AgentSpec, UsageError
from searchmark.agents.answers import RawHit, parse_chunk_rule
from searchmark.config.agents import BuiltInSource


@pytest.mark.parametrize(
    ("rule", "chunk", "file", "lines"),
    [
        ("{file}#chunk-{n}", "src/a.py#chunk-12", "src/a.py", None),
        ("{file}#chunk-{n}", "a#chunk-1#chunk-2", "a#chunk-1", None),
        ("{file}-{n}", "my-file-2.py-3", "my-file-2.py", None),
        ("{file}_{uuid}", "my_file.py_0af3", "my_file.py", None),
        ("{file}:{first}-{last}", "C:/a-b.py:10-20", "C:/a-b.py", (10, 20)),
        ("{file}:{first}", "a.py:7", "a.py", (7, 7)),
        ("{file}:{first}-{last}", "a.py:20-10", "a.py", None),
        ("docs/{file}#{n}", "docs/a.md#1", "a.md", None),
        ("{collection}/{file}#{n}", "code/src/a.py#1", "src/a.py", None),
        ("chunk {n} of {file}", "chunk 3 of a.py", "a.py", None),
        ("{file}[{n}]", "a.py[4]", "a.py", None),
        ("{file}.chunk", "a.py.chunk", "a.py", None),
    ],
)
def test_a_chunk_goes_to_its_file(rule: str, chunk: str, file: str, lines: Any) -> None:
    assert parse_chunk_rule(rule).file_of(RawHit(chunk, 0.5)) == RawHit(file, 0.5, lines)


@pytest.mark.parametrize(
    ("rule", "id_"),
    [
        ("{file}#chunk-{n}", "a.py"),
        ("{file}#chunk-{n}", "a.py#chunk-"),
        ("{file}#chunk-{n}", "a.py#chunk-two"),
        ("{file}#chunk-{n}", "#chunk-1"),
        ("{file}#chunk-{n}", "a.py#chunk-²"),
        ("docs/{file}#{n}", "src/a.md#1"),
        ("a{file}a", "a"),
        ("{file}#{n}", "x#" * 2000),
    ],
)
def test_an_id_that_does_not_fit_is_none(rule: str, id_: str) -> None:
    assert parse_chunk_rule(rule).file_of(RawHit(id_)) is None


def test_lines_that_a_hit_has_already_are_kept() -> None:
    assert parse_chunk_rule("{file}:{first}").file_of(RawHit("a:7", lines=(1, 2))) == RawHit("a", lines=(1, 2))


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("#chunk-{n}", "has no {file}"),
        ("", "has no {file}"),
        ("{file}", "says nothing but {file}"),
        ("{file}#{n}#{n}", "has a placeholder twice"),
        ("{file}{n}", "has two placeholders with nothing between them"),
        ("{file}#{last}", "has {last} without {first}"),
        ("{file}#{n", "has braces that are not placeholders"),
        ("{file}#{}", "has braces that are not placeholders"),
    ],
)
def test_a_rule_that_tells_nothing_is_refused_wherever_a_spec_is_made(rule: str, reason: str) -> None:
    with pytest.raises(UsageError, match=r"chunk_of must be such as '\{file\}#chunk-\{n\}', and") as caught:
        AgentSpec("mine", BuiltInSource("bm25"), chunk_of=rule)
    assert reason in str(caught.value)
    with pytest.raises(UsageError):
        AgentSpec.from_plain({"name": "bm25", "chunk_of": rule})
