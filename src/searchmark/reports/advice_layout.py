"""What a reader does next, as tables and sentences that all renderers share: targets, failed cases, advice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from searchmark.findings.sentences import counted
from searchmark.gates.sentences import SIGNS, told_apart
from searchmark.measures.words import with_words
from searchmark.reports.advice import Recommendation
from searchmark.reports.cells import Amount, Bytes, Interval, Milliseconds, Number, Quantity, Seconds, Table, Text, table
from searchmark.reports.failed import FailedCase, count_failed, failed_cases
from searchmark.reports.layout import Row, came_text, expected_text, listed
from searchmark.reports.report import Report
from searchmark.reports.targets import TargetLine, TargetState, targets

# What a mark means, for those who cannot see it.
STATES: dict[TargetState, str] = {
    "met": "met",
    "close": "met, but within the interval",
    "few": "met, too few cases for an interval",
    "open": "met, without an interval: the report is not split by this",
    "missed": "missed",
    "unknown": "unknown",
}
_KINDS: dict[str, Callable[[float], Quantity]] = {
    "": Number,
    "ms": Milliseconds,
    "s": Seconds,
    "bytes": Bytes,
    **dict.fromkeys(("tokens", "attempts", "searches"), Amount),
}


@dataclass(frozen=True)
class GatedValue(Quantity):
    """A number and what was asked of it: with as many digits as tell the two apart."""

    expected: float = 0.0
    unit: str = ""

    def written(self, number: float) -> str:
        kind = _KINDS.get(self.unit, Number)
        if number != self.expected and kind(number).text == kind(self.expected).text:
            return f"{told_apart(number, self.expected)} {self.unit}".rstrip()
        return kind(number).text


def target_table(report: Report) -> Table:
    """Every number that a gate asked for: its mark, what it is, and what was asked of it."""
    columns = ("", "measure", "value", "95 % interval", "target", "result")
    return table(columns, map(_target_row, targets(report)), keys=2)


def _target_row(line: TargetLine) -> Row:
    value, interval = GatedValue(line.value, line.expected, line.unit), Interval(line.low, line.high)
    return (Text(line.mark), Text(target_subject(line)), value, interval, Text(asked(line)), Text(STATES[line.state]))


def target_subject(line: TargetLine) -> str:
    """What a target is about, in the user's words and ours, and of which cases."""
    words = with_words(line.subject) if line.words == line.subject else line.words
    return "".join([words, *(f" in {by} {value}" for by, value in line.where.items())])


def asked(line: TargetLine) -> str:
    """The bound of a target, with its unit."""
    return f"{SIGNS[line.bound]} {line.expected:.12g} {line.unit}".rstrip()


def failed_table(report: Report, run: str) -> Table:
    """The cases of a run that failed: what was asked, why it failed, what was expected, what came."""
    columns = ("case", "query", "why", "expected", "first hits")
    return table(columns, map(_failed_row, failed_cases(report, run)), "failed queries")


def _failed_row(failed: FailedCase) -> Row:
    case = failed.case
    texts = (failed.id, case.query or "", ", ".join(failed.reasons), expected_text(case.expected), came_text(case))
    return tuple(map(Text, texts))


def more_failed(report: Report, run: str, shown: int) -> str | None:
    """How many cases failed that are not shown."""
    left = count_failed(report, run) - shown
    return f"{counted(left, 'more query', 'more queries')} failed; the JSON and the CSV have every case." if left > 0 else None


def recommendation_sentences(report: Report) -> Iterator[str]:
    """Every piece of advice: what was seen, what to do, and the cases that show it."""
    return (_recommended(each, len(report.agents) > 1) for each in report.recommendations)


def _recommended(each: Recommendation, several: bool) -> str:
    run = f"{each.run}: " if several and each.run is not None else ""
    cases = f" ({listed(each.cases)})" if each.cases else ""
    return f"{run}{each.seen}: {each.advice}{cases}"
