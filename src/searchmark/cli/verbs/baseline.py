"""``searchmark baseline``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from searchmark.cli._corpus import chosen, corpus_options, survey_of, with_corpus_of
from searchmark.cli._gates import baseline_file, with_gates_of
from searchmark.cli._groups import NamedSuite, SavedRuns, config_option, load_runs, told_by
from searchmark.cli._options import OUTPUT, WHAT_TO_RUN, WHAT_TO_SEARCH, Given, SectionedCommand, option_group
from searchmark.cli._output import harmless, remark, show, tell
from searchmark.config import Config
from searchmark.errors import EXIT_OK, EXIT_UNTRUSTED, Incomparable, NothingEvaluated, UsageError
from searchmark.files.store import check_replaceable
from searchmark.options.corpus_choice import CorpusChoice, FileChoice
from searchmark.options.gate_options import BASELINE_FILE
from searchmark.options.option import Option

if TYPE_CHECKING:
    from searchmark.analysis.scores import Scores
    from searchmark.approval.baseline_update import BaselineChange, ValueChange
    from searchmark.corpora.corpus import Survey
    from searchmark.records import Run, Suite
    from searchmark.suites.baseline_metrics import BaselineMetrics

CASES_SHOWN = 20
NOT_A_TERMINAL = "baseline update asks before it writes, and this is not a terminal; use --yes"
WARNING = "a baseline is updated for a change that is wanted, never to make a check pass: say why with --reason"


@dataclass(frozen=True)
class UpdateChoice:
    """What is written, and what is kept about it."""

    against: Annotated[
        str | None,
        Option("File of the baseline.", ("--against",), "FILE", default=f"gates.baseline of the config, or {BASELINE_FILE}"),
    ] = None
    reason: Annotated[str | None, Option("Why, for those who read it later.", metavar="TEXT")] = None
    author: Annotated[str | None, Option("Who updates it.", metavar="NAME", default="user.name and user.email of Git")] = None
    measures: Annotated[tuple[str, ...], Option("Measure to show the difference by; repeatable.", ("-m", "--measure"))] = ()
    yes: Annotated[bool, Option("Write without asking.", ("--yes",))] = False


@click.group("baseline", short_help="Show or update what runs are held against.")
def command() -> None:
    """Show or update what runs are held against.

    \b
    searchmark baseline update run.jsonl --gold-set suite.yaml --reason "new embedding model"
    searchmark baseline show searchmark-baseline.jsonl --gold-set suite.yaml
    """


@command.command("update", cls=SectionedCommand, short_help="Make a run the baseline, after showing what changes.")
@click.argument("run_paths", metavar="RUN...", nargs=-1, required=True)
@option_group(NamedSuite, "named", WHAT_TO_RUN)
@config_option(WHAT_TO_RUN, "the section 'gates'")
@option_group(CorpusChoice, "searched", WHAT_TO_SEARCH)
@corpus_options
@option_group(UpdateChoice, "choice", OUTPUT)
def update(
    run_paths: tuple[str, ...],
    named: NamedSuite,
    config: Config,
    searched: CorpusChoice,
    chosen_files: Given[FileChoice],
    choice: UpdateChoice,
) -> int:
    """Make a run the baseline, after showing what changes. Several runs are the shards of one.

    A run that cannot be trusted is refused with exit code 2. A baseline_metrics.json is changed in place.

    \b
    searchmark baseline update run.jsonl --gold-set suite.yaml --reason "new embedding model"
    searchmark baseline update run.jsonl --gold-set fixtures.json --against baseline_metrics.json --yes
    """
    from searchmark.analysis.scores import untrusted_because
    from searchmark.experiments import score_runs
    from searchmark.gates.baselines import check_location, read_baseline
    from searchmark.judging.query_texts import with_cases_of
    from searchmark.runs.join import joined
    from searchmark.suites.baseline_metrics import BaselineMetrics

    source, config = named.chosen(config)
    if config.builtin is not None and choice.against is None:
        raise UsageError(
            f"the baseline of {source.path} comes with Searchmark and is never changed; name a file of your own with --against"
        )
    suite, setup = source.load(searched.mapping)
    file = Path(baseline_file(with_gates_of(setup, config), choice.against))
    check_location(file)
    check_replaceable(file)
    if not choice.yes and not (sys.stdin and sys.stdin.isatty()):
        raise UsageError(NOT_A_TERMINAL)
    former = read_baseline(file)
    # With the ids of the suite as it is now: one day it may have other cases, or another order.
    run = with_cases_of(suite, joined(load_runs(run_paths, mapping=searched.mapping)))
    told = told_by(source, SavedRuns(run_paths), ())
    survey = survey_of(suite, chosen(with_corpus_of(setup, config, searched), chosen_files, config, told))
    (scores,) = score_runs(suite, [run], choice.measures, corpus=survey)
    reasons = untrusted_because(scores)
    if reasons:
        tell(f"searchmark: this run cannot be the baseline, since it is untrusted: {'; '.join(reasons)}")
        return EXIT_UNTRUSTED
    if isinstance(former, BaselineMetrics):
        return _update_metrics(file, former, scores, choice)
    return _update_run(file, suite, survey, former, run, choice)


def _update_run(file: Path, suite: Suite, survey: Survey | None, former: Run | None, run: Run, choice: UpdateChoice) -> int:
    from searchmark.approval.baseline_update import as_baseline, change_between, next_record, same_run
    from searchmark.runs.native import write_native  # whatever the file is called: no other format holds a baseline's record

    if former is not None and same_run(former, run):
        show(f"{harmless(str(file))} is this run already; nothing is written\n")
        return EXIT_OK
    before, after = _both(suite, survey, former, run, choice.measures)
    record = next_record(run, former, author=_author(file, choice), reason=choice.reason, date=datetime.now(UTC))
    version = f"version {record.version}, model {record.model}"
    return _write(file, version, change_between(before, after), choice, lambda: write_native(as_baseline(run, record), file))


def _both(
    suite: Suite, survey: Survey | None, former: Run | None, run: Run, measures: Sequence[str]
) -> tuple[Scores | None, Scores]:
    """Both runs, judged and cut alike; the former one is None where it cannot be judged on this suite."""
    from searchmark.experiments import score_runs

    if former is not None:
        try:
            before, after = score_runs(suite, [former, run], measures, corpus=survey)
        except (Incomparable, NothingEvaluated) as error:
            tell(f"searchmark: the former baseline cannot be compared: {error}")
        else:
            return before, after
    (after,) = score_runs(suite, [run], measures, corpus=survey)
    return None, after


def _update_metrics(file: Path, former: BaselineMetrics, scores: Scores, choice: UpdateChoice) -> int:
    from searchmark.approval.baseline_update import searched_with
    from searchmark.approval.metrics_edits import updated_metrics
    from searchmark.files.in_place import read_to_change
    from searchmark.files.store import atomic_write

    text = read_to_change(file).decode("utf-8", "surrogateescape")
    new = updated_metrics(file, text, former, scores, reason=choice.reason, today=datetime.now(UTC).date())
    if searched_with(scores.judged.run) is None:
        tell(f"the run does not say which embedding model it searched with: 'model' stays {former.model or 'as it is'}")
    if not new.changed:
        show(f"every value of {harmless(str(file))} is as it was; nothing is written\n")
        return EXIT_OK

    def write() -> None:
        with atomic_write(file) as opened:
            opened.write(new.text.encode("utf-8", "surrogateescape"))

    return _write(file, f"version {new.version}, before it {former.version or 'none'}", new.change, choice, write)


def _author(file: Path, choice: UpdateChoice) -> str:
    from searchmark.approval.author import author_of

    author = author_of(file) if choice.author is None else choice.author.strip()
    if not author:
        raise UsageError("--author is empty; name who updates the baseline")
    return author


def _write(file: Path, version: str, change: BaselineChange, choice: UpdateChoice, write: Callable[[], None]) -> int:
    show("\n".join(_shown(f"{file}: {version}", change)) + "\n")
    if any(each.falls for each in change.measures) and not choice.reason:
        tell(WARNING)
    if not choice.yes and not click.confirm("Write it?", err=True):
        show("nothing is written\n")
        return EXIT_OK
    write()
    remark(f"written: {file}")
    return EXIT_OK


def _shown(title: str, change: BaselineChange) -> Iterator[str]:
    yield harmless(title)
    width = max((len(each.name) for each in change.measures), default=0)
    for each in change.measures:
        yield f"  {each.name:<{width}}  {_values(each)}"
    if all(each.before is None for each in change.measures):
        return
    yield f"cases that changed: {len(change.cases)}"
    for case in change.cases[:CASES_SHOWN]:
        yield harmless(f"  {case.case}: {', '.join(f'{each.name} {_values(each)}' for each in case.values)}")
    if len(change.cases) > CASES_SHOWN:
        yield f"  and {len(change.cases) - CASES_SHOWN} more"


def _values(each: ValueChange) -> str:
    before, after = ("–" if value is None else f"{value:.4f}" for value in (each.before, each.after))
    if not each.changed:
        return f"{after}, as before"
    difference = "" if each.before is None or each.after is None else f" ({each.after - each.before:+.4f})"
    return f"{before} -> {after}{difference}"


@command.command("show", cls=SectionedCommand, short_help="Say what a baseline is.")
@click.argument("file", metavar="FILE")
@click.option("--gold-set", "--suite", "suite_path", metavar="SUITE", help="Suite to judge a saved run by, for its measures.")
@click.option("-m", "--measure", "measures", multiple=True, help="Measure to show; repeatable.")
def show_baseline(file: str, suite_path: str | None, measures: tuple[str, ...]) -> None:
    """Say what a baseline is: version, date, model, author, reason and measures.

    \b
    searchmark baseline show searchmark-baseline.jsonl --gold-set suite.yaml
    searchmark baseline show baseline_metrics.json
    """
    from searchmark.files.store import check_readable
    from searchmark.gates.baselines import read_baseline
    from searchmark.suites.baseline_metrics import BaselineMetrics

    check_readable(Path(file))
    found = read_baseline(file)
    if found is None:  # removed between two looks
        raise UsageError(f"there is no file {file}")
    lines = _of_metrics(found) if isinstance(found, BaselineMetrics) else _of_run(found, suite_path, measures)
    show("\n".join(harmless(line) for line in lines) + "\n")


def _of_run(run: Run, suite_path: str | None, measures: Sequence[str]) -> Iterator[str]:
    record = run.provenance.baseline
    yield f"saved run of {run.agent}, {len(run)} answers"
    if record is None:
        yield "it was not made a baseline by 'searchmark baseline update': version, author and reason are not known"
    else:
        told = {"version": record.version, "date": f"{record.date:%Y-%m-%d %H:%M} UTC", "model": record.model}
        yield from _facts({**told, "author": record.author, "reason": record.reason})
    if suite_path is None:
        yield "its measures: name the suite with --gold-set"
        return
    from searchmark.experiments import score_runs
    from searchmark.suites import load_suite_with_setup

    suite, setup = load_suite_with_setup(suite_path)
    survey = survey_of(suite, with_corpus_of(setup, Config(), CorpusChoice()))
    (scores,) = score_runs(suite, [run], measures, corpus=survey)
    yield from _facts({name: None if mean != mean else f"{mean:.4f}" for name, mean in scores.means().items()})  # noqa: PLR0124  # NaN


def _of_metrics(found: BaselineMetrics) -> Iterator[str]:
    from searchmark.gates.fixture_baseline import fixture_rules

    yield f"baseline of {len(found.cases)} fixtures, {len(fixture_rules(found))} rules"
    facts = {"version": found.version, "date": found.created_at, "model": found.model, "notes": found.notes}
    yield from _facts({**facts, "description": found.description})
    for case in found.cases:
        k = "number of ranked documents" if case.k is None else case.k
        yield f"{case.name}, k: {k}: {', '.join(f'{name} {value:g}' for name, value in case.metrics.items())}"
    yield from _facts({name: f"{value:g}" for name, value in found.targets.items()})


def _facts(facts: dict[str, object]) -> Iterator[str]:
    width = max(map(len, facts))
    return (f"  {name:<{width}}  {'–' if value is None else value}" for name, value in facts.items())
