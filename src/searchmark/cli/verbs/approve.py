"""``searchmark approve``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from searchmark.cli._groups import load_runs
from searchmark.cli._output import show, tell
from searchmark.errors import UsageError
from searchmark.options.field_names import FieldNames
from searchmark.reports.quoting import visible
from searchmark.suites.detect import FORMATS

if TYPE_CHECKING:
    from searchmark.approval.records import Approval, ChangedExpectation, Proposal

QUESTION = "Approve? [y]es, [n]o, [a]ll that follow, [q]uit asking:"
ANSWERS = {word: word[0] for word in ("yes", "no", "all", "quit", "y", "n", "a", "q")}
NOT_A_TERMINAL = (
    "approve asks about every case, and this is not a terminal; use --yes to approve every change, or --dry-run to see them first"
)


@click.command("approve", short_help="Make what a run answered what a suite expects, case by case.")
@click.argument("suite", metavar="SUITE")
@click.option("--run", "run_paths", metavar="RUN", multiple=True, required=True, help="Saved run; several are the shards of one.")
@click.option("--format", "format_name", type=click.Choice(tuple(FORMATS)), help="Format of the suite.  [default: detected]")
@click.option(
    "--map", "mapping", metavar="FIELD=NAME", multiple=True, help="Name of a field in saved runs: run.id=docid; repeatable."
)
@click.option("--case", "cases", metavar="ID", multiple=True, help="Only this case; repeatable.")
@click.option("--yes", is_flag=True, help="Approve every change without asking.")
@click.option("--author", metavar="NAME", help="Who approves.  [default: user.name and user.email of Git]")
@click.option("--reason", metavar="TEXT", help="Why, for those who read the suite later.")
@click.option("--dry-run", is_flag=True, help="Show every change, and the lines of the file that would change; write nothing.")
def command(
    suite: str,
    run_paths: tuple[str, ...],
    format_name: str | None,
    mapping: tuple[str, ...],
    cases: tuple[str, ...],
    yes: bool,
    author: str | None,
    reason: str | None,
    dry_run: bool,
) -> None:
    """Make what a run answered what a suite expects, case by case.

    Every changed expectation is shown and asked about. SUITE is changed in place, in these lines alone. Cases whose
    agent failed or returned nothing are never changed.

    \b
    searchmark approve cases.yaml --run new.jsonl --reason "new embedding model, checked by hand"
    searchmark approve search.test.ts --run new.jsonl --dry-run
    """
    asks = not (yes or dry_run)
    if asks and not (sys.stdin and sys.stdin.isatty()):
        raise UsageError(NOT_A_TERMINAL)
    named = FieldNames.parse(mapping)
    if named.suite or named.corpus:
        raise UsageError("--map names fields of saved runs here, like run.id=docid; a suite that is changed has names of its own")
    from searchmark.approval.approving import approve
    from searchmark.approval.author import author_of
    from searchmark.runs.join import joined

    run = joined(load_runs(run_paths, mapping=mapping))
    by = author_of(Path(suite)) if author is None else author.strip()
    if not by:
        raise UsageError("--author is empty; name who approves")
    questions = _Questions(asks)
    why = (reason or "").strip() or None
    decided = approve(suite, run, questions, author=by, reason=why, only=cases, format=format_name, write=not dry_run)
    show("\n".join([*questions.unasked, *_summary(decided)]) + "\n")
    if decided.written:
        from searchmark.approval.records import WARNING

        tell(WARNING)


class _Questions:
    """Shows each change and asks about it, until all or none of the rest is wanted; ``unasked`` is what is still to be shown."""

    def __init__(self, asks: bool) -> None:
        self._rest = None if asks else True
        self.unasked: list[str] = []

    def __call__(self, change: ChangedExpectation) -> bool:
        if self._rest is not None:
            self.unasked += _shown(change) if self._rest else ()
            return self._rest
        show("\n".join(_shown(change)) + "\n")
        answer = _answer()
        if answer in ("a", "q"):
            self._rest = answer == "a"
        return answer in ("y", "a")


def _answer() -> str:
    while True:
        said = click.prompt(QUESTION, prompt_suffix=" ", default="", show_default=False, err=True).strip().lower()
        if said in ANSWERS:
            return ANSWERS[said]


def _shown(change: ChangedExpectation) -> Iterator[str]:
    yield f"case {visible(change.case)}: {visible(change.query or '(its query is not known)')}"
    yield f"  expected now: {_listed(change.before)}"
    yield f"  what came:    {_listed(change.after)}"
    for name in ("new", "gone", "moved"):
        if targets := getattr(change, name):
            yield f"  {name + ':':13} {_listed(targets)}"


def _listed(targets: Iterable[str]) -> str:
    return visible(", ".join(targets))


def _summary(decided: Approval) -> Iterator[str]:
    proposal, path = decided.proposal, visible(str(decided.path))
    if not proposal.changed:
        yield f"nothing to approve in {path}"
    else:
        done = "would be approved" if decided.approved and not decided.written else "approved"
        yield f"{done}: {len(decided.approved)} of {_counted(len(proposal.changed), 'changed expectation')}"
    yield from _left(proposal)
    if decided.circular:
        yield visible(decided.circular_sentence)
    yield from (f"comments of {visible(told)}" for told in decided.comments)
    if decided.record is not None and not decided.recorded:
        yield f"{path} is a list of cases and keeps nothing else; put this into the commit message:"
        yield f"  {visible(decided.record.as_sentence())}"
    if decided.written:
        yield f"written: {path}"
    else:
        yield from _difference(decided)
        yield "nothing is written"


def _left(proposal: Proposal) -> Iterator[str]:
    if proposal.unchanged:
        yield f"unchanged: {_counted(proposal.unchanged, 'case')}"
    for reason, count in proposal.reasons.items():
        yield f"left alone: {_counted(count, 'case')} ({reason})"


def _difference(decided: Approval) -> Iterator[str]:
    """The lines that would change, as diff shows them."""
    from difflib import unified_diff

    name = str(decided.path)
    lines = (decided.before.splitlines(), decided.after.splitlines())
    yield from (visible(line) for line in unified_diff(*lines, name, name, lineterm="", n=1))


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
