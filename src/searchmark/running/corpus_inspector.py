"""What exists in each place where a case is searched, looked at once for all agents."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from searchmark.corpora.corpus import Survey
from searchmark.corpora.directory import files_below
from searchmark.corpora.file_kinds import candidates
from searchmark.corpora.locations import Place
from searchmark.corpora.snapshots import SnapshotReader
from searchmark.errors import UsageError
from searchmark.history.repository import open_repository
from searchmark.history.state import repository_state
from searchmark.history.trees import NOTHING, Snapshot
from searchmark.judging.existence import Existing
from searchmark.judging.matching import normal_path
from searchmark.records import SearchedRepository, Suite
from searchmark.running.plan import Step

KEPT = 64  # commits; agents take turns in blocks of fewer cases


@dataclass(frozen=True)
class Look:
    """What exists where a case is searched, and which of its targets do not."""

    existing: Existing
    unreachable: list[str]


class CorpusInspector:
    """The places of a run: their ids, digests and folders."""

    def __init__(self, suite: Suite, mappings: Sequence[Mapping[str, Place]], until_the_end: ExitStack) -> None:
        self._suite = suite
        self._until_the_end = until_the_end
        self._ahead = until_the_end.enter_context(ThreadPoolExecutor(1))
        self._existing: dict[Place, Existing] = {}
        self._digests: dict[Place, str] = {}
        self._histories: dict[Place, _History] = {}
        self._looks: dict[Path, str] = {}
        self._repositories: dict[str, SearchedRepository] = {}
        self.changed: list[str] = []
        distinct = dict.fromkeys(place for places in mappings for place in places.values())
        surveys = [self._survey(place) for place in distinct if not place.commit]
        self.survey = surveys[0] if len(distinct) == 1 and surveys else None

    def _survey(self, place: Place) -> Survey:
        corpus = place.open()
        self._existing[place] = Existing(corpus.survey.ids, corpus.folder)
        self._digests[place] = corpus.survey.digest
        if corpus.folder is not None:
            self._looks[corpus.folder] = _look(corpus.folder)
            self._remember(place.name, corpus.folder)
        return corpus.survey

    def _remember(self, name: str, folder: Path) -> None:
        state = repository_state(folder)
        if state is not None:
            self._repositories[name] = SearchedRepository(name, state.commit, state.dirty)

    @property
    def repositories(self) -> tuple[SearchedRepository, ...]:
        """The repositories behind what is searched, each with its state."""
        return tuple(self._repositories.values())

    def look_again(self) -> None:
        """Find out whether what was searched has changed meanwhile."""
        self.changed = [folder.name for folder, seen in self._looks.items() if _look(folder) != seen]

    def ahead(self, step: Step) -> Callable[[], Look]:
        """Begin to look around while an agent is busy; the look is had by calling what is returned.

        A history is followed by one thread for all agents, since it is one way through the commits.
        """
        return self._ahead.submit(self._look, step).result if step.place.commit else lambda: self._look(step)

    def _look(self, step: Step) -> Look:
        existing = self._existing_in(step.place)
        return Look(existing, [] if self.survey is not None else self._unreachable(step.case, existing))

    def _existing_in(self, place: Place) -> Existing:
        if not place.commit:
            return self._existing[place]
        history = replace(place, stand=None, commit=None)
        if history not in self._histories:
            self._histories[history] = _History(place, self._until_the_end)
        return self._histories[history].existing(place.commit)

    def _unreachable(self, case: str, existing: Existing) -> list[str]:
        """The relevant targets of a case that its place does not hold; with one corpus for all the judge looks by itself."""
        judgments = self._suite.cases[self._suite.table.index[case]].judgments
        named = (j.target for j in judgments if j.grade > 0 and j.match in ("id", "path"))
        return [target for target in named if not existing.settled(normal_path(target))[1]]

    def digest(self, places: Mapping[str, Place]) -> str:
        """One corpus has its own digest; several have one of all of theirs."""
        digests = {
            f"{place.name}@{place.stand} {place.kinds} {place.excluded}": place.commit or self._digests[place]
            for place in places.values()
        }
        if len(digests) == 1:
            return next(iter(digests.values()))
        return hashlib.sha256(json.dumps(sorted(digests.items())).encode()).hexdigest()


def _look(folder: Path) -> str:
    """Names, sizes and times of all files below a folder: a cheap way to see that something has changed."""
    seen = hashlib.sha256()
    for path in files_below(folder):
        with suppress(OSError):
            found = path.lstat()
            seen.update(f"{path} {found.st_size} {found.st_mtime_ns}\n".encode("utf-8", "surrogatepass"))
    return seen.hexdigest()


class _History:
    """What exists at the commits of one repository; only the last few are kept, since they are visited in order."""

    def __init__(self, place: Place, until_the_end: ExitStack) -> None:
        repository = until_the_end.enter_context(open_repository(place.path or "."))
        wanted = candidates(place.kinds, place.excluded)
        self._snapshots = until_the_end.enter_context(SnapshotReader(repository, wanted))
        self._last: Snapshot = NOTHING
        self._kept: dict[str, Existing] = {}

    def existing(self, commit: str) -> Existing:
        if commit not in self._kept:
            first, self._last = self._last is NOTHING, self._snapshots.at(commit, near=self._last)
            if first:
                self._refuse_missing_contents()
            if len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[commit] = Existing(self._last.versions.keys())
        return self._kept[commit]

    def _refuse_missing_contents(self) -> None:
        """A partial clone lacks contents, and nothing could be found in them."""
        repository, wanted = self._snapshots.repository, set(self._last.versions.values())
        missing = repository.missing(sorted(wanted))
        if missing:
            raise UsageError(
                f"{repository.path} lacks {len(missing)} of {len(wanted)} contents of {self._last.commit[:12]}: it is a partial "
                "clone; fetch the rest (git fetch --refetch --no-filter) or name a whole clone by --repo"
            )


@contextmanager
def open_inspector(suite: Suite, mappings: Sequence[Mapping[str, Place]]) -> Iterator[CorpusInspector]:
    with ExitStack() as until_the_end:
        yield CorpusInspector(suite, mappings, until_the_end)
