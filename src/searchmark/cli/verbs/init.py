"""The verb `searchmark init`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from searchmark.cli.options import OUTPUT, SectionedCommand, option
from searchmark.cli.output import harmless, remark, show, tell
from searchmark.records.sentences import count_of, list_first

if TYPE_CHECKING:
    from searchmark.cli.init_files import InitAnswers, InitQuestion, InitResult
    from searchmark.cli.init_project import Project
    from searchmark.experiments.experiment import Experiment
    from searchmark.running.result import RunResult


QUESTIONS, MEASURING = "The three questions", "Gate"

LONGEST_LINE = 200

SHOWN = 5  # of what is found of a kind


@click.command("init", cls=SectionedCommand, short_help="Write a first config, suite and CI workflow for a project.")
@option(
    QUESTIONS,
    "--corpus",
    metavar="PATH",
    show_default="what is found",
    help="What is searched: a folder, or a file of documents.",
)
@option(
    QUESTIONS,
    "--agent",
    metavar="NAME",
    show_default="bm25",
    help="What searches it: a name that 'searchmark agents' lists, [NAME=]command:ARGV, mcp:ARGV, module:Class, an http address, "
    "PRESET:ADDRESS/INDEX as opensearch:http://localhost:9200/products.",
)
@option(
    QUESTIONS,
    "--gold-set",
    "--suite",
    "suite",
    metavar="SUITE",
    show_default="what is found",
    help="What counts as right: a file of cases or judgments, 'history' (commits), or 'draft' (cases made from documents).",
)
@option(QUESTIONS, "--topics", metavar="FILE", help="Query texts of the suite, for TREC qrels or labels.")
@option(QUESTIONS, "-y", "--yes", is_flag=True, help="Ask nothing, and take what is found.")
@option(
    MEASURING,
    "--no-measure",
    is_flag=True,
    help="Do not run the agent once; the gate then fails only where nothing right is found.",
)
@option(OUTPUT, "--force", is_flag=True, help="Replace files that are there.")
def command(
    corpus: str | None,
    agent: str | None,
    suite: str | None,
    topics: str | None,
    yes: bool,
    no_measure: bool,
    force: bool,
) -> None:
    """Write a first config, suite and CI workflow for a project.

    The working directory is looked at: how much history it has, which folders and files hold documents, and which suites
    there are. Three questions follow; on a terminal they are asked, elsewhere what is found is taken. Then searchmark.yaml,
    a suite and .github/workflows/search-quality.yml are written, all of them or none, and .gitignore gets the folder of
    reports. The agent is run once, so that the gate begins with a number that was measured.

    \b
    searchmark init
    searchmark init --yes
    searchmark init --corpus docs --agent bm25 --suite draft
    searchmark init --agent 'mine=command:./search.sh {query} {corpus}' --corpus docs --yes
    """
    from searchmark.cli.init_files import InitSettings, init_project
    from searchmark.cli.init_project import inspect_project
    from searchmark.cli.verbs.generate import mining_progress

    project = inspect_project(Path.cwd())
    for line in _project_lines(project):
        remark(f"found: {line}", LONGEST_LINE)
    wishes = _ask_questions(project, corpus, agent, suite, topics, asking=not yes and _is_interactive())
    init_result = init_project(project, wishes, InitSettings(not no_measure, force, mining_progress, _run_with_progress))
    for line in _result_lines(init_result):
        show(f"{harmless(line)}\n")


def _is_interactive() -> bool:
    """Whether a person is there to answer."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()


def _project_lines(project: Project) -> Iterator[str]:
    from searchmark.cli.init_files import ENOUGH_COMMITS

    if project.is_repository:
        yield f"a Git repository with {count_of(project.commits, 'commit')}, merges not counted"
    yield from (f"{each.path}, {count_of(each.count, 'document')}" for each in project.documents)
    yield from (f"{each}, a catalogue" for each in project.catalogues[:SHOWN])
    for suite in project.suites[:SHOWN]:
        beside = "".join(f", {what} {path}" for what, path in (("topics", suite.topics), ("documents", suite.corpus)) if path)
        yield f"{suite.path}, {count_of(suite.cases, 'case')} ({suite.format}){beside}"
    for file in project.unasked[:SHOWN]:
        yield f"{file}, judgments without the texts of their queries; to take them: --suite {shlex.quote(file)} --topics FILE"
    for file in project.unread_tables[:SHOWN] if project.commits < ENOUGH_COMMITS else ():
        lacking = "a table without an id, or without a title or text, by name"
        yield f"{file}, {lacking}; call these columns id and title or text to search it"
    if hidden_count := max(0, len(project.catalogues) - SHOWN) + max(0, len(project.suites) - SHOWN):
        yield f"catalogues and suites that are not shown: {hidden_count}"
    if project.runs:
        yield (
            f"saved runs: {list_first(list(project.runs), SHOWN)}; "
            "'searchmark compare --gold-set SUITE --run RUN RUN' compares them"
        )
    yield from (f"{each.what} in {each.file}; to measure it: --agent '{each.agent}'" for each in project.searches)
    if not project.looked_at_all:
        yield "more files than are looked at; what else there is can be named"


def _ask_questions(
    project: Project, corpus: str | None, agent: str | None, suite: str | None, topics: str | None, *, asking: bool
) -> InitAnswers:
    from searchmark.cli.init_files import HISTORY, agent_question, corpus_question, init_answers, suite_question

    if corpus is None and suite != HISTORY:
        corpus = _ask("--corpus", corpus_question(project), asking)
    agent_name = agent or _ask("--agent", agent_question(project), asking) or ""
    right = suite or _ask("--suite", suite_question(project, corpus), asking) or ""
    return init_answers(project, corpus, agent_name, right, topics)


def _ask(flag: str, question: InitQuestion, asking: bool) -> str | None:
    """What the user answers, or what the project suggests."""
    if not asking:
        if question.default is not None:
            remark(f"taken: {flag} {question.default}", LONGEST_LINE)
        return question.default
    tell("")
    tell(question.text)
    for line in question.choices:
        tell(f"  {line}", LONGEST_LINE)
    default = None if question.default is None else harmless(question.default)
    return str(click.prompt(flag, default=default or "", err=True)).strip() or None


def _run_with_progress(experiment: Experiment) -> RunResult:
    from searchmark.cli.progress import progress_bars

    with progress_bars(experiment.labels) as report:
        return experiment.run(report)


def _result_lines(init_result: InitResult) -> Iterator[str]:
    yield from (f"note: {note}" for note in init_result.notes)
    for file in init_result.files:
        yield f"{'changed' if file.grows else 'written'}: {file.path} ({file.purpose})"
    numbers = init_result.numbers
    if isinstance(numbers, str):
        yield f"not measured: {numbers}; the gate fails only where nothing right is found"
    elif numbers.threshold is None:
        yield f"measured: {numbers.sentence}; that is too little for a threshold"
    else:
        yield f"measured: {numbers.sentence}; the gate fails below {numbers.threshold}"
    yield "next:"
    width = max(len(line) for line, _ in init_result.commands)
    yield from (f"  {line.ljust(width)}  {purpose}" for line, purpose in init_result.commands)
