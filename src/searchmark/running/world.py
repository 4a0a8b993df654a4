"""What exists in each place where a case is searched, looked at once for all agents."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from searchmark.corpora import Survey
from searchmark.corpora.places import Place
from searchmark.matching import normal_path
from searchmark.records import Suite
from searchmark.running.answers import Existing
from searchmark.running.plan import Step


class World:
    """The places of a run: their ids, digests and folders."""

    def __init__(self, suite: Suite, mappings: Sequence[Mapping[str, Place]]) -> None:
        self._suite = suite
        distinct = dict.fromkeys(place for places in mappings for place in places.values())
        self._existing: dict[Place, Existing] = {}
        self._digests: dict[Place, str] = {}
        self.folders: dict[str, Path] = {}
        self.survey: Survey | None = None
        for place in distinct:
            corpus = place.open()
            self._existing[place] = Existing(corpus.survey.ids, corpus.folder)
            self._digests[place] = corpus.survey.digest
            self.survey = corpus.survey if len(distinct) == 1 else None
            if corpus.folder is not None:
                self.folders[place.name] = corpus.folder

    def existing(self, place: Place) -> Existing:
        return self._existing[place]

    def unreachable(self, step: Step) -> list[str]:
        """The relevant targets of a case that its place does not hold; nothing where the judge looks by itself."""
        if self.survey is not None:
            return []
        row = self._suite.table.index[step.case]
        existing = self.existing(step.place)
        named = (j.target for j in self._suite.cases[row].judgments if j.grade > 0 and j.match in ("id", "path"))
        return [target for target in named if not existing.settled(normal_path(target))[1]]

    def digest(self, places: Mapping[str, Place]) -> str:
        """One corpus has its own digest; several have one of all of theirs."""
        digests = {f"{place.name}@{place.stand}": self._digests[place] for place in places.values()}
        if len(digests) == 1:
            return next(iter(digests.values()))
        return hashlib.sha256(json.dumps(sorted(digests.items())).encode()).hexdigest()


@contextmanager
def open_world(suite: Suite, mappings: Sequence[Mapping[str, Place]]) -> Iterator[World]:
    yield World(suite, mappings)
