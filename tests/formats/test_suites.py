"""Native suite files: the same suite in three syntaxes, and one clear sentence for what is wrong."""

from __future__ import annotations

import json

import pytest

from searchmark import FormatError, UsageError, load_suite

YAML = """
schema_version: 1
name: demo
defaults: {rel: 2, gain: exp}
cases:
  - id: 007
    query: create issue
    category: crud
    tags: [typo, short]
    judgments:
      - {target: createIssue, grade: 3, rank: 1}
      - {target: 12, match: id, grade: 0, score_range: [0.0, 0.3]}
    fields: {language: pt}
  - id: no
    query: 1.0
    unanswerable: true
"""
JSON = """{"schema_version": 1, "name": "demo", "defaults": {"rel": 2, "gain": "exp"}, "cases": [
 {"id": "007", "query": "create issue", "category": "crud", "tags": ["typo", "short"], "fields": {"language": "pt"},
  "judgments": [{"target": "createIssue", "grade": 3, "rank": 1}, {"target": "12", "grade": 0, "score_range": [0.0, 0.3]}]},
 {"id": "no", "query": "1.0", "unanswerable": true}]}"""
JSONL = """{"schema_version": 1, "name": "demo", "defaults": {"rel": 2, "gain": "exp"}}
{"id": "007", "query": "create issue", "category": "crud", "tags": ["typo", "short"], "fields": {"language": "pt"}, \
"judgments": [{"target": "createIssue", "grade": 3, "rank": 1}, {"target": "12", "grade": 0, "score_range": [0.0, 0.3]}]}

{"id": "no", "query": "1.0", "unanswerable": true}
"""


def test_yaml_json_and_jsonl_say_the_same(file) -> None:
    yaml, json, jsonl = (load_suite(file(name, text)) for name, text in [("a.yaml", YAML), ("a.json", JSON), ("a.jsonl", JSONL)])
    assert yaml == json == jsonl


def test_ids_that_look_like_numbers_stay_as_written(file) -> None:
    suite = load_suite(file("a.yaml", YAML))
    assert [case.id for case in suite.cases] == ["007", "no"]
    assert suite.cases[1].query == "1.0"
    assert suite.cases[0].judgments[1].target == "12"


def test_the_name_defaults_to_the_file(file) -> None:
    assert load_suite(file("my-suite.json", '{"schema_version": 1, "cases": [{"id": "a"}]}')).name == "my-suite"


CASE = '{{"schema_version": 1, "cases": [{{"id": "a"}}, {}]}}'


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "line 1, column 1: not valid JSON"),
        ("[]", "is not a mapping"),
        ("{", "line 1, column 2: not valid JSON"),
        ('{"cases": []}', "schema_version: is missing"),
        ('{"schema_version": 1, "case": []}', "case: is not a known field"),
        ('{"schema_version": 1, "cases": 3}', "cases: should be a list, not 3"),
        ('{"schema_version": 1, "name": "a", "name": "b"}', "duplicate key 'name'"),
        ('{"schema_version": 1, "defaults": {"rel": 0}}', "defaults.rel: 0 is not a grade"),
        (CASE.format('{"query": "x"}'), "cases.1.id: is missing"),
        (CASE.format('{"id": ""}'), "cases.1.id: is empty"),
        (CASE.format('{"id": "a"}'), "cases.1.id: 'a' is a duplicate of cases.0"),
        (CASE.format('{"id": "b", "query": "  "}'), "cases.1.query: is empty"),
        (CASE.format('{"id": "b", "judgements": []}'), "cases.1.judgements: is not a known field"),
        (CASE.format('{"id": "b", "judgments": [{"target": "t", "grade": 1.5}]}'), "cases.1.judgments.0.grade: input should be a valid int"),
        (CASE.format('{"id": "b", "judgments": [{"target": "t", "grade": 1e12}]}'), "cases.1.judgments.0.grade: 1000000000000 is beyond"),
        (CASE.format('{"id": "b", "judgments": [{"target": ""}]}'), "cases.1.judgments.0.target: is empty"),
        (CASE.format('{"id": "b", "judgments": [{"target": "t", "match": "regex"}]}'), "cases.1.judgments.0.match: input should be 'id', 'path'"),
        (CASE.format('{"id": "b", "judgments": [{"target": "t"}, {"target": "t"}]}'), "cases.1.judgments.1.target: 't' is a duplicate of judgments.0"),
        (CASE.format('{"id": "b", "judgments": [{"target": "t", "rank": 0}]}'), "cases.1.judgments.0.rank: 0 is not a rank"),
        (CASE.format('{"id": "b", "judgments": [{"target": "t", "score_range": [1, 0]}]}'), "score_range: its low end 1.0 is not a number below"),
        (CASE.format('{"id": "b", "judgments": [{"target": "t", "score_range": [NaN, 0]}]}'), "not valid JSON: NaN"),
        (CASE.format('{"id": "b", "unanswerable": true, "judgments": [{"target": "t"}]}'), "is positive, but the case is marked unanswerable"),
    ],
)  # fmt: skip
def test_refuses_with_file_field_and_reason(file, content: str, complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_suite(file("suite.json", content))
    assert complaint in str(caught.value)
    assert "suite.json" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("cases: [", "not valid YAML"),
        ("schema_version: 1\nschema_version: 1", "not valid YAML: found duplicate key"),
        ("schema_version: !!python/object:os.system {}", "not valid YAML: could not determine a constructor"),
        ("- 1", "is not a mapping"),
        ("schema_version: two", "schema_version: is 'two'"),
        ("", "is not a mapping"),
        ("a\x00b", "not valid YAML"),
    ],
)
def test_refuses_yaml_with_place_and_reason(file, content: str, complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_suite(file("suite.yaml", content))
    assert complaint in str(caught.value)


def test_a_flaw_in_jsonl_names_its_line(file) -> None:
    with pytest.raises(FormatError, match=r"line 3\.id: is missing"):
        load_suite(file("a.jsonl", '{"schema_version": 1}\n{"id": "a"}\n{"query": "b"}\n'))
    with pytest.raises(FormatError, match=r"line 2, column 2: not valid JSON"):
        load_suite(file("a.jsonl", '{"schema_version": 1}\n{id: "a"}\n'))


def test_deep_nesting_is_refused_not_survived_by_luck(file) -> None:
    with pytest.raises(FormatError, match="nested too deeply"):
        load_suite(file("a.json", '{"schema_version": 1, "metadata": ' + "[" * 100_000))


def test_a_repeated_key_among_many_is_found_at_once(file) -> None:
    keys = ", ".join(f'"k{n}": 1' for n in range(60_000))
    with pytest.raises(FormatError, match="duplicate key 'k0'"):
        load_suite(file("a.json", f'{{"schema_version": 1, "metadata": {{{keys}, "k0": 2}}}}'))


def test_sentences_stay_readable_whatever_they_quote(file) -> None:
    with pytest.raises(FormatError) as caught:
        load_suite(file("a.json", json.dumps({"schema_version": "9" * 100_000})))
    assert len(str(caught.value)) < 1000


def test_an_anchor_that_is_used_again_is_no_news(file) -> None:
    assert load_suite(file("a.yaml", "schema_version: 1\nmetadata: {a: &x 1, b: &x 2}\ncases: [{id: c}]\n")).metadata == {
        "a": "1",
        "b": "2",
    }


def test_ids_that_differ_only_by_a_slash_are_two_and_reversed_lines_none(file) -> None:
    two = [
        {"target": "https://x/a"},
        {"target": "https://x/a/"},
        {"target": "Foo", "match": "glob"},
        {"target": "Foo", "match": "symbol"},
    ]
    assert (
        len(load_suite(file("a.json", json.dumps({"schema_version": 1, "cases": [{"id": "c", "judgments": two}]}))).judgments) == 4
    )
    backwards = [{"target": "a.py#L20-L10", "match": "lines"}]
    with pytest.raises(FormatError, match="end before they begin"):
        load_suite(file("b.json", json.dumps({"schema_version": 1, "cases": [{"id": "c", "judgments": backwards}]})))


def test_an_unknown_format_is_a_usage_error(file) -> None:
    with pytest.raises(UsageError, match="the formats are native, qrels"):
        load_suite(file("a.json", JSON), format="excel")
