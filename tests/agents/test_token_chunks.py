"""Chunks of tokens hold every character of a text, are as large as they may be, and overlap as asked."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from searchmark import Document
from searchmark.agents.vectors.chunking import STRETCH, Chunker, TokenChunking, TokenOverlap, parse_chunking, token_offsets

PROSE = "".join(
    f"Paragraph {number} says a few words about nothing. It has two sentences!\nAnd a second line, which is longer than the first.\n\n"
    for number in range(60)
)
CUTS = [
    TokenChunking(20, 20),
    TokenChunking(10, 40),
    TokenChunking(30, 80, TokenOverlap(share=0.15)),
    TokenChunking(8, 16, TokenOverlap(tokens=7)),
    TokenChunking(1, 1),
    TokenChunking(5, 9, TokenOverlap(share=0.99)),
]


def sizes(text: str, spans: list[tuple[int, int]]) -> list[int]:
    starts = token_offsets(text)
    return [bisect_left(starts, end) - bisect_left(starts, start) for start, end in spans]


@pytest.mark.parametrize("cut", CUTS, ids=str)
@given(text=st.text(st.sampled_from("ab .\n!?\t 。é😀\ud800"), max_size=300))
@example(text=PROSE[:700])
@example(text="")
def test_every_character_is_in_a_chunk_and_no_chunk_is_in_another(cut: TokenChunking, text: str) -> None:
    spans = cut.spans(text)
    covered = {place for start, end in spans for place in range(start, end)}
    assert covered == set(range(len(text)))
    assert spans == sorted(set(spans))
    assert [end for _, end in spans] == sorted({end for _, end in spans})


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_sizes_are_within_their_bounds_except_for_the_last(cut: TokenChunking) -> None:
    found = sizes(PROSE, cut.spans(PROSE))
    assert min(found[:-1]) >= cut.least
    assert max(found) <= cut.most


def test_an_overlap_is_as_large_as_asked() -> None:
    starts = token_offsets(PROSE)
    for overlap in (TokenOverlap(tokens=7), TokenOverlap(share=0.15), TokenOverlap(share=0.5)):
        spans = TokenChunking(20, 50, overlap).spans(PROSE)
        shared = [bisect_left(starts, end) - bisect_left(starts, start) for (_, end), (start, _) in pairwise(spans)]
        assert shared == [overlap.of(size) for size in sizes(PROSE, spans)[:-1]]


def test_a_chunk_ends_with_a_paragraph_else_a_line_else_a_sentence_else_at_the_upper_number() -> None:
    words = "one two three four five six seven eight nine ten"
    cut = TokenChunking(5, 30)
    for border in ("\n\n", "\n", ". "):
        text = f"{words}{border}{words} {words} {words}"
        assert cut.spans(text)[0] == (0, len(words + border))
    assert TokenChunking(5, 30).spans(f"{words}. {words}\n{words} {words} {words}")[0] == (0, len(f"{words}. {words}\n"))
    assert sizes(words * 5, cut.spans(words * 5))[0] == 30


def test_a_character_of_more_tokens_than_a_chunk_is_a_chunk() -> None:
    assert TokenChunking(2, 2).spans("😀😀") == [(0, 1), (1, 2)]


def test_a_long_text_without_any_border_is_cut_all_the_same() -> None:
    text = "x1" * STRETCH
    spans = TokenChunking(300, 800).spans(text)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    assert max(sizes(text, spans)) <= 800


def test_lines_are_right_with_tokens_and_overlap() -> None:
    text = "".join(f"line number {number}\n" for number in range(1, 50))
    cutting = Chunker(parse_chunking({"tokens": "12-20", "overlap": "25%"}), paths=True, by_id=False)
    document = Document("x", text, "title")
    pieces = cutting.pieces(document)
    found = list(zip(pieces.values(), cutting.lines(document), strict=True))
    assert found[:2] == [("x", None), ("title", None)]
    lines = text.splitlines()
    for chunk, (first, last) in found[2:]:
        assert "\n".join(lines[first - 1 : last]).find(chunk.strip()) >= 0
        assert chunk.strip().count("\n") == last - first
    assert found[-1][1][1] == 49


def test_a_whole_text_is_one_chunk_with_all_its_lines() -> None:
    cutting = Chunker(parse_chunking("whole"), paths=False, by_id=False)
    document = Document("x", "\na\n\nb\n\n\nc\n")
    assert list(cutting.pieces(document).values()) == [document.text]
    assert cutting.lines(document) == [(2, 7)]
    assert cutting.pieces(Document("x", "")) == cutting.pieces(Document("x", " \n")) == {}


@pytest.mark.parametrize(
    ("choice", "described"),
    [
        ("lines", "content-defined/80"),
        ({"lines": 60}, "content-defined/60"),
        ({"tokens": 300}, "tokens/300/overlap 0/wordllama l2_supercat tokenizer"),
        ({"tokens": "300 - 800", "overlap": "15%"}, "tokens/300-800/overlap 15%/wordllama l2_supercat tokenizer"),
        ({"tokens": "300-800", "overlap": 50}, "tokens/300-800/overlap 50/wordllama l2_supercat tokenizer"),
        ("whole", "whole"),
    ],
)
def test_a_choice_is_described_in_full(choice: object, described: str) -> None:
    assert str(parse_chunking(choice)) == described


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        ({"tokens": "800-300"}, "chunking: tokens is 800-300; the smaller number comes first: 300-800"),
        ({"tokens": 0}, "chunking: tokens is 0, and must be 1 or more"),
        ({"tokens": "0-5"}, "chunking: tokens is 0, and must be 1 or more"),
        ({"tokens": "many"}, "chunking: tokens is 'many', and must be a whole number or two of them, as 300-800"),
        ({"tokens": True}, "chunking: tokens is True, and must be a whole number or two of them, as 300-800"),
        ({"tokens": 300, "overlap": "120%"}, "chunking: overlap is 120%, and must be less than 100%"),
        (
            {"tokens": 300, "overlap": 300},
            "chunking: overlap is 300 tokens, and must be less than the 300 that a chunk has at least",
        ),
        ({"tokens": 300, "overlap": -1}, "chunking: overlap is -1, and must be a share (15%) or a number of tokens"),
        ({"tokens": 300, "overlap": 0.15}, "chunking: overlap is 0.15, and must be a share (15%) or a number of tokens"),
        ({"lines": 0}, "chunking: lines is 0, and must be 1 or more"),
        ({"lines": 3, "overlap": 1}, "chunking is {'lines': 3, 'overlap': 1}, and must be lines, whole, {lines: 60}, "),
        ("paragraphs", "chunking is 'paragraphs', and must be lines, whole, {lines: 60}, {tokens: 300} or {tokens: 300-800, "),
    ],
)
def test_a_choice_that_cannot_be_is_one_sentence(choice: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        parse_chunking(choice)
