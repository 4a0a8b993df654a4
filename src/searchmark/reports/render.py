"""The registry of report formats, names of their files, and the removal of secrets from a report."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, takewhile
from os import PathLike
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from searchmark.config.sections import OutputSettings, fill_pattern, find_pattern
from searchmark.config.strict import short_repr
from searchmark.errors import UsageError, shortened
from searchmark.io.paths import user_path
from searchmark.io.plugins import load_code, plugins
from searchmark.io.secrets import Scrubber, environment_secrets, with_distinct_names, without_measured_texts
from searchmark.records.answers import AnswerDetails
from searchmark.records.columns import Texts, texts_at
from searchmark.reports.cases import CaseColumns, CaseFacts, CaseSummary, FactColumns
from searchmark.reports.report import AgentSummary, Report, indexes_of

_NAME, _SUFFIX = re.compile(r"[a-z][a-z0-9-]*"), re.compile(r"(\.[a-z0-9_-]+)+")

Content = str | Iterable[str]  # whole, or the pieces of one that may be too large to hold


@dataclass(frozen=True)
class Renderer:
    """A format of reports: its name, the extensions that ask for it, the usual one first, and the function that writes it.

    Packages add one under the entry points ``searchmark.renderers``. Ours name their function, which is loaded when it is needed.
    """

    name: str
    suffixes: tuple[str, ...]
    function: Callable[[Report], Content] | str
    verbatim: bool = False  # nothing is looked through again before it is written: browsers run a script only to the letter

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or not self.suffixes or not all(map(_SUFFIX.fullmatch, self.suffixes)):
            raise ValueError("a renderer has a name of small letters, digits and hyphens, and extensions such as '.org'")

    __repr__ = short_repr

    def load(self) -> Callable[[Report], Content]:
        return cast("Callable[[Report], Content]", load_code(self.function)) if isinstance(self.function, str) else self.function


RENDERERS = {
    each.name: each
    for each in (
        Renderer("json", (".json",), "searchmark.reports.json_file:to_json"),
        Renderer("markdown", (".md", ".markdown"), "searchmark.reports.markdown:to_markdown"),
        Renderer("comment", (".comment.md",), "searchmark.reports.ci:to_comment"),
        Renderer("junit", (".xml",), "searchmark.reports.ci:to_junit"),
        Renderer("html", (".html", ".htm"), "searchmark.reports.page.document:to_html", verbatim=True),
        Renderer("text", (".txt",), "searchmark.reports.text:to_text"),
        Renderer("summary", (".summary.txt",), "searchmark.reports.text:to_summary"),
        Renderer("csv", (".csv",), "searchmark.reports.csv_file:to_csv"),
        Renderer("summary-csv", (".summary.csv",), "searchmark.reports.csv_file:to_summary_csv"),
        Renderer("latex", (".tex",), "searchmark.reports.latex:to_latex"),
    )
}


def _plugin_renderers() -> Mapping[str, Renderer]:
    """What installed packages add, loaded; asked for only where none of ours fits, or where all are listed."""
    theirs = {each.name: each for each in reversed([*plugins("renderers").values()])}
    return RENDERERS | {name: theirs[name] for name in reversed(theirs) if name not in RENDERERS}


def renderer_of(format: str) -> Renderer:  # noqa: A002  # the word that users know
    renderers = RENDERERS if format in RENDERERS else _plugin_renderers()
    if format not in renderers:
        raise UsageError(f"there is no report format {format!r}; available: {', '.join(sorted(renderers))}")
    return renderers[format]


def render(report: Report, format: str = "text") -> str:  # noqa: A002  # the word that users know
    """A report in one of the formats that ``RENDERERS`` names, or in one of a plug-in."""
    return "".join(pieces_of(report, format))


def suffixes(renderers: Mapping[str, Renderer] = RENDERERS) -> list[str]:
    """The extensions that a report may have."""
    return [suffix for each in renderers.values() for suffix in each.suffixes]


def format_of(path: Path) -> str:
    """The format that a file name asks for by its extension, the longest that fits; ours before those of plug-ins."""
    renderers = RENDERERS if any(_ends(path, suffix) for suffix in suffixes()) else _plugin_renderers()
    matches = [(len(suffix), name) for name, each in renderers.items() for suffix in each.suffixes if _ends(path, suffix)]
    if matches:
        return max(matches)[1]
    raise UsageError(f"{path}: the extension must be one of {', '.join(suffixes(renderers))}")


def _ends(path: Path, suffix: str) -> bool:
    """Whether a name has an extension; a dot at its beginning begins none."""
    return path.name[1:].lower().endswith(suffix)


def write_report(report: Report, path: str | PathLike[str], format: str | None = None) -> None:  # noqa: A002  # as above
    """Write a report, in the format that the extension names unless one is named here."""
    from searchmark.io.store import write_text

    path = user_path(path)
    write_text(path, pieces_of(report, format or format_of(path)))


def pieces_of(report: Report, format: str) -> Iterator[str]:  # noqa: A002  # as above
    """The text, piece by piece, without secrets of the environment."""
    renderer = renderer_of(format)
    bare = without_known_secrets(report)
    if format in RENDERERS:
        content = renderer.load()(bare)
        pieces = iter([content] if isinstance(content, str) else content)
    else:
        pieces = _plugin_pieces(renderer, bare)
    return pieces if renderer.verbatim else _check_pieces(report, pieces)


def _plugin_pieces(renderer: Renderer, report: Report) -> Iterator[str]:
    """What a plug-in writes; whatever goes wrong in it is one sentence."""
    try:
        content = renderer.load()(report)
        for piece in [content] if isinstance(content, str) else content:
            if not isinstance(piece, str):
                raise TypeError(f"it gives a {type(piece).__name__} in place of text")  # noqa: TRY301  # said as what else it raises
            yield piece
    except (Exception, SystemExit) as error:
        reason = shortened(f"{type(error).__name__}: {error}", 300)
        raise UsageError(f"the plug-in that writes the format {renderer.name!r} has failed: {reason}") from error


def _check_pieces(report: Report, pieces: Iterable[str]) -> Iterator[str]:
    """A second look at what is written."""
    from searchmark.io.secrets import scrub

    secrets = known_secrets(report)
    return (scrub(piece, secrets) for piece in pieces)


# What the files of a report are called: by the user, by a pattern of the config, or ``report`` with an extension.

UNNAMED = "report"

NONE = "none"  # of a model or an index, where there is none or the agent does not say


@dataclass(frozen=True)
class ReportFile:
    """A file to be written, and its format. A ``pattern`` is the rest of a path that is complete only with the report."""

    path: Path
    format: str
    pattern: str | None = None

    def at(self, values: Mapping[str, str]) -> Path:
        """Where it is written, by the values of the placeholders."""
        return self.path if self.pattern is None else _below(self.path, self.path / fill_pattern(self.pattern, values))

    def existing(self) -> list[Path]:
        """The file, or those that earlier reports have left under its pattern: they tell what is right."""
        return [self.path] if self.pattern is None else sorted(find_pattern(self.path, self.pattern))


def files_in(folder: Path, config: OutputSettings) -> list[ReportFile]:
    """One file for each configured format."""
    _refuse_names_of_nothing(config)
    file_name = _without_extension(config.file_name, config.formats) if isinstance(config.file_name, str) else config.file_name
    patterns = {name: _pattern(name, file_name) for name in dict.fromkeys(config.formats)}
    _refuse_one_name_for_two(patterns)
    for pattern in patterns.values():  # as far as it is known; the rest when it is
        _below(folder, folder / Path(*takewhile(lambda part: "{" not in part, Path(pattern).parent.parts)))
    has_pattern = config.file_name is not None
    return [
        ReportFile(folder if has_pattern else folder / name, each, name if has_pattern else None) for each, name in patterns.items()
    ]


def _below(folder: Path, path: Path) -> Path:
    """A path that a pattern gives; refused if a link leads it out of the folder."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{path} cannot be written: a link leads out of {folder}, where output.file_name must stay")
    return path


def _refuse_names_of_nothing(config: OutputSettings) -> None:
    for name in config.file_name if isinstance(config.file_name, Mapping) else ():
        renderer_of(name)
        if name not in config.formats:
            raise UsageError(f"output.file_name has a name for {name!r}, which output.formats does not list; add it there")


def _refuse_one_name_for_two(patterns: Mapping[str, str]) -> None:
    owners: dict[str, str] = {}
    for name, pattern in patterns.items():
        other = owners.setdefault(pattern, name)
        if other != name:
            raise UsageError(f"output.file_name gives {other!r} and {name!r} one file, {pattern!r}; name them differently")


def _pattern(name: str, file_name: str | Mapping[str, str] | None) -> str:
    """The name of the file of a format, with its extension: in full, where one name is for all formats; or else its last part."""
    extension = renderer_of(name).suffixes[0]
    if isinstance(file_name, str):
        return file_name + extension
    if file_name is None or name not in file_name:
        return UNNAMED + extension
    ending = extension[extension.rindex(".") :]
    return file_name[name] if file_name[name].lower().endswith((ending, *renderer_of(name).suffixes)) else file_name[name] + ending


def _without_extension(pattern: str, formats: Iterable[str]) -> str:
    """The pattern without an extension of these or of any format of ours, the longest that it has."""
    renderers = RENDERERS | {name: renderer_of(name) for name in formats}
    endings = [suffix for suffix in suffixes(renderers) if pattern.lower().endswith(suffix)]
    return pattern.removesuffix(pattern[-max(map(len, endings)) :]) if endings else pattern


def name_values(report: Report, time: datetime) -> dict[str, str]:
    """The values of the placeholders; ``time`` is that of the command, shown in UTC."""
    identities = [agent.run.agent for agent in report.agents.values() if agent.run.agent is not None]
    moment = time.astimezone(UTC)
    return {
        "timestamp": f"{moment:%Y%m%dT%H%M%SZ}",
        "date": f"{moment:%Y%m%d}",
        "suite": report.suite.name,
        "agent": _together(agent.name for agent in report.agents.values()),
        "model": _together(each.model for each in identities),
        "index": _together(index for each in identities for index in indexes_of(each)),
    }


def _together(names: Iterable[str | None]) -> str:
    return "+".join(dict.fromkeys(name for name in names if name)) or NONE


# A report without secrets of the environment: they go from its records, before a renderer escapes, cuts or breaks a text.
#
# A saved run may hold what its agent once said, and a suite what was copied into it.

# Rows of a column that are looked through at once: bounds the memory that this takes.
_AT_ONCE = 1 << 16

T = TypeVar("T")


def known_secrets(report: Report) -> frozenset[str]:
    """What must not be shown of the environment; ids of cases stay as they are, since cases are found by them."""
    secrets = environment_secrets()
    return without_measured_texts(secrets, _case_ids(report)) if secrets else secrets


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
    return chain.from_iterable(_distinct_agents(report.agents.values()))


def _distinct_agents(agents: Iterable[AgentSummary]) -> Iterator[Collection[str]]:
    past_ids: list[object] = []
    for agent in agents:
        ids = agent.cases.scores.matched.suite.table.ids if isinstance(agent.cases, CaseColumns) else agent.cases
        if not any(ids is each for each in past_ids):
            past_ids.append(ids)
            yield ids


def _scrubber(report: Report, secrets: frozenset[str]) -> Scrubber:
    """Removes these; runs keep different names, and an id that has a piece of a secret by chance stays what it is."""
    scrubber = Scrubber.of(secrets)
    ids = {case: case for case in _case_ids(report) if scrubber.concerns(case)} if scrubber.concerns_any(_case_ids(report)) else {}
    names = zip(report.agents, with_distinct_names(map(scrubber.clean, report.agents)), strict=True)
    return replace(scrubber, exact=ids | {name: clean for name, clean in names if name != clean})


@dataclass(frozen=True, eq=False)
class _ScrubbedCases(Mapping[str, T], Generic[T]):
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
        return _ScrubbedCases(cases, scrubber)
    return _clean_columns(cases, scrubber) if scrubber.concerns_any(_texts_of_cases(cases)) else cases


def _clean_columns(cases: CaseColumns, scrubber: Scrubber) -> CaseColumns:
    """The same columns, so that they are written as quickly; what met what was found out before."""
    matched = cases.scores.matched
    suite, run = matched.suite, matched.run
    table = replace(suite.table, queries=scrubber.clean(suite.table.queries))
    judgments = replace(suite.judgments, targets=clean_column(suite.judgments.targets, scrubber))
    suite = replace(suite, table=table, judgments=judgments)
    run = replace(run, ids=clean_column(run.ids, scrubber), details=scrubber.clean(run.details))
    scores = replace(cases.scores, matched=replace(matched, suite=suite, run=run))
    return replace(cases, scores=scores, expected=replace(cases.expected, suite=suite))


def clean_column(texts: Texts, scrubber: Scrubber) -> Texts:
    """A column without secrets, the very same one where it holds none."""
    if isinstance(texts, list):
        return scrubber.clean(texts)
    import polars as pl

    has_secrets = scrubber.concerns_any(_column(texts))
    return pl.Series([scrubber.clean(text) for text in _column(texts)], dtype=pl.String) if has_secrets else texts


def _clean_facts(facts: Mapping[str, CaseFacts], scrubber: Scrubber) -> Mapping[str, CaseFacts]:
    if not isinstance(facts, FactColumns):
        return _ScrubbedCases(facts, scrubber) if facts else facts
    if not scrubber.concerns_any(_texts_of_facts(facts)):
        return facts
    table = facts.table
    columns = {name: scrubber.clean(getattr(table, name)) for name in ("categories", "tags", "origins", "fields")}
    return replace(facts, table=replace(table, **columns))


def _texts_of_cases(cases: CaseColumns) -> Iterator[str]:
    """Every text that the columns hold beside ids of cases and words of ours."""
    matched = cases.scores.matched
    yield from filter(None, matched.suite.table.queries or ())
    yield from _column(matched.suite.judgments.targets)
    yield from _column(matched.run.ids)
    yield from _texts_of_details(matched.run.details or ())


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


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from chain.from_iterable(map(_texts_in, (*value, *value.values())))
    elif isinstance(value, list | tuple):
        yield from chain.from_iterable(map(_texts_in, value))


def _texts_of_facts(facts: FactColumns) -> Iterator[str]:
    table = facts.table
    columns = (table.categories, table.origins, facts.languages, facts.variations)
    yield from filter(None, chain.from_iterable(column or () for column in columns))
    yield from chain.from_iterable(table.tags or ())
