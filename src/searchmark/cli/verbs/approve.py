"""The verb `searchmark approve`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from searchmark.cli.groups import author_named, load_runs
from searchmark.cli.options import PluginChoice
from searchmark.cli.output import show, tell
from searchmark.config.inputs import FieldNames
from searchmark.errors import UsageError
from searchmark.formats import SUITE_FORMATS
from searchmark.reports.quoting import visible

if TYPE_CHECKING:
    from searchmark.judgments.suite_edits import Approval, ChangedExpectation, Proposal


QUESTION = "Approve? [y]es, [n]o, [a]ll that follow, [q]uit asking:"

ANSWERS = {word: word[0] for word in ("yes", "no", "all", "quit", "y", "n", "a", "q")}


NOT_A_TERMINAL = (
    "approve asks about every case, and this is not a terminal; use --yes to approve every change, or --dry-run to see them first"
)


@click.command("approve", short_help="Make what a run answered what a suite expects, case by case.")
@click.argument("suite", metavar="SUITE")
@click.option("--run", "run_paths", metavar="RUN", multiple=True, required=True, help="Saved run; several are the shards of one.")
@click.option(
    "--format",
    "format_name",
    type=PluginChoice(tuple(SUITE_FORMATS), "formats"),
    help="Format of the suite.  [default: detected]",
)
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
    field_names = FieldNames.parse(mapping)
    if field_names.suite or field_names.corpus:
        raise UsageError("--map names fields of saved runs here, like run.id=docid; a suite that is changed has names of its own")
    from searchmark.judgments.approve import approve
    from searchmark.records.merge import join_runs

    run = join_runs(load_runs(run_paths, mapping=mapping))
    by = author_named(author, Path(suite), "approves")
    questions = _Questions(asks)
    why = (reason or "").strip() or None
    approval = approve(suite, run, questions, author=by, reason=why, only=cases, format=format_name, write=not dry_run)
    show("\n".join([*questions.unasked, *_summary(approval)]) + "\n")
    if approval.written:
        from searchmark.judgments.suite_edits import WARNING

        tell(WARNING)


class _Questions:
    """Shows each change and asks about it, until all or none of the rest is wanted; ``unasked`` is what is still to be shown."""

    def __init__(self, asks: bool) -> None:
        self._rest = None if asks else True
        self.unasked: list[str] = []

    def __call__(self, change: ChangedExpectation) -> bool:
        if self._rest is not None:
            self.unasked += _change_lines(change) if self._rest else ()
            return self._rest
        show("\n".join(_change_lines(change)) + "\n")
        answer = _answer()
        if answer in ("a", "q"):
            self._rest = answer == "a"
        return answer in ("y", "a")


def _answer() -> str:
    while True:
        reply = click.prompt(QUESTION, prompt_suffix=" ", default="", show_default=False, err=True).strip().lower()
        if reply in ANSWERS:
            return ANSWERS[reply]


def _change_lines(change: ChangedExpectation) -> Iterator[str]:
    yield f"case {visible(change.case)}: {visible(change.query or '(its query is not known)')}"
    yield f"  expected now: {_target_lines(change.before)}"
    yield f"  what came:    {_target_lines(change.after)}"
    for name in ("new", "gone", "moved"):
        if targets := getattr(change, name):
            yield f"  {name + ':':13} {_target_lines(targets)}"


def _target_lines(targets: Iterable[str]) -> str:
    return visible(", ".join(targets))


def _summary(approval: Approval) -> Iterator[str]:
    proposal, path = approval.proposal, visible(str(approval.path))
    if not proposal.changed:
        yield f"nothing to approve in {path}"
    else:
        status = "would be approved" if approval.approved and not approval.written else "approved"
        yield f"{status}: {len(approval.approved)} of {_count_text(len(proposal.changed), 'changed expectation')}"
    yield from _skipped_lines(proposal)
    if approval.circular:
        yield visible(approval.circular_sentence)
    yield from (f"comments of {visible(comment)}" for comment in approval.comments)
    if approval.record is not None and not approval.recorded:
        yield f"{path} is a list of cases and keeps nothing else; put this into the commit message:"
        yield f"  {visible(approval.record.as_sentence())}"
    if approval.written:
        yield f"written: {path}"
    else:
        yield from _difference(approval)
        yield "nothing is written"


def _skipped_lines(proposal: Proposal) -> Iterator[str]:
    if proposal.unchanged:
        yield f"unchanged: {_count_text(proposal.unchanged, 'case')}"
    for reason, count in proposal.reasons.items():
        yield f"left alone: {_count_text(count, 'case')} ({reason})"


def _difference(approval: Approval) -> Iterator[str]:
    """The lines that would change, as diff shows them."""
    from difflib import unified_diff

    name = str(approval.path)
    lines = (approval.before.splitlines(), approval.after.splitlines())
    yield from (visible(line) for line in unified_diff(*lines, name, name, lineterm="", n=1))


def _count_text(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
