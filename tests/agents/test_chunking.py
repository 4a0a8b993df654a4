"""A document that is cut again where it changed has the pieces of one that is cut anew."""

from __future__ import annotations

import pytest

from searchmark import Document
from searchmark.agents.vectors.chunking import Chunker, LineChunking


@pytest.mark.parametrize("texts", [["a\n\nb\n", "a\n\nc\n", "", "a\n\nb\n"], ["  \n", "x", " \n\n"]])
def test_a_remembered_document_has_the_pieces_of_a_new_one(texts: list[str]) -> None:
    cutting = Chunker(LineChunking(), paths=True, by_id=False)
    seen: set[bytes] = set()
    for text in texts:
        document = Document("x", text, "title")
        pieces = cutting.pieces(document, again=True)
        anew = Chunker(LineChunking(), paths=True, by_id=False).pieces(document)
        assert pieces.keys == anew.keys == list(anew.fresh)
        assert set(pieces.keys) - seen <= set(pieces.fresh)  # whoever embeds what is fresh has everything
        seen |= set(pieces.keys)
    cutting.forget(["x"])
    assert cutting.pieces(document) == anew


def test_pieces_and_lines_belong_together() -> None:
    document = Document("x.py", "\n\na\n\nb\n\n\na\n\n  \n", "title")
    for paths in (True, False):
        cutting = Chunker(LineChunking(), paths=paths, by_id=False)
        found = dict(zip(cutting.pieces(document).fresh.values(), cutting.lines(document), strict=True))
        assert found["a\n\n"] == (3, 3)
        assert found["b\n\n\n"] == (5, 5)
        assert found["title"] is None
    assert Chunker(LineChunking(), paths=True, by_id=True).lines(document) == [None]
