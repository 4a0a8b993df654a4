"""JMESPath that fails where a projection would silently drop an entry.

It subclasses a class of jmespath, so it is imported only when a path is followed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from jmespath.visitor import TreeInterpreter

from searchmark.errors import shortened

_ENTRY_EXCERPT_LENGTH = 160


class ProjectionDropsEntry(Exception):
    """A projection would leave out an entry: shows it."""


class LosslessProjections(TreeInterpreter):
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
        lenient = TreeInterpreter()  # what a condition looks for may be missing
        return self._all(node, [entry for entry in entries if _is_true(lenient.visit(condition, entry))])

    def _all(self, node: Any, entries: Iterable[Any]) -> list[Any]:
        return [self._pick(node["children"][1], entry) for entry in entries]

    def _pick(self, node: Any, entry: Any) -> Any:
        value = self.visit(node, entry)
        if value is None:
            raise ProjectionDropsEntry(shortened(json.dumps(entry), _ENTRY_EXCERPT_LENGTH))
        return value


def _is_true(value: Any) -> bool:
    """As JMESPath has it: 0 is true."""
    return value is not None and value is not False and value not in ("", [], {})
