"""From the answers to the files: a suite is mined, drafted or taken as it is, measured once, and described in a config."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from searchmark.agents.source import BuiltIn
from searchmark.config.found import BENCHMARK_FILE
from searchmark.corpora.case_locations import Where
from searchmark.corpora.corpus import load_corpus
from searchmark.errors import NothingEvaluated, UsageError
from searchmark.experiments import Experiment
from searchmark.files.private_folders import private_folder
from searchmark.mining.mine import OnProgress
from searchmark.records import Suite
from searchmark.records.shown import counted
from searchmark.starting.config_text import CONFIG, FirstConfig, config_text
from searchmark.starting.drafting import draft_cases, draft_text
from searchmark.starting.first_agents import FirstAgents, first_agents, searches_elsewhere
from searchmark.starting.first_numbers import FirstNumbers, Run, first_numbers
from searchmark.starting.mined import ENOUGH, mine_project
from searchmark.starting.mined import SUITE as MINED_SUITE
from searchmark.starting.project import Project
from searchmark.starting.suites_found import brings_its_own
from searchmark.starting.wishes import DRAFT, HISTORY, WHOLE_PROJECT, Wishes
from searchmark.starting.workflow import WORKFLOW, workflow_text
from searchmark.starting.writing import NewFile, ignoring_results, refuse_existing, write_all
from searchmark.suites import load_suite
from searchmark.suites.builtin import builtin_suite

DRAFT_SUITE = "search-quality/suite.yaml"
_OTHER_CONFIGS = ("searchmark.yml", "searchmark.toml", BENCHMARK_FILE)
_MEASURES = 3


@dataclass(frozen=True)
class StartOptions:
    """How a start is made: whether the agent is measured once, whether files may be replaced, and how work is shown.

    ``mining`` is open only while commits are mined: two displays cannot have the terminal at once.
    """

    measure: bool = True
    force: bool = False
    mining: Callable[[], AbstractContextManager[OnProgress | None]] = nullcontext
    run: Run = Experiment.run


@dataclass(frozen=True)
class Started:
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


def start(project: Project, wishes: Wishes, options: StartOptions = StartOptions()) -> Started:  # noqa: B008  # frozen
    """Write the first files of a project, all or none."""
    agents = first_agents(wishes.agent, searches_files=True)  # a name that is wrong is told before minutes of mining
    builtin = builtin_suite(wishes.right)
    if builtin is not None:
        raise UsageError(
            f"{builtin.reference} has a config of its own, so there is nothing to write: searchmark evaluate --gold-set "
            f"{builtin.reference} runs it; init is about a suite of your own"
        )
    _refuse_what_is_there(project, wishes, options)
    with private_folder() as staging:
        first = _first_suite(project, wishes, staging, options)
        agents = _with_reference(agents, first, wishes)
        measures = tuple(_leading(first.suite))
        numbers: FirstNumbers | str = "--no-measure was said"
        if options.measure:
            numbers = first_numbers(first.suite, agents.measured, _where(project, first, staging), measures[0], options.run)
    outside = _lies_outside(project.folder, (first.path, first.topics, first.corpus))
    day = datetime.now(UTC).date()
    config = FirstConfig(first.path, first.topics, first.corpus, first.mined, measures, agents, numbers, day, outside)
    files = _files(project, first, config)
    if not options.force:
        refuse_existing(project.folder, [file.path for file in files if not file.grows])
    write_all(project.folder, files)
    return Started(files, numbers, first.notes, config.commands)


def _refuse_what_is_there(project: Project, wishes: Wishes, options: StartOptions) -> None:
    if options.force:
        return
    suites = {HISTORY: [MINED_SUITE], DRAFT: [DRAFT_SUITE]}.get(wishes.right, [])
    refuse_existing(project.folder, [CONFIG, *suites, WORKFLOW])
    other = next((name for name in _OTHER_CONFIGS if os.path.lexists(project.folder / name)), None)
    if other is not None:
        raise UsageError(
            f"{other} is there already, so nothing was written; --force writes {CONFIG}, which is then read in its place"
        )


def _first_suite(project: Project, wishes: Wishes, staging: Path, options: StartOptions) -> _FirstSuite:
    if wishes.right == HISTORY:
        return _mined(project, wishes, staging, options)
    if wishes.right == DRAFT:
        return _drafted(project, wishes, staging)
    suite = load_suite(project.folder / wishes.right, topics=None if wishes.topics is None else project.folder / wishes.topics)
    if not any(case.query for case in suite.cases):
        raise UsageError(
            f"{wishes.right} has judgments and no texts of queries, so nothing can be asked; name these with --topics FILE"
        )
    corpus = None if brings_its_own(suite) else wishes.corpus
    return _FirstSuite(suite, wishes.right, None, corpus, topics=wishes.topics)


def _mined(project: Project, wishes: Wishes, staging: Path, options: StartOptions) -> _FirstSuite:
    """The suite of the history; of one that makes too few cases, a draft from the files, and that is told."""
    file = staging / "gold_set.json"
    try:
        with options.mining() as on_progress:
            facts = mine_project(project.folder, file, on_progress)
        cases, why = facts.cases, f"the history made {counted(facts.cases, 'case')}, too few for an interval"
    except NothingEvaluated as error:
        cases, why = 0, str(error)
    if cases < ENOUGH:
        drafted = _drafted(project, replace(wishes, corpus=_documents(project)), staging)
        return replace(drafted, notes=(f"{why}; so the cases were made from documents", *drafted.notes))
    purpose = f"{counted(cases, 'case')}, mined from {counted(facts.commits_analyzed, 'commit')}"
    new = NewFile(MINED_SUITE, file.read_bytes(), purpose)
    return _FirstSuite(load_suite(file), MINED_SUITE, new, None, mined=True)


def _documents(project: Project) -> str:
    found = [*(each.path for each in project.documents), *project.catalogues]
    return found[0] if found else WHOLE_PROJECT


def _drafted(project: Project, wishes: Wishes, staging: Path) -> _FirstSuite:
    if wishes.corpus is None:
        raise UsageError("cases are made from documents, and nothing says which: name them with --corpus, or a suite with --suite")
    never = [project.folder / each for each in (CONFIG, DRAFT_SUITE, MINED_SUITE, WORKFLOW)]
    path = project.folder / wishes.corpus
    corpus = load_corpus(path, never=never)
    cases = draft_cases(corpus)
    text = draft_text(path.resolve().name, wishes.corpus, cases)
    file = staging / "suite.yaml"
    file.write_text(text, encoding="utf-8")
    new = NewFile(DRAFT_SUITE, text.encode(), f"{counted(len(cases), 'case')} made from documents, for you to correct")
    return _FirstSuite(load_suite(file), DRAFT_SUITE, new, wishes.corpus)


def _with_reference(agents: FirstAgents, first: _FirstSuite, wishes: Wishes) -> FirstAgents:
    """The agents without a reference, where there is nothing that one of ours could search."""
    if first.corpus is not None or brings_its_own(first.suite):
        return agents
    if isinstance(agents.measured.source, BuiltIn) or not searches_elsewhere(wishes.agent):
        raise UsageError(f"nothing was found that {agents.measured.name} could search; name documents with --corpus")
    return replace(agents, reference=None)


def _leading(suite: Suite) -> Sequence[str]:
    from searchmark.analysis.scores import default_measures

    return default_measures(suite)[:_MEASURES]


def _where(project: Project, first: _FirstSuite, staging: Path) -> Where:
    """What the config will say: paths from the top of the project on."""
    if first.corpus is None:
        base = project.folder if first.file is not None else (project.folder / first.path).parent
        return Where(base=base)
    never = (staging, *(project.folder / each for each in (CONFIG, DRAFT_SUITE, WORKFLOW)))
    return Where(corpus=str(project.folder / first.corpus), never=never)


def _lies_outside(folder: Path, paths: Sequence[str | None]) -> bool:
    """Whether something is read from elsewhere, which a config that is only found may not do."""
    top = os.path.realpath(folder)
    return any(not Path(os.path.realpath(folder / path)).is_relative_to(top) for path in paths if path is not None)


def _files(project: Project, first: _FirstSuite, config: FirstConfig) -> tuple[NewFile, ...]:
    new = [
        NewFile(CONFIG, config_text(config).encode(), "suite, corpus, agents, measures and gates"),
        *([] if first.file is None else [first.file]),
        NewFile(WORKFLOW, workflow_text(config).encode(), "the gate on every pull request"),
    ]
    ignored = ignoring_results(project.folder)
    return tuple(new if ignored is None else [*new, ignored])
