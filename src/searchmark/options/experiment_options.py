"""Which cases of a suite are asked, and what becomes of the answers of an interrupted run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from searchmark.options.option import Option
from searchmark.options.short_repr import short_repr
from searchmark.options.user_paths import expand_paths

OUR_FOLDER = ".searchmark"  # where journals are kept unless another folder is named; never searched


@dataclass(frozen=True)
class CaseSelection:
    """Which cases of the suite; all of them by default."""

    text: Annotated[str | None, Option("Only cases whose id or query contains TEXT.", ("-k",), "TEXT")] = None
    categories: Annotated[
        tuple[str, ...], Option("Only cases of this category, by name or number; repeatable.", ("--category",), "NAME")
    ] = ()
    sample: Annotated[int | None, Ge(1), Option("Only N cases, drawn at random by --seed.")] = None
    shard: Annotated[str | None, Option("Only the I-th of N parts of the cases.", metavar="I/N")] = None
    last_failed: Annotated[bool, Option("Only cases that ended in an error or a time-out in the last run.")] = False

    __repr__ = short_repr


@dataclass(frozen=True)
class Resumption:
    """What becomes of the answers of an interrupted run, and where they are."""

    resume: Annotated[bool, Option("Resume this command after an interruption.")] = False
    retry_errors: Annotated[bool, Option("Resume, and ask again what ended in an error or a time-out.")] = False
    journal_folder: Annotated[str, Option("Folder to record answers in as they arrive.", ("--journal",), "FOLDER")] = OUR_FOLDER

    __repr__ = short_repr

    def __post_init__(self) -> None:
        expand_paths(self, "journal_folder")

    @property
    def wanted(self) -> bool:
        return self.resume or self.retry_errors
