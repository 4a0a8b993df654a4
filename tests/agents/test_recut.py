"""Cutting a new version beside an old one gives the chunks that cutting it alone would give."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from searchmark import Document
from searchmark.agents.chunks import LONGEST_CHUNK_LINES, content_chunks, rechunk
from searchmark.agents.lexical.cache import ChunkStore
from searchmark.agents.lexical.postings import Vocabulary

LINES = st.sampled_from(
    [
        "a line that is long enough to be found again",
        "def another_one_of_these_long_lines():",
        "",
        "",
        "  ",
        "a",
        "b",
        "  c",
        "def d():",
        "\t",
        "    e",
        "\r",
        "é",
    ]
)
TEXT = st.lists(LINES, max_size=24).map("\n".join) | st.lists(LINES, max_size=24).map(lambda lines: "\n".join([*lines, ""]))


def joined(text: str, former: list[str], longest: int) -> list[str]:
    parts = rechunk(text, former, longest)
    return [chunk for part in parts for chunk in (former[part] if isinstance(part, slice) else part)]


@pytest.mark.slow
@settings(max_examples=10 * settings.default.max_examples)
@given(TEXT, TEXT, st.integers(1, 6))
@example("\nb", "x\nb", 80)
@example("a\n\nb", "a\n\nb\n\nc", 80)
@example("", "a", 80)
@example("a", "", 80)
def test_cutting_again_gives_the_chunks_of_cutting_anew(before: str, after: str, longest: int) -> None:
    former = content_chunks(before, longest)
    assert joined(after, former, longest) == content_chunks(after, longest)


@settings(max_examples=10 * settings.default.max_examples)
@given(TEXT, TEXT, TEXT, TEXT, st.integers(1, 6))
def test_so_it_does_where_two_versions_share_both_ends(head: str, old: str, new: str, tail: str, longest: int) -> None:
    former = content_chunks(head + old + tail, longest)
    assert joined(head + new + tail, former, longest) == content_chunks(head + new + tail, longest)


def test_only_the_surroundings_of_an_edit_are_cut_again() -> None:
    functions = [f"def f{number}():\n    return {number}\n\n\n" for number in range(100)]
    edited = [*functions[:30], "def new():\n    pass\n\n\n", *functions[31:70], "x = 1\n\n", *functions[70:]]
    parts = rechunk("".join(edited), functions, 80)
    assert sum(len(part) for part in parts if not isinstance(part, slice)) <= 8


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "a\n\nb\n"),
        ("a\n\nb\n", ""),
        ("a\n\nb\n", "a\n\nb\n"),
        ("a\n\nb\n", "a\n\nb\n\nb\n"),
        ("a\n\nb\n\nb\n", "a\n\nb\n"),
        ("a\n\n b\n", "a\n\nb\n"),
        ("a\n" * 79 + "\n b\n", "a\n" * 78 + "\n b\n"),
        ("x\n\n" + "a\n" * 90 + "\n b\n\ny", "x\n\n" + "a\n" * 10 + "\n b\n\ny"),
    ],
)
def test_edits_at_borders(old: str, new: str) -> None:
    assert joined(new, content_chunks(old), LONGEST_CHUNK_LINES) == content_chunks(new)


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_counted_versions_have_the_rows_of_whole_texts(states: list[tuple[str, str]]) -> None:
    contents = ChunkStore(Vocabulary())
    for first, second in states:
        documents = [Document("a", first), Document("b", second)]
        versions = [rows.tolist() for _, rows in contents.rows_of_versions(documents)]
        assert versions == [rows.tolist() for _, rows in contents.rows(documents)]
