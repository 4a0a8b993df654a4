"""Every kind does what its name says to a query, and nothing else."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import FormatError, UsageError
from searchmark.judgments.perturb import VARIANT_KINDS, WordFiles, choose_kinds
from searchmark.judgments.variants import NEIGHBOURS, Draws, other_number, parts_of, read_phrases

QUERIES = ["create an issue", "getUserName of HTTPServer", "café in São Paulo", "light tent for two", "a", "", "検索", "x_y  z"]


def variants(kind: str, query: str, *, seed: int = 0, language: str = "english", files: WordFiles = WordFiles()) -> list[str]:  # noqa: B008
    return list(choose_kinds([kind], files, language).edits[kind](query, Draws(seed, "case", kind)))


def distance_in_place(one: str, two: str) -> list[int]:
    return [place for place, (a, b) in enumerate(zip(one, two, strict=True)) if a != b]


def test_draws_are_the_same_everywhere() -> None:
    """Pinned: what was written with a seed is written with it for ever."""
    draws = Draws(0, "case", "typo")
    assert [draws.below(100) for _ in range(6)] == [96, 97, 68, 0, 0, 94]
    assert list(Draws(7, "é", "case").order(5)) == [2, 3, 1, 4, 0]


@given(st.integers(0, 40), st.integers(0, 5))
def test_an_order_has_every_number_once(count: int, seed: int) -> None:
    assert sorted(Draws(seed, "case", "kind").order(count)) == list(range(count))


def test_numbers_are_drawn_evenly() -> None:
    draws = Draws(0, "case", "kind")
    counts = [0] * 10
    for _ in range(10_000):
        counts[draws.below(10)] += 1
    assert min(counts) > 900
    assert max(counts) < 1100


def test_keys_are_neighbours_of_each_other() -> None:
    assert NEIGHBOURS["g"] == "bfhtvy"
    assert NEIGHBOURS["q"] == "aw"
    assert all(key in NEIGHBOURS[other] for key, near in NEIGHBOURS.items() for other in near)


@pytest.mark.parametrize("query", QUERIES)
def test_a_typo_is_one_neighbouring_key(query: str) -> None:
    for variant in variants("typo", query):
        (place,) = distance_in_place(query, variant)
        assert variant[place].lower() in NEIGHBOURS[query[place].lower()]
        assert variant[place].isupper() == query[place].isupper()


@pytest.mark.parametrize("query", QUERIES)
def test_a_transposition_is_two_neighbours(query: str) -> None:
    for variant in variants("transposition", query):
        first, second = distance_in_place(query, variant)
        assert (second, query[first], query[second]) == (first + 1, variant[second], variant[first])


def test_short_words_keep_their_letters() -> None:
    assert variants("typo", "go to it") == variants("transposition", "go to it") == variants("dropped-letter", "who did it") == []


def test_a_letter_is_dropped_from_a_long_word() -> None:
    assert sorted(variants("dropped-letter", "an issue")) == ["an isse", "an issu", "an isue", "an isue", "an ssue"]


def test_case_is_changed_in_four_ways() -> None:
    assert set(variants("case", "create an ISSUE")) == {
        "create an issue", "CREATE AN ISSUE", "Create An Issue", "Create an issue",
    }  # fmt: skip


@pytest.mark.parametrize(("query", "count"), [("one", 0), ("one two", 1), ("one two three", 5), ("a b c d e", 119)])
def test_all_other_orders_of_few_words_are_tried(query: str, count: int) -> None:
    found = variants("word-order", query)
    assert len(set(found)) == len(found) == count
    assert query not in found


def test_many_words_are_drawn_in_other_orders() -> None:
    query = "one two three four five six seven"
    assert all(sorted(variant.split()) == sorted(query.split()) for variant in variants("word-order", query))


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("issue", "issues"), ("box", "boxes"), ("story", "stories"), ("key", "keys"), ("child", "children"), ("class", "classes"),
        ("branch", "branches"), ("Board", "Boards"), ("person", "people"), ("status", "statuses"), ("query", "queries"),
    ],
)  # fmt: skip
def test_nouns_have_two_numbers(singular: str, plural: str) -> None:
    assert (other_number(singular), other_number(plural)) == (plural, singular)


@pytest.mark.parametrize("word", ["API", "getUser", "is", "quickly", "running", "jeans", "data", "niño", "v2", "a"])
def test_what_is_no_noun_has_one_number(word: str) -> None:
    assert other_number(word) is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("create an issue", ["create issues"]),  # not "creates", and no article before a plural
        ("light tent for two", ["light tents for two"]),
        ("delete comments.", ["delete comment."]),
        ("the boards of a sprint", ["the board of a sprint", "the boards of sprints"]),
        ("who is it", []),
    ],
)
def test_the_noun_is_put_in_the_other_number(query: str, expected: list[str]) -> None:
    assert sorted(variants("plural", query)) == expected


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("getUserName", ["get", "User", "Name"]), ("get_user__name", ["get", "user", "name"]), ("HTTPServer", ["HTTP", "Server"]),
        ("sha256Sum", ["sha256", "Sum"]), ("issue", ["issue"]), ("ISSUE", ["ISSUE"]), ("_private", ["private"]), ("__", []),
    ],
)  # fmt: skip
def test_names_are_taken_apart_at_their_seams(name: str, parts: list[str]) -> None:
    assert parts_of(name) == parts


def test_identifiers_become_words() -> None:
    found = variants("identifier-split", "why does getUserName call load_user?")
    assert found[0] == "why does get user name call load user?"
    assert set(found[1:]) == {"why does get user name call load_user?", "why does getUserName call load user?"}


def test_words_become_identifiers_and_names_change_their_style() -> None:
    assert set(variants("identifier-join", "load user name")) == {
        "loadUser name", "load_user name", "loadUserName", "load_user_name", "load userName", "load user_name",
    }  # fmt: skip
    assert set(variants("identifier-join", "the loadUser")) == {"the loadUser", "the load_user"}
    assert variants("identifier-join", "create, then delete the issue") == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("café in São Paulo", ["cafe in Sao Paulo"]),
        (unicodedata.normalize("NFD", "café"), ["cafe"]),
        ("Łódź straße", ["Lodz strasse"]),
        ("йод हिन्दी", []),  # marks of other scripts are letters
        ("cafe", []),
    ],
)
def test_accents_go_from_latin_letters(query: str, expected: list[str]) -> None:
    assert variants("accents", query) == expected


def test_function_words_go_all_at_once_and_then_one_by_one() -> None:
    found = variants("stop-words-removed", "the issue of the day")
    assert found[0] == "issue day"
    assert set(found[1:]) == {"issue of the day", "the issue the day", "the issue of day"}
    assert variants("stop-words-removed", "to be or not to be") == variants("stop-words-removed", "issue day") == []


def test_function_words_come_before_words_that_follow_none() -> None:
    assert variants("stop-words-added", "an issue") == []
    assert {variant.split()[-1] for variant in variants("stop-words-added", "issue")} == {"issue"}
    assert "para tarea" in variants("stop-words-added", "tarea", language="spanish")


@pytest.mark.parametrize("query", ["create an issue", "tent?", "light tent for two"])
def test_a_truncation_is_a_beginning_with_half_of_the_last_word(query: str) -> None:
    found = variants("truncation", query)
    last = query.strip("?").split()[-1]
    assert found
    assert all(query.startswith(each) and len(each.split()[-1]) >= len(last) / 2 for each in found)
    assert all(each.count(" ") == query.count(" ") for each in found)


def test_synonyms_replace_one_phrase_in_either_direction(tmp_path: Path) -> None:
    path = tmp_path / "synonyms.txt"
    path.write_text("# ours\nticket = issue\npull request, merge request, PR\nbig => large, huge\n")
    files = WordFiles(synonyms=path)
    assert variants("synonym", "close an Issue", files=files) == ["close an ticket"]
    assert set(variants("synonym", "big pull request", files=files)) == {
        "large pull request", "huge pull request", "big merge request", "big PR",
    }  # fmt: skip
    assert variants("synonym", "large", files=files) == []


def test_a_glossary_goes_one_way_and_through_the_whole_query(tmp_path: Path) -> None:
    path = tmp_path / "pt.txt"
    path.write_text("create = criar, abrir\nissue = chamado\nsprint board = quadro da sprint\nan = um\n")
    files = WordFiles(glossary=path)
    assert variants("translation", "create an issue", files=files)[0] == "criar um chamado"
    assert set(variants("translation", "create an issue", files=files)) <= {"criar um chamado", "abrir um chamado"}
    assert variants("translation", "show the sprint board", files=files) == ["show the quadro da sprint"]
    assert variants("translation", "chamado", files=files) == []


def test_a_query_of_which_less_than_half_is_known_is_not_translated(tmp_path: Path) -> None:
    path = tmp_path / "pt.txt"
    path.write_text("issue = chamado\na = um\n")
    assert variants("translation", "attach a screenshot", files=WordFiles(glossary=path)) == []
    assert variants("translation", "attach a file to the issue", files=WordFiles(glossary=path)) == []
    assert variants("translation", "close the issue", files=WordFiles(glossary=path)) == ["close the chamado"]


def test_a_file_for_labels_is_read_as_far_as_it_names_synonyms(tmp_path: Path) -> None:
    path = tmp_path / "synonyms.txt"
    path.write_text("[category]\nsneakers = running shoes\nloafers < shoes\n")
    table = read_phrases(path)
    assert table.skipped_lines == 2
    assert table.replacements == {("sneakers",): ("running shoes",), ("running", "shoes"): ("sneakers",)}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("ticket\n", "line 1: 'ticket' names one phrase"),
        ("a = \n", "line 1"),
        ("# nothing\n", "holds no phrases"),
        ("?? = b\n", "must have 1 to 8 words"),
    ],
)
def test_files_of_words_are_refused_by_line(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "words.txt"
    path.write_text(content)
    with pytest.raises(FormatError, match=said.replace("?", "\\?")):
        read_phrases(path)


def test_kinds_that_need_a_file_say_which() -> None:
    with pytest.raises(UsageError, match="name it with --synonyms FILE"):
        choose_kinds(["synonym"], WordFiles(), "english")
    with pytest.raises(UsageError, match="name it with --glossary FILE"):
        choose_kinds(["translation"], WordFiles(), "english")
    assert set(VARIANT_KINDS) - set(choose_kinds([], WordFiles(), "english").edits) == {"synonym", "translation"}


def test_a_file_that_no_kind_uses_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("a = b\n")
    with pytest.raises(UsageError, match="--synonyms is used by --kind synonym alone"):
        choose_kinds(["typo"], WordFiles(synonyms=path), "english")


def test_plurals_are_english() -> None:
    with pytest.raises(UsageError, match="English alone"):
        choose_kinds(["plural"], WordFiles(), "spanish")
    assert "plural" not in choose_kinds([], WordFiles(), "spanish").edits


@pytest.mark.parametrize("kind", choose_kinds([], WordFiles(), "english").edits)
@given(query=st.text(max_size=60))
def test_any_text_can_be_varied(kind: str, query: str) -> None:
    edit: Callable[[str, Draws], object] = choose_kinds([kind], WordFiles(), "english").edits[kind]
    for _, variant in zip(range(20), edit(query, Draws(0, "case", kind)), strict=False):  # type: ignore[call-overload]
        assert isinstance(variant, str)


@pytest.mark.parametrize(
    ("query", "language", "kept"),
    [
        ("a jacket without the hood", "english", "without"),
        ("shoes that are not black", "english", "not"),
        ("dresses under the price of 100", "english", "under"),
        ("changes of the file before release", "english", "before"),
        ("eine Jacke ohne die Kapuze", "german", "ohne"),
        ("una chaqueta sin la capucha", "spanish", "sin"),
    ],
)
def test_no_variant_loses_or_moves_a_word_that_decides_what_is_asked_for(query: str, language: str, kept: str) -> None:
    removed = variants("stop-words-removed", query, language=language)
    assert removed
    assert all(kept in each.split() for each in removed)
    assert variants("word-order", query, language=language) == []


@pytest.mark.parametrize("kind", ["typo", "transposition", "dropped-letter", "truncation"])
def test_a_slip_is_never_in_a_word_that_negates(kind: str) -> None:
    for query in ("shoes not black", "jacket without hood"):
        assert all({"not", "without"} & set(each.split()) for each in variants(kind, query))
    assert variants(kind, "without") == variants(kind, "not") == []


def test_a_number_is_never_cut() -> None:
    assert variants("truncation", "answers with status 4041") == variants("truncation", "model x2000") == []
