"""From a sweep file to settings: every combination once, each under a name that tells no secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from searchmark import UsageError
from searchmark.experiments.sweep_grid import Grid, SweepSettings, grid_of, load_sweep


def grid(choices: dict[str, Any], **more: Any) -> Grid:
    return grid_of(SweepSettings(choices, **more))


def names(found: Grid) -> list[str]:
    return [each.name for each in found.settings]


def test_lists_inside_a_described_choice_are_all_combined():
    found = grid({"index": ["exact", {"name": "hnsw", "m": [8, 16], "ef_search": [10, 40]}]})
    assert names(found) == [
        "exact",
        "hnsw m=8 ef_search=10",
        "hnsw m=8 ef_search=40",
        "hnsw m=16 ef_search=10",
        "hnsw m=16 ef_search=40",
    ]


def test_options_are_combined_with_each_other_the_last_one_fastest():
    found = grid({"index": ["exact", "hnsw"], "distance": ["cosine", "ip"]})
    assert names(found) == ["exact, cosine", "exact, ip", "hnsw, cosine", "hnsw, ip"]
    assert found.settings[3].options == {"index": "hnsw", "distance": "ip"}


def test_what_means_the_same_is_run_once_and_counted():
    found = grid({"index": ["exact", {"name": "exact"}, {"name": "hnsw", "m": 16}, "hnsw"]})
    assert names(found) == ["exact", "hnsw"]
    assert found.duplicates == 2


def test_the_first_exact_setting_is_the_baseline():
    found = grid({"index": ["hnsw", "exact"], "distance": ["ip", "cosine"]})
    assert found.baseline.name == "exact, ip"
    assert not found.baseline.added


def test_a_grid_without_an_exact_setting_gets_one():
    found = grid({"index": ["hnsw"], "distance": ["ip"]})
    assert names(found) == ["exact", "hnsw"]
    assert found.baseline.added
    assert found.baseline.options == {"index": "exact", "distance": "ip"}
    assert found.duplicates == 0


def test_an_index_that_is_fixed_is_held_against_the_exact_one():
    found = grid({"distance": ["cosine"]}, options={"index": "hnsw"})
    assert found.baseline.options["index"] == "exact"
    assert found.baseline.added


def test_the_file_may_name_another_baseline():
    found = grid({"index": ["exact", "hnsw"], "distance": ["cosine", "ip"]}, baseline={"distance": "ip"})
    assert found.baseline.name == "exact, ip"


@pytest.mark.parametrize(
    ("agent", "choices", "example"),
    [("vector-table", {"probes": [1, 5, 30]}, "baseline: {probes: 30}"), ("bm25", {"k1": [0.9, 1.2]}, "baseline: {k1: 1.2}")],
)
def test_an_agent_without_an_exact_index_needs_a_baseline_in_the_file(agent, choices, example):
    with pytest.raises(UsageError, match=f"{agent} has no exact index that settings could be held against") as error:
        grid(choices, agent=agent)
    assert example in str(error.value)
    name, values = next(iter(choices.items()))
    found = grid(choices, agent=agent, baseline={name: values[-1]})
    assert found.baseline.options == {name: values[-1]}
    assert not found.baseline.added


def test_indexes_in_the_database_are_held_against_an_exact_search_there():
    described = {"name": "pgvector", "dsn": "postgresql://host/shop", "ef_search": [10, 40]}
    found = grid({"index": [described]})
    assert found.baseline.added
    assert found.baseline.options["index"] == {"name": "pgvector", "method": "none", "dsn": "postgresql://host/shop"}
    assert names(found) == ["pgvector method=none", "pgvector method=hnsw ef_search=10", "pgvector method=hnsw ef_search=40"]
    assert grid({"index": ["hnsw", described]}).baseline.options["index"] == "exact"
    assert grid({"distance": ["cosine"]}, options={"index": "pgvector"}).baseline.options["index"]["method"] == "none"


def test_an_exact_search_in_the_database_that_is_in_the_grid_is_the_baseline():
    found = grid({"index": [{"name": "pgvector", "method": ["hnsw", "none"], "m": [8, 16]}]})
    assert names(found) == ["pgvector method=hnsw m=8", "pgvector method=hnsw m=16", "pgvector method=none"]
    assert found.baseline.name == "pgvector method=none"
    assert (found.baseline.added, found.duplicates) == (False, 1)


def test_what_the_method_of_an_index_ignores_makes_no_other_setting():
    described = {"name": "pgvector", "method": ["hnsw", "ivfflat"], "probes": [1, 5], "ef_search": [40, 80]}
    found = grid({"index": ["exact", described]})
    assert [each.options["index"] for each in found.settings[1:]] == [
        {"name": "pgvector", "method": "hnsw", "ef_search": 40},
        {"name": "pgvector", "method": "hnsw", "ef_search": 80},
        {"name": "pgvector", "method": "ivfflat", "probes": 1},
        {"name": "pgvector", "method": "ivfflat", "probes": 5},
    ]
    assert found.duplicates == 4
    assert found.notes == (
        "pgvector with method hnsw has no use for probes",
        "pgvector with method ivfflat has no use for ef_search",
    )


@pytest.mark.parametrize("index", ["hnsw", "pgvector"])
def test_a_reach_below_what_is_asked_for_is_what_is_asked_for(index):
    found = grid({"index": ["exact", {"name": index, "ef_search": [1, 5, 10, 20]}]})
    assert names(found) == ["exact", f"{index} ef_search=10", f"{index} ef_search=20"]
    assert found.duplicates == 2
    assert found.notes == tuple(f"ef_search {each} of {index} is raised to 10, as many vectors as are asked for" for each in (1, 5))


def test_how_many_vectors_are_asked_for_depends_on_depth_candidates_and_top_k():
    described = {"index": ["exact", {"name": "hnsw", "ef_search": [5, 30, 100]}, "hnsw"]}
    assert len(grid(described, depth=100).settings) == 2
    assert len(grid(described, options={"candidates": 50}).settings) == 4
    assert len(grid(described, options={"top_k": 3}).settings) == 5


def test_normalize_is_that_of_the_embedder():
    found = grid({"normalize": [True, False]}, options={"embedder": {"name": "hashing", "dimension": 64}})
    assert [each.options["embedder"]["normalize"] for each in found.settings] == [True, False]
    assert names(found) == ["normalized", "not normalized"]


def test_the_key_of_a_setting_does_not_depend_on_the_rest_of_the_grid():
    small, large = grid({"index": ["exact"]}), grid({"index": ["hnsw", "exact"], "distance": ["cosine", "ip"]})
    assert small.settings[0].key in {each.key for each in large.settings}


@pytest.mark.parametrize(
    ("choices", "more", "said"),
    [
        ({}, {}, "the grid has no option to vary"),
        ({"index": []}, {}, "grid.index has no choice"),
        ({"indx": ["exact"]}, {}, "grid.indx: semantic has no such option; it has"),
        ({"index": ["hsnw"]}, {}, "grid.index: there is no index 'hsnw'"),
        ({"index": [{"name": "hnsw", "ef": 10}]}, {}, "ef: is not a known field; known are m, ef_construction, ef_search"),
        ({"index": [{"name": "hnsw", "m": []}]}, {}, "m has an empty list"),
        ({"index": [["exact"]]}, {}, "a list inside a list"),
        ({"index": [7]}, {}, "a choice is a name or {name: ..., option: ...}, not 7"),
        ({"embedder": ["nothing"]}, {}, "grid.embedder: there is no embedder 'nothing'"),
        ({"fields": ["title"]}, {}, "each choice for grid.fields is a list of fields, not 'title'"),
        ({"index": ["exact"]}, {"options": {"index": "hnsw"}}, "index is both in options and in grid"),
        ({"index": ["exact"]}, {"agent": "semntic"}, "there is no agent 'semntic'"),
        ({"index": ["exact"]}, {"agent": "agents.py:Mine"}, "not code"),
        ({"pooling": ["max"] * 101, "mean_of": list(range(1, 101))}, {}, "10100 combinations"),
    ],
)
def test_what_no_setting_could_mean_is_refused_in_one_sentence(choices, more, said):
    with pytest.raises(UsageError) as error:
        grid(choices, **more)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_name_has_no_secret_of_a_choice():
    described = [{"name": "openai", "model": model, "url": "https://me:hunter2@host/v1"} for model in ("a", "b")]
    found = grid({"index": ["exact"], "embedder": described})
    assert "hunter2" not in " ".join(names(found))
    assert len(set(names(found))) == len(names(found))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- exact\n", "is not a sweep file"),
        ("grid: {index: [exact]}\nmargin: 0\n", "margin"),
        ("grid: {index: [exact]}\nmargn: 0.1\n", "margn: is not a known field"),
        ("agent: semantic\n", "grid: is missing"),
        ("grid: [\n", "not valid YAML"),
        ("agents:\n  - {name: a, source: bm25}\n", "is an agents file; a sweep file has a grid"),
        ("grid: {index: [exact]}\nbaseline: pgvector\n", "write baseline: {index: pgvector}"),
        ("grid: {index: [exact]}\nmargin: 2%\n", "write 0.02 for 2%"),
    ],
)
def test_a_file_that_is_no_sweep_is_refused_with_its_field(tmp_path: Path, text, said):
    (tmp_path / "sweep.yaml").write_text(text)
    with pytest.raises(UsageError, match=r"sweep\.yaml") as error:
        load_sweep(tmp_path / "sweep.yaml")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"index": ["exact", "hnsw", {"name": "hnsw", "m": 8}]}, ["exact", "hnsw m=16", "hnsw m=8"]),
        ({"index": ["exact", {"name": "hnsw", "m": 8}]}, ["exact", "hnsw m=8"]),
        ({"index": ["exact", {"name": "hnsw", "m": 16}]}, ["exact", "hnsw"]),
        (
            {"index": ["exact", "sqlite_vec", {"name": "sqlite_vec", "scalar": "i8"}]},
            ["exact", "sqlite_vec scalar=f32", "sqlite_vec scalar=i8"],
        ),
        (
            {"index": ["exact"], "embedder": ["wordllama", {"name": "wordllama", "dimension": 64}]},
            ["wordllama", "wordllama dimension=64"],
        ),
        ({"index": ["exact"], "fields": [None, ["title"]]}, ["all fields", "fields title"]),
        ({"index": ["exact"], "filter": [None, {"brand": "a"}]}, ["no filter", "filter brand=a"]),
        (
            {"index": ["exact"], "chunking": ["whole", "lines", {"tokens": 300}]},
            ["chunking whole", "chunking lines", "chunking tokens=300"],
        ),
    ],
)
def test_a_name_says_every_option_that_is_not_the_default_or_not_that_of_a_sibling(choices, said):
    assert names(grid(choices)) == said


def test_a_setting_without_the_option_that_tells_others_apart_has_a_name_too():
    assert "" not in names(grid({"distance": ["cosine"]}, options={"index": "hnsw"}))


def test_filters_that_let_the_same_through_are_one_setting():
    found = grid_of(
        SweepSettings(
            {
                "filter": [
                    None,
                    {},
                    {"brand": "a"},
                    {"brand": ["a"]},
                    {"brand": ["a", "b"]},
                    {"brand": ["b", "a", "b"]},
                    {"brand": 1},
                ]
            }
        )
    )
    assert [each.choices["filter"] for each in found.settings] == [None, {"brand": "a"}, {"brand": ["a", "b"]}, {"brand": 1}]
    assert found.duplicates == 3


def test_a_baseline_that_names_no_index_keeps_the_exact_one():
    grid = {"index": ["hnsw", "exact"], "distance": ["cosine", "ip"]}
    assert grid_of(SweepSettings(grid, baseline={"distance": "ip"})).baseline.choices == {"index": "exact", "distance": "ip"}
    assert grid_of(SweepSettings(grid, baseline={"index": "hnsw"})).baseline.choices == {"index": "hnsw", "distance": "cosine"}
