"""What exists where each case is searched, looked up once for all agents. Also counts the tokens of lines in an answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

from searchmark.errors import DamagedRepository
from searchmark.formats.corpora.corpus import Survey
from searchmark.formats.corpora.folder import DirectorySource
from searchmark.formats.corpora.locations import Commit, Documents, Folder, Location, Remote
from searchmark.formats.corpora.snapshots import SnapshotReader
from searchmark.git.repository import open_repository
from searchmark.git.trees import EMPTY_SNAPSHOT, Snapshot
from searchmark.git.worktree import repository_state
from searchmark.measures.hits import MOST_LINES, MOST_TOKENS, tokens_of_lines
from searchmark.records.answers import CountedText
from searchmark.records.digests import digest_of_cases
from searchmark.records.matching import LineRange, split_line_range
from searchmark.records.provenance import SearchedRepository
from searchmark.records.sentences import quote_name
from searchmark.records.suite import Suite
from searchmark.running.plan import Step
from searchmark.scoring.matches import CaseKinds
from searchmark.scoring.targets import ExistingIds

# What the lines of an answer cost: counted along the ranking while the texts are there, for measures of lines.

LineTokens: TypeAlias = tuple[int, ...]


# The tokens of every line of some documents, by id; what is no text is left out.
TextCounter: TypeAlias = Callable[[Sequence[str]], Mapping[str, LineTokens]]


TextReader: TypeAlias = Callable[[Sequence[str]], Mapping[str, str]]


class _Part(NamedTuple):
    """The part of a document that a hit is: its lines, and what it says."""

    lines: LineRange | None
    text: str | None


def read_parts(
    ids: Sequence[str],
    lines: Sequence[LineRange | None],
    texts: Sequence[str | None],
    starts: Sequence[int | None],
    read: TextReader,
) -> list[_Part]:
    """The part that each hit is: its lines from its text, or its text from its lines, where it gives one of them alone."""
    hits = list(zip(ids, lines, texts, starts, strict=True))
    incomplete = [hit for hit, span, text, _ in hits if (span is None) != (text is None)]
    documents = read(incomplete) if incomplete else {}
    return [_complete_part(documents.get(hit), span, text, start) for hit, span, text, start in hits]


def _complete_part(document: str | None, span: LineRange | None, text: str | None, start: int | None) -> _Part:
    if document is None or (span is None) == (text is None):
        return _Part(span, text)
    if text is None and span is not None:
        return _Part(span, "\n".join(document.split("\n")[span[0] - 1 : span[1]]))
    return _Part(_lines_of_text(document, text or "", start), text)


def _lines_of_text(document: str, text: str, start: int | None) -> LineRange | None:
    """The lines of a text that begins at a character of a document, or that it holds just once; None where it is not there."""
    document, body = document.replace("\r\n", "\n"), text.replace("\r\n", "\n").strip()
    begin = -1 if start is None else start + len(text) - len(text.lstrip())
    if not body:
        return None
    if begin < 0 or not document.startswith(body, begin):  # counted in another form of the document
        begin = document.find(body)
        if begin < 0 or document.find(body, begin + 1) >= 0:
            return None
    first = document.count("\n", 0, begin) + 1
    return first, first + body.count("\n")


def count_lines(
    ids: Sequence[str],
    lines: Sequence[LineRange | None] | None,
    count: TextCounter,
    most: tuple[int, int] = (MOST_TOKENS, MOST_LINES),
) -> dict[str, CountedText]:
    """The lines that a reader of an answer sees, none twice, until ``most`` tokens and lines are read, whichever comes last.

    A hit without lines means all lines of its document; one that is no text has none.
    """
    split_hits = [split_line_range(hit) for hit in ids]
    ranges = [explicit or span_in_id for explicit, (_, span_in_id) in zip(lines or [None] * len(ids), split_hits, strict=True)]
    texts = count([document for document, _ in split_hits])
    lines_by_document: dict[str, set[int]] = {}
    total = number = 0
    for (document, _), span in zip(split_hits, ranges, strict=True):
        tokens, counted_lines = texts.get(document, ()), lines_by_document.setdefault(document, set())
        first, last = span or (1, len(tokens))
        for line in range(first, min(last, len(tokens)) + 1):
            if total >= most[0] and number >= most[1]:
                return _count_texts(texts, lines_by_document)
            if line not in counted_lines:
                counted_lines.add(line)
                total, number = total + tokens[line - 1], number + 1
    return _count_texts(texts, lines_by_document)


def _count_texts(texts: Mapping[str, LineTokens], lines_by_document: Mapping[str, set[int]]) -> dict[str, CountedText]:
    return {
        each: CountedText(len(texts.get(each, ())), _pieces(texts.get(each, ()), sorted(lines)))
        for each, lines in lines_by_document.items()
    }


def _pieces(tokens: LineTokens, lines: Sequence[int]) -> tuple[tuple[int, LineTokens], ...]:
    """Lines that follow each other are one piece."""
    begins = [place for place, line in enumerate(lines) if place == 0 or line != lines[place - 1] + 1]
    ends = [*begins[1:], len(lines)]
    return tuple((lines[begin], tokens[lines[begin] - 1 : lines[end - 1]]) for begin, end in zip(begins, ends, strict=False))


MAX_COUNTED_TEXTS = 10_000  # contents whose lines are counted already, some kilobytes each

MAX_KEPT_STATES = 64  # commits; agents take turns in blocks of fewer cases


@dataclass(frozen=True)
class CaseExistence:
    """What exists where a case is searched; None where that is not known."""

    existing: ExistingIds | None
    unreachable: list[str] | None  # targets of the case that do not exist
    problem: str | None = None  # why it cannot be searched there at all
    texts: TextCounter | None = None  # counts the tokens of lines there, where lines are judged
    judges_lines: bool = False
    judges_text: bool = False
    read: TextReader | None = None  # reads the documents there, where lines or passages are judged

    @property
    def judges_passages(self) -> bool:
        """Whether the case judges parts of documents, so that hits need their texts."""
        return self.judges_lines or self.judges_text


class CorpusInspector:
    """The locations of a run: what exists there, digests, and the repositories that they belong to."""

    def __init__(self, suite: Suite, mappings: Sequence[Mapping[str, Location]], until_the_end: ExitStack) -> None:
        self._until_the_end = until_the_end
        self._prefetching = until_the_end.enter_context(ThreadPoolExecutor(1))
        self._existing: dict[Documents | Folder, ExistingIds] = {}
        self._surveys: dict[Documents | Folder, Survey] = {}
        self._histories: dict[object, _CommitHistory] = {}
        self._line_tokens: dict[Documents | Folder, dict[str, LineTokens]] = {}
        self._texts: dict[Documents | Folder, dict[str, str]] = {}
        self._fingerprints: dict[DirectorySource, _FolderState] = {}
        self.changed: list[str] = []
        distinct = self.turn_to(suite, mappings)
        self.repositories = _searched_repositories(distinct)
        self.survey = next(iter(self._surveys.values()), None) if len(distinct) == 1 else None

    def turn_to(self, suite: Suite, mappings: Sequence[Mapping[str, Location]]) -> list[Location]:
        """Look at other cases from here on, and at their locations unless they are known; these, each once."""
        self._suite, self._kinds = suite, CaseKinds.of(suite)
        distinct = list(dict.fromkeys(location for locations in mappings for location in _distinct_objects(locations)))
        for location in distinct:
            if location not in self._surveys:
                self._look_up(location)
        return distinct

    def _look_up(self, location: Location) -> None:
        """Survey what is small or lies there; commits are looked at when their cases come."""
        match location:
            case Documents() | Folder():
                corpus = location.open()
                self._surveys[location] = corpus.survey
                self._existing[location] = ExistingIds(corpus.survey.ids, corpus.folder)
                if isinstance(corpus.source, DirectorySource):
                    self._fingerprints[corpus.source] = _fingerprint_source(corpus.source)

    def find_changes(self) -> None:
        """Learn the names of folders whose files have changed while they were searched; a commit never does."""
        now = {each: _fingerprint_source(each) for each in self._fingerprints}
        sources = [each for each, before in self._fingerprints.items() if now[each].digest != before.digest]
        self.changed = [f"{each.folder().name} (last written: {quote_name(now[each].newest)})" for each in sources]

    def prefetch(self, step: Step) -> Callable[[], CaseExistence]:
        """Begin to look while an agent is busy; call the result to get what was found.

        A history is followed by one thread for all agents, since it is one way through the commits.
        """
        if isinstance(step.location, Commit):
            return self._prefetching.submit(self._existence, step).result
        return lambda: self._existence(step)

    def _existence(self, step: Step) -> CaseExistence:
        try:
            existing = self._existing_at(step.location)
        except DamagedRepository as error:
            return CaseExistence(None, None, f"the repository is not whole: {error}")
        row = self._suite.table.index[step.case]
        by_lines, by_text = bool(self._kinds.lines[row]), bool(self._kinds.text[row])
        if existing is None:
            return CaseExistence(None, None, judges_lines=by_lines, judges_text=by_text)
        start, end = self._suite.judgments.starts[row : row + 2].tolist()
        texts = partial(self._line_tokens_at, step.location) if by_lines else None
        read = partial(self._texts_at, step.location) if by_lines or by_text else None
        unreachable = existing.missing_targets(self._suite.judgments, start, end)
        return CaseExistence(existing, unreachable, None, texts, by_lines, by_text, read)

    def _texts_at(self, location: Location, ids: Sequence[str]) -> Mapping[str, str]:
        """Some documents: of a history as it was; all else is read once, when a hit first needs it."""
        match location:
            case Remote():
                return {}
            case Commit():
                history = self._histories[location.history]
                return self._prefetching.submit(history.texts, location.commit, ids).result()
            case Documents() | Folder():
                if location not in self._texts:
                    self._texts[location] = {each.id: each.text for each in location.open()}
                return self._texts[location]

    def _line_tokens_at(self, location: Location, ids: Sequence[str]) -> Mapping[str, LineTokens]:
        """A history is read by the one thread that follows it; all else is read once, and its counts are kept."""
        match location:
            case Remote():
                return {}
            case Commit():
                history = self._histories[location.history]
                return self._prefetching.submit(history.line_tokens, location.commit, ids).result()
            case Documents() | Folder():
                if location not in self._line_tokens:
                    self._line_tokens[location] = {each.id: tokens_of_lines(each.text) for each in location.open()}
                return self._line_tokens[location]

    def _existing_at(self, location: Location) -> ExistingIds | None:
        match location:
            case Remote():
                return None
            case Commit():
                if location.history not in self._histories:
                    self._histories[location.history] = _CommitHistory(location, self._until_the_end)
                return self._histories[location.history].existing(location.commit)
            case Documents() | Folder():
                return self._existing[location]

    def digest(self, locations: Mapping[str, Location]) -> str | None:
        """One corpus has its own digest; several have one of what each case searches; what a service searches is not known."""
        distinct = {self._digest_of(each) for each in _distinct_objects(locations)}
        return distinct.pop() if len(distinct) == 1 else self.searched(locations)

    def searched(self, locations: Mapping[str, Location]) -> str | None:
        """One digest of what each case searches; those of shards add up to that of all cases."""
        digests = {id(each): self._digest_of(each) for each in _distinct_objects(locations)}
        by_case = {case: digests[id(location)] for case, location in locations.items()}
        known_digests = {case: digest for case, digest in by_case.items() if digest is not None}
        return digest_of_cases(known_digests) if len(known_digests) == len(by_case) else None

    def identity(self, locations: Mapping[str, Location]) -> str:
        """What must be the same for a journal to be continued: every location, and what was found there."""
        return _digest_of_all(self._digests(locations))

    def shared_corpora(self, locations: Mapping[str, Location]) -> dict[str, str]:
        """The digests of folders and commits by their names; documents that come with a case are nobody else's."""
        digests = {each.name: self._digest_of(each) for each in _distinct_objects(locations) if isinstance(each, Folder | Commit)}
        return {name: digest for name, digest in sorted(digests.items()) if digest is not None}

    def _digests(self, locations: Mapping[str, Location]) -> dict[str, str | None]:
        return {location.identity: self._digest_of(location) for location in _distinct_objects(locations)}

    def _digest_of(self, location: Location) -> str | None:
        match location:
            case Remote():
                return None
            case Commit():
                return location.digest
            case Documents() | Folder():
                return self._surveys[location].digest


def _distinct_objects(locations: Mapping[str, Location]) -> Iterable[Location]:
    """Each object once: mostly a hundred thousand cases share one, and to hash it takes longer than to look at it."""
    return {id(location): location for location in locations.values()}.values()


def find_service(locations: Mapping[str, Location]) -> str | None:
    """The service that searches what it has, if one does."""
    return next((each.name for each in _distinct_objects(locations) if isinstance(each, Remote)), None)


def _digest_of_all(digests: Mapping[str, str | None]) -> str:
    return hashlib.sha256(json.dumps(sorted(digests.items())).encode()).hexdigest()


def _searched_repositories(locations: Sequence[Location]) -> tuple[SearchedRepository, ...]:
    """The repositories among the locations by name, each once; a folder that is none, or a file, is left out."""
    folders = {each.path: each.name for each in locations if isinstance(each, Commit | Folder) and each.path.is_dir()}
    states = {path: repository_state(path) for path in folders}
    repositories = (SearchedRepository(folders[path], state.commit, state.dirty) for path, state in states.items() if state)
    return tuple(sorted(repositories, key=lambda each: each.name))


class _FolderState(NamedTuple):
    """Names, sizes and times of all documents below a folder as one digest, and the document that was written last."""

    digest: str
    newest: str


def _fingerprint_source(source: DirectorySource) -> _FolderState:
    """A cheap way to see that something has changed."""
    digest, newest = hashlib.sha256(), (0, "")
    for path, below in source.files.below(source.path):
        with suppress(OSError):
            status = path.lstat()
            digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode("utf-8", "surrogatepass"))
            newest = max(newest, (status.st_mtime_ns, below))
    return _FolderState(digest.hexdigest(), newest[1])


class _CommitHistory:
    """What exists at the commits of one repository; only the last few are kept, since they are visited in order."""

    def __init__(self, location: Commit, until_the_end: ExitStack) -> None:
        repository = until_the_end.enter_context(open_repository(location.path))
        self._snapshots = until_the_end.enter_context(SnapshotReader(repository, location.wanted))
        self._last: Snapshot = EMPTY_SNAPSHOT
        self._existing: dict[str, ExistingIds] = {}
        self._line_tokens: dict[str, LineTokens] = {}

    def existing(self, commit: str) -> ExistingIds:
        """What exists at a commit, all contents of which are here and what their names say."""
        if commit not in self._existing:
            problem = self._snapshots.problem(self._move_to(commit))
            if problem is not None:
                raise DamagedRepository(problem)
            if len(self._existing) >= MAX_KEPT_STATES:
                del self._existing[next(iter(self._existing))]
            self._existing[commit] = ExistingIds(self._last.versions.keys())
        return self._existing[commit]

    def line_tokens(self, commit: str, paths: Sequence[str]) -> dict[str, LineTokens]:
        """The tokens of every line of some files at a commit; each content is counted once."""
        versions = self._move_to(commit).versions
        blobs = {path: versions[path] for path in paths if path in versions}
        if len(self._line_tokens) >= MAX_COUNTED_TEXTS:
            self._line_tokens.clear()
        new = [(path, blob) for path, blob in blobs.items() if blob not in self._line_tokens]
        for (_, blob), document in zip(new, self._snapshots.documents(new), strict=True):
            self._line_tokens[blob] = () if document is None else tokens_of_lines(document.text)
        return {path: self._line_tokens[blob] for path, blob in blobs.items()}

    def texts(self, commit: str, paths: Sequence[str]) -> dict[str, str]:
        """Some files at a commit."""
        versions = self._move_to(commit).versions
        documents = self._snapshots.documents([(path, versions[path]) for path in dict.fromkeys(paths) if path in versions])
        return {each.id: each.text for each in documents if each is not None}

    def _move_to(self, commit: str) -> Snapshot:
        if self._last.commit != commit:
            self._last = self._snapshots.at(commit, near=self._last)
        return self._last


@contextmanager
def open_inspector(suite: Suite, mappings: Sequence[Mapping[str, Location]]) -> Iterator[CorpusInspector]:
    with ExitStack() as until_the_end:
        yield CorpusInspector(suite, mappings, until_the_end)
