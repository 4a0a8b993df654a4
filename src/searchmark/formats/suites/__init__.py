"""Load and save suites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from searchmark.config.builtin import builtin_suite_at, refuse_builtin_target
from searchmark.config.inputs import check_grade_words, check_suite_roles
from searchmark.errors import FormatError, UsageError
from searchmark.formats import (
    SUITE_FORMATS,
    WRITABLE_FORMATS,
    SuiteFormat,
    all_formats,
    find_format,
    named_format,
    plugin_that_fits,
)
from searchmark.formats.detection import SUITE_ROLE, hint_at_file_kind
from searchmark.formats.suites.checks import check_cases, check_metadata
from searchmark.formats.suites.source import Source, Topics
from searchmark.git.mining.decisions import NO_DECISIONS, decisions_path, read_decisions
from searchmark.io.paths import user_path
from searchmark.io.store import check_readable, pause_garbage_collector
from searchmark.records.sentences import count_of
from searchmark.records.suite import Suite

if TYPE_CHECKING:
    from searchmark.formats.suites.native import SuiteSetup


def load_suite(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  # the word that users know
    topics: str | PathLike[str] | None = None,
    mapping: Mapping[str, str] | None = None,
    grades: Mapping[str, float] | None = None,
) -> Suite:
    """Read a suite; ``topics`` adds the query texts where these are kept in a second file.

    ``path`` may be ``builtin:NAME``, a suite that comes with Searchmark; ``searchmark suites`` lists them.
    ``mapping`` says what the file calls its fields: ``{"query": "question", "target": "expected_file"}``. ``grades`` says what
    grades that are words or letters are worth: ``{"E": 3, "S": 2, "C": 1, "I": 0}``.
    """
    return load_suite_with_setup(path, format=format, topics=topics, mapping=mapping, grades=grades)[0]


def load_suite_with_setup(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  # as above
    topics: str | PathLike[str] | None = None,
    mapping: Mapping[str, str] | None = None,
    grades: Mapping[str, float] | None = None,
    decided: bool = True,
) -> tuple[Suite, SuiteSetup]:
    """Read a suite, and what its header says about testing it, in the formats that have one.

    What people decided about its cases, in the file beside it, is applied where ``decided``.
    """
    builtin = builtin_suite_at(path)
    file = user_path(path) if builtin is None else builtin.file
    source = Source(file, field_names=check_suite_roles(mapping or {}), grades=check_grade_words(grades or {}))
    check_readable(source.path)
    if builtin is None:
        suite, setup = _read_with_setup(source, format, topics)
        decisions = read_decisions(decisions_path(file), missing_ok=True) if decided and file.name else NO_DECISIONS
        return decisions.apply(suite), setup
    suite, setup = _read_with_setup(source, format or builtin.format, topics or builtin.topics)
    # Under the name that it is called by, so that what is made with it names no path of this machine.
    return replace(suite, name=builtin.reference, files=builtin.answers()), replace(setup, corpus=setup.corpus or builtin.corpus)


def read_suite(source: Source, format: str | None = None) -> Suite:  # noqa: A002  # as above
    """Read a suite from a source that is known to be readable."""
    return _read_with_setup(source, format, None)[0]


def detect_suite_format(source: Source) -> str:
    """The name of the format; a table where --map names its columns."""
    from searchmark.formats.suites.detection import recognise_format

    return recognise_format(source)


def _read_with_setup(source: Source, format_name: str | None, topics: str | PathLike[str] | None) -> tuple[Suite, SuiteSetup]:
    if topics is not None:  # queries and what is known of them are there
        source = replace(source, topics=Topics(user_path(topics), source.field_names), field_names={})
    with pause_garbage_collector():
        try:
            with hint_at_file_kind(source.path, SUITE_ROLE):  # of a file that has a format, its reader knows what is wrong
                name = format_name or detect_suite_format(source)
            suite, setup = _read_format(source, named_format(SuiteFormat, name))
        except FormatError:
            plugin = plugin_that_fits(SuiteFormat, source) if format_name is None else None
            if plugin is None:
                raise
            suite, setup = _read_format(source, plugin)
    check_metadata(source.path, suite.metadata)
    paths = (source.path, None if source.topics is None else source.topics.path)
    return replace(suite, files=tuple(Path(path).absolute() for path in paths if path is not None)), setup


def _read_format(source: Source, chosen: SuiteFormat) -> tuple[Suite, SuiteSetup]:
    from searchmark.formats.suites.native import NO_SETUP, read_header, read_native_with_setup

    _refuse_unused_mapping(chosen, source)
    if source.topics is not None and not chosen.topics:
        raise UsageError(f"{source.path} carries its own queries; topics belong to TREC qrels and to labels")
    if chosen.name == "native":
        return read_native_with_setup(source)
    suite = chosen.call(source.path, chosen.read, source)
    if chosen.name not in SUITE_FORMATS:
        if not isinstance(suite, Suite):
            raise chosen.failure(source.path, f"read {type(suite).__name__}, not a Suite")
        check_cases(source.path, suite.cases)
    return suite, read_header(source) if chosen.header else NO_SETUP


def _refuse_unused_mapping(chosen: SuiteFormat, source: Source) -> None:
    """Names of columns and words for grades are for files that have such; for others they would be ignored in silence."""
    if source.field_names and chosen.name != "table":
        columns = count_of(len(source.field_names), "column")
        raise UsageError(f"{source.path}: --map names {columns} of the suite, but {chosen.name} files have names of their own")
    if source.grades and not chosen.words:
        raise UsageError(f"{source.path}: --grades says what words are worth, but grades in {chosen.name} files are whole numbers")


def save_suite(suite: Suite, path: str | PathLike[str], *, format: str = "native") -> list[str]:  # noqa: A002  # as above
    """Write a suite, whole or not at all; returns what the format could not hold, a sentence each."""
    refuse_builtin_target(path)
    chosen = find_format(SuiteFormat, format)
    if chosen is None or chosen.write is None:
        others = [each.name for each in all_formats(SuiteFormat) if each.write is not None and each.name not in WRITABLE_FORMATS]
        raise UsageError(f"suites cannot be written as {format!r}; the formats are {', '.join([*WRITABLE_FORMATS, *others])}")
    path = user_path(path)
    return list(chosen.call(path, chosen.write, suite, path) or ())
