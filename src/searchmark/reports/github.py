"""A report for GitHub Actions: the summary of a step, and annotations of the lines that caused a failure."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from searchmark.errors import UsageError
from searchmark.findings import Finding, spoils
from searchmark.reports import render
from searchmark.reports.gate_layout import cause_lines
from searchmark.reports.outcome import outcome_of
from searchmark.reports.quoting import visible, without_commands
from searchmark.reports.report import Report
from searchmark.services.environment_secrets import environment_secrets
from searchmark.services.redaction import scrubbed

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
        quoted = re.escape(case)
        pattern = rf"""(?:^|[\s{{,-])["']?(?:id|case_id|name)["']?\s*:\s*(["']?){quoted}\1\s*(?=[,}}#\n]|$)"""
        found = [match.start(1) for match in re.finditer(pattern, text)]
        return SuiteLine(file, text.count("\n", 0, found[0]) + 1) if len(found) == 1 else None

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
    clean = scrubbed(text, environment_secrets())
    return without_commands(visible(clean, LONGEST_ANNOTATION)).replace("::", ":\u200b:")


def annotations_of(report: Report, line_of: Callable[[str], SuiteLine | None] = lambda _: None) -> list[Annotation]:
    """What is wrong, the worst first, and no more than GitHub shows."""
    found = [*_errors(report, line_of), *_warnings(report, line_of)]
    if len(found) <= MOST_ANNOTATIONS:
        return found
    shown = found[: MOST_ANNOTATIONS - 1]
    rest = len(found) - len(shown)
    return [*shown, Annotation("warning", "Searchmark", f"{rest} more are in the summary of the step and in the report")]


def _errors(report: Report, line_of: Callable[[str], SuiteLine | None]) -> Iterator[Annotation]:
    for rule in report.gate.rules if report.gate else ():
        if rule.verdict != "passed":
            lines = (rule.message, *cause_lines(report, rule))
            at = next(filter(None, map(line_of, rule.cases)), None)
            yield Annotation("error", f"Search gate {rule.verdict}", "\n".join(lines), at)
    for found in report.audit:
        if spoils(found):
            yield Annotation("error", "Search result untrusted", _told(found), _line_of_first(found, line_of))
    if outcome_of(report) == "nothing evaluated":
        yield Annotation("error", "Search quality", "not a single case has a value")


def _warnings(report: Report, line_of: Callable[[str], SuiteLine | None]) -> Iterator[Annotation]:
    for found in report.audit:
        if found.severity != "note" and not spoils(found):
            yield Annotation("warning", f"Search quality: {found.code}", _told(found), _line_of_first(found, line_of))


def _told(found: Finding) -> str:
    return "\n".join(filter(None, (found.message, found.fix)))


def _line_of_first(found: Finding, line_of: Callable[[str], SuiteLine | None]) -> SuiteLine | None:
    """Where the first of its cases is; a few are tried, since each is looked for in the whole file."""
    return next(filter(None, map(line_of, found.cases[:MOST_ANNOTATIONS])), None)


def summary_file() -> Path:
    """The file that GitHub shows as the summary of a step."""
    named = os.environ.get(SUMMARY_VARIABLE)
    if not named:
        raise UsageError(
            f"--github needs the variable {SUMMARY_VARIABLE}, which a step of GitHub Actions has; leave it out elsewhere"
        )
    if not Path(named).is_file():
        raise UsageError(f"{SUMMARY_VARIABLE} names {named}, which is not a file; GitHub Actions creates it for every step")
    return Path(named)


def append_summary(report: Report, path: Path) -> None:
    """Add the report to the summary, the verdict first, cut where GitHub would show nothing of it."""
    text = f"{render(report, 'comment')}\n{render(report, 'markdown')}\n".encode()
    with path.open("ab") as file:
        file.write(_cut(text, LARGEST_SUMMARY - file.tell()))


def _cut(text: bytes, room: int) -> bytes:
    """As many whole lines as there is room for."""
    if len(text) <= room:
        return text
    end = text.rfind(b"\n", 0, max(0, room - len(_CUT.encode())))
    return text[:end] + _CUT.encode() if end > 0 else b""
