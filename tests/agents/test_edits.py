"""Edits: cutting a new version beside an old one gives the chunks that cutting it alone would give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.agents.lexical.recut import Version, cut, cut_again
from searchmark.corpora.chunks import chunks

LINES = st.lists(st.sampled_from(["a\n", "b\n", "  a\n", "\n", "  \n", "\t\n", "long\n" * 90, "\r\n", "é\n", "a", ""]), max_size=12)
TEXTS = LINES.map("".join)


def version(text: str) -> Version:
    parts = chunks(text)
    return Version(text, np.array([len(part) for part in parts], np.int64), np.arange(len(parts)))


def assert_cut_as_alone(old: str, new: str) -> int:
    """Put the known chunks back in their places; gives how many had to be looked at."""
    former, found = version(old), cut_again(new, version(old))
    known = chunks(old)
    between = np.arange(len(found.chunks)) + len(former.rows)
    texts = [*known, *found.chunks]
    assert [texts[row] for row in found.rows(between)] == chunks(new)
    assert found.sizes.tolist() == [len(part) for part in chunks(new)]
    return len(found.chunks)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_any_edit_gives_the_chunks_of_the_new_text(before: str, old: str, new: str, after: str) -> None:
    assert_cut_as_alone(before + old + after, before + new + after)


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
    assert_cut_as_alone(old, new)


def test_a_small_edit_of_a_long_text_looks_at_few_chunks() -> None:
    old = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(500))
    assert assert_cut_as_alone(old, old.replace("return 250\n", "return 7\n")) <= 2


def test_a_text_of_which_nothing_is_known_is_looked_at_as_a_whole() -> None:
    assert cut("a\n\nb\n").chunks == ["a\n\n", "b\n"]
