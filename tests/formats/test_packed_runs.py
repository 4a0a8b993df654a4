"""Runs of ranx: LZ4, CBOR and Parquet, with bounds."""

from __future__ import annotations

import io
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from searchmark import FormatError, load_run
from searchmark.io.data import CborError, read_cbor
from tests.formats.reading import ANSWERS, SCORES, answers_of


def cbor(value: Any) -> bytes:
    """Plain data as RFC 8949 writes it, with lengths of two bytes and doubles, for tests of the reader."""
    if isinstance(value, dict):
        return struct.pack(">BH", 0xB9, len(value)) + b"".join(cbor(each) for pair in value.items() for each in pair)
    if isinstance(value, str):
        return struct.pack(">BH", 0x79, len(value.encode())) + value.encode()
    return struct.pack(">Bd", 0xFB, value)


def packed_as_ranx_does(data: Any) -> bytes:
    """CBOR in an LZ4 frame, written through a file that packs it again."""
    from lz4 import frame

    content = io.BytesIO()
    with frame.open(content, mode="wb") as file:
        file.write(frame.compress(cbor(data), compression_level=16))
    return content.getvalue()


class TestPacked:
    def test_ranx_in_lz4(self, file) -> None:
        run = load_run(file("bm25.lz4", packed_as_ranx_does({q: dict(hits) for q, hits in SCORES.items()})))
        assert (run.agent, answers_of(run)) == ("bm25", ANSWERS)

    def test_ranx_in_parquet(self, tmp_path: Path) -> None:
        import polars as pl

        rows = [(query, hit, score) for query, hits in SCORES.items() for hit, score in hits.items()]
        pl.DataFrame(rows, ["q_id", "doc_id", "score"], orient="row").write_parquet(tmp_path / "bm25.parquet")
        assert answers_of(load_run(tmp_path / "bm25.parquet")) == ANSWERS

    def test_numbers_as_ids_become_text(self, tmp_path: Path) -> None:
        import polars as pl

        frame = pl.DataFrame({"query_id": [1.0, 1.0], "doc_id": [20, 30], "rank": [2, 1]})  # pandas makes fractions of ids
        frame.write_parquet(tmp_path / "run.parquet")
        assert answers_of(load_run(tmp_path / "run.parquet")) == {"1": ["30", "20"]}

    def test_a_bomb_is_not_unpacked(self, file, monkeypatch) -> None:
        from lz4 import frame

        monkeypatch.setattr("searchmark.formats.runs.json.UNPACKED_FREE", 1000)
        with pytest.raises(FormatError, match="unpacks to more than"):
            load_run(file("bomb.lz4", frame.compress(b"\0" * 10_000_000)))

    def test_rows_that_no_file_can_hold_are_refused(self, tmp_path: Path, monkeypatch) -> None:
        import polars as pl

        monkeypatch.setattr("searchmark.io.rows.FREE_ROWS", 10)
        same = pl.DataFrame({"q_id": ["q"] * 1_000_000, "doc_id": ["d"] * 1_000_000})
        same.write_parquet(tmp_path / "bomb.parquet")
        with pytest.raises(FormatError, match="claims 1,000,000 rows"):
            load_run(tmp_path / "bomb.parquet")

    @pytest.mark.slow
    def test_parquet_that_makes_its_reader_panic_is_refused_in_a_sentence(self, tmp_path: Path) -> None:
        import polars as pl

        path = tmp_path / "run.parquet"
        pl.DataFrame({"q_id": ["q"], "doc_id": ["d"]}).write_parquet(path, compression="uncompressed")
        whole = path.read_bytes()
        for place in range(4, len(whole) - 8):
            path.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
            with suppress(FormatError):
                load_run(path)

    @pytest.mark.parametrize("content", [b"PAR1", b"PAR1 and more PAR1", b"\x04\x22\x4d\x18", b"\x04\x22\x4d\x18 more"])
    def test_damaged_files_are_refused_in_a_sentence(self, file, content: bytes) -> None:
        with pytest.raises(FormatError, match=r"run\.bin: (not valid Parquet|cannot be unpacked)"):
            load_run(file("run.bin", content))

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"", "cut short"),
            (b"\x82\x01", "cut short"),
            (b"\xbb\xff\xff\xff\xff\xff\xff\xff\xff", "cut short"),
            (b"\x01\x01", "1 bytes follow"),
            (b"\xa2\x61a\x01\x61a\x02", "duplicate key"),
            (b"\xa1\x80\x01", "neither text nor a number"),
            (b"\xc0\x01", "a kind of value"),
            (b"\x9f\xff", "unknown length"),
            (b"\x61\xff", "not UTF-8"),
            (b"\x81" * 5000 + b"\x01", "nested too deeply"),
        ],
    )
    def test_cbor_that_is_not_plain_data_is_refused(self, content: bytes, reason: str) -> None:
        with pytest.raises(CborError, match=reason):
            read_cbor(content)

    def test_cbor_has_what_json_has(self) -> None:
        # The examples of RFC 8949, appendix A.
        for content, value in [
            ("00", 0), ("1818", 24), ("1903e8", 1000), ("20", -1), ("3903e7", -1000), ("f93c00", 1.0), ("fa47c35000", 100000.0),
            ("fb3ff199999999999a", 1.1), ("f4", False), ("f5", True), ("f6", None), ("6161", "a"), ("62c3bc", "ü"),
            ("83010203", [1, 2, 3]), ("a26161016162820203", {"a": 1, "b": [2, 3]}),
        ]:  # fmt: skip
            assert read_cbor(bytes.fromhex(content)) == value


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("docid", [["a"]], r"docid: holds List\(String\), and the id of a hit, one in each row, needs text or whole numbers"),
        ("score", [True], "score: holds Boolean, and the score of a hit, one in each row, needs numbers"),
        ("score", ["high"], "score: holds String"),
    ],
)
def test_columns_of_parquet_that_cannot_be_what_they_are_called(
    tmp_path: Path, column: str, values: list[object], said: str
) -> None:
    import polars as pl

    columns: dict[str, list[object]] = {"query": ["q"], "docid": ["a"], "score": [1.0]}
    pl.DataFrame(columns | {column: values}).write_parquet(tmp_path / "run.parquet")
    with pytest.raises(FormatError, match=said):
        load_run(tmp_path / "run.parquet")
