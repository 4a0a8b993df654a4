"""The verb `searchmark suites`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from searchmark.cli.options import builtin_names, completed_by
from searchmark.cli.output import harmless, show
from searchmark.config.builtin import BUILTIN_PREFIX, builtin_named, builtin_suites
from searchmark.errors import UsageError
from searchmark.git.builtin import repository_of
from searchmark.git.clones import parse_repository

if TYPE_CHECKING:
    from searchmark.config.builtin import BuiltinSuite
    from searchmark.config.sections import Config


AT_COMMITS = "commits"

SEVERAL = 2

HEADINGS = ("name", "cases", "documents", "what it is for")


@click.command("suites", short_help="List the suites that come with Searchmark, or show one.")
@click.argument("name", required=False, shell_complete=completed_by(builtin_names))
@click.option("--repository", is_flag=True, help="Print only where the repository of its cases is, which is made if need be.")
def command(name: str | None, repository: bool) -> None:
    """List the suites that come with Searchmark, or show one: what it is, the commands to type, and its gates.

    \b
    searchmark suites
    searchmark suites code-history
    searchmark evaluate --gold-set builtin:code-history --agent bm25
    searchmark generate --repo shop="$(searchmark suites code-history --repository)" -o gold_set.json
    """
    if repository:
        show(f"{_repository(name)}\n")
        return
    lines = _listing() if name is None else _suite_lines(builtin_named(name.removeprefix(BUILTIN_PREFIX)))
    show("".join(f"{harmless(line)}\n" for line in lines))


def _repository(name: str | None) -> str:
    if name is None:
        raise UsageError("--repository needs the name of a suite: searchmark suites NAME --repository")
    repository = repository_of(builtin_named(name.removeprefix(BUILTIN_PREFIX)).name)
    if repository is None:
        raise UsageError(f"{BUILTIN_PREFIX}{name.removeprefix(BUILTIN_PREFIX)} searches documents, not a repository")
    return parse_repository(repository).path


def _listing() -> Iterator[str]:
    rows = [HEADINGS, *(_row(suite) for suite in builtin_suites().values())]
    names, cases, documents = (max(len(row[column]) for row in rows) for column in range(3))
    for row in rows:
        yield f"{row[0]:<{names}}  {row[1]:>{cases}}  {row[2]:>{documents}}  {row[3]}"
    yield ""
    yield f"Name one as a suite: searchmark evaluate --gold-set {BUILTIN_PREFIX}NAME --agent bm25"
    yield "'searchmark suites NAME' says more of it."


def _row(suite: BuiltinSuite) -> tuple[str, str, str, str]:
    from searchmark.formats.corpora.corpus import corpus_of, load_corpus
    from searchmark.formats.suites import load_suite

    loaded_suite = load_suite(suite.reference)
    if suite.corpus is not None:
        documents = str(len(load_corpus(suite.corpus).survey.ids))
    elif loaded_suite.table.documents is not None:
        documents = str(len(corpus_of(loaded_suite).survey.ids))
    else:
        documents = AT_COMMITS
    return suite.name, str(len(loaded_suite)), documents, suite.purpose


def _suite_lines(suite: BuiltinSuite) -> Iterator[str]:
    from searchmark.config.file import load_config

    config = load_config(suite.config_file)
    yield from suite.readme.rstrip().splitlines()
    yield from ("", "Commands", "")
    yield from (f"  {line}" for line in _commands(suite, config))
    yield from ("", "Gates", "")
    yield from (f"  {line}" for line in _gates(config))


def _commands(suite: BuiltinSuite, config: Config) -> Iterator[str]:
    specs = [spec for spec in config.agents if spec.name in config.listed_agents]
    arms = [name for spec in specs for name in (spec.modes or (spec.name,))]
    agent = f" --agent {specs[0].name}" if specs else " --agent bm25"
    mode = f" --mode {next(iter(specs[0].modes))}" if specs and specs[0].modes else ""
    yield f"searchmark evaluate --gold-set {suite.reference}{agent}{mode}"
    yield f"searchmark compare --gold-set {suite.reference}{'' if len(arms) >= SEVERAL else ' --agents keyword bm25'}"
    yield f"searchmark audit {suite.reference} --strict"
    yield f"searchmark cases {suite.reference}"


def _gates(config: Config) -> Iterator[str]:
    from searchmark.gates.section import rules_of

    rules = rules_of(config.gates)
    yield from (rule.name for rule in rules)
    if not rules:
        yield "none"
