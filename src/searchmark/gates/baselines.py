"""What others are held against: a saved run, judged again whenever it is used, or the metrics of a set of fixtures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from searchmark.analysis.scores import DEFAULT_MEASURES
from searchmark.errors import FormatError, UsageError
from searchmark.files.store import parse_json
from searchmark.gates.fixture_baseline import fixture_rules
from searchmark.gates.reading import no_worse_by
from searchmark.gates.relative import RelativeRule
from searchmark.gates.rules import Rule
from searchmark.measures.grammar import AnyMeasure
from searchmark.options.short_repr import short_repr
from searchmark.options.user_paths import user_path
from searchmark.records import Run
from searchmark.runs import load_run
from searchmark.suites.baseline_metrics import BaselineMetrics, is_baseline_metrics, load_baseline_metrics
from searchmark.suites.source import Source

BASELINE = "the baseline"
NEVER_BELOW = ".searchmark"  # which Git ignores, and which may be removed at any time


@dataclass(frozen=True, eq=False)
class Baseline:
    """The baseline of a gate, or why there is none: a run for rules that compare, or rules of its own."""

    run: Run | None = None
    rules: tuple[Rule, ...] = ()
    missing: str = "there is none"

    __repr__ = short_repr


NO_BASELINE = Baseline()


def read_baseline(path: str | Path) -> Run | BaselineMetrics | None:
    """What is in the file of a baseline, told by its content; None if there is no file."""
    file = Path(path)
    if not file.exists():
        return None
    return load_baseline_metrics(file) if is_baseline_metrics(file) else _run_in(file)


def _run_in(file: Path) -> Run:
    try:
        return load_run(file)
    except FormatError:
        _refuse_broken_json(file)
        raise


def _refuse_broken_json(file: Path) -> None:
    """JSON that cannot be read may have been meant as either kind of baseline."""
    source = Source(file)
    if source.by_line or source.is_yaml:
        return
    try:
        parse_json(file, source.text)
    except FormatError as error:
        raise FormatError(file, error.place, f"is not a valid baseline: {error.reason}") from error


def check_location(file: Path) -> None:
    """Refuse a baseline that is kept where it is not under version control."""
    if NEVER_BELOW in (*file.absolute().parts, *file.resolve().parts):
        raise UsageError(
            f"{file} is below {NEVER_BELOW}, which Git ignores; name a file beside the config, with gates.baseline or --against"
        )


def load_baseline(path: str | Path) -> Baseline:
    """The baseline in a file; a file that is not there is told when a rule asks for it."""
    path = user_path(path)
    check_location(path)
    found = read_baseline(path)
    if found is None:
        advice = "name it with --against FILE, or make it with 'searchmark baseline update RUN'"
        return Baseline(missing=f"there is no file {path}; {advice}")
    if isinstance(found, BaselineMetrics):
        held = "it is the baseline of fixtures, which has rules of its own and no run to compare with"
        return Baseline(rules=tuple(fixture_rules(found)), missing=held)
    return named_baseline(found)


def named_baseline(run: Run) -> Baseline:
    """A run as the baseline, under a name that no other run has."""
    return Baseline(replace(run, label=replace(run.label, agent=BASELINE)))


def baseline_in_use(
    named: Run | str | Path | None, default: Path | None, rules: Sequence[Rule], leading: AnyMeasure | None = None
) -> Baseline:
    """What a gate is held against: a baseline that is named, whatever the rules are, or the default where a rule compares."""
    if named is None:
        return NO_BASELINE if default is None or not compares(rules) else load_baseline(default)
    return held_against(named_baseline(named) if isinstance(named, Run) else load_baseline(named), rules, leading)


def compares(rules: Iterable[Rule]) -> bool:
    """Whether a rule asks for a baseline."""
    return any(isinstance(rule, RelativeRule) for rule in rules)


def held_against(baseline: Baseline, rules: Sequence[Rule], leading: AnyMeasure | None = None) -> Baseline:
    """A baseline that is used: where neither it nor any rule asks for a comparison, the leading measure must not be worse."""
    if baseline.rules or compares(rules):
        return baseline
    return replace(baseline, rules=(no_worse_by(leading or DEFAULT_MEASURES[0]),))
