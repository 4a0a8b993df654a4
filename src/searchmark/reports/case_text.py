"""Cases to look at, as text for a terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from searchmark.git.sources import CaseDiff
from searchmark.judgments.cases import AnswerView, CaseList, CaseView, JudgedTarget, PlacedHit
from searchmark.records.suite import Case
from searchmark.reports import cells
from searchmark.reports.cells import UNDEFINED, Table, Value, table
from searchmark.reports.parts import Part, Sentence
from searchmark.reports.text import WIDTH, layout_text

SCHEMA_VERSION = 1

_DIFF_STYLES = {"diff ": "bold", "+++": "bold", "---": "bold", "@@": "cyan", "+": "green", "-": "red"}

_DECIDED = {"reject": "rejected", "query": "new query"}


def list_text(listing: CaseList, *, colour: bool = False, width: int = WIDTH) -> str:
    """A row for every case, and how many more there are."""
    return layout_text(_list_parts(listing), colour=colour, width=width)


def _list_parts(listing: CaseList) -> Iterator[Part]:
    if listing.sorted_by is not None:
        yield Sentence(f"lowest {listing.sorted_by} of {listing.sorted_run} first")
    if listing.cases:
        yield _list_table(listing)
    left_out = listing.fitting - len(listing.cases)
    if left_out:
        yield Sentence(f"and {left_out} more of {listing.fitting} cases; --limit 0 lists all")


def _list_table(listing: CaseList) -> Table:
    first = listing.cases[0]
    values = [(run, measure) for run, measures in first.values.items() for measure in measures]
    names = [measure if len(first.values) == 1 else f"{run} {measure}" for run, measure in values]
    categories = ["category"] if any(case.category for case in listing.cases) else []
    decisions = ["decision"] if any(case.decision for case in listing.cases) else []
    rows = (
        (
            case.id,
            case.query or None,
            *(case.category for _ in categories),
            case.relevant,
            *(_DECIDED[case.decision] if case.decision else None for _ in decisions),
            *(cells.number(case.values[run][measure]) for run, measure in values),
        )
        for case in listing.cases
    )
    return table((f"{listing.suite}: case", "query", *categories, "relevant", *decisions, *names), rows)


def view_text(view: CaseView, *, colour: bool = False, width: int = WIDTH) -> str:
    """The case, its judgments, and what every run returned."""
    return layout_text(_view_parts(view), colour=colour, width=width)


def _view_parts(view: CaseView) -> Iterator[Part]:
    yield Sentence(f"{view.case.id} of {view.suite}", "bold")
    yield from map(Sentence, _facts(view.case))
    yield from map(Sentence, _decision(view))
    if view.judgments:
        yield _judgment_table(view)
    else:
        yield Sentence("no judgments")
    for answer in view.answers:
        yield Sentence(f"{answer.run}: {_ending(answer)}", "bold")
        if answer.values:
            yield Sentence(", ".join(_value(answer, name) for name in answer.values))
        if answer.hits:
            yield _hit_table(answer)
        if len(answer.hits) < answer.returned:
            yield Sentence(f"and {answer.returned - len(answer.hits)} more hits; --hits 0 shows all")
    if view.diff is not None:
        yield from _diff_lines(view.diff)


def _decision(view: CaseView) -> Iterator[str]:
    if view.decision is None:
        return
    query = f": {view.decision.query}" if view.decision.query is not None else ""
    because = f", because: {view.decision.because}" if view.decision.because else ""
    yield f"decision: {_DECIDED[view.decision.decision]}{query}{because}"


def _diff_lines(diff: CaseDiff) -> Iterator[Part]:
    yield Sentence(f"diff from {diff.parent[:12]} to {diff.commit[:12]}", "bold")
    for line in diff.lines:
        yield Sentence(line, next((style for sign, style in _DIFF_STYLES.items() if line.startswith(sign)), ""))
    if diff.cut:
        yield Sentence(f"and more; git diff {diff.parent} {diff.commit} shows all")


def _facts(case: Case) -> Iterator[str]:
    yield f"query: {case.query if case.query is not None else 'none'}"
    facts = {"category": case.category, "tags": ", ".join(case.tags), "origin": case.origin}
    yield from (f"{name}: {value}" for name, value in facts.items() if value)
    if case.unanswerable:
        yield "unanswerable: nothing should be returned"
    yield from (f"{name}: {value}" for name, value in case.fields.items() if isinstance(value, str | int | float))


def _judgment_table(view: CaseView) -> Table:
    """Columns that no judgment has anything in are left out."""
    judgments = view.judgments
    optional: dict[str, list[Value]] = {
        "expected rank": [each.rank for each in judgments] if any(each.rank for each in judgments) else [],
        "gain": [cells.number(each.gain, 2) for each in judgments] if any(each.gain is not None for each in judgments) else [],
        "aspects": [_aspects(each) for each in judgments] if any(each.aspects for each in judgments) else [],
        "in corpus": ["yes" if each.exists else "no" for each in judgments] if judgments[0].exists is not None else [],
    }
    optional |= {f"{run} rank": [each.found[run] for each in judgments] for run in judgments[0].found}
    more = {name: column for name, column in optional.items() if column}
    rows = (
        (each.target, each.grade, each.match, *(column[number] for column in more.values()))
        for number, each in enumerate(judgments)
    )
    return table(("target", "grade", "match", *more), rows)


def _aspects(judgment: JudgedTarget) -> str:
    return ", ".join(f"{aspect}: {grade}" for aspect, grade in (judgment.aspects or {}).items()) or UNDEFINED


def _ending(answer: AnswerView) -> str:
    failure = f", {answer.failure}" if answer.failure else ""
    return f"{answer.status}{failure}, hits: {answer.returned}"


def _value(answer: AnswerView, name: str) -> str:
    value = answer.values[name]
    return f"{name} undefined ({answer.undefined.get(name)})" if value is None else f"{name} {value:.4f}"


def _hit_table(answer: AnswerView) -> Table:
    rows = ((hit.rank, _hit_name(hit), hit.grade, cells.number(hit.score), _marks(hit)) for hit in answer.hits)
    return table(("rank", "hit", "grade", "score", "remarks"), rows, secondary=("score",))


def _hit_name(hit: PlacedHit) -> str:
    return hit.id if hit.lines is None else f"{hit.id}, lines {hit.lines[0]} to {hit.lines[1]}"


def _marks(hit: PlacedHit) -> str:
    marks = (
        ("duplicate", hit.duplicate),
        ("not in the corpus", hit.missing),
        (f"meets {hit.target}", hit.target is not None and hit.target != hit.id),
    )
    return ", ".join(words for words, holds in marks if holds)


def list_json(listing: CaseList) -> str:
    """The list with all that it holds."""
    return _json("cases", asdict(listing))


def view_json(view: CaseView) -> str:
    """The case with all that is known of it."""
    case = view.case
    data: dict[str, Any] = {"suite": view.suite, "id": case.id, "query": case.query, "category": case.category}
    data |= {"tags": case.tags, "origin": case.origin, "unanswerable": case.unanswerable, "fields": dict(case.fields)}
    data["judgments"] = [asdict(each) for each in view.judgments]
    data["answers"] = [
        asdict(answer) | {"hits": [asdict(hit) | {"duplicate": hit.duplicate} for hit in answer.hits]} for answer in view.answers
    ]
    if view.decision is not None:
        data["decision"] = asdict(view.decision)
    if view.diff is not None:
        data["diff"] = asdict(view.diff)
    return _json("case", data)


def _json(record: str, data: dict[str, Any]) -> str:
    return json.dumps({"schema_version": SCHEMA_VERSION, "record": record, **data}, indent=1, default=str) + "\n"
