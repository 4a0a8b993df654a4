"""JMESPaths in ``results``: what they do not find is an error, and what they cannot be is refused before any search."""

from __future__ import annotations

from typing import Any

import pytest

from searchmark import UsageError
from searchmark.agents.outside.results import ResultFormat, ResultReader, UnreadableAnswer


def ids(hits: str, data: Any, **fields: Any) -> list[str]:
    return [hit.id for hit in ResultReader(ResultFormat(hits=hits, **fields), "json").read_data(data).hits]


@pytest.mark.parametrize(
    ("hits", "data", "entry"),
    [
        ("hits[].idd", {"hits": [{"id": "a.py"}]}, r'{"id": "a.py"}'),
        ("documents[].doc", {"documents": [{"doc": {"id": "a"}}, {"doc": None}]}, r'{"doc": null}'),
        ("documents[*].doc", {"documents": [{"error": "shard lost"}]}, r'{"error": "shard lost"}'),
        ("[1:]", ["head", "a", None], "null"),
        ("*.id", {"x": {"id": "a"}, "y": {"error": 1}}, r'{"error": 1}'),
        ("h[?score].doc", {"h": [{"score": 1}]}, r'{"score": 1}'),
        ("groups[].docs[]", {"groups": [{"docs": ["a"]}, {"failed": True}]}, r'{"failed": true}'),
    ],
)
def test_an_entry_without_what_a_projection_picks_is_an_error(hits: str, data: Any, entry: str) -> None:
    with pytest.raises(UnreadableAnswer) as raised:
        ids(hits, data)
    assert f"an entry of the answer has nothing where hits ({hits}) looks: {entry}" in str(raised.value)


@pytest.mark.parametrize(
    ("hits", "data", "found"),
    [
        ("documents[].doc", {"documents": [{"doc": {"id": "a"}}]}, ["a"]),
        ("documents[].doc", {"documents": []}, []),
        ("groups[].docs[]", {"groups": [{"docs": ["a", "b"]}, {"docs": []}]}, ["a", "b"]),
        ("h[?tags[].name]", {"h": [{"id": "a", "tags": [{"name": "x"}]}, {"id": "b", "tags": [{}]}]}, ["a"]),
        ("h[?score > `1`].id", {"h": [{"id": "a", "score": 2}, {"id": "b"}]}, ["a"]),
        ("h[?score == `0` || rank].id", {"h": [{"id": "a", "score": 0}, {"id": "b", "rank": 0}]}, ["a", "b"]),
        ("documents[].doc || hits", {"hits": ["a"]}, ["a"]),
    ],
)
def test_projections_and_filters_select(hits: str, data: Any, found: list[str]) -> None:
    assert ids(hits, data) == found


@pytest.mark.parametrize("field", ["hits", "id", "error", "cost"])
def test_a_function_that_does_not_exist_is_refused(field: str) -> None:
    with pytest.raises(UsageError, match=rf"^{field} is not a JMESPath: there is no function nosuch\(\)"):
        ResultFormat(**{field: "a[1:2] || nosuch(@)"})


@pytest.mark.parametrize(
    ("fields", "data", "sentence"),
    [
        ({}, [{"id": "a", "n": None}], "hits (sort_by(@, &n)) does not fit the answer: In function sort_by()"),
        ({"id": "join(',', id)"}, [{"id": "a", "n": 1}], "id (join(',', id)) does not fit the answer"),
        ({"tokens": "[0].n"}, [{"id": "a", "n": float("inf")}], "tokens is not a finite number: inf"),
        ({"cost": "[0].n"}, [{"id": "a", "n": 10**400}], "cost is not a finite number: 1000"),
    ],
)
def test_what_a_path_cannot_work_with_is_an_error_that_names_the_field(fields: Any, data: Any, sentence: str) -> None:
    with pytest.raises(UnreadableAnswer) as raised:
        ids("sort_by(@, &n)", data, **fields)
    assert sentence in str(raised.value)
