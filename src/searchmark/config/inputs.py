"""Settings of what is searched and how files name their fields: --corpus, --map, --grades and the choice of files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Annotated, Literal

from searchmark.config.option import Option, check_fields
from searchmark.config.strict import strict_record
from searchmark.errors import UsageError

# Which fields of files are what, as ``--map`` says it: of the corpus, of the suite, of saved runs.

# What can be named of each kind of file. Those of the corpus are written without a prefix.
CORPUS_ROLES = ("id", "title", "text", "table")

SUITE_ROLES = ("case", "query", "target", "grade", "category")

RUN_ROLES = ("case", "query", "id", "rank", "score", "agent", "hits", "split")

_HOW_TO_MAP = (
    "write it like id=asin or text=bullets,description (corpus), suite.query=question (suite) or run.id=docid (saved runs)"
)

MAP_HELP = "Name of a field in your files: id=asin, text=a,b (corpus), suite.query=question, run.id=docid; repeatable."


def check_suite_roles(mapping: Mapping[str, str]) -> dict[str, str]:
    """What Python names of a suite: the same roles, each with the name of a field."""
    return _check_roles("suite", SUITE_ROLES, mapping)


def check_run_roles(mapping: Mapping[str, str]) -> dict[str, str]:
    """The same of a saved run."""
    return _check_roles("run", RUN_ROLES, mapping)


def _check_roles(kind: str, roles: tuple[str, ...], mapping: Mapping[str, str]) -> dict[str, str]:
    for role, name in mapping.items():
        if role not in roles:
            near = get_close_matches(str(role), roles, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(f"mapping: a {kind} has no {role!r}; it has {', '.join(roles)}{hint}")
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"mapping: {role} is {name!r}, which is not the name of a field")
    return {role: name.strip() for role, name in mapping.items()}


@dataclass(frozen=True)
class FieldNames:
    """The name that a file has for each role, as far as somebody said so; ``corpus`` texts may be several, by commas."""

    corpus: Mapping[str, str] = field(default_factory=dict)
    suite: Mapping[str, str] = field(default_factory=dict)
    run: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, items: Iterable[str]) -> FieldNames:
        """Read ``id=asin``, ``suite.query=question``, ``run.id=docid``."""
        roles = {"corpus": CORPUS_ROLES, "suite": SUITE_ROLES, "run": RUN_ROLES}
        names: dict[str, dict[str, str]] = {kind: {} for kind in roles}
        for item in items:
            key, separator, name = item.partition("=")
            kind, dot, role = key.strip().rpartition(".")
            kind = kind if dot else "corpus"
            if not separator or not name.strip() or kind not in roles:
                raise UsageError(f"mapping {item!r} cannot be read; {_HOW_TO_MAP}")
            if role not in roles[kind]:
                near = get_close_matches(role, roles[kind], 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise UsageError(f"mapping {item!r}: a {kind} has no {role!r}; it has {', '.join(roles[kind])}{hint}")
            names[kind][role] = name.strip()
        return cls(**names)


# What is searched, as the command line, the config and a suite's header say it: documents, and which files of a folder.

PathKind = Literal["code", "test", "doc", "generated", "vendored", "config", "other"]


@strict_record
class FileSettings:
    """The section ``corpus``: which files of a folder or a snapshot are documents; docs/formats.md explains the fields.

    A file must fit one of ``include`` if there are any, none of ``exclude``, and be one of ``kinds`` if any are named.
    """

    include: Annotated[
        tuple[str, ...],
        Option("Only files that fit, such as 'docs/**' or '*.md'; repeatable.", ("--include",), "GLOB", default="all"),
    ] = ()
    exclude: Annotated[tuple[str, ...], Option("No files that fit; repeatable.", ("--exclude",), "GLOB", default="none")] = ()
    kinds: Annotated[
        tuple[PathKind, ...], Option("Only files of this kind; repeatable.", ("--kinds", "--kind"), default="all")
    ] = ()
    ignore: Annotated[
        bool,
        Option(
            "Leave out what Git ignores, node_modules, virtual environments and __pycache__ of a folder.", ("--ignore/--no-ignore",)
        ),
    ] = True

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def narrows(self) -> bool:
        """Whether files are chosen by what they are called."""
        return bool(self.include or self.exclude or self.kinds)


@dataclass(frozen=True)
class CorpusInputSettings:
    """Documents, what their fields are called, and which files of a folder count; ``never`` are files that are none of them."""

    corpus: Annotated[
        str | None,
        Option(
            "Documents: a directory, or a file: JSON, JSONL, CSV, TSV, Parquet, SQLite, TREC <DOC>, SMART, BEIR folder; or the "
            "address of one, https://...#sha256=HEX.",
            metavar="PATH",
        ),
    ] = None
    mapping: Annotated[tuple[str, ...], Option(MAP_HELP, ("--map",), "FIELD=NAME")] = ()
    files: FileSettings = FileSettings()  # noqa: RUF009  # frozen
    never: tuple[Path, ...] = ()


# Grades that are written as words or letters, as ``--grades`` says what they are worth: ``E=3,S=2,C=1,I=0``.

GRADES_HELP = "What grades that are words are worth, by commas: E=3,S=2,C=1,I=0 or good=1,bad=0; fractions are allowed."

_HOW_TO_GRADE = "write it like E=3,S=2,C=1,I=0"


def parse_grade_words(text: str | None) -> dict[str, float]:
    """Read ``E=3,S=2``: each word once, each worth a number."""
    grades: dict[str, float] = {}
    for item in (text or "").split(","):
        if not item.strip() and text is None:
            continue
        word, separator, number = (part.strip() for part in item.rpartition("="))
        if not separator or not word:
            raise UsageError(f"--grades {text!r} cannot be read; {_HOW_TO_GRADE}")
        if word in grades:
            raise UsageError(f"--grades names {word!r} twice; {_HOW_TO_GRADE}")
        grades[word] = _worth_of_word(word, number)
    return grades


def check_grade_words(words: Mapping[str, float]) -> dict[str, float]:
    """The same from Python: every word is text, and worth a finite number."""
    return {str(word): _worth_of_word(str(word), value) for word, value in words.items()}


def _worth_of_word(word: str, value: str | float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number):
        raise UsageError(f"the grade {word!r} is worth {value!r}, which is not a number; {_HOW_TO_GRADE}")
    return number
