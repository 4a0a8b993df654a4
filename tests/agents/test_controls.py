"""Controls: agents that cannot know the answer."""

from __future__ import annotations

from collections import Counter

from searchmark.agents.controls import PathMatchAgent, RandomAgent, RandomConfig
from searchmark.corpora import Changes, Corpus
from searchmark.records import Document


def corpus_of(*documents: Document) -> Corpus:
    return Corpus("documents", lambda: documents)


FILES = corpus_of(
    Document("src/auth/login_view.py", "nothing"),
    Document("src/auth/session.py", "login login login"),
    Document("docs/login.md", "nothing"),
    Document("9", "login", "Boots"),
)


class TestPathMatch:
    def test_sees_names_and_titles_and_never_contents(self) -> None:
        agent = PathMatchAgent()
        agent.initialize(FILES)
        assert agent.retrieve("loginView", 9).files == ["src/auth/login_view.py", "docs/login.md"]
        assert agent.retrieve("boots", 9).files == ["9"]

    def test_follows_changes(self) -> None:
        agent, fresh = PathMatchAgent(), PathMatchAgent()
        after = corpus_of(*(document for document in FILES if document.id != "9"), Document("boots.py", ""))
        agent.initialize(FILES)
        assert agent.update(Changes(after, ("boots.py",), ("9",)))
        fresh.initialize(after)
        for query in ("boots", "src auth", "py"):
            assert agent.retrieve(query, 9) == fresh.retrieve(query, 9)


class TestRandom:
    def test_depends_on_seed_and_query_and_not_on_the_order_of_the_corpus(self) -> None:
        agent, other, reversed_ = RandomAgent(), RandomAgent(RandomConfig(seed=1)), RandomAgent()
        many = [Document(f"d{number}", "") for number in range(50)]
        for each, documents in ((agent, many), (other, many), (reversed_, many[::-1])):
            each.initialize(corpus_of(*documents))
        assert agent.retrieve("q", 50) == reversed_.retrieve("q", 50)
        assert agent.retrieve("q", 50).files[:7] == agent.retrieve("q", 7).files
        assert len({tuple(a.retrieve(q, 50).files) for a in (agent, other) for q in ("q", "r")}) == 4
        assert set(agent.retrieve("q", 50).files) == {document.id for document in many}

    def test_every_document_has_the_same_chance(self) -> None:
        """Chi-squared over 20 documents and 4,000 queries, 19 degrees of freedom: above 43.8 once in a thousand seeds."""
        agent = RandomAgent()
        agent.initialize(corpus_of(*(Document(f"d{number}", "") for number in range(20))))
        firsts = Counter(agent.retrieve(f"query {number}", 1).files[0] for number in range(4000))
        assert sum((firsts[f"d{number}"] - 200) ** 2 / 200 for number in range(20)) < 43.8

    def test_scores_fall(self) -> None:
        agent = RandomAgent()
        agent.initialize(FILES)
        scores = list(agent.retrieve("q", 9).scores or ())
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score < 1 for score in scores)
