"""Records that are read from files."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, fields, is_dataclass
from importlib import import_module
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import pytest
from annotated_types import Ge, Le
from click.testing import CliRunner
from pydantic import TypeAdapter, ValidationError

import searchmark
from searchmark.cli.main import app
from searchmark.config.agents import BUILT_IN
from searchmark.config.strict import STRICT, Count, Number, Positive, Whole, strict_record


@strict_record
class Jar:
    """With a dictionary."""

    label: str
    grams: Whole = 100


@strict_record(slots=True)
class Lid:
    """With slots."""

    colour: str


@pytest.mark.parametrize(("record", "known"), [(Jar, {"label": "jam"}), (Lid, {"colour": "red"})])
def test_a_file_may_not_name_a_field_that_the_record_lacks(record: type, known: dict[str, str]) -> None:
    adapter = TypeAdapter(record)
    assert adapter.validate_python(known) == record(**known)
    with pytest.raises(ValidationError, match="Unexpected keyword argument"):
        adapter.validate_python({**known, "price": 3})


@pytest.mark.parametrize(("record", "known"), [(Jar, {"label": "jam"}), (Lid, {"colour": "red"})])
def test_a_strict_record_is_a_frozen_dataclass(record: type, known: dict[str, str]) -> None:
    made = record(**known)
    with pytest.raises(FrozenInstanceError):
        setattr(made, fields(record)[0].name, "other")


def test_slots_are_made_where_they_are_asked_for() -> None:
    assert not hasattr(Lid("red"), "__dict__")
    assert hasattr(Jar("jam"), "__dict__")


@strict_record
class Shelf:
    """With every kind of number."""

    whole: Whole = 0
    count: Count = 0
    positive: Positive = 1
    number: Number = 0.0
    few: Annotated[int | None, Ge(1), Le(9), STRICT] = None
    many: tuple[str | Whole, ...] = ()
    named: Mapping[str, Number | None] | None = None


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"whole": 5.0}, Shelf(whole=5)), ({"whole": "5"}, Shelf(whole=5)), ({"whole": -(2**63) + 1}, Shelf(whole=-(2**63) + 1)),
        ({"number": "1e3"}, Shelf(number=1000.0)), ({"number": 2**70}, Shelf(number=2.0**70)), ({"few": None}, Shelf()), ({"few": 9}, Shelf(few=9)),
        ({"many": ["a", 1]}, Shelf(many=("a", 1))), ({"named": {"a": 1, "b": None}}, Shelf(named={"a": 1.0, "b": None})),
    ],
    ids=str,
)  # fmt: skip
def test_a_number_may_be_written_as_text_and_a_whole_one_with_a_point(given: dict[str, Any], read: Shelf) -> None:
    assert TypeAdapter(Shelf).validate_python(given) == read


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        *(({name: True}, "Input should be a number") for name in ("whole", "count", "positive", "number", "few")),
        ({"many": [False]}, "Input should be a number"), ({"named": {"a": False}}, "Input should be a number"),
        ({"whole": 5.5}, "Input should be a valid integer, got a number with a fractional part"), ({"whole": None}, "Input should be a valid integer"),
        ({"whole": 2**63}, f"Input should be less than or equal to {2**63 - 1}"), ({"whole": -(2**63)}, f"Input should be greater than or equal to {1 - 2**63}"),
        ({"positive": 2**63}, f"Input should be less than or equal to {2**63 - 1}"), ({"positive": -(2**64)}, "Input should be greater than or equal to 1"),
        ({"count": -1}, "Input should be greater than or equal to 0"), ({"few": 10}, "Input should be less than or equal to 9"),
        ({"number": float("nan")}, "Input should be a finite number"), ({"number": "five"}, "Input should be a valid number, unable to parse string as a number"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_number_of_its_kind_is_refused(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(Shelf).validate_python(given)
    assert reason in [each["msg"] for each in refused.value.errors()]


def test_the_schema_has_the_bounds_of_numbers() -> None:
    known = TypeAdapter(Shelf).json_schema()["properties"]
    assert known["positive"] == {"default": 1, "minimum": 1, "maximum": 2**63 - 1, "title": "Positive", "type": "integer"}
    assert known["few"]["anyOf"][0] == {"minimum": 1, "maximum": 9, "type": "integer"}


def strict_classes() -> set[type]:
    """All strict records, and dataclasses that are made from one."""
    names = [module.name for module in pkgutil.walk_packages(searchmark.__path__, "searchmark.") if "__main__" not in module.name]
    members = (member for name in names for member in vars(import_module(name)).values())
    return {each for each in members if isinstance(each, type) and is_dataclass(each) and hasattr(each, "__pydantic_config__")}


def is_lax(hint: Any) -> bool:
    """Whether a field would take a boolean for a number; bounds that stand behind the mark are no part of the number."""
    if get_origin(hint) is Annotated:
        inner, *marks = get_args(hint)
        return isinstance(marks[-1], Ge | Le) if STRICT in marks else is_lax(inner)
    return hint in (int, float) or (get_origin(hint) is not Literal and any(map(is_lax, get_args(hint))))


@pytest.mark.parametrize(
    "hint", [int, float | None, tuple[str | int, ...], Annotated[float, Ge(0)], Mapping[str, int], Annotated[Whole, Ge(1)]]
)
def test_a_plain_number_is_lax(hint: Any) -> None:
    assert is_lax(hint)


def test_every_number_of_a_strict_record_is_strict() -> None:
    records = strict_classes()
    assert len(records) > 80
    lax = [
        f"{record.__qualname__}.{name}"
        for record in records
        for name, hint in get_type_hints(record, include_extras=True).items()
        if is_lax(hint)
    ]
    assert not sorted(lax), "use Whole, Number or STRICT of searchmark.config.strict"


def test_options_of_agents_are_shown_with_plain_types() -> None:
    shown = [CliRunner().invoke(app, ["agents", name]).output for name in BUILT_IN]
    assert "  k1: float = 1.2" in "".join(shown)
    for mark in ("Whole", "Number", "Count", "Positive", "STRICT"):
        assert not [text for text in shown if f": {mark}" in text or f"[{mark}" in text or f", {mark}" in text]
