"""TREC qrels, topics and runs: what is dirty in real files is read as trec_eval reads it, or refused with its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import FormatError, Run, load_run, load_suite, match_hits, score
from searchmark.formats.trec import QRELS_LAYOUT, RUN_LAYOUT, _read_careful, _read_clean, read_trec_table

CLEAN_RUN = "q1 Q0 a 1 3.0 t\nq1 Q0 b 2 2.0 t\nq2 Q0 c 1 1.0 t\n"
CLEAN_QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\n"


def as_dict(run: Run) -> dict[str, list[tuple[str, float]]]:
    return {answer.case: [(hit.id, hit.score) for hit in answer.hits] for answer in run.answers}


EXPECTED = {"q1": [("a", 3.0), ("b", 2.0)], "q2": [("c", 1.0)]}


@pytest.mark.parametrize(
    "content",
    [
        CLEAN_RUN,
        CLEAN_RUN.rstrip("\n"),
        CLEAN_RUN.replace(" ", "\t"),
        CLEAN_RUN.replace(" ", "  \t"),
        CLEAN_RUN.replace("\n", "\r\n"),
        CLEAN_RUN.replace("q1", "  q1"),
        CLEAN_RUN.replace("t\n", "t  \n"),
        "# a comment\n" + CLEAN_RUN + "\n\n   \n  # another one\n",
        "\ufeff" + CLEAN_RUN,
        CLEAN_RUN.replace("Q0", "iteration"),
        CLEAN_RUN.replace(" 1 3.0", " first 3.0").replace(" 2 2.0", " - 2.0"),
        CLEAN_RUN.replace("t\n", "tag and more words\n"),
        "q1 Q0 b 2 2.0 t\nq2 Q0 c 1 1.0 t\nq1 Q0 a 1 3.0 t\n",  # queries interleaved, order by score
        CLEAN_RUN.replace("3.0", "3e0").replace("2.0", "+2").replace("1.0", "1."),
    ],
    ids=["clean", "no last line feed", "tabs", "mixed padding", "CRLF", "leading blanks", "trailing blanks", "comments and blank lines",
         "byte order mark", "word as iteration", "word as rank", "more columns", "interleaved", "spellings of numbers"],
)  # fmt: skip
def test_reads_a_run_as_trec_eval_does(file, content: str) -> None:
    assert as_dict(load_run(file("run.txt", content))) == EXPECTED


def test_ranks_in_the_file_are_ignored_and_ties_go_by_id_descending(file) -> None:
    path = file("run.txt", "q Q0 a 1 1.0 t\nq Q0 c 2 1.0 t\nq Q0 b 3 1.0 t\nq Q0 z 4 2.0 t\n")
    assert [hit for hit, _ in as_dict(load_run(path))["q"]] == ["z", "c", "b", "a"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (CLEAN_RUN + "q3 Q0 d 1 nan t\n", "line 4: the score 'nan' is not a finite number"),
        (CLEAN_RUN + "q3 Q0 d 1 -NaN t\n", "line 4: the score '-NaN' is not a finite number"),
        (CLEAN_RUN + "q3 Q0 d 1 -Infinity t\n", "line 4: the score '-Infinity' is not a finite number"),
        (CLEAN_RUN + "q3 Q0 d 1 1e999 t\n", "line 4: the score '1e999' is not a finite number"),
        (CLEAN_RUN + "q3 Q0 d 1 high t\n", "line 4: the score 'high' is not a finite number"),
        (CLEAN_RUN + "q3 Q0 d 1 1_0 t\n", "line 4: the score '1_0' is not a finite number"),
        (CLEAN_RUN + "q3 Q0 d 1 0.5\n", "line 4: has 5 columns instead of 6"),
        ("# only\n\n", "holds no lines"),
        ("", "holds no lines"),
        (CLEAN_RUN.replace("\n", "\r"), "line 1: a carriage return inside the line"),
    ],
)
def test_refuses_a_run_with_file_line_and_reason(file, content: str, complaint: str) -> None:
    with pytest.raises(FormatError, match=complaint) as caught:
        load_run(file("run.txt", content))
    assert "run.txt" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (CLEAN_QRELS + "q2 0 c 1\n", "line 4: document 'c' is judged a second time for query 'q2'"),
        ("# x\n\n" + CLEAN_QRELS + "q2 0 c 2\n", "line 6: document 'c' is judged a second time"),
        (CLEAN_QRELS + "q3 0 d 0.5\n", "line 4: the grade '0.5' is not a whole number"),
        (CLEAN_QRELS + "q3 0 d yes\n", "line 4: the grade 'yes' is not a whole number"),
        (CLEAN_QRELS + "q3 0 d 1e2\n", "line 4: the grade '1e2' is not a whole number"),
        (CLEAN_QRELS + "q3 0 d 99999999999\n", "line 4: the grade '99999999999' is not"),
        (CLEAN_QRELS + "q3 0 d -9223372036854775808\n", "line 4: the grade '-9223372036854775808' is not"),
        (CLEAN_QRELS + "q3 0 d nan\n", "line 4: the grade 'nan' is not a whole number"),
        (CLEAN_QRELS + "q3 0 d\n", "line 4: has 3 columns instead of 4"),
        (CLEAN_QRELS + "q3 0 d 1 more\n", "line 4: has 5 columns instead of 4"),
        ("", "holds no lines"),
    ],
)
def test_refuses_qrels_with_file_line_and_reason(file, content: str, complaint: str) -> None:
    with pytest.raises(FormatError, match=complaint):
        load_suite(file("qrels.txt", content))


def test_reads_qrels_with_signs_decimals_comments_and_words_as_iteration(file) -> None:
    suite = load_suite(file("qrels.txt", "#c\n\nq1 x a 0000000001\nq1\ty  b  -1\r\nq2 0 c 2.0\n"))
    assert [[(j.target, j.grade) for j in case.judgments] for case in suite.cases] == [[("a", 1), ("b", -1)], [("c", 2)]]


def test_missing_file_is_one_sentence() -> None:
    with pytest.raises(FormatError, match=r"nowhere\.txt: cannot be read: No such file"):
        load_suite("nowhere.txt")


def test_queries_on_one_side_only_are_counted(file) -> None:
    suite = load_suite(file("qrels.txt", CLEAN_QRELS))
    judged = match_hits(suite, load_run(file("run.txt", "q1 Q0 a 1 1 t\nq9 Q0 a 1 1 t\nq8 Q0 a 1 1 t\n")))
    scores = score(judged, ["RR"])
    assert judged.dropped["cases_not_in_suite"] == 2
    assert scores.counts == {"ok": 1, "empty": 1, "error": 0, "timeout": 0, "not_run": 0}
    assert scores.mean("RR") == 0.5


def test_bytes_that_are_not_utf8_survive(file) -> None:
    run = load_run(file("run.txt", b"q\xff Q0 caf\xe9 1 1.0 t\n"))
    assert run.case_ids[0].encode("utf-8", "surrogateescape") == b"q\xff"
    assert run.ids[0].encode("utf-8", "surrogateescape") == b"caf\xe9"


class TestTopics:
    def test_classic_blocks_give_titles(self, file) -> None:
        topics = "<top>\n<num> Number: q1\n<title> Topic: how to\n sort\n<desc> no\n</top>\n<top><num>q2</num><title>second</title></top>"
        suite = load_suite(file("qrels.txt", CLEAN_QRELS), topics=file("topics.txt", topics))
        assert [case.query for case in suite.cases] == ["how to sort", "second"]

    def test_lines_give_queries_and_topics_without_judgments_are_counted(self, file) -> None:
        suite = load_suite(file("qrels.txt", CLEAN_QRELS), topics=file("t.tsv", "q1\tfirst\nq7\tnobody judged me\n"))
        assert [case.query for case in suite.cases] == ["first", None]
        assert suite.dropped == {"topics_without_judgments": 1}

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            ("q1 no tab\n", "line 1: is not 'id<tab>query'"),
            ("q1\ta\nq1\tb\n", "line 2: duplicate topic 'q1'"),
            ("<top><num>1</num></top>", "topic 1: needs both a number and a title"),
            ("", "holds neither"),
            ("<top><num>1<title>x</top><top><num>2<title>y", "topic 2: is not closed by </top>"),
            ("<top>" + " " * 60_000, "topic 1: is not closed"),
            ("<top><num>" + " " * 60_000 + "<title> a" + " " * 60_000 + "b </top></top", "needs both a number and a title"),
        ],
    )
    def test_refuses_with_place_and_reason(self, file, content: str, complaint: str) -> None:
        with pytest.raises(FormatError, match=complaint):
            load_suite(file("qrels.txt", CLEAN_QRELS), topics=file("t.tsv", content))


word = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp", "Cs"]), min_size=1, max_size=6)
number = st.one_of(
    st.integers(-5, 10**10).map(str),
    st.floats(allow_nan=True).map(str),
    st.sampled_from(["1e5", "+3", ".5", "5.", "1_0", "0x1", "x", "inf", "-Infinity", "nan", "1,5", "٣"]),
)
blank = st.sampled_from([" ", " ", " ", " ", "\t", "  "])


@st.composite
def trec_text(draw: st.DrawFn, columns: int) -> bytes:
    """Mostly clean lines, now and then a flaw."""
    separator = draw(st.sampled_from([" ", "\t"]))
    lines = []
    for _ in range(draw(st.integers(0, 6))):
        width = draw(st.sampled_from([columns] * 8 + [columns - 1, columns + 1, 0]))
        fields = [draw(word) for _ in range(width)]
        place = 3 if columns == 4 else 4
        if width > place:
            fields[place] = draw(st.one_of(st.integers(0, 9).map(str), st.integers(0, 9).map(str), number))
        lines.append((separator if draw(st.integers(0, 9)) else draw(blank)).join(fields))
    end = draw(st.sampled_from(["\n", "\n", "\n", "\r\n"]))
    return (end.join(lines) + draw(st.sampled_from(["", end]))).encode()


@pytest.mark.parametrize("layout", [QRELS_LAYOUT, RUN_LAYOUT], ids=["qrels", "run"])
@given(data=st.data())
def test_the_fast_reader_agrees_with_the_careful_one_or_stands_aside(tmp_path, layout, data: st.DataObject) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(data.draw(trec_text(len(layout.columns))))
    fast = _read_clean(path, layout)
    if fast is not None:
        careful = _read_careful(path, layout)
        assert (fast.queries, fast.query.tolist(), list(fast.documents), fast.tag if layout is RUN_LAYOUT else None) == (
            careful.queries, careful.query.tolist(), careful.documents, careful.tag,
        )  # fmt: skip
        assert fast.numbers.tolist() == careful.numbers.tolist()


def clean_run(lines: int) -> str:
    return "".join(f"q{n // 50} Q0 doc{n} {n} {1000 - n} t\n" for n in range(lines))


def test_the_fast_reader_takes_clean_files_across_blocks(file, monkeypatch) -> None:
    path = file("run.txt", clean_run(1000))
    monkeypatch.setattr("searchmark.formats.trec._BLOCK", 997)
    fast, careful = _read_clean(path, RUN_LAYOUT), _read_careful(path, RUN_LAYOUT)
    assert fast is not None
    assert fast.numbers.tolist() == careful.numbers.tolist()
    assert list(fast.documents) == careful.documents


def test_the_fast_reader_sees_two_blanks_that_meet_between_blocks(file, monkeypatch) -> None:
    path = file("run.txt", clean_run(1000).replace("doc500 ", "doc500  "))
    for size in range(990, 1010):
        monkeypatch.setattr("searchmark.formats.trec._BLOCK", size)
        assert _read_clean(path, RUN_LAYOUT) is None


@pytest.mark.parametrize("content", [b"q\xff Q0 a 1 1 t\n", b"q Q0 caf\xe9 1 1 t\n", b""])
def test_the_fast_reader_stands_aside_where_a_file_is_not_clean_text(file, content: bytes) -> None:
    assert _read_clean(file("run.txt", content), RUN_LAYOUT) is None


def test_large_files_are_read_by_the_fast_reader_and_small_ones_without_polars(file) -> None:
    assert not isinstance(read_trec_table(file("large.txt", clean_run(50_000)), RUN_LAYOUT).documents, list)
    assert isinstance(read_trec_table(file("small.txt", clean_run(1000)), RUN_LAYOUT).documents, list)


def test_a_name_with_a_pattern_in_it_is_a_name(file) -> None:
    assert len(load_run(file("run[1]*.txt", clean_run(50_000)))) == 1000
