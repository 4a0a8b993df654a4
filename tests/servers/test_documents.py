"""Retrievers of LangChain and LlamaIndex are agents as they are, and their documents are hits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from searchmark import Answer, Case, Judgment, RunSettings, Suite, run_suite
from searchmark.agents.answers import RawHit, read_hit

pytestmark = pytest.mark.servers

SUITE = Suite.from_cases("s", [Case("c1", "tea", (Judgment("a.py", "path"),))])


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(f"text of {name}\n")
    return tmp_path


def answer_of(agent: Any, corpus: Path) -> Answer:
    (answer,) = run_suite(SUITE, agent, corpus, RunSettings(num_runs=2)).answers
    return answer


def langchain_documents() -> list[Any]:
    from langchain_core.documents import Document

    return [Document(page_content="tea", metadata={"source": name}) for name in ("a.py", "b.py")]


def langchain_retriever() -> Any:
    from langchain_core.retrievers import BaseRetriever

    class Shelf(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
            return langchain_documents()

    return Shelf()


def llama_nodes() -> list[Any]:
    from llama_index.core.schema import NodeWithScore, TextNode

    return [
        NodeWithScore(node=TextNode(text="tea", metadata={"file_path": name}), score=score)
        for name, score in (("a.py", 2.0), ("b.py", 1.0))
    ]


def llama_retriever() -> Any:
    from llama_index.core.retrievers import BaseRetriever

    class Shelf(BaseRetriever):
        def _retrieve(self, query_bundle: Any) -> list[Any]:
            return llama_nodes()

    return Shelf()


def test_documents_of_langchain_are_hits() -> None:
    document, other = langchain_documents()
    assert read_hit(document) == RawHit("a.py", text="tea")
    assert read_hit((other, 0.5)) == RawHit("b.py", 0.5, text="tea")


def test_nodes_of_llama_index_are_hits() -> None:
    assert [read_hit(node) for node in llama_nodes()] == [
        RawHit("a.py", 2.0, text="tea"),
        RawHit("b.py", 1.0, text="tea"),
    ]
    assert read_hit(llama_nodes()[0].node) == RawHit("a.py", text="tea")


@pytest.mark.parametrize(("retriever", "scores"), [(langchain_retriever, [None, None]), (llama_retriever, [2.0, 1.0])])
def test_a_retriever_is_an_agent(retriever: Any, scores: list[float | None], corpus: Path) -> None:
    answer = answer_of(retriever(), corpus)
    assert (answer.status, [hit.id for hit in answer.hits], [hit.score for hit in answer.hits]) == ("ok", ["a.py", "b.py"], scores)


def test_scored_documents_of_a_vector_store_are_an_answer_in_an_asynchronous_function_too(corpus: Path) -> None:
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents(langchain_documents())

    async def search(query: str, k: int) -> Any:
        return await store.asimilarity_search_with_score(query, k=k)

    for agent in (lambda query, k: store.similarity_search_with_score(query, k=k), search, store.as_retriever()):
        answer = answer_of(agent, corpus)
        assert (answer.status, {hit.id for hit in answer.hits}) == ("ok", {"a.py", "b.py"})


def test_the_streams_of_a_runnable_are_streams(corpus: Path) -> None:
    from langchain_core.runnables import RunnableGenerator

    def transform(queries: Any) -> Any:
        for _ in queries:
            yield from langchain_documents()

    chain = RunnableGenerator(transform)
    answer = answer_of(lambda query, k: chain.stream(query), corpus)
    assert ([hit.id for hit in answer.hits], answer.details.first_hit_ms is not None) == (["a.py", "b.py"], True)
