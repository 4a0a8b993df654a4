"""From journal entries to a run: answers in the order of the suite, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from searchmark.records import STATUSES, AnswerDetails, Run, RunLabel, line_columns
from searchmark.records.columns import starts_of
from searchmark.running.journal_lines import JournalEntry


def assembled(label: RunLabel, cases: Sequence[str], entries: Mapping[str, JournalEntry]) -> Run:
    """The answers as a run, in the order of the cases."""
    outcomes = [entries[case].outcome for case in cases]
    scores = [score for outcome in outcomes for score in outcome.scores or [None] * len(outcome.ids)]
    first_line, last_line = line_columns([span for outcome in outcomes for span in outcome.lines or [None] * len(outcome.ids)])
    return Run(
        label=label,
        case_ids=tuple(cases),
        starts=starts_of((len(outcome.ids) for outcome in outcomes), len(outcomes)),
        ids=[hit for outcome in outcomes for hit in outcome.ids],
        scores=np.array([np.nan if score is None else score for score in scores], np.float64),
        status=np.array([STATUSES.index(outcome.status) for outcome in outcomes], np.uint8),
        valid=_valid([entries[case].valid for case in cases]),
        first_line=first_line,
        last_line=last_line,
        dropped=_dropped(outcome.details for outcome in outcomes),
        details=tuple(outcome.details for outcome in outcomes),
    )


def _valid(flags: Sequence[tuple[bool, ...] | None]) -> NDArray[np.bool_] | None:
    """Which hits exist; None if that is not known of all of them."""
    known = [each for each in flags if each is not None]
    return np.array([exists for each in known for exists in each], bool) if len(known) == len(flags) else None


def _dropped(details: Iterable[AnswerDetails]) -> dict[str, int]:
    """What was left out of all answers, by reason; in an order that does not depend on which of them came first."""
    totals: dict[str, int] = {}
    for each in details:
        for key, count in (dict(each.dropped) | {"unreachable_targets": len(each.unreachable)}).items():
            totals[key] = totals.get(key, 0) + count
    return {key: count for key, count in sorted(totals.items()) if count}
