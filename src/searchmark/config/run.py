"""Settings of a run: how agents are asked, which cases, where, and what becomes of an interrupted run."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from searchmark.config.option import Option, check_fields
from searchmark.config.strict import STRICT, Positive, Whole, short_repr, strict_record
from searchmark.errors import UsageError
from searchmark.io.folders import OWNER_ONLY_FILE
from searchmark.io.paths import expand_paths

# Which cases of a suite are asked, and what becomes of the answers of an interrupted run.

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
class ResumeSettings:
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


# Our own folder in a project: Git does not see what is in it, and nothing of it lies elsewhere.


def refuse_folder_outside(folder: Path) -> None:
    """Refuse a folder below the working directory that is elsewhere: a stranger's project may come with links of any kind."""
    target = Path(os.path.realpath(folder))
    if not target.is_relative_to(os.path.realpath(Path.cwd())):
        raise UsageError(f"{folder} leads out of the working directory, to {target}; remove the link, or name a different folder")


def hide_from_git(folder: Path) -> None:
    """Have Git ignore our folder, once it is there; a folder of another name is the user's."""
    if folder == Path(OUR_FOLDER):  # and was not named by the user
        refuse_folder_outside(folder)
    if folder.name == OUR_FOLDER:
        with suppress(FileExistsError):  # a link that leads to nothing is there, too
            descriptor = os.open(folder / ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, OWNER_ONLY_FILE)
            with os.fdopen(descriptor, "wb") as file:
                file.write(b"*\n")


# Where cases are asked, and how the machines there come by what they need.

EXECUTOR_HELP = "Where to run: process:N, dask:local:N, dask://host:port, or module:attr, a concurrent.futures.Executor."


@dataclass(frozen=True)
class ExecutorSettings:
    """Who runs it, if not this process.

    ``ship``: repositories are sent along; ``wheels``: files with code of agents, sent along.
    """

    executor: Annotated[str | None, Option(EXECUTOR_HELP, metavar="WHERE", default="this process, or process:N by --jobs N")] = None
    ship: Annotated[
        bool,
        Option("Send repositories to the machines of the executor, instead of expecting them there at the same path.", ("--ship",)),
    ] = False
    wheels: Annotated[
        tuple[str, ...], Option("Wheel with the code of an agent, for every machine; repeatable.", ("--wheel",), "FILE")
    ] = ()

    __repr__ = short_repr

    def __post_init__(self) -> None:
        expand_paths(self, "wheels")


# How much of every case goes into a report.

HITS_SHOWN = 10


@dataclass(frozen=True)
class ReportSettings:
    """How many hits of every answer a report keeps, and whether it shows what they say."""

    hits: Annotated[int, Ge(0), Option("Number of hits per answer that reports keep; 0 for all.")] = HITS_SHOWN
    hit_texts: Annotated[bool, Option("Keep the text of the hits too, where the corpus is at hand.", ("--hit-texts",))] = False

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def limit(self) -> int | None:
        """The number of hits to keep; None for all of them."""
        return self.hits or None


# How agents are run: the section ``evaluation`` of the config file.

INITIALISE_TIMEOUT_FACTOR = 20


# Options that decide how work is done, not what comes out.
FIELDS_WITHOUT_EFFECT_ON_ANSWERS = ("jobs", "block", "max_failures", "no_exec", "offline")

LONGEST_TIMEOUT = 1_000_000

LARGEST_K = 1_000_000

LARGEST_MEMORY_MB = 1 << 30


@strict_record
class RunSettings:
    """All that decides how cases are asked; see docs/running.md for each."""

    num_runs: Annotated[Positive, Option("Searches per case: one cold, the rest warm.")] = 3
    timeout_seconds: Annotated[
        float, Gt(0), Le(LONGEST_TIMEOUT), STRICT, Option("Time limit of one search.", ("--timeout",), "SECONDS")
    ] = 30.0
    initialize_timeout_seconds: Annotated[
        float | None,
        Gt(0),
        Le(LONGEST_TIMEOUT),
        STRICT,
        Option(
            "Time limit for building an index.",
            ("--initialize-timeout",),
            "SECONDS",
            f"{INITIALISE_TIMEOUT_FACTOR} times --timeout",
        ),
    ] = None
    depth: Annotated[int, Ge(1), Le(LARGEST_K), STRICT, Option("Number of hits to ask for and keep.")] = 100
    seed: Annotated[Whole, Option("Seed of the order of the cases and of --sample.")] = 0
    randomize_order: Annotated[bool, Option("Ask the cases in random order.")] = True
    warm_up: Annotated[bool, Option("Make one search that is not measured after each change of the index.")] = True
    max_failures: Annotated[Positive, Option("Stop asking an agent after N consecutive failures.")] = 10
    memory_limit_mb: Annotated[
        int | None,
        Ge(1),
        Le(LARGEST_MEMORY_MB),
        STRICT,
        Option("Maximum memory of each process of an agent (Linux only).", ("--memory-limit",), "MB"),
    ] = None
    jobs: Annotated[Positive, Option("Number of parallel workers; with several, latencies are marked as under load.")] = 1
    block: Annotated[Positive, Option("Number of cases that an agent is asked before the next one takes its turn.")] = 25
    no_exec: Annotated[
        bool,
        Option("Run only built-in agents, and without network. Use this with config files you do not trust.", ("--no-exec",)),
    ] = False
    offline: Annotated[
        bool,
        Option(
            "Use no network, loopback included. Only --sandbox keeps the code of your own agent from it.",
            ("--offline",),
        ),
    ] = False
    sandbox: Annotated[
        Literal["off", "auto", "bubblewrap", "landlock"],
        Option("Keep agents from all files, processes and networks that they do not need (Linux only).", alone="auto"),
    ] = "off"

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def network(self) -> bool:
        """Whether the network may be used."""
        return not (self.offline or self.no_exec)

    @property
    def initialize_seconds(self) -> float:
        if self.initialize_timeout_seconds is not None:
            return self.initialize_timeout_seconds
        return self.timeout_seconds * INITIALISE_TIMEOUT_FACTOR
