"""The pieces of a document and their lines."""

from __future__ import annotations

from searchmark import Document
from searchmark.agents.vectors.chunking import Chunker, LineChunking


def test_pieces_and_lines_belong_together() -> None:
    document = Document("x.py", "\n\na\n\nb\n\n\na\n\n  \n", "title")
    for paths in (True, False):
        cutting = Chunker(LineChunking(), paths=paths, by_id=False)
        found = dict(zip(cutting.pieces(document).values(), cutting.lines(document), strict=True))
        assert found["a\n\n"] == (3, 3)
        assert found["b\n\n\n"] == (5, 5)
        assert found["title"] is None
    assert Chunker(LineChunking(), paths=True, by_id=True).lines(document) == [None]
