"""JMESPath whose projections lose nothing.

``documents[].doc`` leaves out every document without a ``doc``, so a wrong path, or a part of an answer that failed, would read
as an answer with fewer hits. What a filter leaves out is what it was written for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from jmespath.visitor import TreeInterpreter

from searchmark.errors import shortened

_SHOWN = 160


class EntryLost(Exception):
    """A projection would leave out an entry: shows it."""


class WholeProjections(TreeInterpreter):
    """Evaluates a path, and fails where a projection finds nothing in an entry."""

    def visit_projection(self, node: Any, value: Any) -> Any:
        entries = self.visit(node["children"][0], value)
        return self._all(node, entries) if isinstance(entries, list) else None

    def visit_value_projection(self, node: Any, value: Any) -> Any:
        entries = self.visit(node["children"][0], value)
        return self._all(node, entries.values()) if isinstance(entries, Mapping) else None

    def visit_filter_projection(self, node: Any, value: Any) -> Any:
        entries, condition = self.visit(node["children"][0], value), node["children"][2]
        if not isinstance(entries, list):
            return None
        asked = TreeInterpreter()  # what a condition looks for may be missing
        return self._all(node, [entry for entry in entries if _is_true(asked.visit(condition, entry))])

    def _all(self, node: Any, entries: Iterable[Any]) -> list[Any]:
        return [self._picked(node["children"][1], entry) for entry in entries]

    def _picked(self, node: Any, entry: Any) -> Any:
        found = self.visit(node, entry)
        if found is None:
            raise EntryLost(shortened(json.dumps(entry), _SHOWN))
        return found


def _is_true(value: Any) -> bool:
    """As JMESPath has it: 0 is true."""
    return value is not None and value is not False and value not in ("", [], {})
