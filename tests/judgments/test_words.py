"""Words of queries and catalogues are brought to one form, and only whole words meet."""

from __future__ import annotations

import pytest

from searchmark.agents.lexical.words import find_phrases, phrase_key, stemmed_words
from searchmark.judgments.label import Lexicon


@pytest.mark.parametrize("text", ["t-shirt", "T-Shirts", "tshirt", "t shirt", "T\u2010shirt"])
def test_hyphens_blanks_case_and_plurals_make_no_difference(text: str) -> None:
    assert phrase_key(text) == "tshirt"


@pytest.mark.parametrize("text", ["women's", "women\u2019s", "Womens", "WOMEN"])
def test_possessives_make_no_difference(text: str) -> None:
    assert stemmed_words(text) == ["women"]


@pytest.mark.parametrize(
    ("text", "same"), [("Levi's", "levis"), ("caf\u00e9", "cafe"), ("\uff34\uff45\uff45", "tee"), ("boots", "boot")]
)
def test_accents_widths_and_endings_make_no_difference(text: str, same: str) -> None:
    assert phrase_key(text) == phrase_key(same)


@pytest.mark.parametrize(
    ("text", "other"), [("glasses", "glass"), ("sunglasses", "glass"), ("shorts", "short"), ("tights", "tight")]
)
def test_words_whose_stem_is_another_thing_keep_their_ending(text: str, other: str) -> None:
    assert phrase_key(text) != phrase_key(other)


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("Scarves", "scarf"),
        ("knives", "knife"),
        ("bookshelves", "bookshelf"),
        ("shelving", "shelf"),
        ("neckerchieves", "neckerchief"),
    ]
    + [
        ("gloves", "glove"),
        ("sleeves", "sleeve"),
        ("olives", "olive"),
        ("valves", "valve"),
        ("waves", "wave"),
        ("scarfs", "scarf"),
    ],
)
def test_plurals_in_ves_have_the_stem_of_their_singular(plural: str, singular: str) -> None:
    assert phrase_key(plural) == phrase_key(singular)


def found(text: str, *known: str) -> list[str]:
    lexicon = Lexicon()
    for each in known:
        lexicon.add(each)
    return [span.key for span in find_phrases(stemmed_words(text), lexicon)]


@pytest.mark.parametrize(
    ("text", "known"), [("women's coat", "men"), ("a fired clay ring", "red"), ("tangerine top", "tan"), ("blackberry", "black")]
)
def test_a_word_inside_another_is_not_found(text: str, known: str) -> None:
    assert found(text, known) == []


@pytest.mark.parametrize("text", ["no leather", "non-leather", "leather-free", "without leather", "not leather"])
def test_what_is_negated_is_not_found(text: str) -> None:
    assert found(f"shoes, {text}", "leather", "shoes") == ["shoe"]


@pytest.mark.parametrize(
    "text",
    [
        "without any cotton",
        "not in leather",
        "No leather or cotton used",
        "no leather, and no real cotton",
        "made without real leather",
        "free of any leather",
        "free from leather and cotton",
        "without the use of leather",
        "never made of leather nor cotton nor silk",
    ],
)
def test_a_negation_reaches_over_small_words_and_lists(text: str) -> None:
    assert found(f"shoes {text}", "leather", "cotton", "silk", "shoes") == ["shoe"]


@pytest.mark.parametrize(
    "text",
    [
        "no-show cotton socks",
        "non-iron cotton shirt",
        "not only cotton",
        "without a doubt cotton",
        "no leather, cotton lining",
        "leather-free and cotton",
        "made of cotton, free of chemicals",
        "without leather and lined with cotton",
        "no, in the real genuine pure cotton",
    ],
)
def test_a_negation_ends_at_other_words(text: str) -> None:
    assert found(text, "leather", "cotton") == ["cotton"]


def test_the_longest_phrase_is_found_and_nothing_inside_it() -> None:
    known = ("rose gold", "gold", "rose", "dress shoes", "dress", "shoes")
    assert found("rose gold dress shoes", *known) == ["rosegold", "dressshoe"]
    assert found("gold dress", *known) == ["gold", "dress"]
