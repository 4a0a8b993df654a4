"""What people decided about mined cases: rejected, reworded, or kept."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from searchmark.errors import FormatError, UsageError
from searchmark.io.data import parse_json
from searchmark.io.store import check_replaceable, read_utf8, write_text
from searchmark.records.sentences import count_of, quote_name
from searchmark.records.suite import Case, Suite

Verdict = Literal["reject", "query", "keep"]

DECISIONS_SUFFIX = ".decisions.jsonl"

_FIELDS = ("repository", "commit", "decision", "query", "because")

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

_LONGEST_FILE = 50_000_000  # bytes

_LONGEST_QUERY = 10_000


@dataclass(frozen=True)
class CaseDecision:
    """One decision: ``query`` is what is asked instead, if that was decided; ``because`` is for people."""

    repository: str
    commit: str
    decision: Verdict
    query: str | None = None
    because: str | None = None

    def as_line(self) -> str:
        row = {name: getattr(self, name) for name in _FIELDS}
        return json.dumps({name: value for name, value in row.items() if value is not None}, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class RepositoryDecisions:
    """The decisions about one repository, by commit."""

    rejected: Mapping[str, str | None] = field(default_factory=dict)
    queries: Mapping[str, str] = field(default_factory=dict)
    kept: Collection[str] = frozenset()  # commits that are in the gold set already, and go before others


@dataclass(frozen=True)
class Decisions:
    """All decisions of a file that count: the last about each commit. ``file`` is its name, None if there is none."""

    by_commit: Mapping[tuple[str, str], CaseDecision] = field(default_factory=dict)
    file: str | None = None
    kept: Mapping[str, Collection[str]] = field(default_factory=dict)  # by repository

    def of(self, repository: str) -> RepositoryDecisions:
        own = [one for (name, _), one in self.by_commit.items() if name == repository]
        return RepositoryDecisions(
            {one.commit: one.because for one in own if one.decision == "reject"},
            {one.commit: one.query for one in own if one.query is not None},
            self.kept.get(repository, frozenset()),
        )

    def apply(self, suite: Suite) -> Suite:
        """The suite without the cases that were rejected; others ask what a person wrote."""
        pairs = [(case, self.about_case(case)) for case in suite.cases] if self.by_commit else []
        rejected = {case.id for case, decision in pairs if decision is not None and decision.decision == "reject"}
        reworded = {
            case.id: decision.query for case, decision in pairs if decision is not None and decision.query not in (None, case.query)
        }
        if not rejected and not reworded:
            return suite
        counts = (f"{count_of(len(rejected), 'case')} rejected", f"{count_of(len(reworded), 'case')} with another query")
        note = f"decisions of people ({self.file}): {', '.join(counts)}"
        return replace(
            suite.mapped(lambda case: None if case.id in rejected else replace(case, query=reworded.get(case.id, case.query))),
            notes=(*suite.notes, note),
        )

    def about(self, repository: str, commit: str) -> CaseDecision | None:
        return self.by_commit.get((repository, commit))

    def by_case_id(self, case_id: str) -> CaseDecision | None:
        """What was decided about a case that may not be in the gold set any more, by its id ``REPOSITORY@HASH``."""
        name, _, commit = case_id.rpartition("@")
        decisions = [one for one in self.by_commit.values() if commit and one.repository == name and one.commit.startswith(commit)]
        return decisions[0] if len(decisions) == 1 else None

    def elsewhere(self, repositories: Iterable[str]) -> tuple[CaseDecision, ...]:
        """The decisions that are about none of these repositories."""
        names = set(repositories)
        return tuple(one for one in self.by_commit.values() if one.repository not in names)

    def about_case(self, case: Case) -> CaseDecision | None:
        """What was decided about the commit of a case."""
        return self.about(str(case.fields.get("repository")), str(case.fields.get("commit_hash")))


NOTHING_DECIDED, NO_DECISIONS = RepositoryDecisions(), Decisions()


def decision_about(case: Case, verdict: Verdict, *, query: str | None = None, because: str | None = None) -> CaseDecision:
    """A decision about a case of a gold set."""
    repository, commit = (case.fields.get(name) for name in ("repository", "commit_hash"))
    if not isinstance(repository, str) or not isinstance(commit, str):
        raise UsageError(
            f"the case {quote_name(case.id)} names no repository and commit; only cases of a gold set are decided about"
        )
    return CaseDecision(repository, commit, verdict, query, because)


def decisions_path(gold_set: str | PathLike[str]) -> Path:
    """Where the decisions about a gold set are: ``gold.json`` has ``gold.decisions.jsonl``."""
    path = Path(gold_set)
    return path.with_name(path.name.removesuffix(path.suffix) + DECISIONS_SUFFIX)


def read_decisions(path: str | PathLike[str], *, missing_ok: bool = False) -> Decisions:
    """The decisions of a file; one that is not there holds none, if that may be."""
    file = Path(path)
    if missing_ok and not os.path.exists(file):  # noqa: PTH110  # a name that is too long for a file is none that is there
        return NO_DECISIONS
    if file.is_file() and file.stat().st_size > _LONGEST_FILE:
        raise FormatError(file, None, f"larger than {_LONGEST_FILE // 1_000_000} MB, which no file of decisions is")
    lines = enumerate(read_utf8(file).split("\n"), 1)
    decisions = [_decision(file, number, parse_json(file, line, number)) for number, line in lines if line.strip()]
    return Decisions(_last_decisions(decisions), file.name)


def _last_decisions(decisions: Iterable[CaseDecision]) -> dict[tuple[str, str], CaseDecision]:
    """The last decision about each commit; one to keep it takes back what was decided before."""
    last: dict[tuple[str, str], CaseDecision] = {}
    for one in decisions:
        last.pop((one.repository, one.commit), None)
        if one.decision != "keep":
            last[one.repository, one.commit] = one
    return last


def _decision(path: Path, line: int, row: Any) -> CaseDecision:
    place = f"line {line}"
    if not isinstance(row, dict):
        raise FormatError(path, place, "a decision is an object with repository, commit and decision")
    strange = next((name for name in row if name not in _FIELDS), None)
    if strange is not None:
        raise FormatError(path, place, f"unknown field {quote_name(strange)}; a decision has {', '.join(_FIELDS)}")
    wrong = next((name for name, value in row.items() if not isinstance(value, str)), None)
    if wrong is not None:
        raise FormatError(path, f"{place}, {wrong}", "must be text")
    if "repository" not in row or not _COMMIT.fullmatch(row.get("commit", "")):
        raise FormatError(path, place, "a decision names a repository and the full hash of a commit")
    if row.get("decision") not in get_args(Verdict):
        raise FormatError(path, f"{place}, decision", f"must be one of {', '.join(get_args(Verdict))}")
    if (row["decision"] == "query") != bool(row.get("query", "").strip()):
        raise FormatError(path, f"{place}, query", "a decision of the kind query, and no other, has the text to ask")
    return CaseDecision(**row)


def record_decision(path: str | PathLike[str], decision: CaseDecision) -> None:
    """Add a decision to a file, which is made if it is not there; what it holds must be readable, and stays."""
    _check_decision(decision)
    read_decisions(path, missing_ok=True)
    check_replaceable(path)
    before = read_utf8(path) if Path(path).exists() else ""
    write_text(path, f"{before}{'' if not before or before.endswith(chr(10)) else chr(10)}{decision.as_line()}")


def _check_decision(decision: CaseDecision) -> None:
    if not _COMMIT.fullmatch(decision.commit):
        raise UsageError(f"{quote_name(decision.commit)} is not the full hash of a commit, which decisions are kept by")
    if decision.decision == "query" and not (decision.query or "").strip():
        raise UsageError("the new query is empty; reject the case with --reject instead")
    if decision.query is not None and len(decision.query) > _LONGEST_QUERY:
        raise UsageError(f"the new query has more than {_LONGEST_QUERY} characters; shorten it")
