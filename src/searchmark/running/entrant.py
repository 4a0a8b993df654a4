"""Who takes part in a run: an agent, where it searches, and what tells its run from others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from searchmark.agents.agent import AgentSpec
from searchmark.agents.source import BuiltIn, Command, Http, Mcp
from searchmark.corpora.file_kinds import EVERY_PATH
from searchmark.corpora.locations import Commit, Location, Remote
from searchmark.options.run_options import CHANGE_NO_ANSWER, RunOptions
from searchmark.records import CandidateKinds, RunLabel
from searchmark.registry import searches_own_corpus, with_arms


@dataclass(frozen=True)
class Entrant:
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
        return self.is_remote or any(map(searches_own_corpus, with_arms(self.spec)))

    def searches_here(self, *, own_corpus: bool) -> bool:
        """Whether all that search are processes of ours; code that has a corpus of its own may ask a service for it."""
        return all(_searches_here(each, own_corpus) for each in with_arms(self.spec))

    def identity(self, options: RunOptions, code: str | None, salt: str) -> dict[str, Any]:
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
            "options": {key: value for key, value in asdict(options).items() if key not in CHANGE_NO_ANSWER},
        }


def _searches_here(spec: AgentSpec, own_corpus: bool) -> bool:
    match spec.source:
        case Http():
            return False
        case Mcp():
            return "url" not in spec.options
        case Command() | BuiltIn():
            return True
    return not own_corpus
