"""A list with other ids in it, and everything else as it was: quotes, commas, line breaks, and the comment beside each id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from searchmark.approval.scalars import written_like
from searchmark.approval.suite_text import Slot, SuiteText, Syntax
from searchmark.suites.source import as_text

# What follows an item on its line: a comma perhaps, and a comment perhaps.
_TAILS: dict[Syntax, re.Pattern[str]] = {
    "yaml": re.compile(r"((?:[ \t]*,)?)((?:[ \t]+#[^\r\n]*)?)"),
    "script": re.compile(r"((?:[ \t]*,)?)((?:[ \t]*//[^\r\n]*)?)"),
    "json": re.compile(r"((?:[ \t]*,)?)()"),
    "jsonl": re.compile(r"((?:[ \t]*,)?)()"),
}
_END_OF_LINE = re.compile(r"[ \t]*(?:[\r\n]|\Z)")


@dataclass(frozen=True)
class Edit:
    """Characters of a text and what takes their place."""

    start: int
    end: int
    replacement: str


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made; they do not overlap."""
    pieces, position = [], 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        pieces += [text[position : edit.start], edit.replacement]
        position = edit.end
    return "".join([*pieces, text[position:]])


@dataclass(frozen=True)
class _Item:
    """The target of an item, the rest of the item, and what is between it and the next one: a comma, a comment, and more."""

    target: str
    before: str
    after: str
    comma: str
    comment: str
    rest: str
    ends_its_line: bool


def list_edit(file: SuiteText, slots: Sequence[Slot], targets: Sequence[str | None]) -> Edit:
    """The edit that puts ``targets`` into the slots, in the order of the file; a slot that gets None is removed."""
    items = _items(file.text, slots, file.syntax)
    known = {as_text(slot.target.value): item for slot, item in zip(slots, items, strict=True)}
    kept = [(item, target) for item, target in zip(items, targets, strict=True) if target is not None]
    # A comment beside an id is about that id: it moves with it, and goes with it.
    comments_move = all(item.ends_its_line for item in items)
    pieces: list[str] = []
    for row, (item, target) in enumerate(kept):
        same = known.get(target)
        written = same.target if same is not None else written_like(target, item.target, file.syntax, escapes=file.escapes)
        following = items[-1] if row == len(kept) - 1 else item
        comment = (same.comment if same is not None else "") if comments_move else following.comment
        pieces += [item.before, written, item.after, following.comma, comment, following.rest]
    last = items[-1]
    end = slots[-1].item.end + len(last.comma) + len(last.comment)
    return Edit(slots[0].item.start, end, "".join(pieces))


def _items(whole: str, slots: Sequence[Slot], syntax: Syntax) -> list[_Item]:
    ends = [*(slot.item.start for slot in slots[1:]), None]
    return [_item(whole, slot, end, syntax) for slot, end in zip(slots, ends, strict=True)]


def _item(whole: str, slot: Slot, next_start: int | None, syntax: Syntax) -> _Item:
    item, target = slot.item, slot.target
    found = _TAILS[syntax].match(whole, item.end)
    comma, comment = found.groups() if found else ("", "")
    behind = item.end + len(comma) + len(comment)
    return _Item(
        target=whole[target.start : target.end],
        before=whole[item.start : target.start],
        after=whole[target.end : item.end],
        comma=comma,
        comment=comment,
        rest="" if next_start is None else whole[behind:next_start],
        ends_its_line=_END_OF_LINE.match(whole, behind) is not None,
    )
