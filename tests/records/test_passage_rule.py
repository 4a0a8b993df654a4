"""When a text holds an expected passage: a share of its words, in one piece, whatever the case and white space."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.records.matching import LEAST_WORDS, holds_passage

PASSAGE = "There are 100 requests per minute and key; more are answered with 429."


@pytest.mark.parametrize(
    "text",
    [
        PASSAGE,
        f"# Limits\n\nA request may have 5 MB. {PASSAGE} Uploads are cut.",
        "there are 100 REQUESTS\n  per minute\tand key - more are **answered** with 429",
        "Limits: There are 100 requests per minute and k",  # 7 of 13 words: a splitter has cut behind them
        "\uff30er 100 requests per minute and key more are",  # a full-width letter
    ],
)
def test_half_of_the_words_in_one_piece_are_enough(text: str) -> None:
    assert holds_passage(text, PASSAGE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "There are 100 requests per",  # 5 of 13
        "429 with answered are more key and minute per requests 100 are there",  # in another order
        "There are 100 jobs; requests per minute: many; and key users more often are served, answered with care, 429",
    ],
)
def test_fewer_words_or_words_here_and_there_are_not(text: str) -> None:
    assert not holds_passage(text, PASSAGE)


def test_the_share_is_a_setting() -> None:
    assert holds_passage("There are 100 requests per", PASSAGE, overlap=0.3)
    assert not holds_passage(PASSAGE[1:], PASSAGE, overlap=1)
    assert holds_passage(PASSAGE, PASSAGE, overlap=1)


@pytest.mark.parametrize(("text", "found"), [("Paris, of course", True), ("a comparison", False), ("the city of Paris", True)])
def test_a_short_passage_has_to_be_there_as_a_whole_and_by_words(text: str, found: bool) -> None:
    assert holds_passage(text, "Paris") is found
    assert not holds_passage(text, "the city of Paris") or text == "the city of Paris"


def test_scripts_without_blanks_are_compared_sign_by_sign() -> None:
    passage = "\u4e00\u5206\u949f\u6700\u591a\u4e00\u767e\u6b21\u8bf7\u6c42"
    assert holds_passage(f"\u9650\u5236\u662f{passage[:8]}", passage)
    assert not holds_passage(passage[:4], passage)


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=40), st.lists(st.sampled_from("abcdefgh"), max_size=60))
def test_it_is_the_longest_common_piece_that_decides(passage: list[str], text: list[str]) -> None:
    pieces = {tuple(text[i:j]) for i in range(len(text)) for j in range(i + 1, len(text) + 1)}
    longest = max(
        (j - i for i in range(len(passage)) for j in range(i + 1, len(passage) + 1) if tuple(passage[i:j]) in pieces), default=0
    )
    needed = min(len(passage), max(-(-len(passage) // 2), LEAST_WORDS))
    assert holds_passage(" ".join(text), " ".join(passage)) == (longest >= needed)


@given(st.lists(st.text("abc dé,", min_size=1, max_size=8), min_size=1, max_size=30), st.data())
def test_of_a_passage_that_is_cut_between_words_one_half_is_found(words: list[str], data: st.DataObject) -> None:
    passage = " ".join(words)
    cut = data.draw(st.sampled_from([at for at, sign in enumerate(passage) if sign == " "] or [0]))
    halves = [passage[:cut], passage[cut:]]
    count = len([word for word in "".join(sign if sign.isalnum() else " " for sign in passage).split() if word])
    if count >= 2 * LEAST_WORDS:
        assert any(holds_passage(f"before. {half} after", passage) for half in halves)
