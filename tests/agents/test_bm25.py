"""The bm25 agent: equal to the formula, on real files and on any documents, in any state that edits lead to."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import Changes, Corpus, Document, load_corpus
from searchmark.agents.chunks import content_chunks
from searchmark.agents.lexical import cache, postings
from searchmark.agents.lexical.analyser import STOP_WORDS
from searchmark.agents.lexical.bm25 import Bm25Agent, Bm25Settings
from tests.agents.corpora import Read, Streamed
from tests.agents.history import commits, corpus_at, difference
from tests.agents.reference import bm25_by_the_book
from tests.conftest import ROOT

QUERIES = [
    "where is a corpus streamed",
    "trec_eval order of hits: score, then id",
    "paired randomisation test with Holm",
    "atomicWrite file permissions",
    "the the the the",
    "def",
    "zzzzqqq",
    "",
    "README.md",
]


def listed(texts: Mapping[str, str]) -> Corpus:
    """A corpus that can be read by id, and so be followed from state to state."""
    return Corpus.of("texts", [Document(*entry) for entry in texts.items()])


def corpus_of(texts: Mapping[str, str], *, versions: bool = False) -> Corpus:
    def read(ids: Sequence[str]) -> list[Document]:
        return [Document(name, texts[name]) for name in ids]

    names = {name: f"v{hash(text)}" for name, text in texts.items()}
    return Corpus("texts", Read(read, names) if versions else Streamed(lambda: read(list(texts))))


def answers(agent: Bm25Agent, queries: Sequence[str], k: int = 10) -> list[list[tuple[str, float]]]:
    results = [agent.retrieve(query, k) for query in queries]
    return [list(zip(result.files, result.scores or (), strict=True)) for result in results]


def ready(corpus: Corpus, config: Bm25Settings | None = None) -> Bm25Agent:
    agent = Bm25Agent(config)
    agent.initialize(corpus)
    return agent


def assert_equal(found: list[tuple[str, float]], expected: list[tuple[str, float]]) -> None:
    """The same scores, and the same ids but where scores are equal to the last digits and the book rounds otherwise."""
    assert [score for _, score in found] == pytest.approx([score for _, score in expected], rel=1e-12)
    assert sorted(found) == [(key, pytest.approx(score, rel=1e-12)) for key, score in sorted(expected)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        Bm25Settings(),
        Bm25Settings(k1=0.0),
        Bm25Settings(k1=2.5, b=0.0),
        Bm25Settings(b=1.0, name_weight=3.5),
        Bm25Settings(name_weight=0.0),
        Bm25Settings(content_weight=0.0),
    ],
    ids=str,
)
def test_scores_are_those_of_the_formula_on_real_files(config: Bm25Settings) -> None:
    corpus = load_corpus(ROOT / "src")
    documents = list(corpus)
    agent = ready(corpus, config)
    for query, found in zip(QUERIES, answers(agent, QUERIES, len(documents)), strict=True):
        expected = bm25_by_the_book(
            documents, query, len(documents), config.k1, config.b, config.name_weight, config.content_weight, STOP_WORDS["english"]
        )
        assert_equal(found, expected)


def test_a_score_by_hand() -> None:
    """Two documents of lengths 4 and 6 with their names: idf = ln(1 + 1.5/1.5), tf 2, dl/avgdl = 0.8."""
    agent = ready(corpus_of({"a": "x x y", "b": "one two three four five"}))
    (hit,) = answers(agent, ["x"])[0]
    assert hit == ("a", pytest.approx(0.6931471805599453 * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 0.8)), rel=1e-15))


TEXTS = st.dictionaries(
    st.sampled_from(["a.py", "b/a.py", "b.py", "c", "d"]),
    st.lists(st.sampled_from(["alpha", "betaGamma", "gamma", "\n", "\n\n", "  ", "é"]), max_size=8).map(" ".join),
    max_size=5,
)


@given(st.lists(TEXTS, min_size=1, max_size=6), st.booleans())
def test_any_series_of_updates_equals_an_index_from_scratch(states: list[dict[str, str]], versions: bool) -> None:
    with patch("searchmark.agents.lexical.postings.SLOT_SLACK", 0):  # so that few documents are enough for slots to be given away
        _assert_updates_equal_scratch(states, versions=versions)


def _assert_updates_equal_scratch(states: list[dict[str, str]], *, versions: bool) -> None:
    agent = ready(corpus_of(states[0], versions=versions))
    for before, after in pairwise(states):
        written = tuple(name for name, text in after.items() if before.get(name) != text)
        assert agent.update(Changes(corpus_of(after, versions=versions), written, tuple(before.keys() - after)))
        queries = ["alpha", "gamma beta", "a py", "é gamma gamma"]
        assert answers(agent, queries) == answers(ready(corpus_of(after)), queries)


@pytest.mark.slow
def test_hundreds_of_random_edits_of_real_files_equal_an_index_from_scratch() -> None:
    texts = {document.id: document.text for document in load_corpus(ROOT / "src")}
    chosen, agent = random.Random(5), ready(corpus_of(texts))
    for step in range(60):
        before = dict(texts)
        _edit(texts, chosen)
        written = tuple(name for name, text in texts.items() if before.get(name) != text)
        agent.update(Changes(corpus_of(texts), written, tuple(before.keys() - texts)))
        if step % 10 == 0:
            assert answers(agent, QUERIES) == answers(ready(corpus_of(texts)), QUERIES)


def _edit(texts: dict[str, str], chosen: random.Random) -> None:
    """Delete, copy, move and rewrite some files."""
    names = sorted(texts)
    del texts[chosen.choice(names)]
    for name in chosen.sample(sorted(texts), 12):
        parts = content_chunks(texts[name])
        chosen.shuffle(parts)
        texts[chosen.choice([name, f"moved/{name}"])] = "".join(parts[: chosen.randint(0, len(parts) + 1)])


@pytest.mark.slow
def test_every_state_of_a_real_history_equals_an_index_from_scratch() -> None:
    states = list(map(corpus_at, commits(7)))
    agent = ready(states[0])
    for before, after in pairwise(states):
        agent.update(Changes(after, *difference(before, after)))
        assert answers(agent, QUERIES, 50) == answers(ready(after), QUERIES, 50)
    expected = bm25_by_the_book(states[-1].read(list(states[-1].versions or ())), QUERIES[1], 50, stop_words=STOP_WORDS["english"])
    assert_equal(answers(agent, QUERIES, 50)[1], expected)


def test_the_first_answer_and_the_hundredth_are_the_same_to_the_last_bit() -> None:
    agent = ready(load_corpus(ROOT / "src"))
    first = answers(agent, QUERIES)
    assert all(answers(agent, QUERIES) == first for _ in range(100 // len(QUERIES)))


@given(st.lists(st.integers(0, 4), max_size=40), st.integers(0, 45))
def test_the_best_are_found_however_many_are_wanted(values: list[int], k: int) -> None:
    agent = ready(corpus_of({f"{place:02}": "word " * times for place, times in enumerate(values)}))
    assert answers(agent, ["word"], k)[0] == answers(agent, ["word"], 1000)[0][:k]


@pytest.mark.slow
def test_every_distinct_chunk_is_tokenised_once() -> None:
    texts = {document.id: document.text for document in load_corpus(ROOT / "src")}
    agent = ready(listed(texts))
    distinct = {chunk for text in texts.values() for chunk in content_chunks(text)}
    assert agent.chunks_tokenised == len(distinct)
    texts |= {f"copy/{name}": f"{text}\n\nadded = 1\n" for name, text in texts.items()}
    agent.update(Changes(listed(texts), tuple(name for name in texts if name.startswith("copy/")), ()))
    assert agent.chunks_tokenised == len(distinct | {chunk for text in texts.values() for chunk in content_chunks(text)})


def test_initialising_again_forgets_the_documents_and_keeps_the_chunks() -> None:
    agent = ready(listed({"a": "one", "b": "two"}))
    agent.initialize(listed({"c": "one"}))
    assert answers(agent, ["one two"]) == answers(ready(listed({"c": "one"})), ["one two"])
    assert agent.chunks_tokenised == 2


def test_known_versions_are_not_read_again() -> None:
    texts = {"a.py": "one", "b.py": "two", "c.py": "one"}
    asked: list[str] = []

    def read(ids: Sequence[str]) -> list[Document]:
        asked.extend(ids)
        return [Document(name, texts[name]) for name in ids]

    agent = ready(Corpus("c", Read(read, {"a.py": "1", "b.py": "2", "c.py": "1"})))
    agent.update(Changes(Corpus("c", Read(read, {"d.py": "2", "b.py": "2"})), ("d.py",), ("a.py", "c.py")))
    assert (sorted(asked), agent.retrieve("two", 5).files) == (["b.py", "c.py"], ["b.py", "d.py"])


def test_what_is_no_text_is_not_found_and_does_not_count() -> None:
    def read(ids: Sequence[str]) -> list[Document]:
        return [Document(name, "word") for name in ids if name != "picture word"]

    agent = ready(Corpus("c", Read(read, {"a": "1", "picture word": "2"})))
    assert answers(agent, ["word"]) == answers(ready(corpus_of({"a": "word"})), ["word"])


def test_equal_scores_stand_in_the_order_of_ids_wherever_the_list_is_cut() -> None:
    names = [f"n{number:03}" for number in range(300)]
    shuffled = random.Random(1).sample(names, len(names))
    agent = ready(corpus_of(dict.fromkeys(shuffled, "same words")))
    assert [list(agent.retrieve("words", k).files) for k in (1, 7, 299, 300, 999)] == [names[:k] for k in (1, 7, 299, 300, 999)]


def test_a_document_is_found_by_its_title_and_a_file_by_its_path() -> None:
    documents = [Document("77", "text", "Warm boots"), Document("src/boot_loader.py", "text")]
    agent = ready(Corpus.of("c", documents))
    assert [agent.retrieve(query, 5).files for query in ("boots", "bootLoader", "77")] == [["77"], ["src/boot_loader.py"], []]


@pytest.mark.parametrize("texts", [{}, {"": ""}, {"-": "..."}], ids=str)
def test_a_corpus_without_words_gives_no_hits(texts: dict[str, str]) -> None:
    assert answers(ready(corpus_of(texts)), ["word", ""]) == [[], []]


@pytest.mark.parametrize(
    "options", [{"k1": -1}, {"b": 1.5}, {"b": -0.1}, {"name_weight": -1}, {"name_weight": 0, "content_weight": 0}], ids=str
)
def test_options_that_make_no_sense_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        Bm25Settings(**options)


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=12), max_size=30), st.integers(1, 40), st.integers(1, 40))
def test_answers_do_not_depend_on_how_many_documents_are_counted_at_once(texts: list[list[str]], batch: int, large: int) -> None:
    corpus = corpus_of({f"{place:02}": " ".join(words) for place, words in enumerate(texts)})
    with (
        patch.object(cache, "BATCH", batch),
        patch.object(postings, "LARGE_SEGMENT", large),
        patch.object(postings, "POSTINGS_PER_PART", 3),
    ):
        in_parts = ready(corpus)
        assert answers(in_parts, ["a b", "c a f"], 30) * 10 == answers(in_parts, ["a b", "c a f"] * 10, 30)
    assert answers(in_parts, ["a b", "c a f"], 30) == answers(ready(corpus), ["a b", "c a f"], 30)


@pytest.mark.parametrize("weight", [1.0, 0.5, 1 / 3, 300.0, 1e300])
def test_frequencies_are_kept_to_the_last_bit_whatever_the_weights_make_of_them(weight: float) -> None:
    texts = {"a": "word " * 3, "b": "word " * 700, "c": "word other"}
    agent = Bm25Agent(Bm25Settings(language="none", content_weight=weight, name_weight=0.0))
    agent.initialize(corpus_of(texts))
    (found,) = answers(agent, ["word"])
    assert found == answers(agent, ["word"] * 20)[-1]
    assert_equal(found, bm25_by_the_book([Document(*entry) for entry in texts.items()], "word", 10, name=0.0, content=weight))


def test_a_posting_takes_few_bytes_and_texts_that_do_not_come_again_take_none() -> None:
    chosen = random.Random(0)
    agent = ready(corpus_of({str(place): " ".join(chosen.sample("abcdefghijklmnopqrstuvwxyz", 20)) for place in range(2000)}))
    assert agent.index_bytes() < 2000 * (20 * 6 + 64)
