"""Whether a machine has all that a run needs, asked before the run: every machine that lacks something says what."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from searchmark.agents.agent import AgentSpec
from searchmark.corpora.locations import Folder, Location
from searchmark.errors import UsageError
from searchmark.records import Environment
from searchmark.records.shown import listed
from searchmark.registry import name_secrets_of
from searchmark.running.environment import environment
from searchmark.running.sandbox.launch import Launch
from searchmark.running.sandbox.needs import needs_of
from searchmark.running.scaling.block import Assignment
from searchmark.running.session import Session
from searchmark.services.redaction import secrets_in
from searchmark.shipping.installed import refuse_other_version
from searchmark.shipping.lacks import SHOWN, refuse_missing, sentences_of
from searchmark.shipping.sending import commits_in
from searchmark.shipping.supplies import lacking


@dataclass(frozen=True)
class MachineCheck:
    """What every machine must have: what is searched, commits of cases, and each agent with its code, files and variables."""

    assignments: tuple[Assignment, ...]
    commits: Mapping[Path, tuple[str, ...]]
    paths: tuple[Path, ...]
    files: tuple[Path, ...]
    variables: tuple[str, ...]

    @classmethod
    def of(cls, assignments: Iterable[Assignment], locations: Iterable[Location]) -> MachineCheck:
        """What this machine has, and others must have as well."""
        assigned, searched = tuple(assignments), tuple(locations)
        paths = dict.fromkeys(each.path for each in searched if isinstance(each, Folder))
        needs = [needs_of(each.spec) for each in assigned]
        files = {path.absolute(): None for each in needs for path in each.files if path.exists()}
        variables = {name: None for each in needs for name in sorted(each.variables) if os.environ.get(name)}
        return cls(assigned, commits_in(searched), tuple(paths), tuple(files), tuple(variables))


@dataclass(frozen=True)
class MachineReport:
    """A machine, and what it lacks, a sentence each."""

    environment: Environment
    lacks: tuple[str, ...]


def check_machine(check: MachineCheck) -> MachineReport:
    """Look for everything on this machine, and name all that is not there."""
    return MachineReport(environment(), tuple(_problems(check)))


def _problems(check: MachineCheck) -> Iterator[str]:
    if not check.assignments:  # no agent could be loaded, which is said elsewhere
        return
    first = check.assignments[0]
    other = list(sentences_of(partial(refuse_other_version, first.installed)))
    if other:  # what else it would say means little
        yield from other
        return
    for path in check.paths:
        yield from sentences_of(partial(first.supplies.path, path, shipped=False))
    for path, commits in check.commits.items():
        yield from sentences_of(partial(refuse_missing, first.supplies, path, commits))
    absent = [str(path) for path in check.files if not path.exists()]
    unset = [name for name in check.variables if not os.environ.get(name)]
    if absent:
        yield str(lacking(f"files that agents are configured with: {listed(absent, SHOWN)}"))
    if unset:
        yield str(lacking(f"environment variables: {listed(unset, SHOWN)}; set them where its worker is started"))
    for assigned in check.assignments:
        yield from sentences_of(partial(refuse_agent, assigned))


def refuse_agent(assigned: Assignment) -> None:
    """Load the agent in a worker, and end it: one that is not there, or has other code, is refused."""
    session = Session(assigned.spec, assigned.options, "", lambda _: None, launch_of(assigned))
    try:
        refuse_other_code(assigned, session.load())
    finally:
        session.abandon()


def launch_of(assigned: Assignment) -> Launch:
    """How the agent is started on this machine, outside of any sandbox: nothing is searched."""
    name_secrets_of(assigned.specs)
    return Launch.of(assigned.spec, {}).finding(assigned.spec, assigned.supplies.code(), assigned.folder)


def refuse_other_code(assigned: Assignment, code: str | None) -> None:
    if code != assigned.code:
        raise UsageError(
            f"{socket.gethostname()} has other code of the agent {assigned.spec.name!r} than the machine that started the run"
        )


def refuse_secrets(specs: Iterable[AgentSpec]) -> None:
    """Secrets do not travel: every machine has its own, in the environment of its workers."""
    for spec in specs:
        if secrets_in(spec.options):
            raise UsageError(
                f"the config of the agent {spec.name!r} holds a secret, which is not sent to other machines; "
                "set a variable where the workers are started, and write ${NAME} or, for an agent of your own, read it there"
            )
