"""What verbs are told about gates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

import click
from click.core import ParameterSource

from searchmark.cli._corpus import survey_of
from searchmark.cli._options import is_given, option_group
from searchmark.cli._output import remark, tell
from searchmark.config import Config
from searchmark.errors import Unresolvable
from searchmark.gates.presets import PRESETS
from searchmark.measures.grammar import AnyMeasure
from searchmark.options.corpus_choice import CorpusChoice
from searchmark.options.gate_options import BASELINE_FILE, POLICIES, GateOptions
from searchmark.options.option import Option
from searchmark.records import Suite

if TYPE_CHECKING:
    from searchmark.analysis.foresight import Foresight
    from searchmark.gates.baselines import Baseline
    from searchmark.gates.looking import LookBook
    from searchmark.gates.rules import Rule
    from searchmark.reports import Report
    from searchmark.suites.native import SuiteSetup

GATE = "Gate"
_HOW_TO_READ = (
    "format", "topics", "corpus", "mapping", "config_path", "no_config", "baseline", "intersect", "same_depth",
    "include", "exclude", "kinds", "ignore",
)  # fmt: skip


@dataclass(frozen=True)
class GateChoice:
    """Rules of the command line, which are added to those of the config."""

    thresholds: Annotated[
        tuple[str, ...], Option("Exit with 1 if the mean is lower; repeatable.", ("--fail-under",), "MEASURE=VALUE")
    ] = ()
    gate_preset: Annotated[str | None, Option("Check rules that come with Searchmark.", ("--gate",), choices=tuple(PRESETS))] = None

    def rules(self, config: Config, asked: Sequence[AnyMeasure] = ()) -> list[Rule]:
        """All rules; ``asked`` are measures that a threshold may mean by their names."""
        from searchmark.gates.bounds import parse_threshold
        from searchmark.gates.reading import rules_of

        named = {measure.name: measure for measure in asked}
        of_preset = rules_of(GateOptions(preset=self.gate_preset)) if self.gate_preset else []
        return [*rules_of(config.gates), *of_preset, *(parse_threshold(text, named) for text in self.thresholds)]


@dataclass(frozen=True)
class GateAgainst(GateChoice):
    """Rules, and the file that they hold a run against."""

    against: Annotated[
        str | None,
        Option(
            "Baseline: a saved run, or the baseline_metrics.json of fixtures.",
            ("--against",),
            "FILE",
            default=f"gates.baseline of the config, or {BASELINE_FILE}",
        ),
    ] = None

    def baseline(self, config: Config, rules: Sequence[Rule], asked: Sequence[AnyMeasure] = ()) -> Baseline:
        """The baseline, if one is named or a rule asks for one; one that is named is used, by the first of ``asked`` if need be."""
        from searchmark.gates.baselines import baseline_in_use

        return baseline_in_use(self.against or config.gates.baseline, default_baseline(config), rules, next(iter(asked), None))

    def looks(self, config: Config, rules: Sequence[Rule]) -> LookBook:
        """Where looks are counted, if something counts them."""
        from searchmark.gates.reading import look_book

        return look_book(config.gates, rules, looked_at(config, self.against))


@dataclass(frozen=True)
class GateOutcome(GateAgainst):
    """The same for verbs that say how a gate ended."""

    bisect: Annotated[
        bool, Option("Exit codes for 'git bisect run': 0 good, 1 bad, 125 for everything that is neither.", ("--bisect",))
    ] = False


def baseline_file(config: Config, against: str | None) -> str:
    """Where the baseline is kept."""
    return against or config.gates.baseline or str(default_baseline(config))


def looked_at(config: Config, against: str | None = None) -> Path:
    """The file beside which looks are counted: the baseline, or for that of a built-in suite one of that name here."""
    if against is None and config.builtin is not None:
        return Path(f"{config.builtin.name}-baseline.jsonl")
    return Path(baseline_file(config, against))


def default_baseline(config: Config) -> Path:
    """Where a baseline is kept that is not named: beside the config, or here."""
    return (config.folder or Path()) / BASELINE_FILE


def with_gates_of(setup: SuiteSetup, config: Config) -> Config:
    """The config with the gates of the suite's header, if it has any."""
    from searchmark.gates.reading import gates_in_force

    return replace(config, gates=gates_in_force(setup.gates, config.gates))


def threshold_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--fail-under`` and ``--gate``."""
    return option_group(GateChoice, "gates", GATE)(command)


def against_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same with ``--against``."""
    return option_group(GateAgainst, "gates", GATE)(command)


def gate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same with ``--against`` and ``--bisect``."""
    return option_group(GateOutcome, "gates", GATE)(command)


def with_next_step(report: Report, suite: str, runs: Sequence[str], baseline: str | None, verb: str = "evaluate") -> Report:
    """The report with what to run after a gate that is not passed; ``runs`` are saved ones."""
    if report.gate is None or report.gate.verdict == "passed" or not runs:
        return report
    relative = baseline is not None and any(rule.bound in POLICIES and rule.verdict == "failed" for rule in report.gate.rules)
    named = [baseline, *runs] if relative and baseline is not None else runs
    kept = _HOW_TO_READ if relative else (*_HOW_TO_READ, "run_format")  # that of the baseline is another one
    command = ["searchmark", "compare" if relative else verb, "--gold-set", suite, *_said_again(kept)]
    saved = [part for run in named for part in ("--run", run)]
    return replace(report, next_step=join([*command, *saved, "-o", "report.md"]))


def _said_again(names: Sequence[str]) -> Iterator[str]:
    """What the command line says about how files are read and compared, for the next command to do it alike."""
    context = click.get_current_context()
    for parameter in context.command.params:
        if parameter.name in names and is_given(parameter.name, (ParameterSource.COMMANDLINE,)):
            value, name = context.params[parameter.name], max(parameter.opts, key=len)
            for each in value if isinstance(value, tuple) else (value,):
                switch = name if each else next(iter(parameter.secondary_opts), name)
                yield from (switch,) if isinstance(each, bool) else (name, str(each))


def say_what_is_foreseen(
    suite: Suite, rules: Sequence[Rule], baseline: Baseline, config: Config, looks: LookBook, searched: CorpusChoice
) -> None:
    """Say what the gate could see, before hours of searching; stop if it could see nothing."""
    from searchmark.experiments import foresee_gate

    # Only globs and symbols need the ids of the corpus: nDCG is not defined without them.
    survey = None if baseline.run is None or suite.judgments.match is None else survey_of(suite, searched)
    for words, foreseen in foresee_gate(suite, rules, baseline, config.compare, looks, survey):
        if not foreseen.resolvable:
            raise Unresolvable(f"gate unresolvable: {words} against the baseline: {foreseen.reason}; nothing was run")
        if baseline.run is None:
            tell(f"gate: {words} cannot be held against the baseline: {baseline.missing}")
        else:
            remark(f"gate: {words} against the baseline: {_seen(foreseen)}")


def _seen(foreseen: Foresight) -> str:
    cases = f"{foreseen.independent} independent cases can lose something"
    if foreseen.detectable is None:
        return f"{cases}, too few to promise that any loss is seen"
    return f"{cases}; a loss of {foreseen.detectable:.2g} is seen with 80 % power at the latest"
