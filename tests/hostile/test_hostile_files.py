"""Hostile files on the command line: one sentence, exit code 4, at once."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from searchmark import FormatError, Run, UsageError, load_config, load_run, load_suite
from searchmark.cli.main import main
from searchmark.io.data import DEEPEST_NESTING, parse_toml, parse_yaml
from tests.conftest import ROOT

File = Callable[[str, str | bytes], Path]
QUICKSTART = ROOT / "examples/quickstart"
SUITE, RUN = str(QUICKSTART / "suite.yaml"), str(QUICKSTART / "bm25.trec")
CASE = {"id": "a", "query": "b", "judgments": [{"target": "x"}]}


def merge_bomb(levels: int) -> str:
    lines = [f"m{level}: &m{level} {{<<: [{', '.join([f'*m{level - 1}'] * 50)}]}}" for level in range(1, levels + 1)]
    return "\n".join(["m0: &m0 {a: 1}", *lines, ""])


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(arguments) == 4
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


class TestExpansion:
    @pytest.mark.parametrize("levels", [3, 4, 5])
    def test_merge_keys_are_bounded_before_they_are_expanded(self, file: File, levels: int) -> None:
        began = time.process_time()
        with pytest.raises(FormatError, match="its aliases expand to more than the file itself"):
            load_suite(file("suite.yaml", merge_bomb(levels) + "schema_version: 1\n"))
        with pytest.raises(FormatError, match="its aliases expand to more than the file itself"):
            load_config(file("searchmark.yaml", merge_bomb(levels)))
        assert time.process_time() - began < 2

    def test_a_mapping_that_is_merged_into_many_cases_is_read(self, file: File) -> None:
        cases = "".join(f"  - {{<<: *base, id: c{number}}}\n" for number in range(50))
        text = "schema_version: 1\nmetadata: {base: &base {query: q, category: x, judgments: [{target: t}]}}\ncases:\n"
        suite = load_suite(file("suite.yaml", text + cases))
        assert [(case.query, case.category) for case in suite.cases] == [("q", "x")] * 50

    def test_a_duplicate_key_is_named_without_what_its_aliases_expand_to(self) -> None:
        lists = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
        with pytest.raises(FormatError, match="line 14, column 1: not valid YAML: found duplicate key"):
            parse_yaml(Path("x"), f"a0: &a0 [x]\n{lists}k: *a11\nk: *a11\n")

    @pytest.mark.parametrize(
        "text", ["? [a, b]\n: c", "a: !!binary aGk=", "a: !!set {b}", "a: &a [*a]", "a: 0x" + "f" * 5000, "a: .nan"]
    )
    def test_yaml_holds_what_json_could(self, text: str) -> None:
        with pytest.raises(FormatError):
            parse_yaml(Path("x"), text, numbers=True)


class TestToml:
    @pytest.mark.parametrize("key", ["a" + ".a" * 20_000, "a" + ' . "a"' * 20_000, "a" + ".'b.c'" * (DEEPEST_NESTING + 1)])
    def test_a_key_of_many_dots_is_refused_unread(self, file: File, key: str) -> None:
        for content in (f"{key} = 1\n", f"[{key}]\n", f"x = {{{key} = 1}}\n"):
            began = time.process_time()
            with pytest.raises(FormatError, match="a key has more than 100 dots"):
                load_config(file("searchmark.toml", content))
            assert time.process_time() - began < 1

    def test_dots_elsewhere_are_dots(self) -> None:
        text = f'a = """{"x." * 500}"""\nb = "{"x." * 500}"\nc = [{", ".join(["1.5"] * 500)}] # {"x." * 500}\nd.e = 1\n'
        assert parse_toml(Path("x"), text)["d"] == {"e": 1}

    def test_dates_are_text_as_in_yaml(self, file: File) -> None:
        assert load_config(file("searchmark.toml", "[dataset]\nsince = 2024-03-15\n")).dataset.since == "2024-03-15"

    @pytest.mark.parametrize("value", ["nan", "-inf", "0x" + "f" * 5000, "9" * 5000, "[" * 5000, "{a=" * 200 + "1" + "}" * 200])
    def test_values_are_bounded(self, value: str) -> None:
        with pytest.raises(FormatError):
            parse_toml(Path("x"), f"a = {value}")


class TestNumbers:
    @pytest.mark.parametrize("field", ["grade", "rank"])
    def test_a_boolean_is_no_number_in_a_suite(self, file: File, field: str) -> None:
        case = {**CASE, "judgments": [{"target": "x", field: True}]}
        with pytest.raises(FormatError, match=f"judgments.0.{field}: input should be a number, not True"):
            load_suite(file("suite.json", json.dumps({"schema_version": 1, "cases": [case]})))

    def test_a_boolean_is_no_number_in_a_config(self, file: File) -> None:
        with pytest.raises(FormatError, match=r"evaluation\.num_runs: input should be a number, not True"):
            load_config(file("searchmark.yaml", "evaluation: {num_runs: true}"))

    @pytest.mark.parametrize("score", [float("inf"), -float("inf"), float("nan")])
    def test_scores_are_finite_in_memory_too(self, score: float) -> None:
        with pytest.raises(UsageError, match="scores must be finite numbers"):
            Run.from_scores({"c": {"a": 1.0, "b": score}})

    def test_a_suite_of_our_own_has_cases(self, file: File) -> None:
        with pytest.raises(FormatError, match="cases: holds no cases"):
            load_suite(file("suite.yaml", "schema_version: 1\ncases: []\n"))


def signed_run(file: File, header: dict[str, Any], line: dict[str, Any]) -> Path:
    body = json.dumps({"case": "crud-create", "status": "ok", "ids": ["a"], **line}) + "\n"
    digest = hashlib.sha256(body.encode()).hexdigest()
    first = {"schema_version": 1, "record": "run", "label": {"agent": "x"}, "answers": 1, "sha256": digest, **header}
    return file("run.jsonl", json.dumps(first) + "\n" + body)


class TestSavedRuns:
    @pytest.mark.parametrize(
        ("line", "place"),
        [
            ({"details": {"cold_ms": 5}}, "line 2.details.cold_ms"),
            ({"details": {"cold_ms": [True]}}, "line 2.details.cold_ms.0"),
            ({"details": {"warm_ms": [-1]}}, "line 2.details.warm_ms.0"),
            ({"details": {"cost": "x"}}, "line 2.details.cost"),
            ({"details": {"cost": "inf"}}, "line 2.details.cost"),
            ({"details": {"unstable": 10**30}}, "line 2.details.unstable"),
            ({"details": {"said": json.loads("[" * 300 + "]" * 300)}}, "line 2.details.said"),
            ({"scores": ["inf"]}, "line 2.scores.0"),
            ({"scores": [True]}, "line 2.scores.0"),
        ],
    )
    def test_details_have_a_shape(self, file: File, capsys, line: dict[str, Any], place: str) -> None:
        run = signed_run(file, {}, line)
        assert f"run.jsonl, {place}: " in refused(["evaluate", "--gold-set", SUITE, "--run", str(run)], capsys)

    @pytest.mark.parametrize(
        "provenance",
        [
            {"suite": {"hashes": "x"}}, {"suite": "x"}, {"options": []}, {"agent": {"source": 5}}, {"index": {"seconds": "nan"}}, {"memory_bytes": True},
            {"memory_bytes": 10**400}, {"restarts": -1}, {"started": "2024-01-01T00:00:00"}, {"options": {"a": json.loads("[" * 300 + "]" * 300)}},
        ],
    )  # fmt: skip
    def test_provenance_has_a_shape(self, file: File, capsys, provenance: dict[str, Any]) -> None:
        run = signed_run(file, {"provenance": provenance}, {})
        assert "run.jsonl, line 1" in refused(["evaluate", "--gold-set", SUITE, "--run", str(run)], capsys)


class TestMetadata:
    @pytest.mark.parametrize(
        ("metadata", "place"),
        [
            ({"repositories": {"r": True}}, "metadata.repositories.r"),
            ({"repositories": {"r": {"path": 5}}}, "metadata.repositories.r.path"),
            ({"repositories": {"r": {"path": "x" * 300}}}, "metadata.repositories.r.path"),
            ({"repositories": {"r": {"path": "a\0b"}}}, "metadata.repositories.r.path"),
            ({"repository": "\ud800"}, "metadata.repository"),
            ({"options": {"kinds": 5}}, "metadata.options.kinds"),
            ({"options": {"exclude_patterns": [5]}}, "metadata.options.exclude_patterns.0"),
            ({"options": {"exclude_patterns": ["{1..3}"]}}, "metadata.options.exclude_patterns.0"),
            ({"other": json.loads("[" * 300 + "]" * 300)}, "metadata.other"),
        ],
    )
    def test_what_decides_where_to_search_has_a_shape(self, file: File, capsys, metadata: dict[str, Any], place: str) -> None:
        row = {"id": "a", "query": "b", "ground_truth_files": ["x"]}
        gold = file("gold.json", json.dumps({"test_cases": [row], "metadata": metadata}))
        assert f"gold.json, {place}: " in refused(["evaluate", "--gold-set", str(gold), "--agent", "bm25"], capsys)

    def test_other_metadata_may_have_any(self, file: File) -> None:
        metadata = {"repositories": ["a"], "options": None, "repository": {"url": "x"}, "more": [{"a": 1}]}
        row = {"id": "a", "query": "b", "ground_truth_files": ["x"]}
        assert load_suite(file("gold.json", json.dumps({"test_cases": [row], "metadata": metadata}))).metadata == metadata


def test_a_text_that_is_nested_600_lists_deep_is_refused_with_its_line(file: File, capsys) -> None:
    corpus = file("corpus.jsonl", '{"id": "1", "text": ' + "[" * 600 + '"x"' + "]" * 600 + "}\n")
    error = refused(["evaluate", "--gold-set", SUITE, "--run", RUN, "--corpus", str(corpus)], capsys)
    assert "corpus.jsonl, line 1: its field 'text' is nested more than 100 levels deep" in error


class TestRegularFiles:
    @pytest.fixture(params=["named pipe", "device", "folder", "circle of links"])
    def no_file(self, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        path = tmp_path / "odd.jsonl"
        match request.param:
            case "named pipe":
                os.mkfifo(path)
            case "device":
                path.symlink_to("/dev/zero")
            case "folder":
                path.mkdir()
            case _:
                path.symlink_to(path)
        return path

    @pytest.mark.parametrize(
        "arguments",
        [
            ["evaluate", "--gold-set", "ODD", "--run", RUN],
            ["evaluate", "--gold-set", SUITE, "--run", "ODD"],
            ["evaluate", "--gold-set", str(QUICKSTART / "qrels.txt"), "--topics", "ODD", "--run", RUN],
            ["evaluate", "--gold-set", SUITE, "--run", RUN, "--config", "ODD"],
        ],
        ids=["suite", "run", "topics", "config"],
    )
    def test_nothing_else_is_waited_for(self, no_file: Path, capsys, arguments: list[str]) -> None:
        assert str(no_file) in refused([str(no_file) if each == "ODD" else each for each in arguments], capsys)

    def test_nor_inside_a_folder(self, tmp_path: Path, capsys) -> None:
        (tmp_path / "qrels").mkdir()
        (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n")
        os.mkfifo(tmp_path / "queries.jsonl")
        gold = str(tmp_path / "qrels" / "test.tsv")
        assert "queries.jsonl: is neither a file nor a folder" in refused(["evaluate", "--gold-set", gold, "--run", RUN], capsys)

    @pytest.mark.slow
    def test_topics_come_through_a_pipe_that_is_open(self) -> None:
        command = [sys.executable, "-m", "searchmark", "evaluate", "--gold-set", str(QUICKSTART / "qrels.txt"), "--run", RUN, "--topics", "/dev/stdin"]  # fmt: skip
        done = subprocess.run(command, input=(QUICKSTART / "topics.tsv").read_bytes(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr


def test_an_ordinary_run_is_still_read() -> None:
    assert load_run(RUN).longest > 0
