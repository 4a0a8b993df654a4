"""A report without secrets of the environment: they go from its records, before a renderer escapes, cuts or breaks a text.

A saved run may hold what its agent once said, and a suite what was copied into it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Generic, TypeVar

from searchmark.records import AnswerDetails
from searchmark.records.id_columns import Texts, texts_at
from searchmark.reports.case_columns import CaseColumns, FactColumns
from searchmark.reports.case_records import CaseFacts, CaseSummary
from searchmark.reports.report import AgentSummary, Report
from searchmark.services.environment_secrets import environment_secrets
from searchmark.services.redaction import Scrubber, distinct, unless_known

# Rows of a column that are looked through at once: bounds the memory that this takes.
_AT_ONCE = 1 << 16

T = TypeVar("T")


def known_secrets(report: Report) -> frozenset[str]:
    """What must not be shown of the environment; ids of cases stay as they are, since cases are found by them."""
    secrets = environment_secrets()
    return unless_known(secrets, _case_ids(report)) if secrets else secrets


def without_known_secrets(report: Report) -> Report:
    """The report with no secret of the environment in any text; its columns stay columns where they hold none."""
    secrets = known_secrets(report)
    if not secrets:
        return report
    scrubber = _scrubber(report, secrets)
    bare = {name: replace(agent, cases={}) for name, agent in report.agents.items()}
    clean = scrubber.clean(replace(report, agents=bare, cases={}))
    cases = (_clean_cases(agent.cases, scrubber) for agent in report.agents.values())
    agents = {name: replace(agent, cases=each) for (name, agent), each in zip(clean.agents.items(), cases, strict=True)}
    return replace(clean, agents=agents, cases=_clean_facts(report.cases, scrubber))


def _case_ids(report: Report) -> Iterable[str]:
    """Those of every run; of runs that share a suite once."""
    return chain.from_iterable(_different(report.agents.values()))


def _different(agents: Iterable[AgentSummary]) -> Iterator[Collection[str]]:
    known: list[object] = []
    for agent in agents:
        ids = agent.cases.scores.judged.suite.table.ids if isinstance(agent.cases, CaseColumns) else agent.cases
        if not any(ids is each for each in known):
            known.append(ids)
            yield ids


def _scrubber(report: Report, secrets: frozenset[str]) -> Scrubber:
    """Removes these; runs keep different names, and an id that has a piece of a secret by chance stays what it is."""
    scrubber = Scrubber.of(secrets)
    ids = {case: case for case in _case_ids(report) if scrubber.concerns(case)} if scrubber.concerns_any(_case_ids(report)) else {}
    names = zip(report.agents, distinct(map(scrubber.clean, report.agents)), strict=True)
    return replace(scrubber, exact=ids | {name: clean for name, clean in names if name != clean})


@dataclass(frozen=True, eq=False)
class _Scrubbed(Mapping[str, T], Generic[T]):
    """Records of cases, each without secrets when it is asked for."""

    records: Mapping[str, T]
    scrubber: Scrubber

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def __contains__(self, case: object) -> bool:
        return case in self.records

    def __getitem__(self, case: str) -> T:
        return self.scrubber.clean(self.records[case])


def _clean_cases(cases: Mapping[str, CaseSummary], scrubber: Scrubber) -> Mapping[str, CaseSummary]:
    if not isinstance(cases, CaseColumns) or cases.text_of is not None or scrubber.concerns_any(cases.scores.names):
        return _Scrubbed(cases, scrubber)
    return _clean_columns(cases, scrubber) if scrubber.concerns_any(_texts_of_cases(cases)) else cases


def _clean_columns(cases: CaseColumns, scrubber: Scrubber) -> CaseColumns:
    """The same columns, so that they are written as quickly; what met what was found out before."""
    judged = cases.scores.judged
    suite, run = judged.suite, judged.run
    table = replace(suite.table, queries=scrubber.clean(suite.table.queries))
    judgments = replace(suite.judgments, targets=clean_column(suite.judgments.targets, scrubber))
    suite = replace(suite, table=table, judgments=judgments)
    run = replace(run, ids=clean_column(run.ids, scrubber), details=scrubber.clean(run.details))
    scores = replace(cases.scores, judged=replace(judged, suite=suite, run=run))
    return replace(cases, scores=scores, expected=replace(cases.expected, suite=suite))


def clean_column(texts: Texts, scrubber: Scrubber) -> Texts:
    """A column without secrets, the very same one where it holds none."""
    if isinstance(texts, list):
        return scrubber.clean(texts)
    import polars as pl

    concerned = scrubber.concerns_any(_column(texts))
    return pl.Series([scrubber.clean(text) for text in _column(texts)], dtype=pl.String) if concerned else texts


def _clean_facts(facts: Mapping[str, CaseFacts], scrubber: Scrubber) -> Mapping[str, CaseFacts]:
    if not isinstance(facts, FactColumns):
        return _Scrubbed(facts, scrubber) if facts else facts
    if not scrubber.concerns_any(_texts_of_facts(facts)):
        return facts
    table = facts.table
    told = {name: scrubber.clean(getattr(table, name)) for name in ("categories", "tags", "origins", "fields")}
    return replace(facts, table=replace(table, **told))


def _texts_of_cases(cases: CaseColumns) -> Iterator[str]:
    """Every text that the columns hold beside ids of cases and words of ours."""
    judged = cases.scores.judged
    yield from filter(None, judged.suite.table.queries or ())
    yield from _column(judged.suite.judgments.targets)
    yield from _column(judged.run.ids)
    yield from _texts_of_details(judged.run.details or ())


def _column(texts: Texts) -> Iterator[str]:
    import numpy as np

    if isinstance(texts, list):
        return iter(texts)
    begins = range(0, len(texts), _AT_ONCE)
    return (text for begin in begins for text in texts_at(texts, np.arange(begin, min(begin + _AT_ONCE, len(texts)))))


def _texts_of_details(details: Iterable[AnswerDetails]) -> Iterator[str]:
    for each in details:
        yield from filter(None, (each.failure, each.traceback, each.printed, each.repeat_failure, each.tokens_by))
        yield from each.unreachable
        yield from each.dropped
        if each.said is not None:
            yield from _texts_in(each.said)


def _texts_in(said: Any) -> Iterator[str]:
    if isinstance(said, str):
        yield said
    elif isinstance(said, Mapping):
        yield from chain.from_iterable(map(_texts_in, (*said, *said.values())))
    elif isinstance(said, list | tuple):
        yield from chain.from_iterable(map(_texts_in, said))


def _texts_of_facts(facts: FactColumns) -> Iterator[str]:
    table = facts.table
    columns = (table.categories, table.origins, facts.languages, facts.variations)
    yield from filter(None, chain.from_iterable(column or () for column in columns))
    yield from chain.from_iterable(table.tags or ())
