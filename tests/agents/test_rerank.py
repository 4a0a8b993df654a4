"""rerank puts the hits of another agent in a new order, by words that stand together, by a model or by a server."""

from __future__ import annotations

from contextlib import closing
from math import log

import pytest

from searchmark import AgentSpec, Corpus, Document, RetrievalResult, UsageError
from searchmark.agents.lexical.bm25 import Bm25Agent
from searchmark.agents.rerank import ProximityReranker, ProximitySettings, RerankAgent, cross_encoder_problem
from searchmark.config.agents import BuiltInSource
from tests.agents.corpora import FILES, Streamed, corpus_from, step
from tests.agents.test_hybrid import Dead, Fixed

TEXTS = {
    "apart.md": "the index is large\nmany other words stand here between\nwhat a vector is\n",
    "together.md": "a vector index is what this is about and many other words stand here\n",
    "one.md": "only a vector stands here, nothing else of it at all in this long text\n",
}


def reranked(arm=None, texts=TEXTS, **options) -> RerankAgent:
    agent = RerankAgent(RerankAgent.Config(arm="first", **options))
    agent.connect({"first": arm or Fixed({name: 1.0 / place for place, name in enumerate(texts, 1)})})
    agent.initialize(corpus_from(texts))
    return agent


def test_words_that_stand_together_come_first() -> None:
    found = reranked().retrieve("vector index", 3)
    assert found.files == ["together.md", "apart.md", "one.md"]
    assert found.scores == sorted(found.scores, reverse=True)
    assert found.metadata == {"candidates": 3}


def proximity(*documents: str, **options: float) -> ProximityReranker:
    made = ProximityReranker(ProximitySettings(**options))
    made.initialize(corpus_from({str(place): text for place, text in enumerate(documents)}), Fixed({}))
    return made


def test_a_score_of_proximity_is_its_formula() -> None:
    """Two candidates of a collection of four, of which two hold each word, at a distance of one and of two. k1 = 1, b = 0."""
    made = proximity("red sky x", "red x sky", "x", "y", k1=1.0, b=0.0)
    near, far = made.scores("red sky", ["red sky x", "red x sky"])
    idf = log(1 + 2.5 / 2.5)
    alone = 2 * idf * 2 / (1 + 1)
    assert near == pytest.approx(alone + 2 * idf * idf * 2 / (idf + 1))
    assert far == pytest.approx(alone + 2 * idf * (idf / 4) * 2 / (idf / 4 + 1))


def test_a_word_that_all_candidates_hold_weighs_as_in_the_collection() -> None:
    """Candidates hold the telling word, that is why they are candidates; a word that is everywhere must not outweigh it."""
    first, second = proximity("rare rare x", "rare often x", *["often"] * 50).scores("rare often", ["rare rare x", "rare often x"])
    assert first > second


def test_an_index_of_bm25_is_shared_with_its_statistics() -> None:
    arm = Bm25Agent()
    shared, own = ProximityReranker(ProximitySettings()), proximity(*TEXTS.values())
    corpus = corpus_from({str(place): text for place, text in enumerate(TEXTS.values())})
    arm.initialize(corpus)
    shared.initialize(corpus, arm)
    assert shared.scores("vector index", list(TEXTS.values())) == own.scores("vector index", list(TEXTS.values()))
    assert shared._own.chunks_tokenised == 0


@pytest.mark.parametrize("texts", [[], [""], ["", "red"], ["?"]])
def test_proximity_takes_whatever_it_is_given(texts: list[str]) -> None:
    scores = proximity(*texts).scores("red sky", texts)
    assert [score > 0 for score in scores] == ["red" in text for text in texts]
    assert proximity(*texts).scores("", texts) == [0.0] * len(texts)


def test_equal_scores_keep_the_order_of_the_first_stage() -> None:
    arm = Fixed({"one.md": 3.0, "apart.md": 2.0, "together.md": 1.0})
    assert reranked(arm).retrieve("zebra", 3).files == ["one.md", "apart.md", "together.md"]


def test_only_candidates_of_the_first_stage_are_answers() -> None:
    assert reranked(Fixed({"one.md": 1.0, "apart.md": 0.5})).retrieve("vector index", 9).files == ["apart.md", "one.md"]
    assert reranked(Fixed({})).retrieve("vector index", 9).files == []


class Counting(Fixed):
    def retrieve(self, query: str, k: int) -> RetrievalResult:
        self.asked = k
        return super().retrieve(query, k)


@pytest.mark.parametrize(("k", "asked"), [(3, 50), (80, 80)])
def test_the_arm_is_asked_for_the_candidates_or_for_what_is_wanted_beyond_them(k: int, asked: int) -> None:
    arm = Counting({"one.md": 1.0})
    reranked(arm).retrieve("q", k)
    assert arm.asked == asked


@pytest.mark.parametrize("k", [1, 2, 3, 10, 1000])
def test_the_candidates_are_the_same_however_many_hits_are_wanted(k: int) -> None:
    """Only the first two are scored: the third, which would win, stays where the arm has it."""
    arm = Fixed({"one.md": 3.0, "apart.md": 2.0, "together.md": 1.0})
    found = reranked(arm, candidates=2).retrieve("vector index", k)
    assert found.files == ["apart.md", "one.md", "together.md"][:k]
    assert found.scores == sorted(found.scores, reverse=True)
    assert found.metadata == {"candidates": 2}


def test_a_dead_first_stage_is_an_error() -> None:
    with pytest.raises(UsageError, match="the arm 'first' failed"):
        reranked(Dead({})).retrieve("q", 3)


def test_the_name_of_a_document_is_part_of_its_text_unless_told_otherwise() -> None:
    files = {"a.py": "x = 1\n", "zebra.py": "x = 1\n"}
    assert reranked(texts=files).retrieve("zebra", 1).files == ["zebra.py"]
    assert reranked(texts=files, names=False).retrieve("zebra", 1).files == ["a.py"]


def test_a_corpus_that_cannot_be_read_by_id_is_not_read_by_queries() -> None:
    passes = []

    def stream():
        passes.append(1)
        return iter([Document("1", "red"), Document("2", "blue sky", "title")])

    agent = RerankAgent(RerankAgent.Config(arm="first"))
    agent.connect({"first": Fixed({"1": 2.0, "2": 1.0, "gone": 0.5})})
    agent.initialize(Corpus("c", Streamed(stream)))
    passes.clear()
    assert agent.retrieve("blue sky", 3).files[0] == "2"
    assert agent.retrieve("title", 3).files[0] == "2"
    assert not passes


def test_texts_are_those_of_today() -> None:
    agent = reranked()
    after = {**TEXTS, "one.md": "vector index vector index\n"}
    assert agent.update(step(TEXTS, after))
    assert agent.retrieve("vector index", 1).files == ["one.md"]


def test_lines_and_cost_are_those_of_the_first_stage() -> None:
    arm = Fixed({"apart.md": 2.0, "together.md": 1.0}, lines=[(1, 2), (3, 4)], cost=0.5)
    found = reranked(arm).retrieve("vector index", 2)
    assert (found.lines, found.cost) == ([(3, 4), (1, 2)], 0.5)


@pytest.mark.parametrize("style", ["cohere", "tei"])
@pytest.mark.parametrize("behaviour", ["ok", "busy"])
def test_a_server_may_decide(server: str, style: str, behaviour: str) -> None:
    kind = "rerank" if style == "cohere" else "tei"
    options = {"name": "http", "url": f"{server}/{behaviour}/{kind}", "style": style, "model": "m", "batch": 2}
    with closing(reranked(reranker=options)) as agent:
        found = agent.retrieve("what a vector is", 3)
    assert found.files == ["apart.md", "together.md", "one.md"]
    assert found.scores == pytest.approx([0.4, 0.4, 0.2])


@pytest.mark.parametrize(
    ("behaviour", "sentence"),
    [
        ("down", "did not answer as it should: 503"),
        ("nonsense", "gave an answer that is not JSON"),
        ("odd", "did not score every text: KeyError 'results'"),
        ("enormous", "did not score every text: OverflowError"),
        ("short", "did not score every text: KeyError"),
    ],
)
def test_a_server_that_fails_is_an_error_and_not_the_old_order(server: str, behaviour: str, sentence: str) -> None:
    options = {"name": "http", "url": f"{server}/{behaviour}/rerank", "retries": 1}
    with closing(reranked(reranker=options)) as agent, pytest.raises(UsageError, match=sentence):
        agent.retrieve("q", 3)


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        ("nonsense", "there is no reranker 'nonsense'; available: proximity, cross-encoder, http"),
        ({"url": "x"}, "there is no reranker None"),
        ({"name": "http"}, "reranker http, url: is missing"),
        ({"name": "proximity", "k2": 1}, "reranker proximity, k2: is not a known field"),
    ],
)
def test_options_are_checked_before_anything_starts(choice: object, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        RerankAgent(RerankAgent.Config(reranker=choice))


def test_a_cross_encoder_needs_the_extra(monkeypatch) -> None:
    monkeypatch.setattr("searchmark.agents.rerank.find_spec", lambda name: None)
    assert "pip install 'searchmark[transformers]'" in cross_encoder_problem()
    with pytest.raises(UsageError, match="sentence-transformers is not installed"):
        reranked(reranker="cross-encoder")


def test_the_arm_is_plain_data_and_asking_too_early_is_one_sentence() -> None:
    assert RerankAgent().arms() == {"bm25": AgentSpec("bm25", BuiltInSource("bm25"))}
    with pytest.raises(UsageError, match="before it was initialised"):
        RerankAgent().retrieve("q", 1)
    assert not RerankAgent().update(step(FILES, FILES))
