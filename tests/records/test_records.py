"""Records go to disk and come back identical; what is broken on disk is refused with its place."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import runs, suites

from searchmark import (
    Answer,
    Case,
    FormatError,
    Hit,
    Judgment,
    Provenance,
    Run,
    Suite,
    UsageError,
    load_run,
    load_suite,
    save_run,
    save_suite,
)
from searchmark.io.store import atomic_write

RUN = Run.from_answers(
    "bm25",
    [
        Answer("q1", "ok", (Hit("a", 1, 2.5), Hit("b", 2, -7.0))),
        Answer("q2", "timeout"),
        Answer("q3", "ok", (Hit("c", 1),)),
    ],
    provenance=Provenance(id="one", started=datetime(2026, 11, 15, 12, 30, tzinfo=UTC), options={"k1": 1.2}),
)
SUITE = Suite.from_cases("demo", [Case("q1", "find a", (Judgment("a", grade=2),)), Case("q2", "nothing", unanswerable=True)])


@given(suites)
def test_a_suite_is_read_back_identical(tmp_path: Path, suite: Suite) -> None:
    for name in ("suite.json", "suite.jsonl"):
        save_suite(suite, tmp_path / name)
        assert load_suite(tmp_path / name) == suite


@given(runs())
def test_a_run_is_read_back_identical(tmp_path: Path, run: Run) -> None:
    save_run(run, tmp_path / "run.jsonl")
    assert load_run(tmp_path / "run.jsonl") == run


@given(suites, st.data())
def test_rows_of_a_suite_are_its_cases_in_that_order(suite: Suite, data: st.DataObject) -> None:
    rows = data.draw(
        st.permutations(range(len(suite))).flatmap(lambda order: st.integers(1, len(order)).map(lambda end: order[:end]))
    )
    taken = Suite(suite.name, suite.table.of_rows(rows), suite.judgments.of_cases(rows))
    assert list(taken.cases) == [suite.cases[row] for row in rows]


def test_a_run_that_was_ordered_by_score_is_read_back_in_that_order(tmp_path: Path) -> None:
    run = Run.from_scores({"q": {"a": 1.0, "b": 2.0, "c": 3.0}})
    save_run(run, tmp_path / "run.jsonl")
    assert load_run(tmp_path / "run.jsonl") == run
    assert load_run(tmp_path / "run.jsonl").ids == ["c", "b", "a"]


def test_an_empty_answer_with_hits_contradicts_itself(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    save_run(Run.from_answers("a", [Answer("q", "empty", (Hit("x", 1),))]), path)
    with pytest.raises(FormatError, match=r"line 2\.status: is 'empty', but there are 1 hits"):
        load_run(path)


@pytest.mark.parametrize("lines", [(1, 10**11), (0, 5), (-4, -2)])
def test_lines_that_no_file_has_are_refused(tmp_path: Path, lines: tuple[int, int]) -> None:
    path = tmp_path / "run.jsonl"
    save_run(Run.from_answers("a", [Answer("q", "ok", (Hit("x", 1, lines=(3, 4)),))]), path)
    header, answer = path.read_text().splitlines()
    answer = answer.replace("[3, 4]", f"[{lines[0]}, {lines[1]}]") + "\n"
    digest = hashlib.sha256(answer.encode()).hexdigest()
    path.write_text(json.dumps(json.loads(header) | {"sha256": digest}) + "\n" + answer)
    with pytest.raises(FormatError, match=r"line 2\.lines: is not a list of first and last lines"):
        load_run(path)


def test_a_time_without_a_zone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    save_run(RUN, path)
    path.write_text(path.read_text().replace("+00:00", ""))
    with pytest.raises(FormatError, match="a time has no time zone"):
        load_run(path)


def test_a_case_that_is_answered_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="duplicate answer to the case 'q'"):
        Run.from_answers("a", [Answer("q", "ok"), Answer("q", "ok")])


@given(suites)
def test_hashes_do_not_depend_on_order(suite: Suite) -> None:
    reversed_cases = [
        Case(
            c.id,
            c.query,
            c.judgments[::-1],
            unanswerable=c.unanswerable,
            other_orders=c.other_orders[::-1],
            order_only=c.order_only,
        )
        for c in reversed(suite.cases)
    ]
    assert Suite.from_cases("other name", reversed_cases).hashes == suite.hashes


def test_hashes_tell_what_else_decides_on_values() -> None:
    cases = [
        Case("q", judgments=(Judgment("a", rank=1), Judgment("b", rank=2)), **more)  # type: ignore[arg-type]  # fields of a case
        for more in ({}, {"other_orders": (("b", "a"),)}, {"order_only": True})
    ]
    assert len({Suite.from_cases("s", [case]).hashes["judgments"] for case in cases}) == 3


def test_hashes_are_those_of_lines_of_json_by_id() -> None:
    judgments = (Judgment("é", "path", 2, 1, (0.5, 1.0)), Judgment("a", grade=10), Judgment("a", grade=9), Judgment("a!"))
    suite = Suite.from_cases("s", [Case("q2", 'say "x"', judgments), Case("q1", None, unanswerable=True)])
    queries = '["q1", null, true]\n["q2", "say \\"x\\"", false]\n'
    rows = '["a", "id", 9, null, null], ["a", "id", 10, null, null], ["a!", "id", 1, null, null], ["\\u00e9", "path", 2, 1, [0.5, 1.0]]'
    assert suite.hashes["queries"] == hashlib.sha256(queries.encode()).hexdigest()
    assert suite.hashes["judgments"] == hashlib.sha256(f'["q1", []]\n["q2", [{rows}]]\n'.encode()).hexdigest()


grades = st.dictionaries(st.text(min_size=1, max_size=3), st.integers(-1, 11), max_size=4)


@given(st.dictionaries(st.text(min_size=1, max_size=2), grades, max_size=3))
def test_hashes_of_grades_are_those_of_the_same_cases(judged: dict[str, dict[str, int]]) -> None:
    lines = [[case, sorted([target, "id", grade, None, None] for target, grade in judged[case].items())] for case in sorted(judged)]
    digest = hashlib.sha256("".join(json.dumps(line) + "\n" for line in lines).encode()).hexdigest()
    assert Suite.from_grades(judged).hashes["judgments"] == digest


def test_hashes_keep_queries_and_judgments_apart() -> None:
    other_query = Suite.from_cases("demo", [Case("q1", "find b", (Judgment("a", grade=2),)), SUITE.cases[1]])
    other_grade = Suite.from_cases("demo", [Case("q1", "find a", (Judgment("a", grade=1),)), SUITE.cases[1]])
    assert other_query.hashes["queries"] != SUITE.hashes["queries"]
    assert other_query.hashes["judgments"] == SUITE.hashes["judgments"]
    assert other_grade.hashes["queries"] == SUITE.hashes["queries"]
    assert other_grade.hashes["judgments"] != SUITE.hashes["judgments"]


def test_a_run_cut_anywhere_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    save_run(RUN, path)
    whole = path.read_bytes()
    for length in range(len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(FormatError, match=r"run\.jsonl"):
            load_run(path, format="native")


def test_a_run_with_any_changed_byte_is_refused_or_means_the_same(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    save_run(RUN, path)
    whole = bytearray(path.read_bytes())
    for place in range(whole.index(b"\n") + 1, len(whole)):
        changed = whole.copy()
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(FormatError, match=r"run\.jsonl"):
            load_run(path, format="native")


def test_a_suite_cut_anywhere_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    save_suite(SUITE, path)
    whole = path.read_text().rstrip()
    for length in range(len(whole)):
        path.write_text(whole[:length])
        with pytest.raises(FormatError, match=r"suite\.json"):
            load_suite(path)


@pytest.mark.parametrize("version", [0, 2, "1", None, True, 1.0])
def test_an_unknown_schema_version_is_refused_by_file_and_field(tmp_path: Path, version: object) -> None:
    run, suite = tmp_path / "run.jsonl", tmp_path / "suite.json"
    save_run(RUN, run)
    header, _, body = run.read_text().partition("\n")
    run.write_text(json.dumps({**json.loads(header), "schema_version": version}) + "\n" + body)
    suite.write_text(json.dumps({"schema_version": version, "cases": []}))
    with pytest.raises(FormatError, match=r"run\.jsonl, schema_version: is "):
        load_run(run)
    with pytest.raises(FormatError, match=r"suite\.json, schema_version: is "):
        load_suite(suite)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    save_run(RUN, path)
    path.write_text(path.read_text().replace('"timeout"', '"asleep"'))
    with pytest.raises(FormatError, match=r"run\.jsonl, line 3\.status: input should be 'ok', 'empty'"):
        load_run(path)


class TestAtomicWrite:
    def test_leaves_the_old_file_when_writing_fails(self, tmp_path: Path) -> None:
        path = tmp_path / "file.txt"
        path.write_text("old")
        with pytest.raises(ZeroDivisionError), atomic_write(path) as file:
            file.write(b"half")
            _ = 1 / 0
        assert path.read_text() == "old"
        assert os.listdir(tmp_path) == ["file.txt"]

    def test_creates_missing_directories_and_honours_the_umask(self, tmp_path: Path) -> None:
        path = tmp_path / "new" / "file.txt"
        with atomic_write(path) as file:
            file.write(b"x")
        ordinary = tmp_path / "ordinary"
        ordinary.touch()
        assert path.stat().st_mode == ordinary.stat().st_mode

    def test_follows_a_link_and_keeps_permissions(self, tmp_path: Path) -> None:
        real = tmp_path / "real.txt"
        real.write_text("old")
        real.chmod(0o600)
        (tmp_path / "link").symlink_to(real)
        with atomic_write(tmp_path / "link") as file:
            file.write(b"new")
        assert (tmp_path / "link").is_symlink()
        assert (real.read_text(), real.stat().st_mode & 0o777) == ("new", 0o600)

    def test_says_what_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(UsageError, match=r"inside\.txt cannot be written: "), atomic_write(tmp_path / "file" / "inside.txt"):
            pass


def test_run_from_scores_orders_like_trec_eval_whatever_the_order_given() -> None:
    run = Run.from_scores({"q": {"a": 1.0, "c": 1.0, "b": 2.0, "d": 1.0}, "empty": {}, "r": {"x": 0.5}})
    assert [[hit.id for hit in answer.hits] for answer in run.answers] == [["b", "d", "c", "a"], [], ["x"]]
    assert [answer.status for answer in run.answers] == ["ok", "empty", "ok"]


def test_run_from_scores_refuses_nan() -> None:
    with pytest.raises(UsageError, match="case 'q': the score of 'a' is nan"):
        Run.from_scores({"p": {"b": 1.0}, "q": {"b": 1.0, "a": float("nan")}})


@pytest.mark.parametrize("grade", [2.7, float("nan"), np.float64(0.5), "2"])
def test_a_grade_that_is_no_whole_number_is_refused_and_not_cut(grade) -> None:
    refused = "case 'q2': the grade .* of 'b' is not a whole number"
    with pytest.raises(UsageError, match=refused):
        Suite.from_grades({"q1": {"a": 1}, "q2": {"b": grade}})
    with pytest.raises(UsageError, match=refused):
        Suite.from_cases("s", [Case("q1", judgments=(Judgment("a"),)), Case("q2", judgments=(Judgment("b", grade=grade),))])


def test_whole_numbers_of_any_type_are_grades() -> None:
    suite = Suite.from_grades({"q": {"a": 2.0, "b": np.int32(3), "c": True, "d": -1}})  # type: ignore[dict-item]  # as callers do
    assert suite.judgments.grades.tolist() == [2, 3, 1, -1]


def test_cases_can_be_sliced_and_indexed_from_the_end() -> None:
    assert SUITE.cases[-1].id == "q2"
    assert [case.id for case in SUITE.cases[:1]] == ["q1"]
    with pytest.raises(IndexError):
        _ = SUITE.cases[2]


def test_columns_of_a_suite_are_absent_when_no_case_uses_them() -> None:
    suite = Suite.from_grades({"q": {"a": 1}})
    assert suite.judgments.match is suite.judgments.ranks is suite.table.tags is None
    assert suite == Suite.from_cases("suite", [Case("q", judgments=(Judgment("a"),))])
    assert np.array_equal(suite.judgments.starts, [0, 1])
