"""Which field of a catalogue says what: the category, the brand, and attributes such as color and material."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from searchmark.errors import UsageError, shortened

CATEGORY, BRAND, TYPE, AUDIENCE = "category", "brand", "type", "audience"
# The usual names of fields, the more telling first.
USUAL: dict[str, tuple[str, ...]] = {
    CATEGORY: ("category", "categories", "product_category", "main_category"),
    BRAND: ("brand", "brand_name", "maker", "manufacturer", "vendor", "store"),
    "color": ("color", "colour", "colors", "colours", "base_colour"),
    "material": ("material", "materials", "fabric"),
    AUDIENCE: ("gender", "audience", "gender_affinity", "target_audience", "age_group"),
    TYPE: ("type", "style", "product_type", "article_type", "subcategory"),
    "pattern": ("pattern", "print"),
    "cut": ("cut", "fit", "neckline", "sleeve", "length"),
    "use": ("use", "usage", "occasion", "season", "activity"),
}
# What single letters mean in a field about people, and nowhere else.
_LETTERS = {"f": "women", "w": "women", "m": "men", "u": "unisex"}
_PARTS = re.compile(r"\s*(?:[>/|;,&\n]|\band\b)\s*", re.IGNORECASE)
_NOTHING = frozenset({"", "-", "n/a", "na", "none", "null", "unknown"})


@dataclass(frozen=True)
class Roles:
    """The field of each role; None where the catalogue has none, so that it is looked for in titles alone."""

    fields: Mapping[str, str | None]

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(role for role in self.fields if role not in (CATEGORY, BRAND))

    def is_filled(self, role: str, record: Mapping[str, Any]) -> bool:
        """Whether an item's field says anything, even if that cannot be read."""
        field = self.fields[role]
        return field is not None and _says_something(record.get(field))

    def values(self, role: str, record: Mapping[str, Any]) -> list[str]:
        """What an item's field says, part by part; nothing if it is empty or absent."""
        field = self.fields[role]
        texts = [] if field is None else [text for text in _texts(record.get(field)) if text.strip().lower() not in _NOTHING]
        if role == AUDIENCE:
            return [_LETTERS.get(part.lower(), part) for text in texts for part in _parts(text)]
        return texts if role == BRAND else [part for text in texts for part in _parts(text)]


def parse_roles(given: tuple[str, ...], names: Iterable[str], sections: Iterable[str]) -> Roles:
    """The fields that were named (``category=style,brand=maker``; ``color=`` for none), and the usual ones of a catalogue."""
    known = set(names)
    chosen = dict(_chosen(given, known))
    taken = set(chosen.values())
    roles = dict.fromkeys((*USUAL, *sections, *chosen))
    for role in roles:
        usual = next((name for name in USUAL.get(role, (role,)) if name in known and name not in taken), None)
        roles[role] = chosen.get(role, usual)
    return Roles(roles)


def _chosen(given: tuple[str, ...], known: set[str]) -> Iterator[tuple[str, str | None]]:
    for item in ",".join(given).split(",") if given else ():
        role, separator, name = (part.strip() for part in item.partition("="))
        if not separator or not role:
            raise UsageError(f"--fields {item!r} cannot be read; write it like category=style,brand=maker")
        if name and name not in known:
            listed = shortened(", ".join(sorted(known)), 300)
            raise UsageError(f"--fields {item}: no item has the field {name!r}; the fields are {listed}")
        yield role.lower(), name or None


def _says_something(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_says_something, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_says_something, value))
    return value is not None and str(value).strip().lower() not in _NOTHING


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _parts(text: str) -> list[str]:
    return [part for part in _PARTS.split(text) if part]
