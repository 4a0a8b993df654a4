"""Edits a suite file in place: ids change, and quotes, commas, line breaks and comments stay."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, Literal

from searchmark.errors import FormatError
from searchmark.formats.detection import CASE_LISTS, snake_case
from searchmark.formats.suites.literals import (
    ListSpan,
    LiteralReader,
    MappingSpan,
    MemberSpan,
    ScalarSpan,
    Span,
    indent_before,
    line_end,
    script_cases,
)
from searchmark.formats.suites.native import APPROVALS_FIELD
from searchmark.formats.suites.source import Source, as_text
from searchmark.records.judgments import Judgment
from searchmark.records.matching import split_line_range
from searchmark.records.suite import Case

# What a case expects, as far as a run could say it: ids or paths, each as right as the next, in an order or not.

# Where the files of a format keep what they expect.
FIELDS = {"case-list": "expected_ids", "gold-set": "ground_truth_files", "fixtures": "expected_ranking", "native": "judgments"}

_GRADED = "it holds grades, and a run gives none"


REFUSED = {
    "qrels": _GRADED,
    "beir": _GRADED,
    "labels": _GRADED,
    "quepid": _GRADED,
    "rre": _GRADED,
    "rank-eval": _GRADED,
    "opensearch": _GRADED,
    "mteb": _GRADED,
    "ltr": _GRADED,
    "table": "its columns are named by its owner, and perhaps written by another tool",
    "symbols": "it holds symbols and patterns, and a run gives ids",
    "swe-bench": "it holds the patches that solved the issues, and a run gives ids",
}

OF_A_COMMIT = "expects the files that a commit changed, whatever a run finds"


@dataclass(frozen=True)
class CaseExpectation:
    """The targets of a case, best first where ``ordered``; ``by_path`` says how they are met."""

    targets: tuple[str, ...]
    ordered: bool
    by_path: bool = False


def why_not_approvable(format_name: str, case: Case) -> str | None:
    """Why no run can say what this case expects; None if one can."""
    if case.other_orders:
        return "expects one of several orders, and a run gives one"
    if any(split_line_range(judgment.target)[1] for judgment in case.judgments):
        return "expects lines"
    if format_name == "gold-set":
        return OF_A_COMMIT if "commit_hash" in case.fields else None
    return _why_not_native(case) if format_name == "native" else None


def _why_not_native(case: Case) -> str | None:
    judgments = case.judgments
    if any(judgment.match not in ("id", "path") for judgment in judgments) or len({each.match for each in judgments}) > 1:
        return "expects patterns, symbols or lines, and a run gives ids"
    if any(judgment.grade != 1 for judgment in judgments):
        return "expects grades, and a run gives none"
    if any(judgment.score_range for judgment in judgments):
        return "expects scores of its targets"
    ranks = {judgment.rank for judgment in judgments}
    if ranks != {None} and len(ranks - {None}) < len(judgments):
        return "expects equal ranks, or ranks of some targets only"
    return None


def expectation_of(format_name: str, case: Case) -> CaseExpectation:
    """What a case expects that a run can say."""
    judgments = [each for each in case.judgments if format_name != "fixtures" or each.rank is not None]
    ordered = any(judgment.rank is not None for judgment in judgments)
    targets = [judgment.target for judgment in (sorted(judgments, key=_rank) if ordered else judgments)]
    return CaseExpectation(tuple(targets), ordered, by_path=any(judgment.match == "path" for judgment in judgments))


def _rank(judgment: Judgment) -> int:
    return judgment.rank or 0


# YAML as data with its positions, as ruamel composes it: nothing is built, no alias is copied.


def yaml_spans(text: str) -> Span:
    """The spans of a text that is known to be valid; every scalar is its text, as suites read it."""
    return _SpanBuilder().span(compose_yaml(text))


def compose_yaml(text: str) -> Any:
    """The nodes of ruamel."""
    from ruamel.yaml import YAML

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as where suites are read: an anchor that is used again is no news
        return YAML(typ="safe", pure=True).compose(text)


class _SpanBuilder:
    """Spans of nodes; one that aliases name again is the same span again."""

    def __init__(self) -> None:
        self._known: dict[int, Span] = {}

    def span(self, node: Any) -> Span:
        if id(node) not in self._known:
            self._known[id(node)] = self._build(node)
        return self._known[id(node)]

    def _build(self, node: Any) -> Span:
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


# The text of a suite file, with the positions of its cases and of what each of them expects.

Syntax = Literal["json", "jsonl", "yaml", "script"]


@dataclass(frozen=True)
class Slot:
    """An item of what is expected, and the id or path in it; both are the same unless items are mappings."""

    item: Span
    target: ScalarSpan


@dataclass(frozen=True, eq=False)
class SuiteText:
    """A suite file that can be changed in place."""

    source: Source
    format_name: str

    @property
    def text(self) -> str:
        return self.source.text

    @property
    def syntax(self) -> Syntax:
        if self.source.is_script:
            return "script"
        if self.source.by_line:
            return "jsonl"
        return "yaml" if self.source.is_yaml else "json"

    @cached_property
    def escapes(self) -> bool:
        """Whether the file writes other letters than ASCII's as escapes."""
        return self.text.isascii() and "\\u" in self.text

    @cached_property
    def roots(self) -> tuple[Span, ...]:
        """What is at the top: one value, or that of every line."""
        if self.syntax == "yaml":
            return (yaml_spans(self.text),)
        if self.syntax == "script":
            return (script_cases(self.source.path, self.text).cases,)
        return tuple(self._values())

    def _values(self) -> Iterator[Span]:
        reader = LiteralReader(str(self.source.path), self.text)
        position = reader.skip(0)
        while position < len(self.text):
            value = reader.value(position)
            yield value
            position = reader.skip(value.end)

    @property
    def header(self) -> MappingSpan | None:
        """The mapping that is about the whole suite; None where the file is a list of cases and nothing else."""
        if self.syntax == "jsonl" and self.format_name != "native":
            return None
        first = self.roots[0]
        return first if isinstance(first, MappingSpan) else None

    @cached_property
    def list_of_cases(self) -> MemberSpan | None:
        """The member of the header that holds the cases, as suites are read; None where lines or the top do."""
        if self.header is None:
            return None
        names = ("cases",) if self.format_name == "native" else CASE_LISTS
        lists = {snake_case(member.key): member for member in self.header.members if isinstance(member.value, ListSpan)}
        return next((lists[name] for name in names if name in lists), None)

    @cached_property
    def cases(self) -> tuple[Span, ...]:
        """The cases, in the order of the suite."""
        rows: tuple[Span, ...] = ()
        if self.list_of_cases is not None and isinstance(self.list_of_cases.value, ListSpan):
            rows = self.list_of_cases.value.items
        if self.syntax == "jsonl":
            return (*rows, *(self.roots if self.header is None else self.roots[1:]))
        return self.roots[0].items if isinstance(self.roots[0], ListSpan) else rows

    def slots(self, row: int) -> tuple[Slot, ...]:
        """What the case in this row expects, in the order of the file."""
        name = FIELDS[self.format_name]
        case = self.cases[row]
        member = member_of(case, name)
        if member is None or not isinstance(member.value, ListSpan) or member.value.start < member.start:
            raise self.error(row, f"{name} is not written out here, but named by an alias or merged; change it by hand")
        return tuple(self._slot(row, item) for item in member.value.items)

    def _slot(self, row: int, item: Span) -> Slot:
        inner = member_of(item, "target") if self.format_name == "native" else None
        target = item if inner is None else inner.value
        in_block = self.syntax == "yaml" and self.text[target.start] in "|>"  # a block scalar, over several lines
        if not isinstance(target, ScalarSpan) or as_text(target.value) is None or in_block:
            raise self.error(row, "an expected target is not written on one line; change it by hand")
        return Slot(item, target)

    def error(self, row: int, reason: str) -> FormatError:
        return FormatError(self.source.path, f"case {row + 1}", reason)


def member_of(span: Span, name: str) -> MemberSpan | None:
    members = span.members if isinstance(span, MappingSpan) else ()
    return next((member for member in members if snake_case(member.key) == name), None)


# An id as it is written in a file, in the style of the one that it replaces.

_WHOLE = re.compile(r"0|[1-9]\d{0,17}")

_LAST_OF_FOUR_DIGITS = 0xFFFF

_ONCE_BOOLEAN = {"yes", "no", "on", "off", "y", "n"}  # to readers of YAML 1.1, of which there are many


def scalar_like(text: str, model: str, syntax: Syntax, *, escapes: bool) -> str:
    """A text as a scalar in the style of ``model``; ``escapes`` says whether other letters than ASCII's are escaped in JSON."""
    if syntax == "yaml":
        return _yaml_scalar(text, model)
    if _WHOLE.fullmatch(model) and _WHOLE.fullmatch(text):
        return text
    quote = model[0] if syntax == "script" and model[0] in "'`" else '"'
    return json_text(text, escapes=escapes) if quote == '"' else _script_scalar(text, quote)


def json_text(value: Any, *, escapes: bool) -> str:
    """JSON on one line."""
    return json.dumps(value, ensure_ascii=escapes)


def _script_scalar(text: str, quote: str) -> str:
    inner = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace(quote, f"\\{quote}")
    if quote == "`":
        inner = inner.replace("${", "\\${")
    return f"{quote}{inner}{quote}"


def _yaml_scalar(text: str, model: str) -> str:
    if model[0] == "'" and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    bare = model[0] not in "'\"" and text.lower() not in _ONCE_BOOLEAN and _may_be_bare(text, model)
    return text if bare else yaml_text(text)


def yaml_text(text: str) -> str:
    """A text in double quotes; JSON's way to escape a letter in two halves is not YAML's."""
    return '"' + "".join(map(_yaml_character, text)) + '"'


def _yaml_character(char: str) -> str:
    if char.isprintable():
        return f"\\{char}" if char in '"\\' else char
    return f"\\U{ord(char):08x}" if ord(char) > _LAST_OF_FOUR_DIGITS else f"\\u{ord(char):04x}"


def _may_be_bare(text: str, model: str) -> bool:
    """Whether a text without quotes means itself, and the same kind of thing as its model to any reader of YAML."""
    from ruamel.yaml.error import YAMLError

    if text.endswith(":"):  # would be a key without a value
        return False
    try:
        # Between brackets and braces most of all has a meaning.
        ((_, value),) = compose_yaml(f"[{{of: {text}}}]").value[0].value
        ((_, other),) = compose_yaml(f"[{{of: {model}}}]").value[0].value
    except (YAMLError, ValueError, IndexError, AttributeError):
        return False
    return bool(value.value == text and value.style is None and value.tag in ("tag:yaml.org,2002:str", other.tag))


# Replacing the ids of a list; quotes, commas, line breaks, and the comments about each id stay.


@dataclass(frozen=True)
class _Comments:
    """Where a syntax allows comments: on separate lines, in front of an item, behind it, and inside."""

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


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
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
    """An item in pieces, in the order of the text."""

    start: int
    end: int
    above: str  # lines of comments right above it
    indent: str  # with the dash of YAML
    front: str  # comments before it on its line
    before: str
    target: str
    after: str
    comma: str
    comment: str  # behind it
    begins_its_line: bool
    ends_its_line: bool
    has_inner_comment: bool


def list_edit(file: SuiteText, slots: Sequence[Slot], targets: Sequence[str]) -> ListEdit:
    """The edit that puts ``targets`` into the slots, in the order of the file."""
    items = _items(file.text, slots, file.syntax)
    names = [as_text(slot.target.value) or "" for slot in slots]
    changed_list = _ChangedList(items, dict(zip(names, items, strict=True)), list(zip(items, names, targets, strict=True)))
    pieces: list[str] = []
    for item, following, target in zip(items, [*items[1:], None], targets, strict=True):
        same = changed_list.items_by_target.get(target)
        target_text = same.target if same else scalar_like(target, item.target, file.syntax, escapes=file.escapes)
        pieces += changed_list.with_target(item, same, target_text)
        pieces += [] if following is None else [file.text[item.end : following.start]]
    return ListEdit(Edit(items[0].start, items[-1].end, "".join(pieces)), tuple(changed_list.sentences()))


@dataclass(frozen=True)
class _ChangedList:
    """The items of a list that gets other targets.

    A comment about an id moves with it, and goes with it: those behind it where every item ends its line, and those in front of
    it where every item begins one. Elsewhere it is not known what they are about, and they stay.
    """

    items: Sequence[_Item]
    items_by_target: dict[str, _Item]
    changes: Sequence[tuple[_Item, str, str]]  # each item, its target and its new one

    @property
    def tails_move(self) -> bool:
        return all(item.ends_its_line for item in self.items)

    @property
    def fronts_move(self) -> bool:
        return all(item.begins_its_line for item in self.items)

    def with_target(self, item: _Item, same: _Item | None, target_text: str) -> Iterator[str]:
        """The pieces of an item that gets another target, which ``same`` had before."""
        front = same if self.fronts_move else item
        tail = same if self.tails_move else item
        yield from (front.above if front else "", item.indent, front.front if front else "")
        yield from (item.before, target_text, item.after, item.comma, tail.comment if tail else "")

    def sentences(self) -> Iterator[str]:
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
        match = comments.line.match(whole, begin) if begin >= floor else None
        if match is None or match.end() != start:
            break
        start = begin
    return start


# What is proposed, what was decided, and what the file keeps of it.

SkipReason = Literal["error", "timeout", "not_run", "empty", "fewer", "too_short", "not_approvable"]

WARNING = "⚠️ Updated benchmark expectations! Review changes before committing."


@dataclass(frozen=True)
class ChangedExpectation:
    """A case with what it expects now, and what it would expect: as many of the best hits of the answer."""

    case: str
    query: str | None
    before: tuple[str, ...]  # targets
    after: tuple[str, ...]  # targets
    ordered: bool  # their order is expected too
    agent: str
    equals_output: bool  # exactly what the agent returned first, without any hit left out

    @property
    def new(self) -> tuple[str, ...]:
        return tuple(target for target in self.after if target not in self.before)

    @property
    def gone(self) -> tuple[str, ...]:
        return tuple(target for target in self.before if target not in self.after)

    @property
    def moved(self) -> tuple[str, ...]:
        """What is expected at another rank than before."""
        common = [target for target in self.after if target in self.before] if self.ordered else []
        return tuple(target for target in common if self.before.index(target) != self.after.index(target))


@dataclass(frozen=True)
class SkippedCase:
    """A case that no run may change, or not this one, and why."""

    case: str
    kind: SkipReason
    reason: str


@dataclass(frozen=True)
class Proposal:
    """What a run would change about a suite."""

    changed: tuple[ChangedExpectation, ...]
    unchanged: int
    left_alone: tuple[SkippedCase, ...]

    @property
    def reasons(self) -> Mapping[str, int]:
        """How many cases are left alone for each reason."""
        return Counter(each.reason for each in self.left_alone)


@dataclass(frozen=True)
class ApprovalRecord:
    """Who took which expectations from which run, when and why."""

    date: str
    author: str
    run: str
    cases: tuple[str, ...]
    reason: str | None = None

    def as_data(self) -> dict[str, Any]:
        """As files keep it; a reason that was not given is left out."""
        why = {} if self.reason is None else {"reason": self.reason}
        return {"date": self.date, "author": self.author, **why, "run": self.run, "cases": list(self.cases)}

    def as_sentence(self) -> str:
        """As a comment keeps it, on one line."""
        why = "" if self.reason is None else f", because: {self.reason}"
        sentence = f"approved {self.date} by {self.author} from the run {self.run}{why}; cases: {', '.join(self.cases)}"
        return " ".join("".join(char if char.isprintable() else " " for char in sentence).split())


@dataclass(frozen=True)
class Approval:
    """What was decided and written."""

    path: str | PathLike[str]
    proposal: Proposal
    approved: tuple[ChangedExpectation, ...]
    record: ApprovalRecord | None  # None where nothing was approved
    recorded: bool  # False where the file has no room for the record
    written: bool
    before: str  # text of the file
    after: str  # its new text
    comments: tuple[str, ...] = ()  # what became of comments whose meaning only people know

    @property
    def circular(self) -> tuple[ChangedExpectation, ...]:
        """The approved expectations that are nothing but the output of the agent under test."""
        return tuple(change for change in self.approved if change.equals_output)

    @property
    def circular_sentence(self) -> str:
        """What it means that there are such."""
        agent, count = self.circular[0].agent, len(self.circular)
        return (
            f"circular: what {count} case{'' if count == 1 else 's'} would expect is exactly what {agent} returned. Once "
            f"approved, this run scores 1.0 there by construction (RR, and R at that depth): the suite can no longer tell "
            f"whether {agent} is right, only whether it changes."
        )


# Where a file keeps who approved what: a list ``approvals`` at its top, the newest first, or else a comment.

_END_OF_DOCUMENT = re.compile(r"^\.\.\.", re.MULTILINE)


def record_edit(file: SuiteText, record: ApprovalRecord) -> Edit | None:
    """The edit that adds the record; None for a file that can hold nothing but cases."""
    if file.syntax == "script":
        return _comment(file, "//", script_cases(file.source.path, file.text).start, record)
    if file.syntax == "yaml":
        return _record_in_yaml(file, record)
    return None if file.header is None else _record_in_json(file, file.header, record)


def _comment(file: SuiteText, mark: str, position: int, record: ApprovalRecord) -> Edit:
    """A comment on a line of its own, above the one that a position is in."""
    begin = file.text.rfind("\n", 0, position) + 1
    return Edit(begin, begin, f"{mark} {record.as_sentence()}{line_end(file.text)}")


def _former(file: SuiteText, header: MappingSpan) -> ListSpan | None:
    """The list of former approvals; None if there is none."""
    member = next((member for member in header.members if member.key == APPROVALS_FIELD), None)
    if member is None:
        return None
    if not isinstance(member.value, ListSpan) or member.value.start < member.start:
        raise FormatError(file.source.path, APPROVALS_FIELD, "is not a list, so no approval can be added to it")
    return member.value


def _record_in_json(file: SuiteText, header: MappingSpan, record: ApprovalRecord) -> Edit:
    text, row = file.text, json_text(record.as_data(), escapes=file.escapes)
    former = _former(file, header)
    if former is not None and former.items:
        return _insert_before(text, former.items[0].start, row)
    if former is not None:
        return Edit(former.start, former.end, f"[{row}]")
    # In front of the cases no line of theirs changes, not even by a comma.
    member = file.list_of_cases or header.members[0]
    indent = indent_before(text, member.start)
    if not indent or file.syntax == "jsonl":
        return _insert_before(text, member.start, f'"{APPROVALS_FIELD}": [{row}]')
    end = line_end(text)
    return _insert_before(text, member.start, f'"{APPROVALS_FIELD}": [{end}{indent * 2}{row}{end}{indent}]')


def _insert_before(text: str, position: int, addition: str) -> Edit:
    """Something in front of an item or member, on a line of its own where that has one."""
    indent = indent_before(text, position)
    separator = f",{line_end(text)}{indent}" if indent else ", "
    return Edit(position, position, f"{addition}{separator}")


def _record_in_yaml(file: SuiteText, record: ApprovalRecord) -> Edit:
    text, header = file.text, file.header
    if header is None or text[header.start] == "{":
        return _comment(file, "#", file.roots[0].start, record)
    former = _former(file, header)
    if former is None:
        return _new_list(file, record)
    if not former.items:
        return Edit(former.start, former.end, line_end(text) + _rows(record, "  ", line_end(text)).removesuffix(line_end(text)))
    first = former.items[0].start
    begin = text.rfind("\n", 0, first) + 1
    indent, dash, _ = text[begin:first].partition("-")
    if dash and not indent.strip():
        return Edit(begin, begin, _rows(record, indent, line_end(text)))
    return Edit(first, first, f"{json_text(record.as_data(), escapes=file.escapes)}, ")


def _new_list(file: SuiteText, record: ApprovalRecord) -> Edit:
    text, end = file.text, line_end(file.text)
    closing = _END_OF_DOCUMENT.search(text, file.roots[0].end)
    position = len(text) if closing is None else closing.start()
    begin = "" if text[:position].endswith("\n") else end
    return Edit(position, position, f"{begin}{APPROVALS_FIELD}:{end}{_rows(record, '  ', end)}")


def _rows(record: ApprovalRecord, indent: str, end: str) -> str:
    """The record as an item of a YAML list, a line for each field."""
    fields = record.as_data()
    cases = ", ".join(map(yaml_text, fields.pop("cases")))
    lines = [*(f"{name}: {yaml_text(value)}" for name, value in fields.items()), f"cases: [{cases}]"]
    return "".join(f"{indent}{'  ' if number else '- '}{line}{end}" for number, line in enumerate(lines))
