"""How a field of a settings record says what it means, what it allows, and which flag sets it."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le

from searchmark.errors import UsageError, shortened
from searchmark.io.plugins import PluginKind, installed_plugins

Bound = Ge | Gt | Le

LONGEST_VALUE = 60


@dataclass(frozen=True)
class Setting:
    """A field that a file or a notebook sets, and no flag: it is too large for a command line."""

    help: str


@dataclass(frozen=True)
class Option:
    """A field that is also a flag: ``--its-name`` unless ``flags`` has others.

    ``default`` says in words what holds where nothing is given. ``section`` is the heading in the help, if it is not
    that of the record. ``choices`` are for values that are known only at run time; others are a ``Literal``. ``plugins``
    are of a kind whose names are choices as well. ``alone`` is the value of a flag that is given without one.
    """

    help: str
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    default: str | None = None
    section: str | None = None
    choices: tuple[str, ...] = ()
    plugins: PluginKind | None = None
    alone: str | None = None


@dataclass(frozen=True)
class OptionField:
    """An option with what its field knows: the type of one value, how many there may be, and the bounds."""

    name: str
    option: Option
    kind: type
    choices: tuple[str, ...]
    bounds: tuple[Bound, ...]
    several: bool
    optional: bool
    default: Any

    @property
    def required(self) -> bool:
        return self.default is MISSING

    def allows(self, value: object) -> bool:
        if value is None:
            return self.optional
        if not self.several:
            return self._allows_one(value)
        return isinstance(value, tuple | list) and all(map(self._allows_one, value))

    def _allows_one(self, value: object) -> bool:
        if not isinstance(value, _ACCEPTED[self.kind]) or (isinstance(value, bool) and self.kind is not bool):
            return False
        return self._is_choice(value) and all(_is_within(value, bound) for bound in self.bounds)

    def _is_choice(self, value: object) -> bool:
        if not self.choices or value in self.choices:
            return True
        kind = self.option.plugins
        return kind is not None and any(each.name == value for each in installed_plugins(kind))

    def in_words(self) -> str:
        """What is allowed, in words."""
        if self.choices:
            one = f"one of {', '.join(self.choices)}"
        else:
            one = " ".join((_TYPES_IN_WORDS[self.kind], " and ".join(map(_bound_in_words, self.bounds)))).rstrip()
        return f"a list, each {one}" if self.several else one


_ACCEPTED: dict[type, type] = {bool: bool, int: Integral, float: Real, str: str}

_TYPES_IN_WORDS: dict[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


@cache
def option_fields(record: type[Any]) -> tuple[OptionField, ...]:
    """The fields of a dataclass that are options, in their order."""
    hints = get_type_hints(record, include_extras=True)
    return tuple(
        _option_field(each.name, metadata[0], hints[each.name], each.default)
        for each in fields(record)
        if (metadata := [part for part in getattr(hints[each.name], "__metadata__", ()) if isinstance(part, Option)])
    )


def check_fields(record: object) -> None:
    """Refuse a value that its field does not allow, whoever made the record."""
    for each in option_fields(type(record)):  # type: ignore[arg-type]  # every class is hashable
        value = getattr(record, each.name)
        if not each.allows(value):
            raise UsageError(f"{each.name} must be {each.in_words()}, not {shortened(repr(value), LONGEST_VALUE)}")


def _option_field(name: str, option: Option, hint: Any, default: Any) -> OptionField:
    inner, *metadata = get_args(hint)
    members = [part for part in _union_members(inner) if part is not NoneType]
    several = get_origin(members[0]) is tuple
    one = get_args(members[0])[0] if several else members[0]
    choices = get_args(one) if get_origin(one) is Literal else option.choices
    return OptionField(
        name,
        option,
        kind=str if choices else one,
        choices=choices,
        bounds=tuple(part for part in metadata if isinstance(part, Bound)),
        several=several,
        optional=NoneType in _union_members(inner),
        default=default,
    )


def _union_members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _is_within(value: Any, bound: Bound) -> bool:
    """NaN is within no bound."""
    match bound:
        case Ge(low):
            return bool(value >= low)
        case Gt(low):
            return bool(value > low)
        case Le(high):
            return bool(value <= high)


def _bound_in_words(bound: Bound) -> str:
    match bound:
        case Ge(low):
            return f"of at least {low}"
        case Gt(low):
            return f"above {low}"
        case Le(high):
            return f"at most {high}"
