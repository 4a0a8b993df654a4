"""Plain JSON runs: three shapes, read strictly."""

from __future__ import annotations

import json

import pytest

from searchmark import FormatError, UsageError, load_run


def ids(run, case: str) -> list[str]:
    return [hit.id for hit in run.answer(run.index[case]).hits]


def test_reads_objects_ids_and_mappings(file) -> None:
    content = {
        "objects": [{"id": "b", "score": 1}, {"id": "a", "score": 2.5, "title": "kept out"}],
        "ids": ["z", 12],
        "scores": {"x": 1, "y": 2},
    }
    run = load_run(file("mine.json", json.dumps(content)))
    assert run.agent == "mine"
    assert ids(run, "objects") == ["b", "a"]  # the order given, whatever the scores say
    assert ids(run, "ids") == ["z", "12"]
    assert ids(run, "scores") == ["y", "x"]  # a mapping has no order: by score


def test_an_empty_list_is_an_empty_answer(file) -> None:
    run = load_run(file("run.json", '{"q": []}'))
    assert [answer.status for answer in run.answers] == ["empty"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("[]", "is not a mapping"),
        ('{"q": 3}', "q: is int, not a list of hits"),
        ('{"q": [{"score": 1}]}', "q.0.id: is missing"),
        ('{"q": [{"id": null}]}', "q.0.id: None is not an id"),
        ('{"q": [{"id": "a", "score": "high"}]}', "q.0.score: the score 'high' is not a number"),
        ('{"q": [{"id": "a", "score": NaN}]}', "q.0.score: the score is nan; scores must be finite numbers"),
        ('{"q": {"a": NaN}}', "q.a: the score is nan"),
        ('{"q": {"a": 1, "b": Infinity}}', "q.b: the score is inf"),
        ('{"q": [{"id": "a", "score": -1e999}]}', "q.0.score: the score is -inf"),
        ('{"q": [1.5]}', "q.0: 1.5 is not an id"),
        ('{"q": [true]}', "q.0: True is not an id"),
        ('{"q": [""]}', "q.0: '' is not an id"),
        ('{"q": ["a"], "q": ["b"]}', "duplicate key 'q'"),
        ('{"q": [{"id": "a", "score": 1' + "0" * 400 + "}]}", "q.0.score: the score is too large"),
        ('{"q": [{"id": "a", "score": 1' + "0" * 5000 + "}]}", "Exceeds the limit"),
        ('{"q": ' + "[" * 100_000, "nested too deeply"),
        ('{"q": ["a"', "not valid JSON"),
    ],
)
def test_refuses_with_file_place_and_reason(file, content: str, complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_run(file("run.json", content))
    assert complaint in str(caught.value)
    assert "run.json" in str(caught.value)


def test_an_unknown_format_is_a_usage_error(file) -> None:
    with pytest.raises(UsageError, match="the formats are native, json, trec"):
        load_run(file("a.json", "{}"), format="excel")
