"""bm25, fts5 and semantic search the fields they are told to, in the documents that a filter admits, in every state."""

from __future__ import annotations

import re

import pytest

from searchmark import Changes, Corpus, Document, UsageError, load_agent
from searchmark.agents.registry import create_agent

AGENTS = {"bm25": {"language": "none"}, "fts5": {"language": "none"}, "semantic": {"embedder": {"name": "hashing", "cache": False}}}


def product(name: str, category: str, bullets: list[str], text: str = "nothing of interest") -> Document:
    return Document(name, text, f"title of {name}", {"category": category, "bullets": bullets})


BEFORE = [
    product("apple", "fruit", ["crisp", "round"]),
    product("pear", "fruit", ["sweet"], "crisp crisp crisp"),
    product("chair", "furniture", ["crisp", "round"]),
]
AFTER = [product("apple", "furniture", ["crisp"]), product("pear", "fruit", ["round crisp"]), product("plum", "fruit", ["crisp"])]


def ready(agent: str, documents: list[Document], **options):
    made = create_agent(load_agent(agent, **AGENTS[agent], **options))
    made.initialize(Corpus.of("shop", documents))
    return made


@pytest.mark.parametrize("agent", AGENTS)
def test_only_the_fields_that_were_named_are_searched(agent: str) -> None:
    made = ready(agent, BEFORE, fields=["bullets"])
    best = made.retrieve("crisp", 2)
    assert set(best.files) == {"apple", "chair"}
    assert made.describe()["fields"] == ["bullets"]
    (found,) = [made.retrieve(query, 3).scores for query in ["pear"]]
    assert all(score <= 0 for score in found)  # neither its id nor its title is a field that was named


@pytest.mark.parametrize("agent", AGENTS)
def test_only_documents_that_get_through_the_filter_are_found(agent: str) -> None:
    made = ready(agent, BEFORE, filter={"category": "Fruit"})
    assert set(made.retrieve("crisp title", 9).files) == {"apple", "pear"}
    assert made.describe()["filter"] == {"category": ["fruit"]}


@pytest.mark.parametrize("agent", AGENTS)
def test_an_update_gives_what_a_new_index_of_the_selection_gives(agent: str) -> None:
    options = {"fields": ["title", "bullets"], "filter": {"category": "fruit"}}
    made = ready(agent, BEFORE, **options)
    assert made.update(Changes(Corpus.of("shop", AFTER), ("apple", "pear", "plum"), ("chair",)))
    new = ready(agent, AFTER, **options)
    for query in ("crisp", "round", "plum", "apple"):
        assert made.retrieve(query, 9) == new.retrieve(query, 9)
    assert set(made.retrieve("crisp", 9).files) == {"pear", "plum"}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_field_that_no_document_has_is_one_sentence(agent: str) -> None:
    with pytest.raises(UsageError, match="has the field 'brand'; available: id, title, text, category, bullets"):
        ready(agent, BEFORE, fields=["brand"])
    with pytest.raises(UsageError, match="values of category: fruit, furniture"):
        ready(agent, BEFORE, filter={"category": "meat"})
    with pytest.raises(UsageError, match=re.escape("filter: category is {'case': 'category'}, and must be a value")):
        ready(agent, BEFORE, filter={"category": {"case": "category"}})


def test_arms_have_selections_of_their_own() -> None:
    arms = [
        {"name": "bm25", "config": {**AGENTS["bm25"], "fields": ["bullets"], "filter": {"category": "furniture"}}},
        {"name": "semantic", "config": {**AGENTS["semantic"], "fields": ["text"], "filter": {"category": "fruit"}}},
    ]
    made = create_agent(load_agent("hybrid", arms=arms))
    made.initialize(Corpus.of("shop", BEFORE))
    assert set(made.retrieve("crisp", 9).files) == {"chair", "pear", "apple"}
    assert made.retrieve("crisp", 9).metadata["arms"] == {"bm25": 1, "semantic": 2}


def test_lines_are_those_of_the_text() -> None:
    documents = [product("a", "x", ["b"], "first\n\nsecond line\n\nthird")]
    made = ready("semantic", documents, fields=["title", "text"], lines=True)
    assert made.retrieve("second line", 1).lines == [(3, 3)]
    with pytest.raises(UsageError, match="lines are those of the text"):
        ready("semantic", documents, fields=["bullets"], lines=True)
