"""Types that mark the sensitive fields of a config: addresses, keys, commands, paths.

What a found config may not set is read from them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints


class Sensitive(Enum):
    """What a field holds, in words for a sentence."""

    ADDRESS = "is an address"
    DATABASE = "uses a database"  # also where none is named: then it is the user's own, from the environment
    KEY_VARIABLE = "names a variable with a key"
    COMMAND = "is a command"
    PATH = "is a path"
    PATH_BESIDE = "is a path from the folder of the config"
    WRITTEN_FOLDER = "is a folder to write to"
    WRITTEN_FILE = "is a file to write to"
    REPOSITORY = "is a repository"  # [NAME=]PATH or [NAME=]URL@COMMIT
    MODEL = "is a model"  # by its name on the hub, or as a folder, which may hold code
    PERMISSION = "says what an agent is given or allowed"
    PLUGIN = "is code of another package"  # that the user has installed: it may be named, as an agent of one may
    UNKNOWN = "holds options of an agent that is not built in"  # what they mean is known to its code alone


Address = Annotated[str, Sensitive.ADDRESS]

DatabaseAddress = Annotated[str, Sensitive.DATABASE]

KeyVariable = Annotated[str, Sensitive.KEY_VARIABLE]

CommandLine = Annotated[str, Sensitive.COMMAND]

FilePath = Annotated[str, Sensitive.PATH]

PathBeside = Annotated[str, Sensitive.PATH_BESIDE]

WrittenFile = Annotated[str, Sensitive.WRITTEN_FILE]

WrittenFolder = Annotated[str, Sensitive.WRITTEN_FOLDER]

RepositoryPath = Annotated[str, Sensitive.REPOSITORY]

ModelName = Annotated[str, Sensitive.MODEL]


@dataclass(frozen=True)
class OptionsMark:
    """A field that names or describes something with options of its own; ``read`` says which."""

    read: Callable[[Any], Iterable[NestedSettings]]


@dataclass(frozen=True)
class NestedSettings:
    """Options in a field: their record, what is given, and below which name; without a record they are of one ``kind``."""

    record: type | None
    options: Mapping[str, Any]
    below: str = ""
    kind: Sensitive = Sensitive.UNKNOWN


@dataclass(frozen=True)
class SensitiveValue:
    """A field that holds something sensitive; ``given`` is False for a default."""

    kind: Sensitive
    field: str
    value: Any
    explicit: bool

    @property
    def reaches_out(self) -> bool:
        """Whether it was decided by the data that describes it: what stays at its default is ours, except for a database."""
        return self.explicit or self.kind is Sensitive.DATABASE


class ImpliedSettings:
    """A record whose options are used although they are empty, depending on the others."""

    @classmethod
    def implied_options(cls, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """What is used for options that are not there."""
        raise NotImplementedError


def is_local_model(name: object) -> bool:
    """Whether the name of a model is that of a folder here, and not on the hub."""
    return isinstance(name, str) and os.path.lexists(os.path.expanduser(name))  # noqa: PTH111  # a name need not be a path


def sensitive_values(record: type, options: Mapping[str, Any]) -> Iterator[SensitiveValue]:
    """All that the plain data of a record sets or leaves at its default, records and choices inside of it included."""
    yield from _values_of_record(record, options, "", explicit=True)


def sensitive_nested_values(nested_options: NestedSettings) -> Iterator[SensitiveValue]:
    """The same for options whose record may not be known."""
    yield from _values_of_nested(nested_options, "", explicit=True)


def _values_of_record(record: type, options: Mapping[str, Any], prefix: str, *, explicit: bool) -> Iterator[SensitiveValue]:
    hints = get_type_hints(record, include_extras=True)
    implied_options = record.implied_options(options) if issubclass(record, ImpliedSettings) else {}
    for each in fields(record):
        is_set = bool(options.get(each.name)) if each.name in implied_options else each.name in options
        value = options[each.name] if is_set else implied_options.get(each.name, _default_of(each))
        yield from _values_of_field(hints[each.name], value, _dotted_name(prefix, each.name), explicit=explicit and is_set)


def _values_of_nested(nested_options: NestedSettings, prefix: str, *, explicit: bool) -> Iterator[SensitiveValue]:
    below = _dotted_name(prefix, nested_options.below)
    if nested_options.record is not None:
        yield from _values_of_record(nested_options.record, nested_options.options, below, explicit=explicit)
    elif nested_options.options:
        yield SensitiveValue(nested_options.kind, below, nested_options.options, explicit)


def _values_of_field(hint: Any, value: Any, field: str, *, explicit: bool) -> Iterator[SensitiveValue]:
    """What a value of this type holds. Empty text names nothing."""
    if value is None or value == "":
        return
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        yield from _values_of_marks(arguments[1:], value, field, explicit=explicit)
        yield from _values_of_field(arguments[0], value, field, explicit=explicit)
    elif origin in (Union, UnionType):
        for member in arguments:
            yield from _values_of_field(member, value, field, explicit=explicit)
    elif origin in (list, tuple) and _holds_several(value) and not isinstance(value, Mapping):
        for place, item in enumerate(value):
            yield from _values_of_field(arguments[0], item, _dotted_name(field, str(place)), explicit=explicit)
    elif is_dataclass(hint) and isinstance(hint, type) and isinstance(value, Mapping):
        yield from _values_of_record(hint, value, field, explicit=explicit)


def _values_of_marks(marks: Iterable[Any], value: Any, field: str, *, explicit: bool) -> Iterator[SensitiveValue]:
    for mark in marks:
        if isinstance(mark, Sensitive) and not _holds_several(value):
            yield SensitiveValue(mark, field, value, explicit)
        elif isinstance(mark, OptionsMark):
            for nested_options in mark.read(value):
                yield from _values_of_nested(nested_options, field, explicit=explicit)


def _holds_several(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _default_of(each: Field[Any]) -> Any:
    if each.default_factory is not MISSING:
        return each.default_factory()
    return None if each.default is MISSING else each.default


def _dotted_name(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix and name else prefix or name
