"""Asks, drafts a suite and writes the first files of a project, all of them or none."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from searchmark.cli.init_config import (
    CONFIG,
    ENOUGH,
    WORKFLOW,
    FirstAgents,
    FirstConfig,
    FirstNumbers,
    Run,
    config_text,
    first_agents,
    first_numbers,
    mine_project,
    searches_elsewhere,
    workflow_text,
)
from searchmark.cli.init_config import SUITE as MINED_SUITE
from searchmark.cli.init_project import RESULTS, Project, has_own_documents
from searchmark.cli.installation import Installation, find_installation
from searchmark.config.agents import BuiltInSource
from searchmark.config.builtin import builtin_suite_at
from searchmark.config.file import BENCHMARK_FILE
from searchmark.errors import NothingEvaluated, UsageError
from searchmark.experiments.experiment import Experiment
from searchmark.formats.corpora.case_locations import SearchScope
from searchmark.formats.corpora.corpus import Corpus, load_corpus
from searchmark.formats.suites import load_suite
from searchmark.git.mining.mine import OnProgress
from searchmark.io.folders import private_folder
from searchmark.io.store import atomic_write, open_stored
from searchmark.records.document import Document
from searchmark.records.sentences import count_of
from searchmark.records.suite import Suite

# A first suite from the documents of a project: titles and first lines become queries, for people to correct.

CASES = 12  # under ten there would be no interval

LOOKED_AT = 2_000  # documents that the cases are spread over

LINES = 60

FEWEST_DOCUMENTS = 2

FEWEST_WORDS, MOST_WORDS = 2, 10

_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.+?)\s*#*\s*$")

_TAG = re.compile(r"<[^<>]{0,300}>")

_MARKUP = " \t#*/=;:-_\"'`<>!|+.,[](){}~^"

_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class DraftCase:
    """A query, and the document that it was taken from."""

    id: str
    query: str
    target: str
    match: str


def draft_cases(corpus: Corpus) -> tuple[DraftCase, ...]:
    """Cases spread over the documents; a query that two documents would have is left out."""
    documents = list(islice(corpus, LOOKED_AT))
    if len(documents) < FEWEST_DOCUMENTS:
        contents = (
            f"{count_of(len(documents), 'document')}, which every search finds" if documents else "nothing that could be searched"
        )
        raise UsageError(f"{corpus.name!r} holds {contents}; name documents with --corpus, or a suite with --suite")
    candidates = [(document.id, query) for document in documents if (query := _query_of(document))]
    counts = Counter(query.lower() for _, query in candidates)
    usable = [(target, query) for target, query in candidates if counts[query.lower()] == 1 and target.isprintable()]
    if not usable:
        raise UsageError(
            f"no case could be made from the documents of {corpus.name!r}, which have neither titles nor lines of words; name a "
            "suite with --suite"
        )
    step = max(1, len(usable) // CASES)
    match = "id" if corpus.folder is None else "path"
    sample = usable[::step][:CASES]
    return tuple(DraftCase(f"draft-{number:02}", query, target, match) for number, (target, query) in enumerate(sample, 1))


def draft_text(name: str, corpus: str, cases: Sequence[DraftCase]) -> str:
    """The suite as YAML, with what to do about it."""
    return _HEADER.format(count=len(cases), searched=json.dumps(corpus, ensure_ascii=False)) + "".join(_entries(name, cases))


def _entries(name: str, cases: Sequence[DraftCase]) -> Iterator[str]:
    yield f"schema_version: 1\nname: {_quoted(name)}\ncases:\n"
    for case in cases:
        match = "" if case.match == "id" else f", match: {case.match}"
        yield f"  - id: {case.id}\n    query: {_quoted(case.query)}\n    judgments:\n"
        yield f"      - {{target: {_quoted(case.target)}{match}}}\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _query_of(document: Document) -> str | None:
    """The title of a document, its first heading with several words, or its first line with some."""
    lines = document.text.splitlines()[:LINES]
    headings = (match.group(1) for line in lines if (match := _HEADING.match(line)))
    for text in ([document.title] if document.title else []) + [*headings, *lines]:
        words = _TAG.sub(" ", text).strip(_MARKUP).split()[:MOST_WORDS]
        query = " ".join(words).strip(_MARKUP)
        if len(_WORD.findall(query)) >= FEWEST_WORDS and query.isprintable():
            return query
    return None


_HEADER = """\
# What counts as right: every case has a query, and the documents that answer it.
#
# 'searchmark init' made these {count} cases from titles and first lines of documents of {searched}, one document each.
# They ask in the words of the documents, so every search looks better here than it is. Correct them:
#   - put in what people really ask: from search logs, tickets, mails;
#   - add every other document that answers a query, with its grade: {{target: ..., grade: 2}}; 3 is the best;
#   - add queries that nothing answers: {{id: ..., query: ..., unanswerable: true}}.
# 'searchmark audit' says what is odd about a suite, 'searchmark docs formats' explains the fields.
"""


# The three questions: what is searched, what searches it, what counts as right; each with what the project suggests.

HISTORY, DRAFT = "history", "draft"

WHOLE_PROJECT = "."

ENOUGH_COMMITS = 20  # of fewer, hardly ten become cases

SHOWN = 5


@dataclass(frozen=True)
class InitQuestion:
    """What is asked, what the project suggests (None if nothing), and what else could be answered, each in a line."""

    text: str
    default: str | None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class InitAnswers:
    """The answers. ``corpus`` is None where cases say themselves what is searched, or a service has its own documents."""

    corpus: str | None
    agent: str
    right: str
    topics: str | None = None


def corpus_question(project: Project) -> InitQuestion:
    """What is searched."""
    lines = [f"{WHOLE_PROJECT}  all files of this project"]
    lines += [f"{each.path}  {count_of(each.count, 'document')}" for each in project.documents]
    lines += [f"{each}  a catalogue" for each in project.catalogues[:SHOWN]]
    return InitQuestion("What is searched? A folder, or a file of documents.", _default_corpus(project), tuple(lines))


def agent_question(project: Project) -> InitQuestion:
    """What searches it: the built-in one unless the user names another, since what files name is never started unasked."""
    lines = ["bm25, fts5, keyword, semantic, hybrid  built in", "NAME=command:ARGV with {query} and {corpus}  any program"]
    lines += ["http://HOST/search?q={query}  a service", "mcp:ARGV  a tool of an MCP server"]
    lines += [f"{each.agent}  {each.what} in {each.file}" for each in project.searches[:SHOWN]]
    return InitQuestion("What searches it?", "bm25", tuple(lines))


def suite_question(project: Project, corpus: str | None) -> InitQuestion:
    """What counts as right."""
    history = f"{HISTORY}  files that a commit changed are right for its message ({count_of(project.commits, 'commit')})"
    lines = [f"{each.path}  {count_of(each.cases, 'case')}, {each.format}" for each in project.suites[:SHOWN]]
    lines += [history] if project.commits else []
    lines += [f"{DRAFT}  a few cases made from documents, for you to correct"]
    return InitQuestion("What counts as right? A file of cases or judgments, or:", default_suite(project, corpus), tuple(lines))


def default_suite(project: Project, corpus: str | None) -> str:
    """A suite that is there, or else the history where the whole project is searched, or else a draft."""
    if project.own_suite is not None:
        return project.own_suite.path
    return HISTORY if corpus in (None, WHOLE_PROJECT) and project.commits >= ENOUGH_COMMITS else DRAFT


def _default_corpus(project: Project) -> str | None:
    if project.own_suite is not None:
        return project.own_suite.corpus or _documents_of(project)
    if project.commits >= ENOUGH_COMMITS:
        return WHOLE_PROJECT
    return _documents_of(project) or WHOLE_PROJECT


def _documents_of(project: Project) -> str | None:
    folder = next(iter(project.documents), None)
    return folder.path if folder is not None else next(iter(project.catalogues), None)


def init_answers(project: Project, corpus: str | None, agent: str, right: str, topics: str | None) -> InitAnswers:
    """The answers together, refused where they contradict each other."""
    if right == HISTORY:
        if corpus not in (None, WHOLE_PROJECT):
            raise UsageError(
                f"the history is about all files of the project, each case as they were then: leave out --corpus {corpus}, or say "
                f"--suite {DRAFT}"
            )
        if not project.commits:
            raise UsageError(f"{project.folder} has no Git history to make cases of; say --suite {DRAFT}, or name a suite")
        return InitAnswers(None, agent, right)
    suite = next((each for each in project.suites if each.path == right), None)
    return InitAnswers(corpus, agent, right, topics or (None if suite is None else suite.topics))


# New files of a project: all of them are written, or none, and what was there before is there again.

LARGEST_IGNORE = 1 << 20  # bytes

IGNORE = ".gitignore"

_IGNORED = f"{RESULTS}/"


@dataclass(frozen=True)
class NewFile:
    """A file by its path from the top of the project, and what it is for; ``grows`` is one that may be there already."""

    path: str
    content: bytes
    purpose: str
    grows: bool = False


def ignoring_results(folder: Path) -> NewFile | None:
    """The list of what Git ignores with the folder of results added; None where it is in it already."""
    path = folder / IGNORE
    before = b""
    if os.path.lexists(path):
        with open_stored(path) as file:
            before = file.read(LARGEST_IGNORE + 1)
    if len(before) > LARGEST_IGNORE:
        raise UsageError(f"{path} is larger than {LARGEST_IGNORE >> 20} MiB; add {_IGNORED} to it, and try again with less in it")
    if any(line.strip().strip(b"/") == RESULTS.encode() for line in before.splitlines()):
        return None
    gap = b"" if not before or before.endswith(b"\n") else b"\n"
    return NewFile(IGNORE, before + gap + f"{_IGNORED}\n".encode(), f"has {_IGNORED}, where reports go", grows=True)


def refuse_existing(folder: Path, paths: Sequence[str]) -> None:
    """Refuse to write over what is there."""
    there = [path for path in paths if os.path.lexists(folder / path)]
    if there:
        them = "it" if len(there) == 1 else "them"
        verb = "is" if len(there) == 1 else "are"
        raise UsageError(f"{', '.join(there)} {verb} there already, so nothing was written; --force replaces {them}")


def write_all(folder: Path, files: Sequence[NewFile]) -> None:
    """Write every file, or put everything back as it was; Ctrl-C is a reason like any other."""
    for file in files:
        _refuse_links_outside(folder, folder / file.path)
    before = {file.path: _content(folder / file.path) for file in files}
    new_folders = list(dict.fromkeys(_missing_folders(folder, files)))
    try:
        for file in files:
            with atomic_write(folder / file.path) as stream:
                stream.write(file.content)
    except BaseException:
        for path, content in before.items():
            _put_back(folder / path, content)
        for path in sorted(new_folders, reverse=True):
            with suppress(OSError):  # it was not made, or something else is in it
                (folder / path).rmdir()
        raise


def _refuse_links_outside(folder: Path, path: Path) -> None:
    """A project of others may come with links of any kind."""
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)) or path.is_symlink():
        raise UsageError(f"{path} is a link or leads out of {folder}, so nothing was written; remove it first")


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _missing_folders(folder: Path, files: Sequence[NewFile]) -> Iterator[str]:
    for file in files:
        yield from (str(parent) for parent in Path(file.path).parents if not (folder / parent).is_dir())


def _put_back(path: Path, content: bytes | None) -> None:
    with suppress(OSError):
        if content is None:
            path.unlink(missing_ok=True)
        elif path.read_bytes() != content:
            with atomic_write(path) as file:
                file.write(content)


# From the answers to the files: a suite is mined, drafted or taken as it is, measured once, and described in a config.

DRAFT_SUITE = "search-quality/suite.yaml"

_OTHER_CONFIGS = ("searchmark.yml", "searchmark.toml", BENCHMARK_FILE)

_MEASURES = 3


@dataclass(frozen=True)
class InitSettings:
    """How a start is made."""

    measure: bool = True  # run the agent once
    force: bool = False  # replace files that are there
    # Shows how far mining is; open only meanwhile, since two displays cannot have the terminal at once.
    mining: Callable[[], AbstractContextManager[OnProgress | None]] = nullcontext
    run: Run = Experiment.run  # shows how far the run is


@dataclass(frozen=True)
class InitResult:
    """What was written, what was measured or why nothing was, what else is to be said, and what to type next."""

    files: tuple[NewFile, ...]
    numbers: FirstNumbers | str
    notes: tuple[str, ...]
    commands: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _FirstSuite:
    """A suite, where the config names it, the file that holds it if it is new, and what is searched."""

    suite: Suite
    path: str
    file: NewFile | None
    corpus: str | None
    mined: bool = False
    topics: str | None = None
    notes: tuple[str, ...] = ()


def init_project(project: Project, wishes: InitAnswers, options: InitSettings = InitSettings()) -> InitResult:  # noqa: B008  # frozen
    """Write the first files of a project, all or none."""
    agents = first_agents(wishes.agent, searches_files=True)  # a name that is wrong is told before minutes of mining
    builtin = builtin_suite_at(wishes.right)
    if builtin is not None:
        raise UsageError(
            f"{builtin.reference} has a config of its own, so there is nothing to write: searchmark evaluate --gold-set "
            f"{builtin.reference} runs it; init is about a suite of your own"
        )
    _refuse_what_is_there(project, wishes, options)
    with private_folder() as staging:
        first = _first_suite(project, wishes, staging, options)
        agents = _with_reference(agents, first, wishes)
        measures = tuple(_leading_measures(first.suite))
        numbers: FirstNumbers | str = "--no-measure was said"
        if options.measure:
            numbers = first_numbers(first.suite, agents.measured, _where(project, first, staging), measures[0], options.run)
    outside = _lies_outside(project.folder, (first.path, first.topics, first.corpus))
    day = datetime.now(UTC).date()
    config = FirstConfig(first.path, first.topics, first.corpus, first.mined, measures, agents, numbers, day, outside)
    installation = find_installation(project.folder)
    files = _files(project, first, config, installation)
    if not options.force:
        refuse_existing(project.folder, [file.path for file in files if not file.grows])
    write_all(project.folder, files)
    return InitResult(files, numbers, (*first.notes, f"{WORKFLOW}: {installation.said}"), config.commands)


def _refuse_what_is_there(project: Project, wishes: InitAnswers, options: InitSettings) -> None:
    if options.force:
        return
    suites = {HISTORY: [MINED_SUITE], DRAFT: [DRAFT_SUITE]}.get(wishes.right, [])
    refuse_existing(project.folder, [CONFIG, *suites, WORKFLOW])
    other = next((name for name in _OTHER_CONFIGS if os.path.lexists(project.folder / name)), None)
    if other is not None:
        raise UsageError(
            f"{other} is there already, so nothing was written; --force writes {CONFIG}, which is then read in its place"
        )


def _first_suite(project: Project, wishes: InitAnswers, staging: Path, options: InitSettings) -> _FirstSuite:
    if wishes.right == HISTORY:
        return _mine_suite(project, wishes, staging, options)
    if wishes.right == DRAFT:
        return _draft_suite(project, wishes, staging)
    suite = load_suite(project.folder / wishes.right, topics=None if wishes.topics is None else project.folder / wishes.topics)
    if not any(case.query for case in suite.cases):
        raise UsageError(
            f"{wishes.right} has judgments and no texts of queries, so nothing can be asked; name these with --topics FILE"
        )
    corpus = None if has_own_documents(suite) else wishes.corpus
    return _FirstSuite(suite, wishes.right, None, corpus, topics=wishes.topics)


def _mine_suite(project: Project, wishes: InitAnswers, staging: Path, options: InitSettings) -> _FirstSuite:
    """The suite of the history; of one that makes too few cases, a draft from the files, and that is told."""
    file = staging / "gold_set.json"
    try:
        with options.mining() as on_progress:
            facts = mine_project(project.folder, file, on_progress)
        cases, why = facts.cases, f"the history made {count_of(facts.cases, 'case')}, too few for an interval"
    except NothingEvaluated as error:
        cases, why = 0, str(error)
    if cases < ENOUGH:
        draft = _draft_suite(project, replace(wishes, corpus=_documents(project)), staging)
        return replace(draft, notes=(f"{why}; so the cases were made from documents", *draft.notes))
    purpose = f"{count_of(cases, 'case')}, mined from {count_of(facts.commits_analyzed, 'commit')}"
    new = NewFile(MINED_SUITE, file.read_bytes(), purpose)
    return _FirstSuite(load_suite(file), MINED_SUITE, new, None, mined=True)


def _documents(project: Project) -> str:
    paths = [*(each.path for each in project.documents), *project.catalogues]
    return paths[0] if paths else WHOLE_PROJECT


def _draft_suite(project: Project, wishes: InitAnswers, staging: Path) -> _FirstSuite:
    if wishes.corpus is None:
        raise UsageError("cases are made from documents, and nothing says which: name them with --corpus, or a suite with --suite")
    never = [project.folder / each for each in (CONFIG, DRAFT_SUITE, MINED_SUITE, WORKFLOW)]
    path = project.folder / wishes.corpus
    corpus = load_corpus(path, never=never)
    cases = draft_cases(corpus)
    text = draft_text(path.resolve().name, wishes.corpus, cases)
    file = staging / "suite.yaml"
    file.write_text(text, encoding="utf-8")
    new = NewFile(DRAFT_SUITE, text.encode(), f"{count_of(len(cases), 'case')} made from documents, for you to correct")
    return _FirstSuite(load_suite(file), DRAFT_SUITE, new, wishes.corpus)


def _with_reference(agents: FirstAgents, first: _FirstSuite, wishes: InitAnswers) -> FirstAgents:
    """The agents without a reference, where there is nothing that one of ours could search."""
    if first.corpus is not None or has_own_documents(first.suite):
        return agents
    if isinstance(agents.measured.source, BuiltInSource) or not searches_elsewhere(wishes.agent):
        raise UsageError(f"nothing was found that {agents.measured.name} could search; name documents with --corpus")
    return replace(agents, reference=None)


def _leading_measures(suite: Suite) -> Sequence[str]:
    from searchmark.scoring.scores import default_measures

    return default_measures(suite)[:_MEASURES]


def _where(project: Project, first: _FirstSuite, staging: Path) -> SearchScope:
    """What the config will say: paths from the top of the project on."""
    if first.corpus is None:
        base = project.folder if first.file is not None else (project.folder / first.path).parent
        return SearchScope(base=base)
    never = (staging, *(project.folder / each for each in (CONFIG, DRAFT_SUITE, WORKFLOW)))
    return SearchScope(corpus=str(project.folder / first.corpus), never=never)


def _lies_outside(folder: Path, paths: Sequence[str | None]) -> bool:
    """Whether something is read from elsewhere, which a config that is only found may not do."""
    top = os.path.realpath(folder)
    return any(not Path(os.path.realpath(folder / path)).is_relative_to(top) for path in paths if path is not None)


def _files(project: Project, first: _FirstSuite, config: FirstConfig, installation: Installation) -> tuple[NewFile, ...]:
    new = [
        NewFile(CONFIG, config_text(config).encode(), "suite, corpus, agents, measures and gates"),
        *([] if first.file is None else [first.file]),
        NewFile(WORKFLOW, workflow_text(config, installation).encode(), "the gate on every pull request"),
    ]
    gitignore = ignoring_results(project.folder)
    return tuple(new if gitignore is None else [*new, gitignore])
