"""A document that is cut again where it changed has the pieces of one that is cut anew."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from searchmark.agents.chunking import Cutting, cut_again
from searchmark.corpora.chunks import chunks
from searchmark.records import Document

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
    ]
)
TEXT = st.lists(LINES, max_size=24).map("\n".join) | st.lists(LINES, max_size=24).map(lambda lines: "\n".join([*lines, ""]))


def joined(text: str, former: list[str], longest: int) -> list[str]:
    parts = cut_again(text, former, longest)
    return [chunk for part in parts for chunk in (former[part] if isinstance(part, slice) else part)]


@settings(max_examples=600)
@given(TEXT, TEXT, st.integers(1, 6))
@example("\nb", "x\nb", 80)
@example("a\n\nb", "a\n\nb\n\nc", 80)
@example("", "a", 80)
@example("a", "", 80)
def test_cutting_again_gives_the_chunks_of_cutting_anew(before: str, after: str, longest: int) -> None:
    former = chunks(before, longest)
    assert joined(after, former, longest) == chunks(after, longest)


@settings(max_examples=600)
@given(TEXT, TEXT, TEXT, TEXT, st.integers(1, 6))
def test_so_it_does_where_two_versions_share_both_ends(head: str, old: str, new: str, tail: str, longest: int) -> None:
    former = chunks(head + old + tail, longest)
    assert joined(head + new + tail, former, longest) == chunks(head + new + tail, longest)


def test_only_the_surroundings_of_an_edit_are_cut_again() -> None:
    functions = [f"def f{number}():\n    return {number}\n\n\n" for number in range(100)]
    edited = [*functions[:30], "def new():\n    pass\n\n\n", *functions[31:70], "x = 1\n\n", *functions[70:]]
    parts = cut_again("".join(edited), functions, 80)
    assert sum(len(part) for part in parts if not isinstance(part, slice)) <= 8


@pytest.mark.parametrize("texts", [["a\n\nb\n", "a\n\nc\n", "", "a\n\nb\n"], ["  \n", "x", " \n\n"]])
def test_a_remembered_document_has_the_pieces_of_a_new_one(texts: list[str]) -> None:
    cutting = Cutting(80, paths=True, whole=False)
    seen: set[bytes] = set()
    for text in texts:
        document = Document("x", text, "title")
        pieces = cutting.pieces(document, again=True)
        anew = Cutting(80, paths=True, whole=False).pieces(document)
        assert pieces.keys == anew.keys == list(anew.fresh)
        assert set(pieces.keys) - seen <= set(pieces.fresh)  # whoever embeds what is fresh has everything
        seen |= set(pieces.keys)
    cutting.forget(["x"])
    assert cutting.pieces(document) == anew


def test_pieces_and_lines_belong_together() -> None:
    document = Document("x.py", "\n\na\n\nb\n\n\na\n\n  \n", "title")
    for paths in (True, False):
        cutting = Cutting(80, paths=paths, whole=False)
        found = dict(zip(cutting.pieces(document).fresh.values(), cutting.lines(document), strict=True))
        assert found["a\n\n"] == (3, 3)
        assert found["b\n\n\n"] == (5, 5)
        assert found["title"] is None
    assert Cutting(80, paths=True, whole=True).lines(document) == [None]
