"""The full audit: all checks and tables in the order in which they report, and the checks that plug-ins add."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache

from searchmark.audit import agents, claims, conditions, corpus, documents, gate, gate_chance, gold, numbers, runs, shifts, words
from searchmark.audit.check import Audit, AuditTable, Check, Look, Subject, TableMaker, checks_of
from searchmark.errors import PluginWarning, shortened
from searchmark.gates import sequential
from searchmark.io.plugins import plugins
from searchmark.records.finding import FINDING_KINDS, OTHER, THEMES, Finding, FindingKind, Theme, by_severity, finding, register

CHECKS: tuple[Check, ...] = checks_of((corpus, documents, gold, agents, shifts, words, numbers, gate, gate_chance))
OTHERS = (claims, conditions, runs, sequential)  # make findings beside an audit; loaded, so that their kinds are known

TABLES: tuple[TableMaker, ...] = (
    agents.judged_table,
    words.naming_table,
    words.words_table,
    numbers.measures_table,
    numbers.bounds_table,
    numbers.flips_table,
    numbers.ranks_table,
    numbers.ties_table,
    gate_chance.gate_table,
    gate.sight_table,
)


def full_audit(
    subject: Subject, beside: Iterable[Finding] = (), on_progress: Callable[[int, int], None] = lambda _, __: None
) -> Audit:
    """What all checks find, the worst first, with what is known ``beside`` them."""
    findings, tables, suite = list[Finding](), list[AuditTable | None](), subject.suite
    foreign = plugin_checks()
    steps = len(CHECKS) + len(foreign) + len(TABLES)
    for number, each in enumerate(CHECKS, 1):
        findings += each.look(subject)
        on_progress(number, steps)
    for number, (name, each) in enumerate(foreign.items(), len(CHECKS) + 1):
        findings += _found_by_plugin(name, each, subject)
        on_progress(number, steps)
    for number, table in enumerate(TABLES, steps - len(TABLES) + 1):
        tables.append(table(subject))
        on_progress(number, steps)
    found = tuple(by_severity(runs.without_redundant(beside, findings)))
    return Audit(suite.name, len(suite), found, suite.hashes, tuple(filter(None, tables)))


# Checks of installed packages: entry points of the group ``searchmark.checks``. Whatever goes wrong there ends no audit.

register(OTHER, FindingKind("check-failed", "warning", "A check that an installed package adds, and that failed.",
    "What it looks for was not looked for.",
    "Report the message to the authors of the package, or remove the package.",
))  # fmt: skip


def check(*kinds: FindingKind, theme: Theme = OTHER) -> Callable[[Look], Check]:
    """Make a function of what is audited a check for `searchmark audit`, which makes findings of these kinds.

    ``theme`` is the heading that they are found under.
    """
    if not kinds or not all(isinstance(each, FindingKind) for each in kinds) or theme not in THEMES:
        raise TypeError(f"a check needs its kinds of findings, and one of the themes {', '.join(THEMES)}")
    return lambda look: Check(look, tuple(replace(each, theme=theme) for each in kinds), theme)


def plugin_checks() -> Mapping[str, Check]:
    """The checks that installed packages add, by name; what cannot be one is left out with a warning."""
    found, codes = dict[str, Check](), set(FINDING_KINDS)
    for name, each in plugins("checks").items():
        if taken := codes.intersection(each.codes):
            _warn(f"the plug-in {name!r} (checks) is not used: there are findings with the code {min(taken)!r} already")
        else:
            found[name] = each
            codes.update(each.codes)
    return found


@cache
def _warn(sentence: str) -> None:
    """Say it once."""
    warnings.warn(sentence, PluginWarning, stacklevel=2)


def _found_by_plugin(name: str, check: Check, subject: Subject) -> Iterator[Finding]:
    try:
        yield from _sound(check, list(check.look(subject)))
    except Exception as error:  # noqa: BLE001  # code of others: whatever goes wrong there ends no command of ours
        yield finding("check-failed", f"the check {name!r} failed: {shortened(f'{type(error).__name__}: {error}', 300)}")


def _sound(check: Check, findings: list[Finding]) -> list[Finding]:
    """What a check found, if all of it is what it said that it finds."""
    for each in findings:
        if not isinstance(each, Finding):
            raise TypeError(f"{each!r:.80} is not a finding; make them with searchmark.finding")
        if each.code not in check.codes:
            raise ValueError(f"it found {each.code!r}, which is none of its kinds ({', '.join(check.codes)})")
        if not all(isinstance(text, str) for text in (each.message, *each.cases)):
            raise TypeError(f"a message or case of {each.code!r} is not a text")
    return findings
