"""Packed files: gzip, Zstandard and a zip with one file are read as what they hold, and bounded."""

from __future__ import annotations

import gzip
import io
import json
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from searchmark import FormatError, load_corpus, load_run, load_suite
from searchmark.formats.trec import FAST_FROM, RUN_LAYOUT, read_trec_table
from searchmark.io import packed
from searchmark.io.packed import inner_stem, inner_suffix
from searchmark.io.store import open_file, read_bytes, read_text

RUN_TEXT = "q1 Q0 a 1 3.0 t\nq1 Q0 b 2 2.0 t\nq2 Q0 c 1 1.0 t\n"
QRELS_TEXT = "q1 0 a 1\nq2 0 c 1\n"
SUITE = {"schema_version": 1, "name": "small", "cases": [{"id": "q1", "query": "one", "judgments": [{"target": "a"}]}]}
DOCUMENTS = [{"_id": "a", "text": "first"}, {"_id": "b", "text": "second"}]


def zipped(content: bytes, name: str = "inside.txt") -> bytes:
    return zip_of({name: content})


def zip_of(members: dict[str, bytes]) -> bytes:
    packed_file = io.BytesIO()
    with zipfile.ZipFile(packed_file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed_file.getvalue()


def zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


NOISE = random.Random(3).randbytes(5000)
PACKERS = {".gz": gzip.compress, ".zst": zstd, ".zip": zipped}
each_packing = pytest.mark.parametrize(("ending", "pack"), PACKERS.items(), ids=PACKERS)


@each_packing
def test_runs_qrels_topics_suites_and_corpora_are_read_packed(file, ending: str, pack: Callable[[bytes], bytes]) -> None:
    run = load_run(file(f"bm25.run{ending}", pack(RUN_TEXT.encode())))
    assert (run.label.agent, run.case_ids) == ("bm25", ("q1", "q2"))
    qrels = load_suite(
        file(f"qrels.txt{ending}", pack(QRELS_TEXT.encode())), topics=file(f"topics.tsv{ending}", pack(b"q1\tone\nq2\ttwo\n"))
    )
    assert (qrels.name, [case.query for case in qrels.cases]) == ("qrels", ["one", "two"])
    lines = "".join(json.dumps(each) + "\n" for each in DOCUMENTS).encode()
    documents = zipped(lines, "corpus.jsonl") if ending == ".zip" else pack(lines)
    corpus = load_corpus(file(f"corpus.jsonl{ending}", documents))
    assert (corpus.name, [document.id for document in corpus]) == ("corpus", ["a", "b"])
    content = json.dumps(SUITE).encode()
    assert load_suite(file(f"s.json{ending}", zipped(content, "s.json") if ending == ".zip" else pack(content))).name == "small"


@each_packing
def test_packed_files_are_known_by_what_they_hold_and_not_by_their_name(file, ending: str, pack: Callable[[bytes], bytes]) -> None:
    del ending
    assert load_run(file("run.txt", pack(RUN_TEXT.encode()))).case_ids == ("q1", "q2")


def test_a_saved_run_of_our_own_is_read_packed(file, tmp_path: Path) -> None:
    from searchmark import save_run

    save_run(load_run(file("bm25.txt", RUN_TEXT)), tmp_path / "bm25.jsonl")
    packed_run = file("bm25.jsonl.gz", gzip.compress((tmp_path / "bm25.jsonl").read_bytes()))
    assert load_run(packed_run).case_ids == ("q1", "q2")


def test_a_beir_folder_may_have_packed_files(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "queries.jsonl.gz").write_bytes(gzip.compress(b'{"_id": "q1", "text": "one"}\n'))
    (tmp_path / "qrels" / "test.tsv.gz").write_bytes(gzip.compress(b"query-id\tcorpus-id\tscore\nq1\ta\t1\n"))
    (tmp_path / "corpus.jsonl.zst").write_bytes(zstd(b'{"_id": "a", "text": "first"}\n'))
    suite = load_suite(tmp_path)
    assert ([case.query for case in suite.cases], suite.metadata) == (["one"], {"split": "test"})
    assert [document.id for document in load_corpus(tmp_path)] == ["a"]


@pytest.mark.parametrize(
    ("name", "stem", "suffix"),
    [
        ("bm25.run", "bm25", ".run"),
        ("bm25.run.gz", "bm25", ".run"),
        ("Qrels.TXT.GZ", "Qrels", ".txt"),
        ("bm25.gz", "bm25", ""),
        ("run.msmarco.bm25.txt.zst", "run.msmarco.bm25", ".txt"),
        ("missing.json.zip", "missing", ".json"),
    ],
)
def test_names_are_those_below_the_packing(name: str, stem: str, suffix: str) -> None:
    assert (inner_stem(name), inner_suffix(name)) == (stem, suffix)


def test_a_zip_has_the_extension_of_the_file_in_it(file) -> None:
    path = file("export-1.2.zip", zip_of({"data/": b"", "data/judgments.CSV": b"x", "__MACOSX/data/._judgments.CSV": b"y"}))
    assert (inner_stem(path), inner_suffix(path)) == ("export-1.2", ".csv")
    assert read_bytes(path) == b"x"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (
            zip_of({"a.csv": b"1", "b.csv": b"2"}),
            r"is a zip archive of 2 files \(a\.csv, b\.csv\); unpack it, and name one or a folder",
        ),
        (zip_of({f"{n}.csv": b"1" for n in range(9)}), r"9 files \(0\.csv, 1\.csv, 2\.csv, 3\.csv, 4\.csv and 4 more\)"),
        (zip_of({}), "is a zip archive without a file in it"),
        (zipped(b"x" * 1000)[:-30], "its zip data cannot be unpacked: File is not a zip file"),
        (gzip.compress(NOISE)[:-100], "its gzip data ends too early: cut short?"),
        (gzip.compress(b"x" * 5000)[:30] + b"garbage", "its gzip data "),
        (zstd(NOISE)[:-100], "its Zstandard data ends too early: cut short?"),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 100, "its Zstandard data cannot be unpacked"),
        (gzip.compress(gzip.compress(b"x")), "holds a file that is packed again, by gzip; unpack it once"),
    ],
    ids=["two files", "nine files", "no file", "half a zip", "half a gzip", "garbage", "half a zstd", "no zstd", "twice"],
)
def test_what_cannot_be_unpacked_is_named(file, content: bytes, complaint: str) -> None:
    with pytest.raises(FormatError, match=complaint):
        read_text(file("packed.txt", content))


def test_a_packed_tar_archive_is_named(file) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("qrels.txt"), io.BytesIO())
    with pytest.raises(FormatError, match="holds a tar archive; unpack it, and name a file or a folder of it"):
        load_suite(file("qrels.tar.gz", content.getvalue()))


@each_packing
def test_a_file_that_claims_to_hold_far_too_much_is_refused(
    file, monkeypatch: pytest.MonkeyPatch, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(packed, "UNPACKED_FREE", 1 << 20)
    bomb = file(f"bomb{ending}", pack(b"0" * (1 << 23)))
    with pytest.raises(FormatError, match=r"unpacks to more than (1 MiB|200 times its size); if that is meant, unpack it first"):
        read_bytes(bomb)
    assert (
        len(read_bytes(file(f"text{ending}", pack(random.Random(7).randbytes(1 << 16) * 30)))) == 30 << 16
    )  # packed well, within the bound


def test_a_packed_file_is_unpacked_piece_by_piece(file) -> None:
    with open_file(file("zeros.gz", gzip.compress(b"0" * (1 << 26)))) as opened:
        assert opened.read(10) == b"0" * 10
        assert opened.raw._file.tell() < 1 << 16  # type: ignore[attr-defined]  # the rest is not even looked at


@pytest.mark.slow
@pytest.mark.parametrize("lines", [1000, 100_000])
def test_packed_tables_are_read_as_unpacked_ones(file, lines: int) -> None:
    content = "".join(f"q{n // 100} Q0 doc{n % 977} {n % 100} {100 - n % 100}.5 t\n" for n in range(lines)).encode()
    stored, packed_table = (
        read_trec_table(file("run.txt", content), RUN_LAYOUT),
        read_trec_table(file("run.txt.gz", gzip.compress(content)), RUN_LAYOUT),
    )
    assert (stored.queries, list(stored.documents), stored.tag) == (
        packed_table.queries,
        list(packed_table.documents),
        packed_table.tag,
    )
    assert stored.numbers.tolist() == packed_table.numbers.tolist()
    assert isinstance(packed_table.documents, list) == (len(content) < FAST_FROM)


def test_a_packed_suite_is_not_changed_in_place(file) -> None:
    from searchmark import UsageError
    from searchmark.judgments.approve import approve

    cases = {"test_cases": [{"id": "q1", "query": "one", "expected_ids": ["a"]}]}
    path = file("cases.json.gz", gzip.compress(json.dumps(cases).encode()))
    before = path.read_bytes()
    with pytest.raises(UsageError, match="is packed by gzip, and cannot be changed in place; unpack it first"):
        approve(path, load_run(file("run.txt", RUN_TEXT)), lambda _: True, author="a", reason="b")
    assert path.read_bytes() == before
