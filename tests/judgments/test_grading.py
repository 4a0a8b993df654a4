"""The rules: what an item and a query have in common decides on the grade."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from searchmark import Corpus, Document, NothingEvaluated, UsageError
from searchmark.formats.suites.labels import ListedQuery
from searchmark.judgments.label import Labels, label_queries
from searchmark.judgments.review import label_summary


def item(name: str, title: str = "", text: str = "", **fields: Any) -> Document:
    return Document(id=name, title=title, text=text, fields=fields)


def labelled(query: str, *items: Document, fields: tuple[str, ...] = (), synonyms: Path | None = None) -> Labels:
    return label_queries(Corpus.of("shop", items), {"1": ListedQuery("1", query, None, "line 1")}, fields=fields, synonyms=synonyms)


def verdict(query: str, *items: Document, **how: Any) -> tuple[int, str]:
    """Of the first item."""
    found = labelled(query, *items, **how).verdict(("1", items[0].id))
    return found.grade, found.rule


BOOT = item("1", category="Boots", color="Black", material="Leather", brand="Northway", gender="F")


@pytest.mark.parametrize(
    ("query", "grade", "rule"),
    [
        ("black leather boots", 3, "category and attributes"),
        ("black boots", 2, "category"),
        ("northway boots", 2, "category"),
        ("black leather gloves", 2, "two attributes"),
        ("black gloves", 1, "one attribute"),
        ("northway black gloves", 1, "one attribute"),
        ("northway gloves", 1, "brand"),
        ("red gloves", 0, "none"),
    ],
)
def test_each_rule_gives_its_grade(query: str, grade: int, rule: str) -> None:
    assert verdict(query, BOOT) == (grade, rule)


@pytest.mark.parametrize(
    ("query", "gender", "grade"),
    [
        ("women's coat", "M", 0),
        ("men's coat", "F", 0),
        ("men's coat", "M", 1),
        ("ladies coat", "F", 1),
        ("men's coat", "unisex", 1),
    ],
)
def test_men_and_women_are_told_apart(query: str, gender: str, grade: int) -> None:
    assert verdict(query, item("1", gender=gender))[0] == grade


def test_values_of_several_words_are_phrases_and_hold_shorter_ones_of_their_kind() -> None:
    assert verdict("heather grey gloves", item("1", color="Heather Grey"))[0] == 1
    assert verdict("gray gloves", item("1", color="Heather Grey"))[0] == 1
    assert verdict("blue gloves", item("1", brand="Blue Moon"))[0] == 0
    assert verdict("blue moon gloves", item("1", brand="Blue Moon")) == (1, "brand")


@pytest.mark.parametrize("category", ["Clothing > Shoes > Boots", ["Shoes", "Boots"], "Shoes/Boots", "trail boots"])
def test_a_path_of_categories_and_a_kind_of_the_category_are_met(category: Any) -> None:
    assert verdict("boots", item("1", category=category)) == (2, "category")


def test_a_category_that_names_people_is_none() -> None:
    assert verdict("women's gloves", item("1", category="Women > Boots"))[1] != "category"


def test_a_kind_of_the_category_counts_as_type_too_and_another_kind_not_at_all() -> None:
    tee, polo, shirt = (item(title, title, category="shirt", color="white") for title in ("Basic Tee", "Polo Shirt", "Basic"))
    assert verdict("white t-shirt", tee) == (3, "category and attributes")
    assert verdict("white t-shirt", polo) == (1, "one attribute")
    assert verdict("white t-shirt", shirt) == (2, "category")


def test_an_attribute_that_is_named_twice_counts_once() -> None:
    boot = item("1", category="Boots", color="Red")
    assert verdict("red red boots", boot) == (2, "category")
    assert verdict("red red gloves", boot) == (1, "one attribute")
    assert "grade 3 is out of reach for 1 of 1" in "\n".join(label_summary(labelled("red red boots", boot), None))


def test_what_a_field_says_is_not_looked_for_in_the_title() -> None:
    assert verdict("red gloves", item("1", "Red Boots", color="blue"))[0] == 0


def test_values_of_many_words_are_kept_whole() -> None:
    table = item("1", "Alpha", "a scarf", category="outdoor patio garden dining furniture", brand="The Very Big Outdoor Company")
    assert verdict("outdoor patio garden dining furniture", table) == (2, "category")
    assert verdict("the very big outdoor company", table) == (1, "brand")
    assert verdict("scarf", table) == (1, "one attribute")  # the type, for which there is no field


@pytest.mark.parametrize("category", [{"name": "shoes"}, "!!", "Women", "long " * 50, [True]])
def test_a_filled_field_that_cannot_be_used_is_counted_and_not_looked_for_elsewhere(category: Any) -> None:
    found = labelled("scarf", item("1", "Scarf", "a scarf", category=category), item("2", "Scarf", category={"name": ""}))
    assert found.verdict(("1", "1")).rule == "one attribute"  # the type, for which there is no field
    assert found.verdict(("1", "2")).rule == "category"
    reasons = "(nested, longer than 100 letters, or no category)"
    said = f"category: field category, not usable in 1 of 2 {reasons}, missing in 1 of 2; found in the title of 1,"
    assert said in "\n".join(label_summary(found, None))


def test_an_empty_field_is_looked_for_in_the_title_and_then_in_the_description() -> None:
    found = labelled(
        "red leather boots", item("1", "Red Boots with Belt", "Made of leather, goes with black jeans.", category="", color=None)
    )
    matches = {match.role: (match.value, match.origin) for match in found.verdict(("1", "1")).matches}
    assert matches == {"category": ("boots", "title"), "color": ("red", "title"), "material": ("leather", "description")}


def test_values_of_other_items_are_looked_for_where_the_field_is_empty() -> None:
    with_brand = item("2", brand="Ivy Lane")
    assert verdict("ivy lane gloves", item("1", "Ivy Lane Boots", brand=""), with_brand) == (1, "brand")
    assert verdict("ivy lane gloves", item("1", "Ivy Lane Boots", brand="")) == (0, "none")


def test_fields_can_be_named() -> None:
    made = item("1", style="boot", maker="Swift", neck="v-neck")
    assert verdict("swift boots", made, fields=("category=style", "brand=maker")) == (2, "category")
    assert verdict("v neck", made, fields=("neckline=neck,cut=",)) == (1, "one attribute")


def test_a_field_that_no_item_has_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UsageError, match="no item has the field 'styel'; the fields are brand, category"):
        labelled("boots", BOOT, fields=("category=styel",))


def test_synonyms_of_a_file_are_met(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("wellies < boots\nebony = black\n")
    assert verdict("ebony leather wellies", BOOT, synonyms=tmp_path / "s.txt") == (3, "category and attributes")


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("boots", "category"),
        ("black boots", "attribute"),
        ("women's black boots", "audience"),
        ("northway boots", "brand"),
        ("xyz", "other"),
    ],
)
def test_the_type_of_a_query_is_what_it_names(query: str, kind: str) -> None:
    assert labelled(query, BOOT).type_of("1") == kind


def test_missing_fields_are_counted_and_rules_that_cannot_fire_are_named() -> None:
    said = "\n".join(label_summary(labelled("gloves", item("1", category="apparel"), item("2", category="")), None))
    assert "brand: no field, missing in 2 of 2" in said
    assert "category: field category, missing in 1 of 2" in said
    assert "the rule 'brand' can never fire" in said
    assert (
        "the rules 'category' and 'category and attributes' can never fire: no query names a category of the catalogue (apparel)"
        in said
    )
    assert "grade 3 is out of reach for 1 of 1 queries" in said


def test_grade_3_is_out_of_reach_for_whoever_names_attributes_but_no_category_of_the_catalogue() -> None:
    said = "\n".join(label_summary(labelled("black leather women's gloves", BOOT), None))
    assert "the rules 'category' and 'category and attributes' can never fire" in said
    assert "grade 3 is out of reach for 1 of 1 queries" in said


def test_a_negated_phrase_is_called_negated_and_not_unknown() -> None:
    said = "\n".join(label_summary(labelled("strappy boots without any leather not", BOOT), None))
    assert "negated in queries, so that no item meets it there: leather\n" in said
    assert "words of queries that no field and no list knows (2): not, strappy" in said
    assert "knows (1): free" in "\n".join(label_summary(labelled("free boots, cotton-free", BOOT), None))


def test_a_catalogue_without_items_is_refused() -> None:
    with pytest.raises(NothingEvaluated, match="holds no items"):
        labelled("boots")


SHOE = item("A", category="shoes", gender="M", color="black")
SANDAL = item("A", category="sandals", gender="M", color="black")
HAT = item("A", category="hats", gender="M")


@pytest.mark.parametrize(("first", "grade"), [(SHOE, 3), (SANDAL, 3), (HAT, 1)])
@pytest.mark.parametrize("category", ["mens shoes", "men's trail shoes", "black shoes", "black mens shoes", "dress shoes"])
def test_grades_of_an_item_do_not_depend_on_the_category_of_another(first: Document, grade: int, category: str) -> None:
    other = item("B", category=category, gender="M", color="white")
    alone, beside = labelled("black men's shoes", first), labelled("black men's shoes", first, other)
    assert (alone.verdict(("1", "A")), alone.type_of("1")) == (beside.verdict(("1", "A")), beside.type_of("1"))
    assert alone.verdict(("1", "A")).grade == grade


def test_a_category_for_other_people_is_another_one() -> None:
    mens, womens = item("1", category="mens shoes", color="black"), item("2", category="womens shoes")
    assert verdict("men's shoes", mens, womens) == (2, "category")
    assert verdict("men's shoes", womens, mens) == verdict("men's shoes", womens) == (0, "none")
    assert verdict("shoes", womens, mens) == (2, "category")


def test_a_compound_with_words_of_its_own_stays_one() -> None:
    trail, plain = item("1", category="mens trail shoes", gender="M", color="red"), item("2", category="shoes", gender="M")
    assert verdict("red men's trail shoes", trail, plain) == (3, "category and attributes")
    assert verdict("red men's trail shoes", plain, trail) == (2, "category")
    assert verdict("men's trail hats", plain, trail) == (1, "one attribute")


def test_grades_do_not_depend_on_the_order_of_items() -> None:
    items = [BOOT, item("2", "Black Tee", category="shirt"), item("3", "Leather Boots")]
    there, back = (sorted(labelled("black leather boots", *order).lines(zeros=True)) for order in (items, items[::-1]))
    assert there == back
