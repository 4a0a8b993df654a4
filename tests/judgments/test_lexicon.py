"""Files of words: synonyms, kinds and sections."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark import FormatError
from searchmark.agents.lexical.words import phrase_key
from searchmark.judgments.label import Lexicon, read_lexicon


def read(tmp_path: Path, text: str) -> Lexicon:
    (tmp_path / "words.txt").write_text(text)
    return read_lexicon(tmp_path / "words.txt")


def names(lexicon: Lexicon, *texts: str) -> set[str]:
    return {lexicon.name(phrase_key(text)) for text in texts}


def test_synonyms_of_a_file_join_those_that_are_shipped(tmp_path: Path) -> None:
    lexicon = read(tmp_path, "kicks = trainers  # slang\n")
    assert len(names(lexicon, "kicks", "sneakers", "running shoes", "trainers")) == 1


def test_kinds_reach_up_and_down_and_not_to_their_siblings(tmp_path: Path) -> None:
    lexicon = read(tmp_path, "moccasins < loafers\n")
    assert lexicon.broader(phrase_key("moccasins")) == names(lexicon, "loafers", "shoes")
    assert phrase_key("moccasins") in lexicon.narrower(lexicon.name(phrase_key("shoes")))
    assert lexicon.name(phrase_key("sandals")) not in lexicon.broader(phrase_key("moccasins")) | lexicon.narrower(
        phrase_key("moccasins")
    )


def test_a_section_of_a_file_is_an_attribute(tmp_path: Path) -> None:
    lexicon = read(tmp_path, "[closure]\nvelcro = hook and loop\n")
    assert lexicon.roles[lexicon.name(phrase_key("hook and loop"))] == {"closure"}


def test_two_kinds_of_each_other_end(tmp_path: Path) -> None:
    lexicon = read(tmp_path, "aa < bb\nbb < aa\n")
    assert (lexicon.broader("aa"), lexicon.narrower("aa")) == ({"bb"}, {"bb"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = b < c", "line 1: cannot be read"),
        ("\nsneakers =", "line 2: cannot be read"),
        ("sneakers", "line 1: one phrase alone"),
        (f"{'ab ' * 51} = f", "line 1: a phrase has words, and at most 100 letters"),
        ("!! = f", "line 1: a phrase has words"),
    ],
)
def test_a_line_that_says_nothing_is_refused_with_its_number(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        read(tmp_path, text)


def test_a_word_as_long_as_a_book_is_no_phrase() -> None:
    lexicon = Lexicon()
    assert lexicon.add_value("x" * 10_000, "color") == ""
    assert (lexicon.beginnings, lexicon.written) == (set(), {})
