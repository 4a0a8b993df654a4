"""Which analyser a corpus gets: by what it holds, and by nothing that was there before."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from searchmark import Changes, Corpus, Document, load_corpus
from searchmark.agents.lexical import analyser
from searchmark.agents.lexical.analyser import AnalyserSelector, AnalyserSettings, detect_language
from searchmark.agents.lexical.bm25 import Bm25Agent, Bm25Settings
from searchmark.agents.lexical.fts5 import Fts5Agent
from tests.agents.corpora import FILES, Streamed, corpus_from, step
from tests.agents.history import commits, corpus_at, difference
from tests.agents.test_analyser import GERMAN, PROSE
from tests.conftest import ROOT

ENGLISH = " ".join(PROSE.values())
SPANISH = "Cuando se trata de los datos que no están en la lista, es mejor que el usuario sepa lo que se ha hecho con ellos."


def chosen(corpus: Corpus) -> str:
    return AnalyserSelector(AnalyserSettings()).of(corpus).language


@pytest.mark.parametrize(
    ("files", "language"),
    [
        (FILES, "none"),
        (PROSE, "english"),
        (GERMAN, "german"),
        ({"a.md": ENGLISH, "b.md": ENGLISH}, "english"),
        ({"a.md": ENGLISH, "conf.py": "x = 1"}, "none"),
        ({"conf.py": "x = 1", **{f"{number}.md": ENGLISH for number in range(20)}}, "english"),
        ({"docs/examples/run.py": ENGLISH}, "none"),
        ({"https://example.org/page.html": ENGLISH}, "english"),
        ({"1": ENGLISH, "2": SPANISH * 3}, "none"),
        ({"1": "one", "2": "two"}, "none"),
        ({"1": "用户登录 用户登录"}, "none"),
        ({"1": "red shoes 42", "2": "blue shirt XL", "3": "for her: green hat"}, "none"),
        ({}, "none"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_code_has_no_language_and_prose_the_one_that_it_shows(files: dict[str, str], language: str) -> None:
    assert chosen(corpus_from(files)) == language
    assert chosen(Corpus("streamed", Streamed(lambda: [Document(*file) for file in files.items()]))) == language


def test_a_folder_is_judged_as_a_commit_with_the_same_files_is() -> None:
    assert (chosen(load_corpus(ROOT / "src")), chosen(load_corpus(ROOT / "docs"))) == ("none", "english")


def test_records_of_a_file_are_prose(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text("".join(f'{{"_id": "{n}", "title": "", "text": "{ENGLISH}"}}\n' for n in range(3)))
    assert chosen(load_corpus(tmp_path)) == "english"


def test_only_a_bounded_sample_is_read() -> None:
    documents = [Document(f"{number}", ENGLISH) for number in range(1000)]
    read: list[str] = []

    class Counting(Streamed):
        def names(self):
            return [document.id for document in documents]

        @property
        def reads_by_id(self) -> bool:
            return True

        def read(self, ids):
            read.extend(ids)
            return [document for document in documents if document.id in ids]

    assert chosen(Corpus("c", Counting(lambda: documents))) == "english"
    assert len(read) == analyser.SAMPLE


@pytest.mark.parametrize(("name", "language"), [("corpus.en.jsonl", "english"), ("corpus.es.jsonl", "spanish")])
def test_real_articles_are_recognised(shared_data: Path, name: str, language: str) -> None:
    assert detect_language(list(load_corpus(shared_data / "xquad_en_es" / name))[: analyser.SAMPLE]) == language


@pytest.mark.slow
def test_prose_at_every_state_of_a_real_history_is_found_as_by_a_fresh_index() -> None:
    states = [corpus_at(commit, ending=".md") for commit in commits(7)][1:]
    agent = Bm25Agent()
    agent.initialize(states[0])
    for before, after in pairwise(states):
        agent.update(Changes(after, *difference(before, after)))
        fresh = Bm25Agent()
        fresh.initialize(after)
        questions = ["which measures are supported", "the intervals of a comparison", "installing"]
        assert [agent.retrieve(query, 20) for query in questions] == [fresh.retrieve(query, 20) for query in questions]
        assert agent.describe() == fresh.describe()
    assert agent.describe()["language"] == "english"


NAMES = st.sampled_from(["a.py", "b.md", "c.md", "d", "e", "f/g.md", "h.c"])
STATES = st.lists(
    st.dictionaries(NAMES, st.sampled_from([ENGLISH, SPANISH, GERMAN["n1"], "x = 1", ""]), max_size=6), min_size=2, max_size=6
)
QUERIES = ["connections of windows", "los datos", "der Verbindung", "x", "the it of"]


@settings(deadline=None)
@given(STATES)
@pytest.mark.parametrize("agent", [lambda: Bm25Agent(Bm25Settings(cache=False)), Fts5Agent], ids=["bm25", "fts5"])
def test_an_agent_that_has_seen_other_states_answers_as_one_that_has_not(agent, states: list[dict[str, str]]) -> None:
    followed = agent()
    followed.initialize(corpus_from(states[0]))
    for before, after in pairwise(states):
        changes: Changes = step(before, after)
        if not followed.update(changes):
            followed.initialize(changes.corpus)
        fresh = agent()
        fresh.initialize(corpus_from(after))
        assert [followed.retrieve(query, 9) for query in QUERIES] == [fresh.retrieve(query, 9) for query in QUERIES]
        assert followed.describe() == fresh.describe()
        fresh.close()
    followed.close()
