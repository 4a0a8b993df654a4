"""What is searched, as the command line, the config and a suite's header say it: documents, and which files of a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from searchmark.options.field_names import MAP_HELP
from searchmark.options.option import Option, check_fields
from searchmark.options.strict import strict_record

Kind = Literal["code", "test", "doc", "generated", "vendored", "config", "other"]


@strict_record
class FileChoice:
    """The section ``corpus``: which files of a folder or a snapshot are documents; docs/formats.md explains the fields.

    A file must fit one of ``include`` if there are any, none of ``exclude``, and be one of ``kinds`` if any are named.
    """

    include: Annotated[
        tuple[str, ...],
        Option("Only files that fit, such as 'docs/**' or '*.md'; repeatable.", ("--include",), "GLOB", default="all"),
    ] = ()
    exclude: Annotated[tuple[str, ...], Option("No files that fit; repeatable.", ("--exclude",), "GLOB", default="none")] = ()
    kinds: Annotated[tuple[Kind, ...], Option("Only files of this kind; repeatable.", ("--kinds", "--kind"), default="all")] = ()
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
class CorpusChoice:
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
    files: FileChoice = FileChoice()  # noqa: RUF009  # frozen
    never: tuple[Path, ...] = ()
