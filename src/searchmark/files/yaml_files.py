"""YAML, safely: no objects, no surprises with numbers, no expansion beyond the size of the file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError
from searchmark.files.plain_data import EXPANDS, TOO_DEEP, check_plain

_MERGED_PER_CHARACTER = 10  # fields that merge keys may bring; a mapping that is merged into every case brings about one


def parse_yaml(path: Path, text: str, *, numbers: bool = False) -> Any:
    """Plain data in which only null and booleans are more than text: ids that look like numbers stay as written.

    ``numbers`` reads them as numbers all the same, for files that hold settings and no ids.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    loader = YAML(typ="safe", pure=True)
    loader.Constructor = _constructor(numbers)
    loader.constructor.left = _MERGED_PER_CHARACTER * len(text) + 1000
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an anchor that is used again is no news to the user
            data = loader.load(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = None if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
        reason = str(getattr(error, "problem", None) or error).split("\n", 1)[0]
        raise FormatError(path, place, f"not valid YAML: {reason}") from error
    except RecursionError as error:
        raise FormatError(path, None, TOO_DEEP) from error
    except (ValueError, TypeError, AttributeError, KeyError, IndexError) as error:  # what ruamel raises on odd tags and keys
        raise FormatError(path, None, f"not valid YAML: {error}") from error
    check_plain(path, data, len(text) + 1000)  # without aliases no value takes less than a character
    return data


@cache
def _constructor(numbers: bool) -> type[Any]:
    """A constructor that leaves numbers and dates to the check of each field, which knows what it wants."""
    from ruamel.yaml.constructor import DuplicateKeyError, SafeConstructor

    class TextConstructor(SafeConstructor):
        """Bounds what merge keys bring: it is copied, unlike what aliases name, and again at every level."""

        left = 0

        def flatten_mapping(self, node: Any) -> None:
            for merged in _merged_by(node):
                self.flatten_mapping(merged)
                self.left -= len(merged.value)
                if self.left < 0:
                    raise ValueError(EXPANDS)
            super().flatten_mapping(node)

        def check_mapping_key(self, node: Any, key_node: Any, mapping: Any, key: Any, value: Any) -> bool:  # noqa: ARG002  # as inherited
            if key in mapping:  # said without the values, which aliases may have made huge
                raise DuplicateKeyError(problem="found duplicate key", problem_mark=key_node.start_mark)
            return True

    for kind in ("timestamp",) if numbers else ("int", "float", "timestamp"):
        TextConstructor.add_constructor(f"tag:yaml.org,2002:{kind}", lambda _, node: node.value)
    return TextConstructor


def _merged_by(node: Any) -> Iterator[Any]:
    """The mappings that the merge keys of a mapping name; what else they may name is refused by whoever merges it."""
    from ruamel.yaml.nodes import MappingNode, SequenceNode

    for key, value in node.value:
        if key.tag == "tag:yaml.org,2002:merge":
            named = value.value if isinstance(value, SequenceNode) else [value]
            yield from (each for each in named if isinstance(each, MappingNode))
