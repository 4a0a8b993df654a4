"""Corpora as others hand them out: TREC documents, SMART, SQLite, Parquet, tables with names of their own."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from searchmark import Document, FieldMapping, FormatError, load_corpus
from searchmark.formats.corpora import documents
from searchmark.formats.corpora.corpus import write_corpus
from searchmark.formats.corpora.documents import FILES_SAMPLED, find_collection
from searchmark.io.paths import walk

if sys.version_info >= (3, 14):
    from compression.zstd import compress as zstd_compress
else:
    from backports.zstd import compress as zstd_compress

TREC = b"""<DOC>
<DOCNO> FT911-1 </DOCNO>
<DATE>910514
</DATE>
<HEADLINE>
FT  14 MAY 91 / Caf\xe9 prices
   up
</HEADLINE>
<TEXT>
<P>Coffee &amp; tea</P>
cost more.
</TEXT>
<TEXT>A second part</TEXT>
<PUB>The Times</PUB>
</DOC>

<DOC><DOCNO>FT911-2</DOCNO><TEXT>one line</TEXT></DOC>
"""
TREC_DOCUMENTS = [
    Document(
        "FT911-1",
        "Coffee & tea\ncost more.\nA second part",
        "FT 14 MAY 91 / Café prices up",
        {"date": "910514", "pub": "The Times"},
    ),
    Document("FT911-2", "one line"),
]
SMART = """.I 1
.T
experimental investigation of
a wing .
.A
brenckman,m.
.B
j. ae. scs. 25, 1958, 324.
.W
an experimental study of a wing
in a slipstream .
.I 2
.T
only a title
.X
1	5	2
"""
SMART_DOCUMENTS = [
    Document(
        "1",
        "an experimental study of a wing\nin a slipstream .",
        "experimental investigation of a wing .",
        {"author": "brenckman,m.", "source": "j. ae. scs. 25, 1958, 324."},
    ),
    Document("2", "", "only a title", {"references": "1	5	2"}),
]


def _noted(walked: Iterator[tuple[str, list[str], list[str]]], entered: list[str]) -> Iterator[tuple[str, list[str], list[str]]]:
    for each in walked:
        entered.append(each[0])
        yield each


class TestTrec:
    @pytest.mark.parametrize("name", ["ft911_1", "collection.xml", "docs.txt"])
    def test_a_file_of_documents_is_told_by_its_beginning(self, file, name: str) -> None:
        assert list(load_corpus(file(name, TREC))) == TREC_DOCUMENTS

    def test_documents_may_lie_in_one_element(self, file) -> None:
        assert list(load_corpus(file("c.xml", b'<?xml version="1.0"?>\n<CRAN>\n' + TREC + b"</CRAN>\n"))) == TREC_DOCUMENTS

    def test_a_folder_of_them_is_one_collection(self, tmp_path: Path) -> None:
        (tmp_path / "ft" / "911").mkdir(parents=True)
        first, second = TREC.split(b"\n\n")
        (tmp_path / "ft" / "911" / "ft911_1").write_bytes(first)
        (tmp_path / "ft" / "911" / "ft911_2").write_bytes(second)
        (tmp_path / "ft" / "readme").write_bytes(b"about the collection")
        assert list(load_corpus(tmp_path / "ft")) == TREC_DOCUMENTS

    def test_a_folder_with_one_of_them_among_others_is_a_folder_of_files(self, tmp_path: Path) -> None:
        (tmp_path / "example.sgml").write_bytes(TREC)
        (tmp_path / "a.md").write_text("a")
        (tmp_path / "b.md").write_text("b")
        assert load_corpus(tmp_path).survey.ids == {"a.md", "b.md", "example.sgml"}

    def test_a_page_without_a_text_element_is_text_without_its_tags(self, file) -> None:
        page = b"<DOC>\n<DOCNO>W1</DOCNO>\n<html><title>T</title><p>some <b>words</b></html>\n</DOC>\n"
        assert list(load_corpus(file("web", page))) == [Document("W1", "some words", "T")]

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            (b"<DOC>\n<TEXT>x</TEXT>\n</DOC>\n", "line 1: this <DOC> has no <DOCNO>"),
            (TREC + b"<DOC>\n<DOCNO>3</DOCNO>\n", "line 18: this <DOC> has no </DOC>"),
            (TREC + b"stray\n", "line 18: a TREC document begins with <DOC>"),
        ],
    )
    def test_what_is_no_document_is_refused_with_its_line(self, file, content: bytes, complaint: str) -> None:
        with pytest.raises(FormatError, match=complaint):
            list(load_corpus(file("c", content)))

    def test_many_tags_without_an_end_take_no_longer_than_others(self, file) -> None:
        content = b"<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>" + b"<p" * 50_000 + b"<q>" * 50_000 + b"</TEXT>\n</DOC>\n"
        assert load_corpus(file("c", content)).survey.ids == {"1"}

    def test_a_page_has_its_own_title_and_what_the_server_said_is_not_its_text(self, file) -> None:
        header = b"<DOCHDR>\nhttp://a.gov/ 200 text/html\n</DOCHDR>\n"
        page = b"<html><head><title>A\n page</title></head>\n<p>some words</html>\n"
        content = b"<DOC>\n<DOCNO>GX000-1</DOCNO>\n" + header + page + b"</DOC>\n"
        fields = {"dochdr": "http://a.gov/ 200 text/html"}
        assert list(load_corpus(file("GX000", content))) == [Document("GX000-1", "some words", "A page", fields)]


class TestFolders:
    """Whether a folder holds a collection or is one document per file."""

    def test_a_collection_in_a_work_tree_is_one_and_other_files_are_counted(self, tmp_path: Path) -> None:
        for name in (".git/HEAD", ".git/a/b", "README", "notes.txt"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("x")
        for number in (1, 2):
            (tmp_path / f"ap{number}").write_bytes(gzip.compress(TREC.replace(b"FT911", b"AP%d" % number)))
        survey = load_corpus(tmp_path).survey
        assert (survey.ids, survey.skipped) == ({"AP1-1", "AP1-2", "AP2-1", "AP2-2"}, 1)

    def test_a_text_about_the_tag_is_a_text(self, tmp_path: Path) -> None:
        (tmp_path / "one.md").write_text("<DOC> is how a document begins\n")
        assert load_corpus(tmp_path).survey.ids == {"one.md"}

    def test_a_table_beside_code_does_not_hide_the_code(self, tmp_path: Path) -> None:
        pl.DataFrame({"id": ["1"], "text": ["a"]}).write_parquet(tmp_path / "sample.parquet")
        (tmp_path / "src").mkdir()
        (tmp_path / "src" / "app.py").write_text("print()")
        survey = load_corpus(tmp_path).survey
        assert (survey.ids, survey.skipped) == ({"src/app.py"}, 1)

    def test_no_more_is_looked_at_than_the_first_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for number in range(50):
            (tmp_path / f"{number}.md").write_text("text")
        looked_at = list[Path]()
        monkeypatch.setattr(documents, "is_trec_document", lambda path: looked_at.append(path) is not None)
        assert documents.find_collection(tmp_path) is None
        assert len(looked_at) == documents.FILES_SAMPLED


@pytest.mark.parametrize("packed", [gzip.compress, zstd_compress], ids=["gz", "zst"])
def test_the_same_documents_are_the_same_corpus_in_every_format(tmp_path: Path, packed: Callable[[bytes], bytes]) -> None:
    rows = [{"id": "1", "title": "Wing", "text": "flutter at speed\nand heat"}, {"id": "d-2", "title": "", "text": "Café & flow"}]
    pl.DataFrame(rows).write_parquet(tmp_path / "c.parquet")
    with sqlite3.connect(tmp_path / "c.db") as database:
        database.execute("CREATE TABLE docs (id TEXT, title TEXT, text TEXT)")
        database.executemany("INSERT INTO docs VALUES (:id, :title, :text)", rows)
    database.close()
    trec = "<DOC>\n<DOCNO>{id}</DOCNO>\n<TITLE>{title}</TITLE>\n<TEXT>\n{text}\n</TEXT>\n</DOC>\n"
    contents = {
        "c.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "c.json": json.dumps(rows),
        "c.csv": pl.DataFrame(rows).write_csv(),
        "c.tsv": pl.DataFrame(rows).write_csv(separator="\t"),
        "c.trec": "".join(trec.format(**row).replace("&", "&amp;") for row in rows),
        "c.all": "".join(".I {id}\n.T\n{title}\n.W\n{text}\n".format(**row) for row in rows),
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    digests = {path.name: load_corpus(path).survey.digest for path in tmp_path.iterdir()}
    ending = "gz" if packed is gzip.compress else "zst"
    for name in contents:
        (tmp_path / f"{name}.{ending}").write_bytes(packed((tmp_path / name).read_bytes()))
        digests[f"{name}.{ending}"] = load_corpus(tmp_path / f"{name}.{ending}").survey.digest
    assert len(digests) == 2 * len(contents) + 2
    assert len(set(digests.values())) == 1, digests
    (tmp_path / f"c.db.{ending}").write_bytes(packed((tmp_path / "c.db").read_bytes()))
    with pytest.raises(FormatError, match=r"holds a SQLite database that is packed by (gzip|Zstandard); unpack it first"):
        list(load_corpus(tmp_path / f"c.db.{ending}"))

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            (b" " * 1024 + b"x", "is not a corpus"),
            (b"<DOC>\n<DOCNO>" + b" " * 1_000_000 + b"\n</DOC>\n", "this <DOC> has no <DOCNO>"),
            (TREC + b" " * 1_000_000 + b"x\n", "line 18: a TREC document begins with <DOC>"),
        ],
        ids=["before the first", "in an id", "between two"],
    )
    def test_a_million_blanks_take_no_longer_than_as_many_letters(self, file, content: bytes, complaint: str) -> None:
        with pytest.raises(FormatError, match=complaint):
            list(load_corpus(file("c", content)))

    def test_a_name_of_a_tag_that_never_ends_is_text(self, file) -> None:
        content = b"<DOC>\n<DOCNO> 1 </DOCNO>\n<TEXT>b</TEXT><" + b"a" * 1_000_000 + b"\n</DOC>\n"
        assert list(load_corpus(file("c", content))) == [Document("1", "b")]

    def test_an_entity_that_is_no_character_is_replaced_as_browsers_do(self, file) -> None:
        content = f"<DOC>\n<DOCNO>1&#{'0' * 5000};</DOCNO>\n<TEXT>&#{'9' * 5000};&#65;&amp;</TEXT>\n</DOC>\n"
        assert list(load_corpus(file("c", content.encode()))) == [Document("1\ufffd", "\ufffdA&")]

    def test_a_folder_is_told_by_its_first_files_and_not_by_those_of_tools(self, tmp_path: Path, monkeypatch) -> None:
        looked_at: list[Path] = []
        monkeypatch.setattr("searchmark.formats.corpora.documents.is_trec_start", lambda path: bool(looked_at.append(path)))
        for name in [".git/x", "node_modules/x", *(f"d{number}/f" for number in range(30))]:
            (tmp_path / name).parent.mkdir()
            (tmp_path / name).touch()
        entered: list[str] = []
        monkeypatch.setattr("searchmark.formats.corpora.documents.walk", lambda top: _noted(walk(top), entered))
        assert find_collection(tmp_path) is None
        assert len(looked_at) == FILES_SAMPLED
        assert not {".git", "node_modules"} & {path.parent.name for path in looked_at}
        assert len(entered) <= FILES_SAMPLED + 1


class TestSmart:
    @pytest.mark.parametrize("name", ["cran.all.1400", "CISI.ALL", "med.txt"])
    def test_a_file_is_told_by_its_beginning(self, file, name: str) -> None:
        assert list(load_corpus(file(name, SMART))) == SMART_DOCUMENTS

    def test_a_title_alone_is_not_an_empty_document(self, file) -> None:
        assert load_corpus(file("cacm.all", SMART)).survey.empty == 0

    def test_latin_1_and_windows_line_ends_are_read(self, file) -> None:
        content = ".I 1\r\n.T\r\nCafé\r\n.W\r\ntext\r\n".encode("latin-1")
        assert list(load_corpus(file("x.all", content))) == [Document("1", "text", "Café")]


class TestSqlite:
    @pytest.fixture
    def symbols(self, tmp_path: Path) -> Path:
        with sqlite3.connect(tmp_path / "symbols.db") as database:
            database.execute("CREATE TABLE symbols (id INTEGER PRIMARY KEY, name TEXT, kind TEXT, doc TEXT, vector BLOB)")
            rows = [(1, "SendMail", "procedure", "sends a message", b"\0\1\2"), (2, "OpenFile", "function", None, b"opens")]
            database.executemany("INSERT INTO symbols VALUES (?, ?, ?, ?, ?)", rows)
            database.execute("CREATE VIRTUAL TABLE search USING fts5(name, doc)")
        database.close()
        return tmp_path / "symbols.db"

    def test_the_only_table_is_the_corpus_and_vectors_are_left_out(self, symbols: Path) -> None:
        corpus = load_corpus(symbols, FieldMapping.parse(("id=name", "text=doc")))
        assert list(corpus) == [
            Document("SendMail", "sends a message", "SendMail", {"id": 1, "kind": "procedure", "vector": None}),
            Document("OpenFile", "", "OpenFile", {"id": 2, "kind": "function", "vector": "opens"}),
        ]

    def test_of_several_tables_one_is_named(self, symbols: Path) -> None:
        with sqlite3.connect(symbols) as database:
            database.execute("CREATE TABLE files (id TEXT, text TEXT)")
            database.execute("INSERT INTO files VALUES ('a.pas', 'unit a')")
        with pytest.raises(FormatError, match=r"has 2 tables \(files, symbols\); name one with --map table=files"):
            list(load_corpus(symbols))
        assert list(load_corpus(symbols, FieldMapping.parse(("table=files",)))) == [Document("a.pas", "unit a")]
        with pytest.raises(FormatError, match="has no table 'view' that can be read; the tables are files, symbols"):
            list(load_corpus(symbols, FieldMapping.parse(("table=view",))))

    def test_nothing_is_written_beside_it(self, symbols: Path) -> None:
        before = symbols.read_bytes()
        list(load_corpus(symbols, FieldMapping(id="name")))
        assert ([path.name for path in symbols.parent.iterdir()], symbols.read_bytes()) == ([symbols.name], before)

    def test_rows_that_are_still_in_the_log_are_read(self, symbols: Path) -> None:
        database = sqlite3.connect(symbols)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("INSERT INTO symbols (name) VALUES ('New')")
        database.commit()
        assert "New" in load_corpus(symbols, FieldMapping(id="name")).survey.ids
        database.close()

    @pytest.mark.parametrize("ending", ["-journal", "-wal"])
    def test_a_log_that_is_a_pipe_is_not_waited_for(self, symbols: Path, ending: str) -> None:
        os.mkfifo(f"{symbols}{ending}")
        with pytest.raises(FormatError, match=f"a log beside it that is not an ordinary file: symbols.db{ending}; remove that"):
            list(load_corpus(symbols))

    def test_a_packed_one_and_text_of_another_encoding_are_named(self, symbols: Path) -> None:
        packed = symbols.with_name("symbols.db.gz")
        packed.write_bytes(gzip.compress(symbols.read_bytes()))
        with pytest.raises(FormatError, match="holds a SQLite database that is packed by gzip; unpack it first"):
            list(load_corpus(packed))
        with sqlite3.connect(symbols) as database:
            database.execute("INSERT INTO symbols (name) VALUES (cast(x'ff41' AS TEXT))")
        with pytest.raises(FormatError, match=r"symbols\.db: holds text that is not UTF-8; store it as UTF-8"):
            list(load_corpus(symbols, FieldMapping(id="name")))

    def test_code_in_a_strangers_database_is_not_run(self, symbols: Path) -> None:
        with sqlite3.connect(symbols) as database:
            database.execute("CREATE VIEW answers AS SELECT load_extension('/tmp/x') AS id")
            database.execute("CREATE TABLE computed (id TEXT, twice TEXT AS (zeroblob(1000000000)))")
            database.execute("INSERT INTO computed (id) VALUES ('a')")
        with pytest.raises(FormatError, match="has no table 'answers'"):
            list(load_corpus(symbols, FieldMapping(table="answers")))
        assert list(load_corpus(symbols, FieldMapping(table="computed"))) == [Document("a", "")]

    @pytest.mark.parametrize("damage", [b"SQLite format 3\0" + b"\xff" * 200, b"SQLite format 3\0"])
    def test_a_damaged_one_is_one_sentence(self, file, damage: bytes) -> None:
        with pytest.raises(FormatError, match=r"cannot be read as a SQLite database|has no table"):
            list(load_corpus(file("broken.db", damage)))


class TestParquet:
    ROWS = (
        {"_id": "d1", "title": "One", "text": "first", "tags": ["a", "b"]},
        {"_id": "d2", "title": "", "text": "second", "tags": []},
    )
    EXPECTED = [Document("d1", "first", "One", {"tags": ["a", "b"]}), Document("d2", "second", None, {"tags": []})]

    def test_a_file(self, tmp_path: Path) -> None:
        pl.DataFrame(self.ROWS).write_parquet(tmp_path / "c.parquet")
        assert list(load_corpus(tmp_path / "c.parquet")) == self.EXPECTED

    @pytest.mark.parametrize("below", ["corpus", "."])
    def test_the_parts_of_a_folder(self, tmp_path: Path, below: str) -> None:
        (tmp_path / "hf" / below).mkdir(parents=True)
        for number, row in enumerate(self.ROWS):
            pl.DataFrame([row], schema_overrides={"tags": pl.List(pl.String)}).write_parquet(
                tmp_path / "hf" / below / f"corpus-0000{number}-of-00002.parquet"
            )
        (tmp_path / "hf" / below / "README.md").write_text("card")
        assert list(load_corpus(tmp_path / "hf")) == self.EXPECTED

    def test_a_packed_one_is_read_and_so_are_bytes_that_are_text(self, tmp_path: Path) -> None:
        pl.DataFrame({"id": [b"1"], "text": [b"b"], "image": [b"\xff"]}).write_parquet(tmp_path / "c.parquet")
        (tmp_path / "c.parquet.gz").write_bytes(gzip.compress((tmp_path / "c.parquet").read_bytes()))
        expected = [Document("1", "b", None, {"image": None})]
        assert list(load_corpus(tmp_path / "c.parquet")) == list(load_corpus(tmp_path / "c.parquet.gz")) == expected

    @pytest.mark.parametrize("cell", ["x" * 1000, ["x" * 1000]], ids=["text", "list"])
    def test_a_text_that_is_the_same_in_every_row_is_bounded(self, tmp_path: Path, monkeypatch, cell: object) -> None:
        pl.DataFrame({"id": range(5000), "text": [cell] * 5000}).write_parquet(tmp_path / "c.parquet", compression="zstd")
        assert len(load_corpus(tmp_path / "c.parquet").survey.ids) == 5000
        monkeypatch.setattr("searchmark.io.rows.UNPACKED_FREE", 1000)
        monkeypatch.setattr("searchmark.io.rows.UNPACKED_MOST_TIMES", 2)
        with pytest.raises(FormatError, match="bytes of text, the most that is read of a file of its size"):
            list(load_corpus(tmp_path / "c.parquet"))

    @pytest.mark.slow
    def test_memory_holds_some_rows_and_not_the_file(self, tmp_path: Path) -> None:
        rows = pl.DataFrame({"id": [str(number) for number in range(4000)], "text": ["x" * 2000] * 4000})
        rows.write_parquet(tmp_path / "c.parquet", compression="uncompressed", row_group_size=500)
        tracemalloc.start()
        try:
            assert len(load_corpus(tmp_path / "c.parquet").survey.ids) == 4000
            assert tracemalloc.get_traced_memory()[1] < 4_000_000
        finally:
            tracemalloc.stop()


class TestNames:
    def test_another_separator_is_seen_in_the_header(self, file) -> None:
        expected = [Document("1", "b, c", "a")]
        assert list(load_corpus(file("c.csv", "id;title;text\n1;a;b, c\n"))) == expected
        assert list(load_corpus(file("c.tsv", "id\ttitle\ttext\n1\ta\tb, c\n"))) == expected

    def test_a_variant_is_known_by_its_sku_and_not_by_the_product_that_it_is_one_of(self, file) -> None:
        found = list(load_corpus(file("c.csv", "product_id,sku,name\n1,1-red,shoe\n1,1-blue,shoe\n")))
        assert [document.id for document in found] == ["1-red", "1-blue"]

    def test_an_unknown_id_names_the_columns_and_the_option(self, file) -> None:
        with pytest.raises(
            FormatError, match=r"has no id .*; its fields are artikel, descr: name the right one with --map id=NAME"
        ):
            list(load_corpus(file("c.csv", "artikel,descr\n1,a\n")))

    @pytest.mark.parametrize("name", ["c.csv", "c.parquet"])
    def test_a_text_that_no_column_has_is_an_error_that_names_them(self, tmp_path: Path, name: str) -> None:
        table = pl.DataFrame({"sku": ["1"], "title": ["shoe"]})
        table.write_csv(tmp_path / name) if name == "c.csv" else table.write_parquet(tmp_path / name)
        with pytest.raises(
            FormatError, match="no document has the field 'descr' that the mapping names; the fields are sku, title"
        ):
            _ = load_corpus(tmp_path / name, FieldMapping.parse(("id=sku", "text=descr"))).survey


def test_a_corpus_that_is_written_as_beir_reads_back_the_same(file, tmp_path: Path) -> None:
    for corpus in (load_corpus(file("c.trec", TREC)), load_corpus(file("c.all", SMART))):
        assert write_corpus(corpus, tmp_path / "beir").documents == 2
        assert list(load_corpus(tmp_path / "beir")) == list(corpus)
        assert load_corpus(tmp_path / "beir").survey.digest == corpus.survey.digest


def test_fields_whose_names_mean_something_else_there_are_counted(file, tmp_path: Path) -> None:
    corpus = load_corpus(file("c.csv", "sku,id,text\nA,1,x\n"), FieldMapping(id="sku"))
    written = write_corpus(corpus, tmp_path / "beir")
    assert list(written.losses()) == ["fields of documents that are called _id, id, text, title: 1"]
    assert list(load_corpus(tmp_path / "beir")) == [Document("A", "x")]
