"""fts5 finds what SQLite finds when it is asked by hand, whatever the query looks like."""

from __future__ import annotations

import math

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import Corpus, Document, UsageError
from searchmark.agents.lexical import fts5
from searchmark.agents.lexical.fts5 import Fts5Agent
from tests.agents.corpora import FILES, corpus_from, step


def ready(files=FILES, **options) -> Fts5Agent:
    agent = Fts5Agent(Fts5Agent.Config(**options))
    agent.initialize(corpus_from(files))
    return agent


def by_hand(tokenizer: str, match: str, weights=(1.0, 1.0, 1.0)) -> list[tuple[str, float]]:
    """An ordinary FTS5 table, which keeps its content and knows its ids, sorted by SQLite."""
    database = apsw.Connection(":memory:")
    database.execute(f"CREATE VIRTUAL TABLE t USING fts5(path, title, content, tokenize='{tokenizer}')")
    database.executemany("INSERT INTO t VALUES (?, '', ?)", FILES.items())
    return list(
        database.execute("SELECT path, -bm25(t, ?, ?, ?) AS s FROM t WHERE t MATCH ? ORDER BY s DESC, path", (*weights, match))
    )


QUERIES = [
    ("unicode61", {}, "login password", '"login" OR "password"'),
    ("unicode61", {}, "Who checks the password?", '"checks" OR "password"'),
    ("unicode61", {"operator": "all"}, "session user", '"session" AND "user"'),
    ("unicode61", {"path_weight": 5.0, "content_weight": 0.5}, "login", '"login"'),
    ("porter", {}, "users checking passwords", '"users" OR "checking" OR "passwords"'),
    ("trigram", {}, "ssio end_sess", '"ssio" OR "end_sess"'),
    ("trigram", {}, 'colo "(wall):"', '"colo" OR "wall"'),
]


@pytest.mark.parametrize(("tokenizer", "options", "query", "match"), QUERIES)
def test_hits_and_scores_are_those_of_sqlite_asked_by_hand(tokenizer: str, options: dict, query: str, match: str) -> None:
    weights = (options.get("path_weight", 1.0), 1.0, options.get("content_weight", 1.0))
    expected = by_hand({"porter": "porter unicode61"}.get(tokenizer, tokenizer), match, weights)
    found = ready(tokenizer=tokenizer, **options).retrieve(query, 10)

    assert expected
    assert list(zip(found.files, found.scores, strict=True)) == expected


def test_a_score_is_the_formula_of_bm25() -> None:
    """k1 = 1.2, b = 0.75, as SQLite documents; one of four documents has the word, twice in five words of which four are text."""
    texts = {"a": "red red blue sky", "b": "green", "c": "white", "d": "black"}
    average = (5 + 2 + 2 + 2) / 4
    frequency = 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 5 / average))
    assert ready(texts).retrieve("red", 1).scores == pytest.approx([math.log((4 - 1 + 0.5) / (1 + 0.5)) * frequency])


HOSTILE = [
    '"', '""', "'", "a:b", "path:login", "login AND", "AND", "OR OR", "NOT login", "NEAR(login user, 2)", "NEAR", "(login", ")",
    "login*", "*", "^login", "-login", "+", "{path} : login", "", " ", "\0", "login\0user", "\n\t", "?!…", "\ud800", "ß Ω ǆ",
    "login; DROP TABLE documents", "%s", "\\", "x" * 200_000, "x y " * 50_000, " ".join(f"w{n}" for n in range(30_000)), "🙂",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", ["unicode61", "porter", "trigram"])
@pytest.mark.parametrize("operator", ["any", "all"])
def test_no_query_is_an_error(tokenizer: str, operator: str) -> None:
    agent = ready(tokenizer=tokenizer, operator=operator)
    for query in HOSTILE:
        assert len(agent.retrieve(query, 3).files) <= 3


@given(st.text(st.characters()))
def test_no_text_is_an_error(query: str) -> None:
    for tokenizer in ("unicode61", "trigram"):
        ready(tokenizer=tokenizer).retrieve(query, 3)


@pytest.mark.parametrize(
    "query", ['"login"', "login:", "(login", "login*", "login AND", "NEAR(login)", "path:login", "-login", "LOGIN\0"]
)
@pytest.mark.parametrize("tokenizer", ["unicode61", "porter", "trigram"])
def test_the_words_between_operators_are_searched_for(tokenizer: str, query: str) -> None:
    found = ready(tokenizer=tokenizer).retrieve(query, 5).files
    assert {"app/login.py", "docs/login.md"} <= set(found)


def test_the_query_language_has_no_say() -> None:
    agent = ready()
    assert "app/login.py" in agent.retrieve("NOT login", 5).files
    assert agent.retrieve("log*", 5).files == ["docs/login.md"]


def test_a_title_is_searched() -> None:
    agent = Fts5Agent(Fts5Agent.Config(title_weight=3.0))
    agent.initialize(Corpus.of("c", [Document("1", "x", "Baking bread"), Document("2", "bread"), Document("3", "y")]))
    assert agent.retrieve("bread", 5).files == ["1", "2"]


@pytest.mark.parametrize("tokenizer", ["unicode61", "porter", "trigram"])
@pytest.mark.parametrize("storage", ["memory", "file"])
def test_an_updated_index_equals_a_new_one(tokenizer: str, storage: str) -> None:
    after = {**FILES, "app/login.py": "def login(): password\n", "new.py": "login password session"}
    del after["app/session.py"]
    agent = ready(tokenizer=tokenizer, storage=storage)
    fresh = ready(after, tokenizer=tokenizer)

    assert agent.update(step(FILES, after))
    for query in ("login password", "session user", "cookie", "palette"):
        assert agent.retrieve(query, 9) == fresh.retrieve(query, 9)

    assert agent.update(step(after, FILES))
    assert agent.retrieve("login password", 9) == ready(tokenizer=tokenizer).retrieve("login password", 9)


def test_equal_scores_are_ordered_by_id_whatever_came_first() -> None:
    texts = {"b": "same", "a": "same", "c": "same", "z": "else"}
    agent = ready(texts)
    agent.update(step(texts, {**texts, "a": "other"}))
    agent.update(step({**texts, "a": "other"}, texts))
    assert agent.retrieve("same", 2).files == ["a", "b"]


def test_a_name_that_is_not_utf8_is_given_back_as_it_was() -> None:
    assert ready({"caf\udce9.py": "coffee", "x": "y"}).retrieve("coffee", 1).files == ["caf\udce9.py"]


def test_the_size_is_known_and_closing_lets_go() -> None:
    agent = ready(storage="file")
    assert agent.index_bytes() > 4096
    agent.close()
    assert agent.index_bytes() is None
    assert not agent.update(step(FILES, FILES))
    with pytest.raises(UsageError, match="before it was initialised"):
        agent.retrieve("login", 1)


def test_a_sqlite_without_fts5_is_one_sentence_that_says_what_to_do(monkeypatch) -> None:
    def without(*_: object) -> None:
        raise apsw.SQLError("no such module: fts5")

    class Bare(apsw.Connection):
        execute = without

    monkeypatch.setattr("searchmark.io.sqlite.open_database", Bare)
    with pytest.raises(UsageError, match=r"no usable FTS5 .*pip install --force-reinstall"):
        Fts5Agent().initialize(corpus_from(FILES))


def test_this_sqlite_can_do_both() -> None:
    from searchmark.io.sqlite import extension_problem

    assert fts5.full_text_problem() is None
    assert extension_problem() is None


def test_a_sqlite_without_extension_loading_is_told(monkeypatch) -> None:
    from searchmark.io.sqlite import extension_problem

    class Bare(apsw.Connection):
        def enable_load_extension(self, enable: bool) -> None:
            raise AttributeError("enable_load_extension")

    monkeypatch.setattr("searchmark.io.sqlite.open_database", Bare)
    assert "cannot load extensions" in extension_problem()


@pytest.mark.parametrize("query", ["foo bar \u26a0\ufe0f", "\u2764\ufe0f foo bar", "foo \u0300 bar", "foo bar \u20dd"])
def test_marks_without_a_letter_are_no_words(query: str) -> None:
    agent = Fts5Agent(Fts5Agent.Config(operator="all"))
    agent.initialize(Corpus.of("c", [Document("a.py", "foo bar baz")]))
    assert list(agent.retrieve(query, 5).files) == ["a.py"]
