"""``searchmark suites``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from searchmark.cli._known_names import builtin_names, completed_by
from searchmark.cli._output import harmless, show
from searchmark.errors import UsageError
from searchmark.history.sources import parse_repository
from searchmark.suites.builtin import PREFIX, builtin_named, builtin_suites

if TYPE_CHECKING:
    from searchmark.config import Config
    from searchmark.suites.builtin import BuiltinSuite

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
    lines = _listing() if name is None else _shown(builtin_named(name.removeprefix(PREFIX)))
    show("".join(f"{harmless(line)}\n" for line in lines))


def _repository(name: str | None) -> str:
    if name is None:
        raise UsageError("--repository needs the name of a suite: searchmark suites NAME --repository")
    located = builtin_named(name.removeprefix(PREFIX)).repository()
    if located is None:
        raise UsageError(f"{PREFIX}{name.removeprefix(PREFIX)} searches documents, not a repository")
    return parse_repository(located).path


def _listing() -> Iterator[str]:
    rows = [HEADINGS, *(_row(suite) for suite in builtin_suites().values())]
    names, cases, documents = (max(len(row[column]) for row in rows) for column in range(3))
    for row in rows:
        yield f"{row[0]:<{names}}  {row[1]:>{cases}}  {row[2]:>{documents}}  {row[3]}"
    yield ""
    yield f"Name one as a suite: searchmark evaluate --gold-set {PREFIX}NAME --agent bm25"
    yield "'searchmark suites NAME' says more of it."


def _row(suite: BuiltinSuite) -> tuple[str, str, str, str]:
    from searchmark.corpora.corpus import corpus_of, load_corpus
    from searchmark.suites import load_suite

    loaded = load_suite(suite.reference)
    if suite.corpus is not None:
        documents = str(len(load_corpus(suite.corpus).survey.ids))
    elif loaded.table.documents is not None:
        documents = str(len(corpus_of(loaded).survey.ids))
    else:
        documents = AT_COMMITS
    return suite.name, str(len(loaded)), documents, suite.purpose


def _shown(suite: BuiltinSuite) -> Iterator[str]:
    from searchmark.config import load_config

    config = load_config(suite.config_file)
    yield from suite.readme.rstrip().splitlines()
    yield from ("", "Commands", "")
    yield from (f"  {line}" for line in _commands(suite, config))
    yield from ("", "Gates", "")
    yield from (f"  {line}" for line in _gates(config))


def _commands(suite: BuiltinSuite, config: Config) -> Iterator[str]:
    listed = [spec for spec in config.agents if spec.name in config.listed_agents]
    arms = [name for spec in listed for name in (spec.modes or (spec.name,))]
    agent = f" --agent {listed[0].name}" if listed else " --agent bm25"
    mode = f" --mode {next(iter(listed[0].modes))}" if listed and listed[0].modes else ""
    yield f"searchmark evaluate --gold-set {suite.reference}{agent}{mode}"
    yield f"searchmark compare --gold-set {suite.reference}{'' if len(arms) >= SEVERAL else ' --agents keyword bm25'}"
    yield f"searchmark audit {suite.reference} --strict"
    yield f"searchmark cases {suite.reference}"


def _gates(config: Config) -> Iterator[str]:
    from searchmark.gates.reading import rules_of

    rules = rules_of(config.gates)
    yield from (rule.name for rule in rules)
    if not rules:
        yield "none"
