"""What a notebook holds is searched as it is: a corpus, a list of documents; and a class of the notebook by its name."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from searchmark import (
    Case,
    Corpus,
    Document,
    Judgment,
    RunSettings,
    SearchScope,
    Suite,
    UsageError,
    evaluate_run,
    load_agent,
    load_corpus,
    load_suite,
    run_suite,
)
from searchmark.config.inputs import FileSettings
from searchmark.formats.corpora.locations import Folder, location_from_plain, location_of
from searchmark.testing import assert_search

SUITE = Suite.from_cases("tea", [Case(1, "green tea", (Judgment(7),)), Case(2, "coffee", (Judgment(8),))])
DOCUMENTS = [Document(7, "green tea from Japan"), Document(8, "black coffee")]
ONCE = RunSettings(num_runs=1)


class Shelf:
    """Finds everything."""

    def initialize(self, corpus: Corpus) -> None:
        self.ids = [document.id for document in corpus]

    def retrieve(self, query: str, k: int) -> list[str]:
        return self.ids[:k]


@pytest.mark.parametrize(
    "corpus",
    [DOCUMENTS, tuple(DOCUMENTS), iter(DOCUMENTS), Corpus.of("shop", DOCUMENTS), [{"id": 7, "text": "green tea"}, {"id": "8", "text": "coffee"}]],
    ids=["list", "tuple", "iterator", "corpus", "mappings"],
)  # fmt: skip
def test_documents_in_memory_are_searched_by_an_agent_in_its_own_process(corpus: Any) -> None:
    run = run_suite(SUITE, "bm25", corpus, ONCE)
    assert [answer.hits[0].id for answer in run.answers] == ["7", "8"]
    assert run.valid is not None
    assert run.valid.all()


@pytest.mark.parametrize("given", [Path, load_corpus], ids=["path", "corpus"])
def test_the_file_that_a_suite_was_read_from_is_not_searched(tmp_path: Path, given: Any) -> None:
    for name, content in {"a.md": "green tea", "b.md": "coffee"}.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "cases.json").write_text('[{"query": "green tea", "expectedIds": ["a.md"]}]')
    run = run_suite(load_suite(tmp_path / "cases.json"), Shelf(), given(tmp_path), ONCE)
    assert [[hit.id for hit in answer.hits] for answer in run.answers] == [["a.md", "b.md"]]


def test_a_corpus_of_files_is_searched_where_they_lie(tmp_path: Path) -> None:
    (tmp_path / "7").write_text("green tea")
    (tmp_path / "8").write_text("coffee")
    run, named = (run_suite(SUITE, Shelf(), corpus, ONCE) for corpus in (load_corpus(tmp_path), tmp_path))
    assert run.ids == named.ids
    assert run.provenance.corpora == named.provenance.corpora


def test_a_corpus_with_a_choice_of_files_is_the_same_in_another_process(tmp_path: Path) -> None:
    for name in ("7.md", "8.md", "9.txt", "node_modules/10.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("green tea")
    corpus = load_corpus(tmp_path, files=FileSettings(include=("*.md",), exclude=("8*",)))
    location = location_of(corpus)
    assert isinstance(location, Folder)
    assert [each.id for each in location_from_plain(location.to_plain()).open() or ()] == [each.id for each in corpus] == ["7.md"]
    assert set(run_suite(SUITE, Shelf(), corpus, ONCE).ids) == {"7.md"}


def test_what_no_other_process_could_be_told_becomes_text_for_every_agent() -> None:
    odd = {"day": dt.date(2026, 1, 2), "nan": float("nan"), "tags": {"tea"}, "big": 1 << 80, "vector": np.ones(1)}
    seen: list[Any] = []

    class Looks(Shelf):
        def initialize(self, corpus: Corpus) -> None:
            seen.extend(document.fields for document in corpus)
            super().initialize(corpus)

    documents = [{"id": np.int64(7), "text": "green tea", **odd}, Document("8", "coffee", fields=odd)]
    assert [answer.hits[0].id for answer in run_suite(SUITE, "bm25", documents, ONCE).answers] == ["7", "8"]
    run_suite(SUITE, Looks, documents, ONCE)
    assert seen == [{"day": "2026-01-02", "nan": None, "tags": ["tea"], "big": str(1 << 80), "vector": [1.0]}] * 2
    endless: dict[str, Any] = {}
    endless["self"] = endless
    with pytest.raises(UsageError, match="is nested more than"):
        run_suite(SUITE, "bm25", [Document("7", "tea", fields=endless)])


def test_two_ways_of_saying_what_is_searched_are_refused() -> None:
    with pytest.raises(UsageError, match="corpus and where both say what is searched"):
        run_suite(SUITE, "bm25", DOCUMENTS, where=SearchScope(corpus="elsewhere"))
    held = Corpus.of("shop", DOCUMENTS)
    with pytest.raises(UsageError, match="documents are all that is searched; leave out corpus"):
        run_suite(SUITE, "bm25", where=SearchScope(documents=held, corpus="elsewhere"))
    with pytest.raises(UsageError, match="choose files of a folder"):
        run_suite(SUITE, "bm25", where=SearchScope(documents=held, files=FileSettings(include=("*.md",))))


def test_what_is_no_document_is_refused_with_its_place() -> None:
    with pytest.raises(UsageError, match="entry 1 of the corpus is 'text', not a document"):
        run_suite(SUITE, "bm25", [DOCUMENTS[0], "text"])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="entry 0 of the corpus has no id"):
        run_suite(SUITE, "bm25", [{"text": "x"}])
    with pytest.raises(UsageError, match=r"DataFrame is not a corpus; give .* Corpus\.from_frame"):
        run_suite(SUITE, "bm25", SUITE.frame())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="int is not a corpus"):
        run_suite(SUITE, "bm25", 3)  # type: ignore[arg-type]


def test_a_search_is_asserted_on_documents_in_memory() -> None:
    assert_search("bm25", SUITE, {"RR": 0.5}, DOCUMENTS, options=ONCE)


def test_a_class_of_the_program_is_an_agent_by_its_name_and_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    of_program = type("Shelf", (Shelf,), {"__module__": "__main__", "__qualname__": "Shelf"})
    monkeypatch.setattr(sys.modules["__main__"], "Shelf", of_program, raising=False)
    run = run_suite(SUITE, load_agent("__main__:Shelf"), DOCUMENTS, ONCE)
    assert (run.agent, run.provenance.agent is not None and run.provenance.agent.isolated) == ("Shelf", False)
    assert [event.kind for event in run.provenance.trust] == ["not_isolated"]
    assert "not-isolated" in [found.code for found in evaluate_run(SUITE, [run]).audit]
    with pytest.raises(UsageError, match="no 'Shelves' in this program"):
        load_agent("__main__:Shelves")


def test_scores_by_numbers_are_read() -> None:
    assert run_suite(SUITE, lambda query, k: {7: 0.5, 8: 0.9}, DOCUMENTS, ONCE).ids == ["8", "7", "8", "7"]
