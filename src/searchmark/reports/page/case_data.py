"""The cases of a report as the page gets them: JSON in columns, every text once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.measures.catalogue import with_words
from searchmark.records.answers import STATUSES, AnswerDetails
from searchmark.records.columns import Floats
from searchmark.records.judgments import MATCHES
from searchmark.records.sentences import three_digits
from searchmark.reports.cases import CaseSummary, ShownHit
from searchmark.reports.failed_cases import failure_reasons
from searchmark.reports.quoting import visible
from searchmark.reports.report import AgentSummary, Report, measure_names
from searchmark.scoring.costs import counter_of
from searchmark.scoring.statistics import EQUAL_WITHIN

# In which cases runs differ, and by how much: computed from whole values, since rounded ones differ by something else.

_PAIR = 2

_DIGITS = 4


class Differences:
    """The values of all runs, by run, measure and case; NaN where there is none."""

    def __init__(self, runs: int, measures: list[str], cases: int) -> None:
        self._measures = measures
        self._values = np.full((runs, len(measures), cases), np.nan)

    def add(self, run: int, row: int, case: CaseSummary) -> None:
        values = (case.measures.get(name) for name in self._measures)
        self._values[run, :, row] = [np.nan if value is None else value for value in values]

    def plain(self) -> dict[str, Any]:
        """For every measure the cases in which any two runs differ, and how much the second run of a pair has more."""
        return {
            "different": [np.flatnonzero(marked).tolist() for marked in self._different()],
            "differences": list(map(_rounded, self._second_less_first())) if len(self._values) == _PAIR else [],
        }

    def _different(self) -> NDArray[np.bool_]:
        # A run without a value differs from none.
        defined = np.isfinite(self._values)
        highest = np.where(defined, self._values, -np.inf).max(axis=0, initial=-np.inf)
        lowest = np.where(defined, self._values, np.inf).min(axis=0, initial=np.inf)
        return np.asarray(highest - lowest > EQUAL_WITHIN)

    def _second_less_first(self) -> Floats:
        first, second = np.where(np.isfinite(self._values), self._values, np.nan)
        return np.where(np.abs(second - first) <= EQUAL_WITHIN, 0.0, second - first)


def _rounded(differences: Floats) -> list[float | None]:
    return [float(f"{each:.{_DIGITS}f}") if np.isfinite(each) else None for each in differences.tolist()]


# The columns, fit for a script element.

LEAK = "leak:"

NO_LEAK = "leak:L0"


# What would end a script element or begin a comment in it, and line ends that only JSON allows.
_IN_SCRIPT = str.maketrans({"<": r"\u003c", ">": r"\u003e", "&": r"\u0026", "\u2028": r"\u2028", "\u2029": r"\u2029"})


def case_data(report: Report) -> Iterator[str]:
    """The pieces of one JSON object; the table of texts comes last, when all of them are known."""
    columns = PageCaseColumns(report)
    yield "{"
    yield from (f"{_json(key)}:{_json(part)},\n" for key, part in columns.heads().items())
    yield '"answers":['
    for run, agent in enumerate(report.agents.values()):
        yield ("," if run else "") + _json(columns.answers(run, agent)) + "\n"
    tails = columns.tails()
    yield "]" + "".join(f",\n{_json(key)}:{_json(part)}" for key, part in tails.items()) + "}"


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_IN_SCRIPT)


def lines_visible(text: str) -> str:
    """A text of several lines, which stay lines; anything else that cannot be seen is written out."""
    return "\n".join(map(visible, text.replace("\r\n", "\n").expandtabs(4).split("\n")))


@dataclass
class Texts:
    """Every text once, harmless, under a number. A name is on one line, as it is everywhere else on the page."""

    numbers: dict[tuple[str, bool], int] = field(default_factory=dict)

    def name(self, text: str) -> int:
        return self.numbers.setdefault((text, False), len(self.numbers))

    def lines(self, text: str) -> int:
        return self.numbers.setdefault((text, True), len(self.numbers))

    @property
    def all(self) -> list[str]:
        return [lines_visible(text) if lines else visible(text) for text, lines in self.numbers]


def four_digits(value: float | None) -> float | None:
    """The value of a measure as all tables have it."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.4f}")


def _score(score: float | None) -> float | None:
    """Six digits: more than a reader can use."""
    return None if score is None or not math.isfinite(score) else float(f"{score:.6g}")


def _times(samples: Sequence[float]) -> list[float]:
    return [float(three_digits(sample)) for sample in samples]


class PageCaseColumns:
    """What the page knows of the cases of a report, column by column; one row per case, in the order of the report."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.texts = Texts()
        self.ids = list(dict.fromkeys(case for agent in report.agents.values() for case in agent.cases))
        self.measures = measure_names(report)
        self._differences = Differences(len(report.agents), self.measures, len(self.ids))
        self._asked = [False] * len(self.ids)
        self.queries: list[str | None] = [None] * len(self.ids)
        self.expected: list[list[int]] = [[] for _ in self.ids]

    def heads(self) -> dict[str, Any]:
        """What is known before any answer is looked at."""
        return {
            "runs": list(map(visible, self.report.agents)),
            "measures": list(map(visible, self.measures)),
            "words": [visible(with_words(name)) for name in self.measures],
            "statuses": [status.replace("_", " ") for status in STATUSES],
            "matches": list(MATCHES),
            "ids": list(map(visible, self.ids)),
            **self._facts(),
        }

    def tails(self) -> dict[str, Any]:
        """What is known when all answers have been looked at."""
        return {
            "queries": self.queries,
            "expected": self.expected,
            **self._differences.plain(),
            "texts": self.texts.all,
        }

    def _ask(self, row: int, case: CaseSummary) -> None:
        """What was asked and expected is the same for all runs: it is taken from the first that has the case."""
        self._asked[row] = True
        self.queries[row] = None if case.query is None else lines_visible(case.query)
        self.expected[row] = self._expected(case)

    def _expected(self, case: CaseSummary) -> list[int]:
        """Text, way of matching and grade of every target, one after the other."""
        name = self.texts.name
        return [part for each in case.expected for part in (name(each.target), MATCHES.index(each.match), each.grade)]

    def _facts(self) -> dict[str, Any]:
        name = self.texts.name
        facts = [self.report.cases.get(case) for case in self.ids]
        return {
            "categories": [None if each is None or each.category is None else name(each.category) for each in facts],
            "tags": [[] if each is None else [name(tag) for tag in each.tags] for each in facts],
            "origins": {row: name(each.origin) for row, each in enumerate(facts) if each and each.origin},
            "unanswerable": [row for row, each in enumerate(facts) if each and each.unanswerable],
            "leaky": [row for row, each in enumerate(facts) if each and any(map(is_leak, each.tags))],
        }

    def answers(self, run: int, agent: AgentSummary) -> dict[str, Any]:
        """What one run has got for every case; an entry by row is left out where there is nothing to say."""
        columns = _AnswerColumns(self.texts, self.measures, self.report.suite.rel)
        for row, case in enumerate(self.ids):
            if case in agent.cases:
                summary = agent.cases[case]
                columns.add(row, summary)
                self._differences.add(run, row, summary)
                if not self._asked[row]:
                    self._ask(row, summary)
        return columns.plain(len(self.ids))


def is_leak(tag: str) -> bool:
    return tag.startswith(LEAK) and tag != NO_LEAK


class _AnswerColumns:
    """The answers of one run, case after case."""

    def __init__(self, texts: Texts, measures: Sequence[str], rel: int) -> None:
        self._texts, self._measures, self._rel = texts, measures, rel
        self._by_row: dict[str, dict[int, Any]] = {}
        self._values: list[dict[int, Any]] = [{} for _ in measures]

    def add(self, row: int, case: CaseSummary) -> None:
        for column, measure in zip(self._values, self._measures, strict=True):
            column[row] = four_digits(case.measures.get(measure))
        ranks = [each.rank or 0 for each in case.expected]
        # The usual status is not said: it would be most of them.
        status = STATUSES.index(case.status)
        failed = [self._texts.lines(reason) for reason in failure_reasons(case, self._rel)]
        parts: dict[str, Any] = {"status": status, "ranks": ranks if any(ranks) else None, "failed": failed}
        for name, part in (parts | self._hits(case.hits) | self._details(case.details) | self._undefined(case)).items():
            if part:
                self._by_row.setdefault(name, {})[row] = part

    def plain(self, rows: int) -> dict[str, Any]:
        columns = {name: _column(entries, rows) for name, entries in self._by_row.items()}
        return columns | {"values": [_column(entries, rows) for entries in self._values]}

    def _hits(self, hits: Sequence[ShownHit]) -> dict[str, Any]:
        """Ids and scores of all; grades, lines and texts only of those that have them, each behind its index."""
        scored = any(hit.score is not None for hit in hits)
        texts = ((at, hit.text) for at, hit in enumerate(hits) if hit.text is not None)
        return {
            "hits": [self._texts.name(hit.id) for hit in hits],
            "scores": [_score(hit.score) for hit in hits] if scored else None,
            "grades": [part for at, hit in enumerate(hits) if hit.grade is not None for part in (at, hit.grade)],
            "lines": [part for at, hit in enumerate(hits) if hit.lines is not None for part in (at, *hit.lines)],
            "missing": [at for at, hit in enumerate(hits) if hit.missing],
            "hit_texts": [part for at, text in texts for part in (at, self._texts.lines(text))],
        }

    def _details(self, details: AnswerDetails) -> dict[str, Any]:
        lines = self._texts.lines
        return {
            "cold": _times(details.cold_ms),
            "warm": _times(details.warm_ms),
            "failure": None if details.failure is None else [lines(_failure_of(details))],
            "facts": [[name, lines(fact)] for name, fact in _facts_of(details).items()],
        }

    def _undefined(self, case: CaseSummary) -> dict[str, Any]:
        names = (name for name in case.undefined if name in self._measures)
        return {"undefined": [[self._measures.index(name), self._texts.name(case.undefined[name])] for name in names]}


def _column(entries: Mapping[int, Any], rows: int) -> Any:
    """A list with an entry per row, or the entries by their row where most rows have none: the script reads both alike."""
    return [entries.get(row) for row in range(rows)] if 2 * len(entries) > rows else entries


def _failure_of(details: AnswerDetails) -> str:
    """Why there is no answer, and above it the calls that led there, the innermost last."""
    return "\n".join(part for part in (details.traceback, details.whole_failure) if part)


def _usage_facts(details: AnswerDetails) -> Mapping[str, str | int | None]:
    """What the agent states of the first search; a wait or an attempt that there was not is not mentioned."""
    times = {
        "waited, part of the first search": details.waited_ms or None,
        "process start, part of the first search": details.start_ms,
    }
    return {
        "tokens": None if details.tokens is None else f"{details.tokens}, counted by {counter_of(details)}",
        "further attempts": details.retries,
        **{name: None if ms is None else f"{three_digits(ms)} ms" for name, ms in times.items()},
    }


def _index_facts(details: AnswerDetails) -> Mapping[str, str | None]:
    """What the index alone took, and what it found of the true nearest vectors."""
    cold, warm = details.index_cold_ms, details.index_warm_ms
    times = (("first search", cold), ("median of the repeats", median(warm) if warm else None))
    shares = (("ANN recall", details.ann_recall), ("overlap", details.ann_overlap))
    recall = ", ".join(f"{name} {share:.4g}" for name, share in shares if share is not None)
    return {
        "in the index alone": ", ".join(f"{what} {three_digits(ms)} ms" for what, ms in times if ms is not None) or None,
        f"of the nearest {details.ann_k} vectors": recall or None,
    }


def _facts_of(details: AnswerDetails) -> Mapping[str, str]:
    """What else is known of an answer, in words."""
    left_out = ", ".join(f"{what.replace('_', ' ')} {count}" for what, count in details.dropped.items())
    answer = None if details.said is None else json.dumps(details.said, ensure_ascii=False, default=str)
    parts = {
        "a repeat failed": details.repeat_failure,
        "repeats that failed": details.repeat_failures,
        "repeats with another answer": details.unstable,
        "searches with a doubted time": details.doubted_times,
        "time to the first hit": None if details.first_hit_ms is None else f"{three_digits(details.first_hit_ms)} ms",
        **_usage_facts(details),
        **_index_facts(details),
        "cost": None if details.cost is None else f"{details.cost:g}",
        "left out": left_out,
        "not there to be found": ", ".join(details.unreachable),
        "the agent says": answer,
    }
    return {what: str(part) for what, part in parts.items() if part}
