"""Which case an answer belongs to where a run that others have written does not call it by its id.

Files name cases by the text of their query, or by nothing but their order. What a run calls like a case is that case, unless it
says itself that it asked what another case asks: then its ids are those of a different numbering. The rest is looked for by text,
in composed form, without blanks around it, capitals as they are. Cases that ask the same get the same answer: to leave one of them
empty would be a zero that says nothing of the search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from searchmark.errors import Incomparable, shortened
from searchmark.judging.spelling import nfc
from searchmark.records import ImportedRun, Run, Suite
from searchmark.records.shown import counted

DIFFERS = "answers whose query differs from that of the case with their id"
_LONGEST_TEXT = 60


def with_cases_of(suite: Suite, run: Run) -> Run:
    """The run with its answers under the ids of the suite's cases, as far as they can be told; what was done is in its notes."""
    imported = run.provenance.imported
    if run.provenance.is_ours or not len(suite):
        return run
    if imported is not None and imported.by_position:
        return _by_position(suite, run)
    return _by_text(suite, run)


def _by_position(suite: Suite, run: Run) -> Run:
    if len(run) != len(suite):
        raise Incomparable(
            f"the run {run.agent!r} has {counted(len(run), 'answer')} without what was asked, and the suite {suite.name!r} has "
            f"{counted(len(suite), 'case')}, so they cannot be told apart by their order; write a JSON object {{query: response}}"
        )
    return _noting(run.with_cases(suite.table.ids), f"answers taken in the order of the suite's cases: {len(run)}")


def _by_text(suite: Suite, run: Run) -> Run:
    if suite.table.queries is None or (run.queries is None and run.index.keys() <= suite.table.index.keys()):
        return run
    known = _QueriesOfSuite.by(suite)
    called = {row: known.ids[nfc(case)] for row, case in enumerate(run.case_ids) if nfc(case) in known.ids}
    differing = {row: case for row, case in called.items() if known.contradicts(case, _said(run, row))}
    renumbered = any(_said(run, row) in known.cases for row in differing)
    doubtful = differing if renumbered else {}
    rows = [row for row in range(len(run)) if row not in called or row in doubtful]
    joined = {row: cases for row in rows if (cases := known.cases.get(_said(run, row) or _plain(run.case_ids[row])))}
    # Under an id that means another case here, what asks something else would be taken for the answer to that case.
    apart = {row: [f"{run.case_ids[row]}: {_said(run, row)}"] for row in doubtful if row not in joined}
    if differing and not renumbered:
        run = _noting_differences(run, differing, known)
    return _renamed(run, joined, apart) if joined else run


@dataclass(frozen=True)
class _QueriesOfSuite:
    """What the cases of a suite ask: their ids in composed form, their texts by id, and the cases by text."""

    ids: Mapping[str, str]
    texts: Mapping[str, str]
    cases: Mapping[str, list[str]]

    @classmethod
    def by(cls, suite: Suite) -> _QueriesOfSuite:
        names, queries = suite.table.ids, suite.table.queries or ()
        texts = {case: _plain(text) for case, text in zip(names, queries, strict=True) if text}
        cases: dict[str, list[str]] = {}
        for case, text in texts.items():
            cases.setdefault(text, []).append(case)
        return cls({nfc(case): case for case in names}, texts, cases)

    def contradicts(self, case: str, text: str | None) -> bool:
        return text is not None and self.texts.get(case, text) != text


def _plain(text: str) -> str:
    return nfc(text).strip()


def _said(run: Run, row: int) -> str | None:
    """What was asked, if the file has it beside the id of a case."""
    query = None if run.queries is None else run.queries[row]
    return None if query is None else _plain(query)


def _renamed(run: Run, joined: Mapping[int, list[str]], apart: Mapping[int, list[str]]) -> Run:
    cases, answers = [], []
    for row, case in enumerate(run.case_ids):
        for name in joined.get(row) or apart.get(row) or [case]:
            cases.append(name)
            answers.append(row)
    twice = next((case for case, count in Counter(cases).items() if count > 1), None)
    if twice is not None:
        raise Incomparable(
            f"the run {run.agent!r} has several answers to the case {twice!r}: they have its id or the text of its query; keep one"
        )
    several = sum(len(each) > 1 for each in joined.values())
    note = f"answers joined with cases by the text of their query, since their ids differ: {len(joined)} of {len(run)}"
    if several:
        note += f"; {several} of them to several cases that ask the same"
    return _noting(run.with_cases(tuple(cases), np.array(answers) if len(cases) > len(run) else None), note)


def _noting_differences(run: Run, differing: Mapping[int, str], known: _QueriesOfSuite) -> Run:
    row, case = next(iter(differing.items()))
    asked, meant = (shortened(repr(text), _LONGEST_TEXT) for text in (_said(run, row), known.texts[case]))
    return _noting(run, f"{DIFFERS}: {len(differing)} of {len(run)}; {case!r} has {asked}, and the suite {meant}")


def _noting(run: Run, note: str) -> Run:
    earlier = () if run.provenance.imported is None else run.provenance.imported.notes
    if note.startswith(DIFFERS) and any(each.startswith(DIFFERS) for each in earlier):
        return run  # as it was said when all cases of the suite were known
    return replace(run, provenance=replace(run.provenance, imported=ImportedRun((*earlier, note))))
