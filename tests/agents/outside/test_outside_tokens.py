"""Tokens of answers: counted by a tokenizer that is named, and never while the clock of a search runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark import Case, Corpus, Judgment, RetrievalAgent, RetrievalResult, RunSettings, Suite, run_suite
from searchmark.agents.protocol import Usage
from searchmark.agents.vectors.chunking import TOKENIZER_NAME, count_tokens

SUITE = Suite.from_cases("s", [Case(query, query, (Judgment("a.py", "path"),)) for query in ("first", "second")])
LONG = "def tokens_of(answer):\n" * 20_000  # half a second of counting, and more than the clock check forgives


class CountingAgent(RetrievalAgent):
    """Answers at once, with a text that takes long to count."""

    def initialize(self, corpus: Corpus) -> None:
        pass

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(["a.py"], usage=Usage(retries=2))

    def usage_of_last(self) -> Usage:
        return count_tokens(LONG)


def test_tokens_are_counted_as_llama_2_cuts_words() -> None:
    assert count_tokens("Hello world!") == Usage(tokens=3, tokens_by=TOKENIZER_NAME)
    assert count_tokens("").tokens == 0


def test_what_is_no_unicode_is_counted_too() -> None:
    assert count_tokens("a\udcffb").tokens == count_tokens("a?b").tokens


@pytest.mark.slow
def test_counting_is_no_part_of_the_time_of_a_search(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("text\n")
    run = run_suite(SUITE, CountingAgent, tmp_path, RunSettings(num_runs=2, warm_up=False))
    expected = count_tokens(LONG).tokens
    assert run.details is not None
    for details in run.details:
        assert (details.tokens, details.tokens_by, details.retries) == (expected, TOKENIZER_NAME, 2)
        assert details.doubted_times == 0
        assert max(*details.cold_ms, *details.warm_ms) < 50
