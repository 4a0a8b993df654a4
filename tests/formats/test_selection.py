"""A corpus seen through a selection holds what was selected, in every state, and says what cannot be selected."""

from __future__ import annotations

import pickle
import re

import pytest

from searchmark import Changes, Corpus, Document, UsageError
from searchmark.formats.corpora.corpus import FIELD_LIST_MARK, DocumentSelection

SHOES = Document("1", "red\nleather", "Runner", {"category": "Shoes ", "brand": "adidas", "bullets": ["light", "fast"], "price": 5})
DRESS = Document("2", "long", "Gown", {"category": "dresses", "brand": ["Nike", "Puma"], "bullets": [], "sale": True})
BARE = Document("3", "no fields")
CATALOGUE = Corpus.of("shop", [SHOES, DRESS, BARE])


def seen(fields=None, corpus=CATALOGUE, **filters) -> list[Document]:
    return list(DocumentSelection.of(fields, filters).corpus(corpus))


def test_nothing_selected_is_the_corpus_itself() -> None:
    assert DocumentSelection.of(None, {}).corpus(CATALOGUE) is CATALOGUE
    assert DocumentSelection.of(None, {}).describe() == {}


@pytest.mark.parametrize(
    ("fields", "titles", "texts"),
    [
        (["title", "bullets"], ["Runner", "Gown", FIELD_LIST_MARK], ["light\nfast", "", ""]),
        (["bullets", "text"], [FIELD_LIST_MARK] * 3, ["light\nfast\nred\nleather", "long", "no fields"]),
        (["title"], ["Runner", "Gown", FIELD_LIST_MARK], ["", "", ""]),
        (["id", "text"], [None] * 3, ["red\nleather", "long", "no fields"]),
        (["price", "sale"], [FIELD_LIST_MARK] * 3, ["5", "True", ""]),
    ],
)
def test_fields_decide_on_title_and_text(fields: list[str], titles: list[str | None], texts: list[str]) -> None:
    found = seen(fields)
    assert [document.title for document in found] == titles
    assert [document.text for document in found] == texts


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({"category": "shoes"}, ["1"]),
        ({"category": [" SHOES", "dresses"]}, ["1", "2"]),
        ({"brand": "puma"}, ["2"]),
        ({"brand": ["adidas", "nike"], "category": "dresses"}, ["2"]),
        ({"price": 5}, ["1"]),
        ({"sale": True}, ["2"]),
        ({"title": "gown"}, ["2"]),
    ],
)
def test_a_filter_admits_documents_that_have_one_of_the_values(filters: dict, ids: list[str]) -> None:
    assert [document.id for document in seen(**filters)] == ids


@pytest.mark.parametrize(
    ("fields", "filters", "sentence"),
    [
        (["title", "bulets"], {}, "has the field 'bulets'; available: id, title, text, category, brand, bullets, price, sale"),
        (None, {"colour": "red"}, "no document of shop has the field 'colour'; available: id, title, "),
        (None, {"brand": "reebok"}, "gets through the filter (brand: reebok); values of brand: Nike, Puma, adidas"),
        (None, {"brand": "nike", "category": "shoes"}, "values of brand: Nike, Puma, adidas; values of category: Shoes, dresses"),
    ],
)
def test_what_no_document_has_is_refused_with_what_there_is(fields: list[str] | None, filters: dict, sentence: str) -> None:
    with pytest.raises(UsageError, match=re.escape(sentence)):
        seen(fields, **filters)


def test_ten_of_many_values_are_named() -> None:
    many = Corpus.of("many", [Document(str(number), "x", fields={"size": f"s{number:02}"}) for number in range(25)])
    with pytest.raises(UsageError, match=r"values of size: s00, s01, .*, s09 and 15 more$"):
        seen(corpus=many, size="xxl")


@pytest.mark.parametrize(
    ("fields", "filters", "sentence"),
    [
        ([], {}, "fields is [], and must name one field or more, none of them twice"),
        (["a", "a"], {}, "fields is ['a', 'a'], and must name one field or more, none of them twice"),
        (None, {"a": []}, "filter: a is [], and must be a value or a list of values"),
        (None, {"a": {"case": "b"}}, "filter: a is {'case': 'b'}, and must be a value or a list of values"),
        (None, {"a": None}, "filter: a is None, and must be a value or a list of values"),
        (None, {"a": " "}, "filter: a is ' ', and must be a value or a list of values"),
    ],
)
def test_a_selection_that_cannot_be_is_one_sentence(fields: list[str] | None, filters: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        DocumentSelection.of(fields, filters)


def test_the_first_document_of_an_id_decides_whether_it_is_seen() -> None:
    twice = Corpus.of("twice", [SHOES, Document("1", "x", fields={"category": "dresses"}), DRESS])
    assert [document.id for document in seen(corpus=twice, category="dresses")] == ["2"]


def test_what_is_seen_has_a_digest_of_its_own_and_can_be_read_by_id_and_pickled() -> None:
    selected = DocumentSelection.of(["title"], {"category": ["shoes", "dresses"]}).corpus(CATALOGUE)
    assert selected.survey.digest not in (
        CATALOGUE.survey.digest,
        DocumentSelection.of(["text"], {}).corpus(CATALOGUE).survey.digest,
    )
    assert selected.survey.ids == {"1", "2"}
    assert [document.id for document in selected.read(["3", "2"])] == ["2"]
    assert list(pickle.loads(pickle.dumps(selected))) == list(selected)  # noqa: S301  # what was pickled here
    assert selected.versions is None


def test_a_document_that_a_change_filters_out_is_written_and_not_read() -> None:
    after = Corpus.of("shop", [Document("1", "red", fields={"category": "gone"}), DRESS, BARE])
    changes = DocumentSelection.of(None, {"category": ["shoes", "dresses"]}).changes(Changes(after, ("1",), ()))
    assert changes.written == ("1",)
    assert list(changes.corpus.read(["1"])) == []
