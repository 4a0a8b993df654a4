"""YAML as data with its positions, as ruamel composes it: nothing is built, no alias is copied."""

from __future__ import annotations

import warnings
from typing import Any

from searchmark.suites.spans import ListSpan, MappingSpan, MemberSpan, ScalarSpan, Span


def yaml_spans(text: str) -> Span:
    """The spans of a text that is known to be valid; every scalar is its text, as suites read it."""
    return _Composed().span(composed(text))


def composed(text: str) -> Any:
    """The nodes of ruamel."""
    from ruamel.yaml import YAML

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as where suites are read: an anchor that is used again is no news
        return YAML(typ="safe", pure=True).compose(text)


class _Composed:
    """Spans of nodes; one that aliases name again is the same span again."""

    def __init__(self) -> None:
        self._known: dict[int, Span] = {}

    def span(self, node: Any) -> Span:
        if id(node) not in self._known:
            self._known[id(node)] = self._made(node)
        return self._known[id(node)]

    def _made(self, node: Any) -> Span:
        from ruamel.yaml.nodes import MappingNode, SequenceNode

        start = node.start_mark.index
        if isinstance(node, SequenceNode):
            items = tuple(map(self.span, node.value))
            return ListSpan(start, _end(node, items[-1] if items else None), items)
        if isinstance(node, MappingNode):
            members = tuple(MemberSpan(key.start_mark.index, str(key.value), self.span(value)) for key, value in node.value)
            return MappingSpan(start, _end(node, members[-1].value if members else None), members)
        return ScalarSpan(start, node.end_mark.index, node.value)


def _end(node: Any, last: Span | None) -> int:
    """Where a collection ends; for ruamel one without brackets does so where the next thing begins."""
    end: int = node.end_mark.index
    return end if node.flow_style or last is None else max(last.end, node.start_mark.index)
