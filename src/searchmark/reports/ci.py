"""A report for CI systems: a comment on a pull request, GitHub Actions, JUnit."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from searchmark.audit.check import spoils
from searchmark.errors import UsageError
from searchmark.gates.pins import EVERY_CASE
from searchmark.gates.quantities import SIGNS, digits_beside_bound, is_within
from searchmark.gates.rules import RuleResult
from searchmark.io.secrets import environment_secrets, scrub
from searchmark.records.finding import Finding
from searchmark.records.suite import Suite
from searchmark.reports import comparison_tables, run_tables
from searchmark.reports.cases import CaseSummary
from searchmark.reports.comparison_tables import cause_lines, rule_name, rule_table
from searchmark.reports.markdown import table_lines
from searchmark.reports.quoting import markdown_line, markdown_text, visible, without_commands, xml_text
from searchmark.reports.render import render
from searchmark.reports.report import MEANINGS, AgentSummary, Outcome, Report, first_sentence, outcome_of
from searchmark.reports.run_tables import finding_counts, finding_sentence, list_names

# A report as a comment on a pull request: the verdict, the rules, the cases that caused it, and what to run next.

LONGEST = 65_536  # characters that GitHub takes

MARK = "<!-- searchmark -->"  # by which a later build finds its comment, to change it instead of adding one


# Together well below the longest, also where quoting triples a sentence.
_TABLES, _CAUSES, _SENTENCE = 30_000, 15_000, 1_500

_MARKS: dict[Outcome, str] = {
    "measured": "ℹ️", "passed": "✅", "failed": "❌", "unresolvable": "⚠️", "untrusted": "⚠️", "nothing evaluated": "⚠️",
}  # fmt: skip


def to_comment(report: Report) -> str:
    return "\n".join(_comment_lines(report)).rstrip() + "\n"


def _comment_lines(report: Report) -> Iterator[str]:
    outcome = outcome_of(report)
    yield f"## {_MARKS[outcome]} Search quality: {MEANINGS[outcome]}"
    yield ""
    for sentence in filter(None, (first_sentence(report), comparison_tables.gate_sentence(report))):
        yield f"**{markdown_text(sentence, _SENTENCE)}**"
        yield ""
    yield from _shorten(_tables(report), _TABLES)
    yield ""
    yield from _causes(report)
    yield f"Suite {markdown_text(report.suite.name, 100)}, {report.suite.cases} cases."
    yield ""
    yield from _next_step(report)
    yield MARK


def _tables(report: Report) -> Iterator[str]:
    if report.gate is not None:
        yield from table_lines(rule_table(report))
    elif report.pairs:
        yield from table_lines(comparison_tables.verdict_table(report))
    else:
        for agent in report.agents.values():
            yield from table_lines(run_tables.measure_table(agent.measures))


def _causes(report: Report) -> Iterator[str]:
    """What else a gate has to say, and what makes numbers mean less than they seem to; of the rest how much there is."""
    doubts = [finding_sentence(finding) for finding in report.audit if finding.severity != "note"]
    notes = finding_counts([finding for finding in report.audit if finding.severity == "note"])
    sentences = (*comparison_tables.gate_lines(report), *doubts, *([f"{notes} in the report"] if notes and doubts else []))
    lines = [f"- {markdown_line(line, _SENTENCE)}" for line in sentences]
    if lines:
        yield "<details><summary>Cases and findings</summary>"
        yield ""
        yield from _shorten(lines, _CAUSES)
        yield ""
        yield "</details>"
        yield ""


def _next_step(report: Report) -> Iterator[str]:
    """What shows more of a gate that is not passed; a command is code, between more backticks than it has itself."""
    if report.next_step is not None:
        step = without_commands(visible(report.next_step, _SENTENCE))
        fence = "`" * (3 + step.count("`"))
        yield from ("Next, to see every case:", "", f"{fence}sh", step, fence, "")
    elif report.gate is not None and report.gate.verdict != "passed":
        yield from ("Next: run the same command with `--save-run run.jsonl -o report.md` to see every case.", "")


def _shorten(lines: Iterable[str], longest: int) -> Iterator[str]:
    """As many lines as fit, and how many are left out."""
    omitted, length = 0, 0
    for line in lines:
        length += len(line) + 1
        if length > longest:
            omitted += 1
        else:
            yield line
    if omitted:
        yield ""
        yield f"{omitted} more lines are in the report."


# A report for GitHub Actions: the summary of a step, and annotations of the lines that caused a failure.

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"

LARGEST_SUMMARY = 1 << 20  # bytes; GitHub shows nothing of a larger one

MOST_ANNOTATIONS = 10  # of one kind and step, that GitHub shows

LONGEST_ANNOTATION = 2000

_CUT = "\n\n_Cut here: GitHub shows 1 MiB per step. The report file has everything._\n"

_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})

_PROPERTY = _DATA | str.maketrans({":": "%3A", ",": "%2C"})


class SuiteLine(NamedTuple):
    """Where in the repository a case is written."""

    file: str
    line: int


@dataclass(frozen=True)
class SuiteLines:
    """Finds the line of a case in the file that the suite was read from, if it is a text in the ``workspace``."""

    path: Path
    workspace: Path

    def find(self, case: str) -> SuiteLine | None:
        """The one line that has this case under ``id``; None if none has it, or several."""
        file, text = self._text
        escaped_case = re.escape(case)
        pattern = rf"""(?:^|[\s{{,-])["']?(?:id|case_id|name)["']?\s*:\s*(["']?){escaped_case}\1\s*(?=[,}}#\n]|$)"""
        places = [match.start(1) for match in re.finditer(pattern, text)]
        return SuiteLine(file, text.count("\n", 0, places[0]) + 1) if len(places) == 1 else None

    @cached_property
    def _text(self) -> tuple[str, str]:
        file = os.path.relpath(self.path.resolve(), self.workspace.resolve())
        if file.startswith(os.pardir) or not self.path.is_file():
            return file, ""
        return file, self.path.read_text("utf-8", "replace")


class Annotation(NamedTuple):
    """A message beside a line of the repository, or beside none."""

    level: Literal["error", "warning"]
    title: str
    message: str
    at: SuiteLine | None = None

    @property
    def command(self) -> str:
        """As GitHub's runner reads it: on one line, with nothing in it that it could take for a second command."""
        at = {} if self.at is None else {"file": self.at.file, "line": str(self.at.line)}
        properties = ",".join(
            f"{name}={_harmless(text).translate(_PROPERTY)}" for name, text in ({"title": self.title} | at).items()
        )
        lines = (_harmless(line) for line in self.message.split("\n"))
        return f"::{self.level} {properties}::" + "\n".join(lines).translate(_DATA)


def _harmless(text: str) -> str:
    """Secrets go first: behind escapes they would not be found."""
    safe = scrub(text, environment_secrets())
    return without_commands(visible(safe, LONGEST_ANNOTATION)).replace("::", ":\u200b:")


def annotations_of(report: Report, line_of: Callable[[str], SuiteLine | None] = lambda _: None) -> list[Annotation]:
    """What is wrong, the worst first, and no more than GitHub shows."""
    annotations = [*_errors(report, line_of), *_warnings(report, line_of)]
    if len(annotations) <= MOST_ANNOTATIONS:
        return annotations
    first = annotations[: MOST_ANNOTATIONS - 1]
    rest = len(annotations) - len(first)
    return [*first, Annotation("warning", "Searchmark", f"{rest} more are in the summary of the step and in the report")]


def _errors(report: Report, line_of: Callable[[str], SuiteLine | None]) -> Iterator[Annotation]:
    for rule in report.gate.rules if report.gate else ():
        if rule.verdict != "passed":
            lines = (rule.message, *cause_lines(report, rule))
            at = next(filter(None, map(line_of, rule.cases)), None)
            yield Annotation("error", f"Search gate {rule.verdict}", "\n".join(lines), at)
    for finding in report.audit:
        if spoils(finding):
            yield Annotation("error", "Search result untrusted", _annotation_text(finding), _line_of_first(finding, line_of))
    if outcome_of(report) == "nothing evaluated":
        yield Annotation("error", "Search quality", "not a single case has a value")


def _warnings(report: Report, line_of: Callable[[str], SuiteLine | None]) -> Iterator[Annotation]:
    for finding in report.audit:
        if finding.severity != "note" and not spoils(finding):
            yield Annotation(
                "warning", f"Search quality: {finding.code}", _annotation_text(finding), _line_of_first(finding, line_of)
            )


def _annotation_text(finding: Finding) -> str:
    return "\n".join(filter(None, (finding.message, finding.fix)))


def _line_of_first(finding: Finding, line_of: Callable[[str], SuiteLine | None]) -> SuiteLine | None:
    """Where the first of its cases is; a few are tried, since each is looked for in the whole file."""
    return next(filter(None, map(line_of, finding.cases[:MOST_ANNOTATIONS])), None)


def summary_file() -> Path:
    """The file that GitHub shows as the summary of a step."""
    path = os.environ.get(SUMMARY_VARIABLE)
    if not path:
        raise UsageError(
            f"--github needs the variable {SUMMARY_VARIABLE}, which a step of GitHub Actions has; leave it out elsewhere"
        )
    if not Path(path).is_file():
        raise UsageError(f"{SUMMARY_VARIABLE} names {path}, which is not a file; GitHub Actions creates it for every step")
    return Path(path)


def append_summary(report: Report, path: Path) -> None:
    """Add the report to the summary, the verdict first, cut where GitHub would show nothing of it."""
    text = f"{render(report, 'comment')}\n{render(report, 'markdown')}\n".encode()
    with path.open("ab") as file:
        file.write(_cut_to_room(text, LARGEST_SUMMARY - file.tell()))


def _cut_to_room(text: bytes, room: int) -> bytes:
    """As many whole lines as there is room for."""
    if len(text) <= room:
        return text
    end = text.rfind(b"\n", 0, max(0, room - len(_CUT.encode())))
    return text[:end] + _CUT.encode() if end > 0 else b""


# A report as JUnit's XML, which every CI system shows: one test per rule of the gate, and one per case.
#
# A rule that is not met is a failure; what keeps a rule or a case from being checked is an error; a known failure is skipped.

GATE = "gate"

_ANSWERED = ("ok", "empty")

_OF_ONE_CASE = ("must_be_first", "must_contain", "must_not_contain", "before", "known_failure")


class _TestResult(NamedTuple):
    """What a test found: its first line, and what else there is to say."""

    element: Literal["failure", "error", "skipped"]
    kind: str
    message: str
    lines: tuple[str, ...] = ()


class _JunitTest(NamedTuple):
    """One test."""

    name: str
    result: _TestResult | None = None  # None is a pass
    seconds: float | None = None


def to_junit(report: Report) -> Iterator[str]:
    """The pieces of the file."""
    suites = [_JunitSuite(f"{report.suite.name}.{GATE}", tuple(_gate_tests(report)))]
    case_rules = _CaseRules.of(report)
    for name, agent in report.agents.items():
        tests = (
            _case_test(case_id, case, case_rules.result_of(name, case_id, case, agent)) for case_id, case in agent.cases.items()
        )
        suites.append(_JunitSuite(f"{report.suite.name}.{name}", tuple(tests), _timestamp(agent)))
    yield from _junit_file(suites)


def skipped_junit(suite: Suite, reason: str) -> Iterator[str]:
    """The pieces of the file where nothing was measured: every case is skipped."""
    result = _TestResult("skipped", "missing", reason)
    yield from _junit_file([_JunitSuite(suite.name, tuple(_JunitTest(case, result) for case in suite.table.ids))])


def _junit_file(suites: Sequence[_JunitSuite]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    counts = _counts(test for suite in suites for test in suite.tests)
    counts.pop("skipped")  # the schema has it for each suite, and not for all of them
    yield f"<testsuites{_attributes(name='searchmark', **counts)}>\n"
    for suite in suites:
        yield from suite.pieces()
    yield "</testsuites>\n"


def _gate_tests(report: Report) -> Iterator[_JunitTest]:
    """A test per rule, and one for everything else that takes the trust from the result."""
    for rule in report.gate.rules if report.gate else ():
        yield _JunitTest(rule_name(rule), _rule_result(report, rule))
    for finding in report.audit:
        if spoils(finding):
            lines = tuple(text for text in (finding.why, finding.fix) if text)
            yield _JunitTest(f"trusted: {finding.code}", _TestResult("error", finding.code, finding.message, lines))
    if outcome_of(report) == "nothing evaluated":
        yield _JunitTest("something was evaluated", _TestResult("error", "nothing evaluated", "not a single case has a value"))


def _rule_result(report: Report, rule: RuleResult) -> _TestResult | None:
    if rule.verdict == "passed":
        return _TestResult("skipped", rule.bound, rule.message) if rule.bound == "known_failure" else None
    return _TestResult(
        "failure" if rule.verdict == "failed" else "error", rule.verdict, rule.message, tuple(cause_lines(report, rule))
    )


@dataclass(frozen=True)
class _CaseRules:
    """What rules have to say about cases."""

    single: dict[tuple[str, str], list[RuleResult]]  # those about one case, by run and case
    each: Sequence[RuleResult]  # those about every case that are not met
    spared: frozenset[str]  # known failures

    @classmethod
    def of(cls, report: Report) -> _CaseRules:
        rules = report.gate.rules if report.gate else ()
        single: dict[tuple[str, str], list[RuleResult]] = {}
        for rule in rules:
            if rule.bound in _OF_ONE_CASE and rule.run is not None:
                single.setdefault((rule.run, rule.cases[0]), []).append(rule)
        each = [rule for rule in rules if rule.subject.endswith(EVERY_CASE) and rule.verdict == "failed"]
        return cls(single, each, frozenset(rule.cases[0] for rule in rules if rule.bound == "known_failure"))

    def result_of(self, run: str, case_id: str, case: CaseSummary, agent: AgentSummary) -> _TestResult | None:
        """What there is to say about a case, the worst first."""
        if case.status not in _ANSWERED:
            ending = f"{case_id} ended with {case.status}"
            message = f"{ending}: {case.details.failure}" if case.details.failure else ending
            return _TestResult("error", case.status, message, _story(case))
        if agent.status != "ok":
            return _TestResult("skipped", "untrusted", f"the run {run} is {agent.status}, so nothing is known of this case")
        about = self.single.get((run, case_id), [])
        failed = [rule.message for rule in about if rule.verdict == "failed"]
        failed += [] if case_id in self.spared else [text for rule in self.each if (text := _too_low(rule, run, case_id, case))]
        if failed:
            return _TestResult("failure", "failed", failed[0], (*failed[1:], *_story(case)))
        skip_messages = [rule.message for rule in about if rule.bound == "known_failure" and rule.verdict == "passed"]
        return _TestResult("skipped", "known_failure", skip_messages[0]) if skip_messages else None


def _too_low(rule: RuleResult, run: str, case_id: str, case: CaseSummary) -> str | None:
    """What a rule about each case says of this one, if it says anything."""
    measure = rule.subject.removesuffix(EVERY_CASE)
    value, expected = case.measures.get(measure), rule.expected
    if rule.run != run or value is None or not isinstance(expected, float | int) or is_within("at_least", value, expected):
        return None
    return f"{case_id}: expected {measure} {SIGNS['at_least']} {expected:g}, but got {digits_beside_bound(value, expected)}"


def _story(case: CaseSummary) -> tuple[str, ...]:
    """What was asked, what was expected, and what came."""
    query = [] if case.query is None else [f"query: {case.query}"]
    expected, got = ([each.target for each in case.expected], [hit.id for hit in case.hits])
    return (*query, f"expected: {list_names(expected)}", f"got: {list_names(got)}")


def _case_test(case_id: str, case: CaseSummary, result: _TestResult | None) -> _JunitTest:
    cold = case.details.cold_ms
    return _JunitTest(case_id, result, cold[0] / 1e3 if cold else None)


def _timestamp(agent: AgentSummary) -> str | None:
    start = agent.run.started
    return None if start is None else start.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


@dataclass(frozen=True)
class _JunitSuite:
    name: str
    tests: tuple[_JunitTest, ...]
    timestamp: str | None = None

    def pieces(self) -> Iterator[str]:
        yield f"  <testsuite{_attributes(name=self.name, **_counts(self.tests), timestamp=self.timestamp)}>\n"
        yield from (_test_piece(self.name, test) for test in self.tests)
        yield "  </testsuite>\n"


def _test_piece(suite: str, test: _JunitTest) -> str:
    start = f"    <testcase{_attributes(classname=suite, name=test.name, time=_seconds(test.seconds))}"
    if test.result is None:
        return f"{start}/>\n"
    return f"{start}>\n      {_result_piece(test.result)}\n    </testcase>\n"


def _result_piece(result: _TestResult) -> str:
    if result.element == "skipped":
        return f"<skipped{_attributes(message=result.message)}/>"
    text = "\n".join(map(xml_text, (result.message, *result.lines)))
    return f"<{result.element}{_attributes(message=result.message, type=result.kind)}>{text}</{result.element}>"


def _counts(tests: Iterable[_JunitTest]) -> dict[str, str]:
    all_tests = list(tests)
    elements: list[str] = [test.result.element for test in all_tests if test.result is not None]
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    numbers = {"tests": len(all_tests)} | {name: elements.count(element) for name, element in kinds.items()}
    return {name: str(count) for name, count in numbers.items()} | {"time": f"{sum(test.seconds or 0.0 for test in all_tests):.6f}"}


def _seconds(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds:.6f}"


def _attributes(**values: str | None) -> str:
    return "".join(f' {name}="{xml_text(value)}"' for name, value in values.items() if value is not None)
