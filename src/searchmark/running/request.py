"""What to run and what comes out: the request, one job per agent, progress, and the result."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from searchmark.agents.registry import has_own_corpus, spec_and_arms
from searchmark.config.agents import AgentSpec, BuiltInSource, CommandSource, HttpSource, McpSource
from searchmark.config.run import FIELDS_WITHOUT_EFFECT_ON_ANSWERS, RunSettings
from searchmark.errors import UsageError
from searchmark.executors.pool import PoolSettings
from searchmark.formats.corpora.locations import Commit, Location, Remote
from searchmark.records.file_kinds import EVERY_PATH
from searchmark.records.provenance import CandidateKinds, RunLabel, ShardIdentity
from searchmark.records.suite import Suite
from searchmark.running.distribution import NO_SUPPLIES, Supplies
from searchmark.running.journal import aside_path, has_begun


@dataclass(frozen=True)
class AgentJob:
    """Who is asked, where each case is searched (visited in the order of this mapping), and how the run is labelled."""

    spec: AgentSpec
    locations: Mapping[str, Location]
    label: RunLabel

    @property
    def candidates(self) -> CandidateKinds | None:
        """Which files could be found at all, where not all of them could."""
        match next(iter(self.locations.values())):
            case Commit() as commit if commit.wanted != EVERY_PATH:
                return CandidateKinds(commit.kinds, commit.excluded, commit.include, commit.exclude)
        return None

    @property
    def is_remote(self) -> bool:
        """Whether it is given no corpus."""
        return isinstance(next(iter(self.locations.values())), Remote)

    @property
    def searches_own_corpus(self) -> bool:
        """Whether it, or one that it asks, is known to search what it has; of code that is known once it is loaded."""
        return self.is_remote or any(map(has_own_corpus, spec_and_arms(self.spec)))

    def searches_here(self, *, own_corpus: bool) -> bool:
        """Whether all that search are processes of ours; code that has a corpus of its own may ask a service for it."""
        return all(_has_local_corpus(each, own_corpus) for each in spec_and_arms(self.spec))

    def identity(self, options: RunSettings, code: str | None, salt: str) -> dict[str, Any]:
        """What of it must be the same for a journal to be resumed. The config may hold secrets, hence the salt."""
        config = json.dumps([self.spec.config, self.spec.chunk_of], sort_keys=True, default=str)
        return {
            "agent": {
                "label": [self.label.identity, self.label.snapshot, self.label.repeat],
                "source": self.spec.source.text,
                "chunk_of": self.spec.chunk_of,
                "code": code,
                "config": hashlib.sha256(f"{salt}{config}".encode("utf-8", "surrogatepass")).hexdigest(),
            },
            "options": {key: value for key, value in asdict(options).items() if key not in FIELDS_WITHOUT_EFFECT_ON_ANSWERS},
        }


def _has_local_corpus(spec: AgentSpec, own_corpus: bool) -> bool:
    match spec.source:
        case HttpSource():
            return False
        case McpSource():
            return "url" not in spec.options
        case CommandSource() | BuiltInSource():
            return True
    return not own_corpus


@dataclass(frozen=True)
class RunProgress:
    """How far a run has come, to be shown; before the first answer an agent is getting ready."""

    label: RunLabel
    done: int
    total: int
    failed: int
    doing: str = ""
    dead: str | None = None  # why this agent is asked nothing more, once that is known


@dataclass(frozen=True)
class RunRequest:
    """What to run: a suite, and who is asked."""

    suite: Suite
    agents: tuple[AgentJob, ...]
    options: RunSettings = RunSettings()
    journals: Mapping[RunLabel, Path] = field(default_factory=dict)  # where the answers of each agent go; else into memory only
    resume: bool = False  # continue what is in the journals
    retry: bool = False  # ask again what ended in an error there
    hidden: tuple[Path, ...] = ()  # files and folders that tell the answers, out of the sight of sandboxed agents; beside journals
    shard: ShardIdentity | None = None  # which part of all cases the suite has, if it is one
    executor: PoolSettings | None = None  # who runs it, if not this process
    supplies: Supplies = NO_SUPPLIES  # how other machines get what they need
    ship: bool = False  # send repositories along too

    @property
    def labels(self) -> list[RunLabel]:
        return [job.label for job in self.agents]

    @property
    def out_of_sight(self) -> tuple[Path, ...]:
        """What a sandbox hides: what tells the answers, and the journals with all that lies beside them."""
        return (*self.hidden, *self.journals.values(), *(path.parent for path in self.journals.values()))


def refuse_duplicates(labels: Sequence[RunLabel]) -> None:
    twice = next((label.agent for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise UsageError(f"duplicate agent name {twice!r}; rename one: --agent other={twice}")


def refuse_without_process_isolation() -> None:
    if sys.platform == "win32":
        raise UsageError("agents cannot be isolated on Windows, so they are not run; score saved runs instead (--run)")
    if sys.platform == "linux" and not Path("/proc/self/stat").exists():
        raise UsageError("agents cannot be isolated where /proc is not mounted: their processes could not be found")


def open_journals(request: RunRequest, open_journal: Callable[[RunLabel, Path, bool], None]) -> None:
    """Open them all, each told whether it is resumed; where a run is, an agent that had not begun begins now."""
    has_lines = {label: has_begun(path) for label, path in request.journals.items()}
    if request.resume:
        _refuse_changed(request.journals.values())
    for label, path in request.journals.items():
        open_journal(label, path, request.resume and has_lines[label])


def _refuse_changed(journals: Iterable[Path]) -> None:
    """Nothing is resumed that another process has changed."""
    journal = next((path for path in journals if aside_path(path).exists() and not path.exists()), None)
    if journal is not None:
        raise UsageError(
            f"{journal} cannot be resumed: another process changed it during the last run; run without --resume to start over "
            f"(it was kept as {aside_path(journal).name})"
        )
