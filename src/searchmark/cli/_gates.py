"""What verbs are told about gates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from searchmark.cli._options import option_group
from searchmark.config import Config
from searchmark.gates.presets import PRESETS
from searchmark.measures.grammar import AnyMeasure
from searchmark.options.gate_options import BASELINE_FILE, POLICIES, GateOptions
from searchmark.options.option import Option

if TYPE_CHECKING:
    from searchmark.gates.baselines import Baseline
    from searchmark.gates.rules import Rule
    from searchmark.reports import Report

GATE = "Gate"


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
            "Baseline that rules compare with: a saved run.",
            ("--against",),
            "FILE",
            default=f"gates.baseline of the config, or {BASELINE_FILE}",
        ),
    ] = None
    bisect: Annotated[
        bool, Option("Exit codes for 'git bisect run': 0 good, 1 bad, 125 for everything that is neither.", ("--bisect",))
    ] = False

    def rules(self, config: Config, asked: Sequence[AnyMeasure] = ()) -> list[Rule]:
        """All rules; whoever names a baseline and no rule about it wants to be no worse by the first measure."""
        from searchmark.analysis.scores import DEFAULT_MEASURES
        from searchmark.gates.reading import no_worse_by
        from searchmark.gates.relative import RelativeRule

        stated = super().rules(config, asked)
        if self.against is None or any(isinstance(rule, RelativeRule) for rule in stated):
            return stated
        return [*stated, no_worse_by(asked[0] if asked else DEFAULT_MEASURES[0])]

    def baseline(self, config: Config, rules: Sequence[Rule]) -> Baseline:
        """The baseline, if a rule asks for one."""
        from searchmark.gates.baselines import NO_BASELINE, load_baseline
        from searchmark.gates.relative import RelativeRule

        if self.against is None and not any(isinstance(rule, RelativeRule) for rule in rules):
            return NO_BASELINE
        return load_baseline(self.baseline_file(config))

    def baseline_file(self, config: Config) -> str:
        return self.against or config.gates.baseline or BASELINE_FILE


def threshold_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--fail-under`` and ``--gate``."""
    return option_group(GateChoice, "gates", GATE)(command)


def gate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same with ``--against`` and ``--bisect``."""
    return option_group(GateAgainst, "gates", GATE)(command)


def with_next_step(report: Report, suite: str, runs: Sequence[str], baseline: str | None = None) -> Report:
    """The report with what to run after a gate that is not passed; ``runs`` are saved ones.

    Without a baseline of their own they are those of a comparison.
    """
    if report.gate is None or report.gate.verdict == "passed" or not runs:
        return report
    relative = baseline is not None and any(rule.bound in POLICIES and rule.verdict == "failed" for rule in report.gate.rules)
    named = [baseline, *runs] if relative and baseline is not None else runs
    verb = "compare" if relative or baseline is None else "evaluate"
    saved = " ".join(f"--run {quote(run)}" for run in named)
    return replace(report, next_step=f"searchmark {verb} --gold-set {quote(suite)} {saved} -o report.md")
