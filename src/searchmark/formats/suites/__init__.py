"""Where cases come from: one reader per file format, chosen by what the file holds.

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from searchmark.errors import UsageError
from searchmark.files.recognised import SUITE, telling_what_it_is
from searchmark.files.store import check_readable, collector_paused
from searchmark.options.field_names import check_suite_roles
from searchmark.options.grade_words import check_grade_words
from searchmark.options.user_paths import user_path
from searchmark.records import Suite
from searchmark.suites.builtin import BuiltinSuite, builtin_suite, refuse_change
from searchmark.suites.checks import check_metadata
from searchmark.suites.detect import FORMATS, detect
from searchmark.suites.source import Source, Topics

if TYPE_CHECKING:
    from searchmark.suites.native import SuiteSetup

WRITABLE = ("native", "gold-set", "qrels", "beir")


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
) -> tuple[Suite, SuiteSetup]:
    """Read a suite, and what its header says about testing it; only native suites have one."""
    builtin = builtin_suite(path)
    file = user_path(path) if builtin is None else builtin.file
    source = Source(file, field_names=check_suite_roles(mapping or {}), grades=check_grade_words(grades or {}))
    check_readable(source.path)
    if builtin is None:
        return _with_setup(source, format, topics)
    return _as_builtin(builtin, *_with_setup(source, format or builtin.format, topics or builtin.topics))


def _as_builtin(builtin: BuiltinSuite, suite: Suite, setup: SuiteSetup) -> tuple[Suite, SuiteSetup]:
    """The suite under the name that it is called by, so that what is made with it names no path of this machine."""
    return replace(suite, name=builtin.reference, files=builtin.answers()), replace(setup, corpus=setup.corpus or builtin.corpus)


def read_suite(source: Source, format: str | None = None, topics: str | PathLike[str] | None = None) -> Suite:  # noqa: A002  # as above
    """Read a suite from a source that is known to be readable."""
    return _with_setup(source, format, topics)[0]


def _with_setup(source: Source, wanted: str | None, topics: str | PathLike[str] | None) -> tuple[Suite, SuiteSetup]:
    from searchmark.suites.native import NO_SETUP, read_native_with_setup
    from searchmark.suites.table import refuse_unused

    asked = None if topics is None else Topics(user_path(topics), source.field_names)
    if asked is not None:
        source = replace(source, field_names={})  # with topics, queries and what is known of them are there
    with collector_paused():
        with telling_what_it_is(source.path, SUITE):  # of a file that has a format, its reader knows what is wrong
            chosen = wanted or detect(source)
        refuse_unused(chosen, source)
        native = chosen == "native" and asked is None
        suite, setup = read_native_with_setup(source) if native else (_read(source, chosen, asked), NO_SETUP)
    check_metadata(source.path, suite.metadata)
    files = tuple(Path(path).absolute() for path in (source.path, None if asked is None else asked.path) if path is not None)
    return replace(suite, files=files), setup


def _read(source: Source, chosen: str, topics: Topics | None) -> Suite:
    if chosen not in FORMATS:
        raise UsageError(f"there is no suite format {chosen!r}; the formats are {', '.join(FORMATS)}")
    if chosen == "qrels":
        from searchmark.suites.trec import read_qrels

        return read_qrels(source.path, topics)
    if chosen == "diversity-qrels":
        from searchmark.suites.trec import read_diversity_qrels

        return read_diversity_qrels(source.path, topics)
    if chosen == "labels":
        from searchmark.suites.labels import read_labels

        if topics is not None and topics.field_names:
            raise UsageError(
                f"{topics.path}: --map names a field of the suite, but lists of queries for labels have id, query and type"
            )
        return read_labels(source, None if topics is None else topics.path)
    if topics is not None:
        raise UsageError(f"{source.path} carries its own queries; topics belong to TREC qrels and to labels")
    return _reader(chosen)(source)


def _reader(name: str) -> Callable[[Source], Suite]:
    """The reader of a format, imported when it is needed."""
    from importlib import import_module

    module, function = FORMATS[name]
    reader: Callable[[Source], Suite] = getattr(import_module(f"searchmark.suites.{module}"), function)
    return reader


def save_suite(suite: Suite, path: str | PathLike[str], *, format: str = "native") -> list[str]:  # noqa: A002  # as above
    """Write a suite, whole or not at all; returns what the format could not hold, a sentence each."""
    refuse_change(path)
    writer = _writer(format)
    return list(writer(suite, user_path(path)))


def _writer(name: str) -> Callable[[Suite, str | PathLike[str]], Iterable[str]]:
    if name == "native":
        from searchmark.suites.native import write_native

        return write_native
    if name == "gold-set":
        from searchmark.suites.gold_set import write_gold_set

        return write_gold_set
    if name == "qrels":
        from searchmark.suites.trec import write_qrels

        return write_qrels
    if name == "beir":
        from searchmark.suites.beir import write_beir

        return write_beir
    raise UsageError(f"suites cannot be written as {name!r}; the formats are {', '.join(WRITABLE)}")
