"""The three questions: what is searched, what searches it, what counts as right; each with what the project suggests."""

from __future__ import annotations

from dataclasses import dataclass

from searchmark.errors import UsageError
from searchmark.records.shown import counted
from searchmark.starting.project import Project

HISTORY, DRAFT = "history", "draft"
WHOLE_PROJECT = "."
ENOUGH_COMMITS = 20  # of fewer, hardly ten become cases
SHOWN = 5


@dataclass(frozen=True)
class StartQuestion:
    """What is asked, what the project suggests (None if nothing), and what else could be answered, each in a line."""

    text: str
    default: str | None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wishes:
    """The answers. ``corpus`` is None where cases say themselves what is searched, or a service has its own documents."""

    corpus: str | None
    agent: str
    right: str
    topics: str | None = None


def corpus_question(project: Project) -> StartQuestion:
    """What is searched."""
    lines = [f"{WHOLE_PROJECT}  all files of this project"]
    lines += [f"{each.path}  {counted(each.count, 'document')}" for each in project.documents]
    lines += [f"{each}  a catalogue" for each in project.catalogues[:SHOWN]]
    return StartQuestion("What is searched? A folder, or a file of documents.", _default_corpus(project), tuple(lines))


def agent_question(project: Project) -> StartQuestion:
    """What searches it: the built-in one unless the user names another, since what files name is never started unasked."""
    lines = ["bm25, fts5, keyword, semantic, hybrid  built in", "NAME=command:ARGV with {query} and {corpus}  any program"]
    lines += ["http://HOST/search?q={query}  a service", "mcp:ARGV  a tool of an MCP server"]
    lines += [f"{each.agent}  {each.what} in {each.file}" for each in project.searches[:SHOWN]]
    return StartQuestion("What searches it?", "bm25", tuple(lines))


def right_question(project: Project, corpus: str | None) -> StartQuestion:
    """What counts as right."""
    history = f"{HISTORY}  files that a commit changed are right for its message ({counted(project.commits, 'commit')})"
    lines = [f"{each.path}  {counted(each.cases, 'case')}, {each.format}" for each in project.suites[:SHOWN]]
    lines += [history] if project.commits else []
    lines += [f"{DRAFT}  a few cases made from documents, for you to correct"]
    return StartQuestion("What counts as right? A file of cases or judgments, or:", default_right(project, corpus), tuple(lines))


def default_right(project: Project, corpus: str | None) -> str:
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


def wishes_of(project: Project, corpus: str | None, agent: str, right: str, topics: str | None) -> Wishes:
    """The answers together, refused where they contradict each other."""
    if right == HISTORY:
        if corpus not in (None, WHOLE_PROJECT):
            raise UsageError(
                f"the history is about all files of the project, each case as they were then: leave out --corpus {corpus}, or say "
                f"--suite {DRAFT}"
            )
        if not project.commits:
            raise UsageError(f"{project.folder} has no Git history to make cases of; say --suite {DRAFT}, or name a suite")
        return Wishes(None, agent, right)
    found = next((each for each in project.suites if each.path == right), None)
    return Wishes(corpus, agent, right, topics or (None if found is None else found.topics))
