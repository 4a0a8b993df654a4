"""A list with other ids in it, and everything else as it was: quotes, commas, line breaks, and the comments about each id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from searchmark.approval.scalars import written_like
from searchmark.approval.suite_text import Slot, SuiteText, Syntax
from searchmark.suites.source import as_text


@dataclass(frozen=True)
class _Comments:
    """How a syntax has comments: on lines of their own, in front of an item on its line, behind it, and anywhere in it."""

    line: re.Pattern[str]
    front: re.Pattern[str]  # an indentation, a dash perhaps, and a comment perhaps
    tail: re.Pattern[str]  # a comma perhaps, and a comment perhaps
    inner: re.Pattern[str]


_BLOCK = r"/\*(?:(?!\*/)[^\r\n])*\*/"  # on one line
_NONE = _Comments(
    re.compile(r"(?!)"), re.compile(r"([ \t]*)()"), re.compile(r"((?:[ \t]*,)?)()"), re.compile(r"(?!)")
)  # fmt: skip
_COMMENTS: dict[Syntax, _Comments] = {
    "yaml": _Comments(
        re.compile(r"[ \t]*#[^\n]*\n"),
        re.compile(r"([ \t]*(?:-[ \t]+)?)()"),
        re.compile(r"((?:[ \t]*,)?)((?:[ \t]+#[^\r\n]*)?)"),
        re.compile(r"[ \t]#"),
    ),
    "script": _Comments(
        re.compile(rf"[ \t]*(?://[^\n]*|{_BLOCK}[ \t]*\r?)\n"),
        re.compile(rf"([ \t]*)((?:{_BLOCK}[ \t]*)*)"),
        re.compile(rf"((?:[ \t]*,)?)((?:[ \t]*{_BLOCK})*(?:[ \t]*//[^\r\n]*)?)"),
        re.compile(r"//|/\*"),
    ),
    "json": _NONE,
    "jsonl": _NONE,
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
class ListEdit:
    """The edit of a list, and in sentences what became of comments whose meaning only people know."""

    edit: Edit
    comments: tuple[str, ...]


@dataclass(frozen=True)
class _Item:
    """An item in pieces, in the order of the text; ``above`` are the lines of comments right above it."""

    start: int
    end: int
    above: str
    indent: str
    front: str
    before: str
    target: str
    after: str
    comma: str
    comment: str
    begins_its_line: bool
    ends_its_line: bool
    has_inner_comment: bool


def list_edit(file: SuiteText, slots: Sequence[Slot], targets: Sequence[str]) -> ListEdit:
    """The edit that puts ``targets`` into the slots, in the order of the file."""
    items = _items(file.text, slots, file.syntax)
    names = [as_text(slot.target.value) or "" for slot in slots]
    changed = _ChangedList(items, dict(zip(names, items, strict=True)), list(zip(items, names, targets, strict=True)))
    pieces: list[str] = []
    for item, following, target in zip(items, [*items[1:], None], targets, strict=True):
        same = changed.known.get(target)
        written = same.target if same else written_like(target, item.target, file.syntax, escapes=file.escapes)
        pieces += changed.with_target(item, same, written)
        pieces += [] if following is None else [file.text[item.end : following.start]]
    return ListEdit(Edit(items[0].start, items[-1].end, "".join(pieces)), tuple(changed.told()))


@dataclass(frozen=True)
class _ChangedList:
    """The items of a list, those by name, and what each slot held and will hold.

    A comment about an id moves with it, and goes with it: those behind it where every item ends its line, and those in
    front of it where every item begins one. Elsewhere it is not known what they are about, and they stay.
    """

    items: Sequence[_Item]
    known: dict[str, _Item]
    changes: Sequence[tuple[_Item, str, str]]

    @property
    def tails_move(self) -> bool:
        return all(item.ends_its_line for item in self.items)

    @property
    def fronts_move(self) -> bool:
        return all(item.begins_its_line for item in self.items)

    def with_target(self, item: _Item, same: _Item | None, written: str) -> Iterator[str]:
        """The pieces of an item that gets another target, which ``same`` had before."""
        front = same if self.fronts_move else item
        tail = same if self.tails_move else item
        yield from (front.above if front else "", item.indent, front.front if front else "")
        yield from (item.before, written, item.after, item.comma, tail.comment if tail else "")

    def told(self) -> Iterator[str]:
        after = {target for _, _, target in self.changes}
        for item, name, target in self.changes:
            if name == target:
                continue
            about = self._about(item)
            if about and name not in after:
                yield f"{about!r} went with {name!r}, which is no longer expected"
            elif self.fronts_move and item.above:
                yield f"{' '.join(item.above.split())!r} moved with {name!r}; see whether it is about that alone"
        if any(name != target and self._stays(item) for item, name, target in self.changes):
            yield "not all comments in the list could be moved; see whether each is beside the right id"

    def _about(self, item: _Item) -> str:
        """The comments that move with an item, on one line."""
        fronts = f"{item.above} {item.front}" if self.fronts_move else ""
        return " ".join(f"{fronts} {item.comment if self.tails_move else ''}".split())

    def _stays(self, item: _Item) -> bool:
        front = (item.above or item.front) and not self.fronts_move
        return bool(front or (item.comment and not self.tails_move) or item.has_inner_comment)


def _items(whole: str, slots: Sequence[Slot], syntax: Syntax) -> list[_Item]:
    items: list[_Item] = []
    for slot in slots:
        items.append(_item(whole, slot, items[-1].end if items else 0, _COMMENTS[syntax]))
    return items


def _item(whole: str, slot: Slot, floor: int, comments: _Comments) -> _Item:
    item, target = slot.item, slot.target
    line = whole.rfind("\n", 0, item.start) + 1
    front = comments.front.fullmatch(whole, line, item.start) if line > floor else None
    indent, inline = front.groups() if front else ("", "")
    start = _above(whole, line, floor, comments) if front else item.start
    tail = comments.tail.match(whole, item.end)
    comma, comment = tail.groups() if tail else ("", "")
    end = item.end + len(comma) + len(comment)
    return _Item(
        start=start,
        end=end,
        above=whole[start:line] if front else "",
        indent=indent,
        front=inline,
        before=whole[item.start : target.start],
        target=whole[target.start : target.end],
        after=whole[target.end : item.end],
        comma=comma,
        comment=comment,
        begins_its_line=front is not None,
        ends_its_line=_END_OF_LINE.match(whole, end) is not None,
        has_inner_comment=any(map(comments.inner.search, (whole[item.start : target.start], whole[target.end : item.end]))),
    )


def _above(whole: str, line: int, floor: int, comments: _Comments) -> int:
    """Where the comments begin that are on the lines right above one."""
    start = line
    while start > floor:
        begin = whole.rfind("\n", 0, start - 1) + 1
        found = comments.line.match(whole, begin) if begin >= floor else None
        if found is None or found.end() != start:
            break
        start = begin
    return start
