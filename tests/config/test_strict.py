"""Records that are read from files."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest
from pydantic import TypeAdapter, ValidationError

from searchmark.options.strict import strict_record


@strict_record
class Jar:
    """With a dictionary."""

    label: str
    grams: int = 100


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
