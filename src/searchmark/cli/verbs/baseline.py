"""The verb `searchmark baseline`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click

from searchmark.cli.groups import (
    CHOSEN_FILES,
    MISSING,
    ConfigFile,
    NamedSuiteSettings,
    SavedRuns,
    SuiteInUse,
    author_named,
    load_runs,
)
from searchmark.cli.options import (
    OUTPUT,
    WHAT_TO_RUN,
    WHAT_TO_SEARCH,
    GivenSettings,
    OptionGroup,
    Positional,
    SectionedCommand,
    verb,
)
from searchmark.cli.output import harmless, remark, show, tell
from searchmark.config.gates import BASELINE_FILE
from searchmark.config.inputs import CorpusInputSettings, FileSettings
from searchmark.config.option import Option
from searchmark.config.sections import Config
from searchmark.errors import EXIT_OK, EXIT_UNTRUSTED, Incomparable, NothingEvaluated, UsageError
from searchmark.io.store import check_replaceable

if TYPE_CHECKING:
    from searchmark.formats.corpora.corpus import Survey
    from searchmark.formats.suites.fixtures import BaselineMetrics
    from searchmark.gates.baselines import BaselineChange, ValueChange
    from searchmark.records.run import Run
    from searchmark.records.suite import Suite
    from searchmark.scoring.scores import Scores


CASES_SHOWN = 20

NOT_A_TERMINAL = "baseline update asks before it writes, and this is not a terminal; use --yes"

WARNING = "a baseline is updated for a change that is wanted, never to make a check pass: say why with --reason"


@dataclass(frozen=True)
class UpdateSettings:
    """What is written, and what is kept about it."""

    against: Annotated[
        str | None,
        Option("File of the baseline.", ("--against",), "FILE", default=f"gates.baseline of the config, or {BASELINE_FILE}"),
    ] = None
    reason: Annotated[str | None, Option("Why, for those who read it later.", metavar="TEXT")] = None
    author: Annotated[str | None, Option("Who updates it.", metavar="NAME", default="user.name and user.email of Git")] = None
    measures: Annotated[tuple[str, ...], Option("Measure to show the difference by; repeatable.", ("-m", "--measure"))] = ()
    yes: Annotated[bool, Option("Write without asking.", ("--yes",))] = False
    missing: Annotated[Literal["zero"] | None, MISSING] = None


@click.group("baseline", short_help="Show or update what runs are held against.")
def command() -> None:
    """Show or update what runs are held against.

    \b
    searchmark baseline update run.jsonl --gold-set suite.yaml --reason "new embedding model"
    searchmark baseline show searchmark-baseline.jsonl --gold-set suite.yaml
    """


@dataclass(frozen=True)
class UpdateCommand:
    """The arguments and options of ``baseline update``."""

    run_paths: Annotated[tuple[str, ...], Positional("RUN...", nargs=-1, required=True)]
    named: Annotated[NamedSuiteSettings, OptionGroup(WHAT_TO_RUN)]
    config: Annotated[Config, ConfigFile(WHAT_TO_RUN, "the section 'gates'")]
    searched: Annotated[CorpusInputSettings, OptionGroup(WHAT_TO_SEARCH)]
    chosen_files: Annotated[GivenSettings[FileSettings], CHOSEN_FILES]
    choice: Annotated[UpdateSettings, OptionGroup(OUTPUT)]


@verb("update", UpdateCommand, short_help="Make a run the baseline, after showing what changes.", of=command)
def update(settings: UpdateCommand) -> int:
    """Make a run the baseline, after showing what changes. Several runs are the shards of one.

    A run that cannot be trusted is refused with exit code 2. A baseline_metrics.json is changed in place.

    \b
    searchmark baseline update run.jsonl --gold-set suite.yaml --reason "new embedding model"
    searchmark baseline update run.jsonl --gold-set fixtures.json --against baseline_metrics.json --yes
    """
    from searchmark.experiments.evaluation import score_runs
    from searchmark.experiments.inputs import baseline_file, survey_of, with_gates_of
    from searchmark.formats.suites.fixtures import BaselineMetrics
    from searchmark.gates.baselines import check_location, read_baseline
    from searchmark.records.merge import join_runs, with_suite_case_ids

    source, config = settings.named.chosen(settings.config)
    if config.builtin is not None and settings.choice.against is None:
        raise UsageError(
            f"the baseline of {source.path} comes with Searchmark and is never changed; name a file of your own with --against"
        )
    saved_runs = SavedRuns(settings.run_paths, missing=settings.choice.missing)
    in_use = SuiteInUse.read(source, config, saved_runs, settings.searched.mapping)
    file = Path(baseline_file(with_gates_of(in_use.setup, config), settings.choice.against))
    check_location(file)
    check_replaceable(file)
    if not settings.choice.yes and not (sys.stdin and sys.stdin.isatty()):
        raise UsageError(NOT_A_TERMINAL)
    former = read_baseline(file)
    # With the ids of the suite as it is now: one day it may have other cases, or another order.
    run = with_suite_case_ids(in_use.suite, join_runs(load_runs(settings.run_paths, mapping=settings.searched.mapping)))
    survey = survey_of(in_use.suite, in_use.corpus(settings.searched, settings.chosen_files))
    (scores,) = score_runs(in_use.suite, [run], settings.choice.measures, corpus=survey)
    if scores.distrust:
        tell(f"searchmark: this run cannot be the baseline, since it is untrusted: {scores.why_untrusted}")
        return EXIT_UNTRUSTED
    if isinstance(former, BaselineMetrics):
        return _update_metrics(file, former, scores, settings.choice)
    return _update_run(file, in_use.suite, survey, former, run, settings.choice)


def _update_run(file: Path, suite: Suite, survey: Survey | None, former: Run | None, run: Run, choice: UpdateSettings) -> int:
    from searchmark.formats.runs.native import write_native_run
    from searchmark.gates.baselines import change_between, is_same_run, next_record, with_baseline_record

    if former is not None and is_same_run(former, run):
        show(f"{harmless(str(file))} is this run already; nothing is written\n")
        return EXIT_OK
    before, after = _score_both(suite, survey, former, run, choice.measures)
    author = author_named(choice.author, file, "updates the baseline")
    record = next_record(run, former, author=author, reason=choice.reason, date=datetime.now(UTC))
    version = f"version {record.version}, model {record.model}"
    return _write(
        file, version, change_between(before, after), choice, lambda: write_native_run(with_baseline_record(run, record), file)
    )


def _score_both(
    suite: Suite, survey: Survey | None, former: Run | None, run: Run, measures: Sequence[str]
) -> tuple[Scores | None, Scores]:
    """Both runs, judged and cut alike; the former one is None where it cannot be judged on this suite."""
    from searchmark.experiments.evaluation import score_runs

    if former is not None:
        try:
            before, after = score_runs(suite, [former, run], measures, corpus=survey)
        except (Incomparable, NothingEvaluated) as error:
            tell(f"searchmark: the former baseline cannot be compared: {error}")
        else:
            return before, after
    (after,) = score_runs(suite, [run], measures, corpus=survey)
    return None, after


def _update_metrics(file: Path, former: BaselineMetrics, scores: Scores, choice: UpdateSettings) -> int:
    from searchmark.gates.baselines import embedding_model_name
    from searchmark.io.store import atomic_write, read_to_change
    from searchmark.judgments.approve import update_metrics

    text = read_to_change(file).decode("utf-8", "surrogateescape")
    new = update_metrics(file, text, former, scores, reason=choice.reason, today=datetime.now(UTC).date())
    if embedding_model_name(scores.matched.run) is None:
        tell(f"the run does not say which embedding model it searched with: 'model' stays {former.model or 'as it is'}")
    if not new.changed:
        show(f"every value of {harmless(str(file))} is as it was; nothing is written\n")
        return EXIT_OK

    def write() -> None:
        with atomic_write(file) as stream:
            stream.write(new.text.encode("utf-8", "surrogateescape"))

    return _write(file, f"version {new.version}, before it {former.version or 'none'}", new.change, choice, write)


def _write(file: Path, version: str, change: BaselineChange, choice: UpdateSettings, write: Callable[[], None]) -> int:
    show("\n".join(_change_lines(f"{file}: {version}", change)) + "\n")
    if any(each.falls for each in change.measures) and not choice.reason:
        tell(WARNING)
    if not choice.yes and not click.confirm("Write it?", err=True):
        show("nothing is written\n")
        return EXIT_OK
    write()
    remark(f"written: {file}")
    return EXIT_OK


def _change_lines(title: str, change: BaselineChange) -> Iterator[str]:
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
    from searchmark.formats.suites.fixtures import BaselineMetrics
    from searchmark.gates.baselines import read_baseline
    from searchmark.io.store import check_readable

    check_readable(Path(file))
    baseline = read_baseline(file)
    if baseline is None:  # removed between two looks
        raise UsageError(f"there is no file {file}")
    lines = _metrics_lines(baseline) if isinstance(baseline, BaselineMetrics) else _run_lines(baseline, suite_path, measures)
    show("\n".join(harmless(line) for line in lines) + "\n")


def _run_lines(run: Run, suite_path: str | None, measures: Sequence[str]) -> Iterator[str]:
    from searchmark.experiments.inputs import corpus_in_use, survey_of

    record = run.provenance.baseline
    yield f"saved run of {run.agent}, {len(run)} answers"
    if record is None:
        yield "it was not made a baseline by 'searchmark baseline update': version, author and reason are not known"
    else:
        facts = {"version": record.version, "date": f"{record.date:%Y-%m-%d %H:%M} UTC", "model": record.model}
        yield from _facts({**facts, "author": record.author, "reason": record.reason})
    if suite_path is None:
        yield "its measures: name the suite with --gold-set"
        return
    from searchmark.experiments.evaluation import score_runs
    from searchmark.formats.suites import load_suite_with_setup

    suite, setup = load_suite_with_setup(suite_path)
    survey = survey_of(suite, corpus_in_use(CorpusInputSettings(), setup, Config()))
    (scores,) = score_runs(suite, [run], measures, corpus=survey)
    yield from _facts({name: None if mean != mean else f"{mean:.4f}" for name, mean in scores.means().items()})  # noqa: PLR0124  # NaN


def _metrics_lines(metrics: BaselineMetrics) -> Iterator[str]:
    from searchmark.gates.baselines import fixture_rules

    yield f"baseline of {len(metrics.cases)} fixtures, {len(fixture_rules(metrics))} rules"
    facts = {"version": metrics.version, "date": metrics.created_at, "model": metrics.model, "notes": metrics.notes}
    yield from _facts({**facts, "description": metrics.description})
    for case in metrics.cases:
        k = "number of ranked documents" if case.k is None else case.k
        yield f"{case.name}, k: {k}: {', '.join(f'{name} {value:g}' for name, value in case.metrics.items())}"
    yield from _facts({name: f"{value:g}" for name, value in metrics.targets.items()})


def _facts(facts: dict[str, object]) -> Iterator[str]:
    width = max(map(len, facts))
    return (f"  {name:<{width}}  {'–' if value is None else value}" for name, value in facts.items())
