"""What a symbol suite says of case and of documents that it excludes, and what other formats keep of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from searchmark import Defaults, FormatError, load_suite, save_suite

QUERY: dict[str, Any] = {"id": "a", "query": "send mail", "expected_symbols": ["SendMail"], "expected_patterns": ["*mail*"]}


def written(folder: Path, **top: Any) -> Path:
    path = folder / "benchmark-dataset.json"
    path.write_text(json.dumps({"queries": [QUERY], **top}))
    return path


def test_case_is_ignored_where_the_defaults_say_so(tmp_path: Path) -> None:
    assert load_suite(written(tmp_path, defaults={"ignore_case": True})).defaults == Defaults(ignore_case=True)
    assert load_suite(written(tmp_path)).defaults == Defaults()


def test_what_is_excluded_at_the_top_is_excluded_in_every_case_besides_its_own(tmp_path: Path) -> None:
    queries = [QUERY, {**QUERY, "id": "b", "exclude": {"status": ["internal", "removed"], "Kind": "field"}}]
    suite = load_suite(written(tmp_path, queries=queries, exclude={"deprecated": True, "status": "old"}))
    first, second = (case.exclude for case in suite.cases)
    assert first == {"deprecated": ("true",), "status": ("old",)}
    assert second == {"deprecated": ("true",), "status": ("internal", "old", "removed"), "Kind": ("field",)}
    assert "exclude" not in suite.metadata
    assert "exclude" not in suite.cases[1].fields


@pytest.mark.parametrize(
    "exclude", ["deprecated", ["deprecated"], {"status": {}}, {"status": []}, {"status": None}, {"status": ""}]
)
def test_what_excludes_nothing_that_could_be_meant_is_refused(tmp_path: Path, exclude: object) -> None:
    with pytest.raises(FormatError, match="exclude"):
        load_suite(written(tmp_path, exclude=exclude))


@pytest.mark.parametrize("defaults", [{"ignorecase": True}, {"rel": 0}, {"ignore_case": "maybe"}, []])
def test_defaults_that_are_not_known_are_refused(tmp_path: Path, defaults: object) -> None:
    with pytest.raises(FormatError, match="defaults"):
        load_suite(written(tmp_path, defaults=defaults))


@pytest.mark.parametrize("name", ["suite.json", "suite.jsonl"])
def test_a_native_file_keeps_both(tmp_path: Path, name: str) -> None:
    suite = load_suite(written(tmp_path, defaults={"ignore_case": True}, exclude={"deprecated": True}))
    assert save_suite(suite, tmp_path / name) == []
    again = load_suite(tmp_path / name)
    assert (again.defaults, again.cases[0].exclude) == (suite.defaults, {"deprecated": ("true",)})
    assert again.hashes == suite.hashes


def test_a_native_yaml_file_may_say_it_with_one_value_or_several(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(
        "schema_version: 1\ndefaults: {ignore_case: true}\ncases:\n- id: a\n  query: q\n  exclude: {deprecated: true, status: [old, 3]}\n"
        "  judgments: [{target: '*mail*', match: glob}]\n"
    )
    suite = load_suite(path)
    assert suite.defaults.ignore_case
    assert {name: str(values) for name, values in suite.cases[0].exclude.items()}.keys() == {"deprecated", "status"}


@pytest.mark.parametrize("format", ["qrels", "beir", "gold-set"])
def test_a_format_that_cannot_hold_them_says_so(tmp_path: Path, format: str) -> None:  # noqa: A002  # the word that users know
    suite = load_suite(written(tmp_path, defaults={"ignore_case": True}, exclude={"deprecated": True}))
    lost = save_suite(suite, tmp_path / "out", format=format)
    assert "the suite's defaults for rel, gain, ignore_case and measures" in lost
    assert "fields of documents that are excluded" in lost


def test_a_query_names_its_category(tmp_path: Path) -> None:
    queries = [{**QUERY, "category": 1, "category_name": "conceptual"}, {**QUERY, "id": "b", "category": 1}]
    suite = load_suite(written(tmp_path, queries=[*queries, {**QUERY, "id": "c", "category_name": "abstract"}]))
    assert [case.category for case in suite.cases] == ["conceptual", "conceptual", "abstract"]
    assert suite.cases[1].fields == {"category_number": "1"}
    assert suite.cases[2].fields == {}


def test_a_category_with_two_names_is_refused(tmp_path: Path) -> None:
    other = {**QUERY, "id": "b", "category": 1, "category_name": "abstract"}
    with pytest.raises(FormatError, match=r"queries\.1\.category_name: is 'abstract', and the category 1 was called 'conceptual'"):
        load_suite(written(tmp_path, queries=[{**QUERY, "category": 1, "category_name": "conceptual"}, other]))
    with pytest.raises(FormatError, match="was called 'by concept'"):
        load_suite(written(tmp_path, queries=[other], categories={"1": "by concept"}))
