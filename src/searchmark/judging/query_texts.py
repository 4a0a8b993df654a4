"""Which case an answer belongs to where a run that others have written does not call it by its id.

Files name cases by the text of their query, or by nothing but their order. What a run calls like a case is that case; the rest is
looked for by text, in composed form, without blanks around it, capitals as they are. Cases that ask the same get the same answer:
to leave one of them empty would be a zero that says nothing of the search.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from searchmark.errors import Incomparable
from searchmark.judging.spelling import nfc
from searchmark.records import ImportedRun, Run, Suite


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
            f"the run {run.agent!r} has {len(run)} answers that do not say what was asked, and the suite {suite.name!r} has "
            f"{len(suite)} cases, so they cannot be told apart by their order; write a JSON object {{query: response}}"
        )
    return _noting(run.with_cases(suite.table.ids), f"answers taken in the order of the suite's cases: {len(run)}")


def _by_text(suite: Suite, run: Run) -> Run:
    ids, texts = suite.table.index, suite.table.queries
    unknown = [row for row, case in enumerate(run.case_ids) if case not in ids]
    if not unknown or texts is None:
        return run
    by_text: dict[str, list[str]] = {}
    for case, text in zip(suite.table.ids, texts, strict=True):
        if text:
            by_text.setdefault(_plain(text), []).append(case)
    names = {nfc(case) for case in ids}
    found = {row: by_text.get(_asked(run, row), []) for row in unknown if nfc(run.case_ids[row]) not in names}
    joined = {row: cases for row, cases in found.items() if cases}
    return _renamed(run, joined) if joined else run


def _plain(text: str) -> str:
    return nfc(text).strip()


def _asked(run: Run, row: int) -> str:
    query = None if run.queries is None else run.queries[row]
    return _plain(run.case_ids[row] if query is None else query)


def _renamed(run: Run, joined: dict[int, list[str]]) -> Run:
    cases, answers = [], []
    for row, case in enumerate(run.case_ids):
        for name in joined.get(row, [case]):
            cases.append(name)
            answers.append(row)
    if len(set(cases)) < len(cases):
        twice = Counter(cases).most_common(1)[0][0]
        raise Incomparable(
            f"the run {run.agent!r} has several answers to the case {twice!r}: they have its id or the text of its query; keep one"
        )
    several = sum(len(each) > 1 for each in joined.values())
    note = f"answers joined with cases by the text of their query, since their ids differ: {len(joined)} of {len(run)}"
    if several:
        note += f"; {several} of them to several cases that ask the same"
    return _noting(run.with_cases(tuple(cases), np.array(answers) if len(cases) > len(run) else None), note)


def _noting(run: Run, note: str) -> Run:
    earlier = () if run.provenance.imported is None else run.provenance.imported.notes
    return replace(run, provenance=replace(run.provenance, imported=ImportedRun((*earlier, note))))
