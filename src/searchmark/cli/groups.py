"""Groups of options that verbs share: suite, runs, report, corpus, gate, archive."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import click
from click.core import ParameterSource

from searchmark.cli.options import (
    OUTPUT,
    PREFIX,
    WHAT_TO_SEARCH,
    ConfigGroup,
    GivenSettings,
    OptionSource,
    SectionedOption,
    forbid_plugins,
    is_given,
    variable_of,
)
from searchmark.cli.output import STDOUT, Outputs, are_charts_wanted, detail, github_step, now, output_files, remark, tell
from searchmark.config.builtin import BUILTIN_PREFIX as BUILTIN
from searchmark.config.builtin import builtin_suite_at
from searchmark.config.file import load_config, with_builtin
from searchmark.config.gates import BASELINE_FILE, CompareSettings, DriftSettings, GateSettings
from searchmark.config.inputs import GRADES_HELP, CorpusInputSettings, FieldNames, FileSettings, parse_grade_words
from searchmark.config.option import Option, option_fields
from searchmark.config.run import RunSettings, refuse_folder_outside
from searchmark.config.sections import (
    ARCHIVE_FOLDER,
    ArchiveFolderSettings,
    ArchiveSettings,
    Config,
    DatasetSettings,
)
from searchmark.errors import FormatError, Unresolvable, UsageError
from searchmark.formats import RUN_FORMATS, SUITE_FORMATS, SuiteFormat, all_formats, find_format
from searchmark.formats.corpora.case_locations import SearchScope
from searchmark.formats.runs import load_all_runs, parse_run_path
from searchmark.formats.suites import load_suite_with_setup
from searchmark.gates.section import PRESETS
from searchmark.measures.grammar import AnyMeasure, measures_named
from searchmark.records.sentences import count_of

if TYPE_CHECKING:
    from searchmark.experiments.evaluation import ArchiveInUse, Evaluation, NextStep
    from searchmark.formats.suites.native import SuiteSetup
    from searchmark.gates.baselines import Baseline
    from searchmark.gates.rules import Rule
    from searchmark.gates.sequential import LookCounter
    from searchmark.records.run import Run
    from searchmark.records.suite import Suite
    from searchmark.reports.render import ReportFile
    from searchmark.scoring.power import Foresight


ChoiceT = TypeVar("ChoiceT", bound=CorpusInputSettings)


# What becomes of a report in the archive, on the command line.


@dataclass(frozen=True)
class ArchiveFlags:
    """What the command line says about the archive, and about what counts as drift from what is in it."""

    archive: Annotated[GivenSettings[ArchiveSettings], ConfigGroup(OUTPUT, "archive")]
    drift: Annotated[GivenSettings[DriftSettings], ConfigGroup(OUTPUT, "drift")]

    def in_use(self, config: Config, *, by_default: bool) -> ArchiveInUse | None:
        """The archive, if it was asked for on the command line, or by default if nothing says otherwise; loaded only then."""
        explicit, limit = is_given("enabled", (ParameterSource.COMMANDLINE,)), self.drift.over(config.drift).limit
        if not self.archive.over(config.archive).enabled or not (explicit or by_default):
            return None
        from searchmark.experiments.evaluation import ArchiveInUse
        from searchmark.reports.archive import Archive

        return ArchiveInUse(Archive(archive_folder(self.archive, config)), limit, explicit, warn, remark)

    def hidden(self, suite: Suite, where: SearchScope, config: Config) -> list[Path]:
        """What of the archive agents must not see; an archive in what they search is refused."""
        from searchmark.experiments.inputs import archived_paths
        from searchmark.reports.archive import Archive

        self.in_use(config, by_default=True)  # so that what is wrong with it is noticed before hours of searching
        return archived_paths(Archive(self.archive.over(config.archive).directory), suite, where)


def archive_folder(settings: GivenSettings[ArchiveSettings] | GivenSettings[ArchiveFolderSettings], config: Config) -> Path:
    """Where the archive is: command line over environment over file. One that was not named is in the working directory."""
    folder = Path(settings.over(config.archive).directory)
    if folder == Path(ARCHIVE_FOLDER):
        refuse_folder_outside(folder)
    return folder


def warn(sentence: str) -> None:
    """Say what is wrong and no reason to stop."""
    tell(f"searchmark: {sentence}")


# ``--include``, ``--exclude``, ``--kinds`` and ``--no-ignore``, over the section ``corpus`` of the config.
CHOSEN_FILES = ConfigGroup(WHAT_TO_SEARCH, "corpus")


# Options about gates.

GATE = "Gate"


_HOW_TO_READ = (
    "format", "topics", "run_format", "corpus", "mapping", "config_path", "no_config", "baseline", "intersect", "same_depth",
    "missing", "include", "exclude", "kinds", "ignore",
)  # fmt: skip


@dataclass(frozen=True)
class GateRuleSettings:
    """Rules of the command line, which are added to those of the config."""

    thresholds: Annotated[
        tuple[str, ...], Option("Exit with 1 if the mean is lower; repeatable.", ("--fail-under",), "MEASURE=VALUE")
    ] = ()
    gate_preset: Annotated[str | None, Option("Check rules that come with Searchmark.", ("--gate",), choices=tuple(PRESETS))] = None

    def rules(self, config: Config, measures: Sequence[AnyMeasure] = ()) -> list[Rule]:
        """All rules; ``asked`` are measures that a threshold may mean by their names."""
        from searchmark.gates.bounds import parse_threshold
        from searchmark.gates.section import rules_of

        measures_by_name = {measure.name: measure for measure in measures}
        of_preset = rules_of(GateSettings(preset=self.gate_preset)) if self.gate_preset else []
        return [*rules_of(config.gates), *of_preset, *(parse_threshold(text, measures_by_name) for text in self.thresholds)]

    def in_force(self, setup: SuiteSetup, config: Config) -> Config:  # noqa: ARG002  # the header speaks of one run
        """The config with the gates that apply to several runs at once.

        Those of a built-in suite hold the agent that it is kept with, and every weaker one would fail them.
        """
        return replace(config, gates=GateSettings()) if config.gates_of_suite else config

    @property
    def baseline_named(self) -> str | None:
        """The file that the command line names; here none can be."""
        return None

    def baseline(
        self,
        config: Config,
        rules: Sequence[Rule],
        measures: Sequence[AnyMeasure] = (),
        suite: Suite | None = None,  # noqa: ARG002
    ) -> Baseline:
        """The baseline, if one is named; it is used, by the first of the measures if no rule asks for one."""
        from searchmark.gates.baselines import baseline_in_use

        return baseline_in_use(config.gates.baseline, None, rules, next(iter(measures), None))

    def next_step(self, config: Config, suite: str, runs: Sequence[str]) -> NextStep:
        """What to run after a gate on saved runs that is not passed, with what this command says about how files are read."""
        from searchmark.experiments.evaluation import NextStep

        return NextStep("compare", suite, runs, config.gates.baseline, dict(_words_by_option()))

    def looks(self, config: Config, rules: Sequence[Rule]) -> LookCounter:
        """Where looks are counted, if something counts them."""
        from searchmark.experiments.inputs import looks_file
        from searchmark.gates.section import look_counter

        return look_counter(config.gates, rules, looks_file(config, self.baseline_named))


@dataclass(frozen=True)
class GateBaselineSettings(GateRuleSettings):
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

    def in_force(self, setup: SuiteSetup, config: Config) -> Config:
        """The config with the gates of the suite's header, if it has any."""
        from searchmark.experiments.inputs import with_gates_of

        return with_gates_of(setup, config)

    @property
    def baseline_named(self) -> str | None:
        return self.against

    def baseline(
        self,
        config: Config,
        rules: Sequence[Rule],
        measures: Sequence[AnyMeasure] = (),
        suite: Suite | None = None,  # noqa: ARG002
    ) -> Baseline:
        """The same, where the default file is used as well if a rule asks for one."""
        from searchmark.experiments.inputs import default_baseline
        from searchmark.gates.baselines import baseline_in_use

        return baseline_in_use(self.against or config.gates.baseline, default_baseline(config), rules, next(iter(measures), None))

    def next_step(self, config: Config, suite: str, runs: Sequence[str]) -> NextStep:
        from searchmark.experiments.inputs import baseline_file

        return replace(super().next_step(config, suite, runs), verb="evaluate", baseline=baseline_file(config, self.against))


@dataclass(frozen=True)
class GateVerdictSettings(GateBaselineSettings):
    """The same for verbs that say how a gate ended."""

    bisect: Annotated[
        bool, Option("Exit codes for 'git bisect run': 0 good, 1 bad, 125 for everything that is neither.", ("--bisect",))
    ] = False
    no_baseline: Annotated[bool, Option(f"Leave {BASELINE_FILE} alone where nothing asks for it.", ("--no-baseline",))] = False

    def baseline(
        self, config: Config, rules: Sequence[Rule], measures: Sequence[AnyMeasure] = (), suite: Suite | None = None
    ) -> Baseline:
        """The same, where the default file is also used if nobody asks for it, but it is there and about this suite."""
        from searchmark.experiments.inputs import default_baseline
        from searchmark.gates.baselines import found_baseline, needs_baseline

        file = default_baseline(config)
        named, is_asked_for = self.against or config.gates.baseline, needs_baseline(rules)
        if suite is None or named or is_asked_for or self.no_baseline or not file.exists():
            return super().baseline(config, rules, measures)
        found = found_baseline(file, suite, measures)
        if isinstance(found, str):
            tell(f"searchmark: {file} is not compared with: {found}")
            return super().baseline(config, rules, measures)
        return found


def _words_by_option() -> Iterator[tuple[str, list[str]]]:
    """What the command line says about how files are read and compared, for the next command to do it alike."""
    context = click.get_current_context()
    for parameter in context.command.params:
        if parameter.name in _HOW_TO_READ and is_given(parameter.name, (ParameterSource.COMMANDLINE,)):
            value, name = context.params[parameter.name], max(parameter.opts, key=len)
            words: list[str] = []
            for each in value if isinstance(value, tuple) else (value,):
                switch = name if each else next(iter(parameter.secondary_opts), name)
                words += (switch,) if isinstance(each, bool) else (name, str(each))
            yield parameter.name, words


def show_foresight(evaluation: Evaluation) -> None:
    """Say what the gate could see, before hours of searching; stop if it could see nothing."""
    for words, foreseen in evaluation.foresee():
        if not foreseen.resolvable:
            raise Unresolvable(f"gate unresolvable: {words} against the baseline: {foreseen.reason}; nothing was run")
        if evaluation.baseline.run is None:
            tell(f"gate: {words} cannot be held against the baseline: {evaluation.baseline.missing}")
        else:
            remark(f"gate: {words} against the baseline: {_foresight_text(foreseen)}")


def _foresight_text(foreseen: Foresight) -> str:
    cases = f"{foreseen.independent} independent cases can lose something"
    if foreseen.detectable is None:
        return f"{cases}, too few to promise that any loss is seen"
    return f"{cases}; a loss of {foreseen.detectable:.2g} is seen with 80 % power at the latest"


# Options of ``evaluate`` and ``compare``, group by group; each group is a heading of their help.

SUITE_HELP = f"Suite, in any of the formats that --format lists, or {BUILTIN}NAME, which 'searchmark suites' lists."

NEARLY = 0.85  # alike enough to be a mistake in typing, as difflib counts


class ConfigFile(OptionSource):
    """``--config`` and ``--no-config``: the field gets the config that applies, loaded."""

    def __init__(self, section: str, contents: str) -> None:
        self._section, self._contents = section, contents

    def parameters(self, name: str, kind: Any) -> Iterator[click.Parameter]:  # noqa: ARG002  # both have names of their own
        yield SectionedOption(
            ["--config", "config_path"],
            section=self._section,
            metavar="FILE",
            show_default="searchmark.yaml, searchmark.toml or pyproject.toml of the project",
            help=f"YAML or TOML file with {self._contents}. Only a file that you name may set addresses, keys and paths elsewhere.",
        )
        yield SectionedOption(["--no-config"], section=self._section, is_flag=True, help="Do not look for a config file.")

    def value(self, name: str, kind: Any, params: Mapping[str, Any]) -> Config:  # noqa: ARG002  # as above
        path = params["config_path"]
        if path is not None and params["no_config"]:
            raise UsageError("--config names a config and --no-config wants none; give one of them")
        for sentence in mistyped_variables(os.environ):
            click.echo(f"searchmark: {sentence}", err=True)
        config = load_config(path, search=not params["no_config"])
        if config.evaluation.no_exec:
            forbid_plugins(click.get_current_context())
        detail(f"config: {_config_help(config, path)}")
        return config


def _config_help(config: Config, path: str | None) -> str:
    if config.file is None:
        return "none, so the defaults apply"
    return f"{config.file} ({'named' if path else 'found'}), agents: {', '.join(spec.name for spec in config.agents) or 'none'}"


def mistyped_variables(environment: Iterable[str]) -> Iterator[str]:
    """A sentence for every variable that sets nothing and is nearly the name of one that does."""
    sections: dict[str, type] = {
        "archive": ArchiveSettings,
        "compare": CompareSettings,
        "corpus": FileSettings,
        "dataset": DatasetSettings,
        "drift": DriftSettings,
        "evaluation": RunSettings,
    }
    variables = [variable_of(table, each.name) for table, section in sections.items() for each in option_fields(section)]
    for name in sorted(environment):
        near = get_close_matches(name, variables, 1, NEARLY) if name.startswith(PREFIX) and name not in variables else []
        if near:
            yield f"the environment variable {name} has no effect; did you mean {near[0]}?"


def load_runs(paths: Iterable[str], format: str | None = None, mapping: Iterable[str] = ()) -> list[Run]:  # noqa: A002  # as load_run has it
    """Saved runs as the command line names them."""
    names = FieldNames.parse(mapping).run
    named_paths = [parse_run_path(path) for path in paths]
    return [run for name, path in named_paths for run in _load_run_file(path, name, format, names)]


def _load_run_file(path: Path, name: str | None, format: str | None, names: Mapping[str, str]) -> Iterator[Run]:  # noqa: A002  # as above
    for run in load_all_runs(path, format=format, mapping=names, name=name):
        detail(f"run: {path}, {run.name}, {count_of(len(run), 'answer')}")
        yield run


def refuse_several_agents(runs: Sequence[Run], suite: str, paths: Sequence[str]) -> None:
    """Runs of several agents are not the shards of one: say how they are compared."""
    names = list(dict.fromkeys(run.label.identity for run in runs))
    if len(names) > 1:
        command = shlex.join(["searchmark", "compare", "--gold-set", suite, "--run", *paths])
        raise UsageError(f"these are runs of different agents, not parts of one: {', '.join(names)}; to compare them: {command}")


SUITE_FORMAT = Option("Format of the suite.", default="detected", choices=tuple(SUITE_FORMATS), plugins="formats")


@dataclass(frozen=True)
class SuiteFileSettings:
    """Which suite."""

    path: Annotated[str, Option(SUITE_HELP, ("--gold-set", "--suite"), "SUITE")]
    format: Annotated[str | None, SUITE_FORMAT] = None
    topics: Annotated[str | None, Option("Query texts for TREC qrels or labels.", metavar="FILE")] = None
    grades: Annotated[str | None, Option(GRADES_HELP, metavar="WORD=NUMBER,...")] = None

    def load(self, mapping: Iterable[str] = (), *, decided: bool = True) -> tuple[Suite, SuiteSetup]:
        """The suite, and how it says that it is tested; ``mapping`` is what --map says of all files.

        Decisions of people about its cases are applied where ``decided``.
        """
        names = FieldNames.parse(mapping).suite
        words = parse_grade_words(self.grades)
        suite, setup = load_suite_with_setup(
            self.path, format=self.format, topics=self.topics, mapping=names, grades=words, decided=decided
        )
        counts = f"{count_of(len(suite), 'case')}, {count_of(len(suite.judgments), 'judgment')}"
        detail(f"suite: {self.path}{f' with {self.topics}' if self.topics else ''}, {counts}")
        return suite, setup

    @property
    def file(self) -> Path:
        """Where its cases are."""
        builtin = builtin_suite_at(self.path)
        return Path(self.path) if builtin is None else builtin.file

    def applied(self, config: Config) -> Config:
        """The config that applies to it: a built-in suite brings its own sections along."""
        builtin = builtin_suite_at(self.path)
        if builtin is None:
            return config
        builtin_config = with_builtin(builtin, config)
        detail(f"built-in suite: {builtin.name}, agents: {', '.join(builtin_config.listed_agents) or 'none'}")
        return builtin_config


@dataclass(frozen=True)
class NamedSuiteSettings:
    """Which suite, where the config may name one."""

    path: Annotated[
        str | None,
        Option(
            SUITE_HELP,
            ("--gold-set", "--suite"),
            "SUITE",
            default="suite.path of the config",
        ),
    ] = None
    format: Annotated[str | None, SUITE_FORMAT] = None
    topics: Annotated[str | None, Option("Query texts for TREC qrels or labels.", metavar="FILE")] = None
    grades: Annotated[str | None, Option(GRADES_HELP, metavar="WORD=NUMBER,...")] = None

    def chosen(self, config: Config) -> tuple[SuiteFileSettings, Config]:
        """The suite of the command line, or else that of the config, read as it says; and the config that applies to it."""
        source = self._source(config)
        return source, source.applied(config)

    def _source(self, config: Config) -> SuiteFileSettings:
        if self.path is not None:
            return SuiteFileSettings(self.path, self.format, self.topics, self.grades)
        of_config = config.suite
        if of_config.path is None:
            raise UsageError("nothing says which suite: name it with --gold-set, or in the config as suite: {path: FILE}")
        if of_config.format is not None and find_format(SuiteFormat, of_config.format) is None:
            names = ", ".join(each.name for each in all_formats(SuiteFormat))
            raise FormatError(config.file or Path(), "suite.format", f"must be one of {names}, not {of_config.format!r}")
        return SuiteFileSettings(of_config.path, self.format or of_config.format, self.topics or of_config.topics, self.grades)


MISSING = Option(
    "Take a case that a saved run lacks for an answer without hits, as trec_eval -c does.",
    default="missing in the suite's header",
)


@dataclass(frozen=True)
class SavedRuns:
    """Runs that were made before."""

    run_paths: Annotated[
        tuple[str, ...],
        Option("Saved runs, each [NAME=]PATH, in any of the formats that --run-format lists.", ("--run",), "RUN..."),
    ] = ()
    run_format: Annotated[
        str | None, Option("Format of the saved runs.", default="detected", choices=tuple(RUN_FORMATS), plugins="formats")
    ] = None
    missing: Annotated[Literal["zero"] | None, MISSING] = None

    def load(self, mapping: Iterable[str] = ()) -> list[Run]:
        """The runs, in the order in which they were named; ``mapping`` is what --map says of all files."""
        return load_runs(self.run_paths, self.run_format, mapping)


@dataclass(frozen=True)
class ReportOutputSettings:
    """What is reported, and where to."""

    measures: Annotated[
        tuple[str, ...],
        Option("Measure or formula, repeatable; the first one leads: -m nDCG@10 -m 'P(rel=2)@5'.", ("-m", "--measure")),
    ] = ()
    splits: Annotated[
        tuple[str, ...],
        Option(
            "Split by category, tag or a field of the cases, or of what they look for (target.brand); repeatable.",
            ("--by",),
            "FIELD",
        ),
    ] = ()
    outputs: Annotated[
        tuple[str, ...],
        Option(
            "Report file (.html, .json, .md, .comment.md, .xml for JUnit, .txt, .csv, .tex; .summary.txt and .summary.csv for "
            "means), directory, or - for JSON on stdout; repeatable.",
            ("-o", "--output"),
            "PATH",
        ),
    ] = ()
    charts: Annotated[bool, Option("Draw charts beside every Markdown report, and show them in it.", ("--charts",))] = False
    github: Annotated[
        bool, Option("Add the report to the summary of the step in GitHub Actions, and at most ten annotations.", ("--github",))
    ] = False

    def task(
        self, named: NamedSuiteSettings, config: Config, gates: GateRuleSettings, saved_runs: SavedRuns, mapping: Iterable[str]
    ) -> ReportTask:
        """What the report is made of, read before any work is done; refused if the report cannot go where it should."""
        time, (source, config) = now(), named.chosen(config)
        files, github = output_files(self.outputs, config.output), github_step(self.github, source.path)
        outputs = Outputs(files, are_charts_wanted(self.charts, config.output, files), github, STDOUT in self.outputs, time)
        measures = measures_wanted(self.measures, config)
        in_use = SuiteInUse.read(source, config, saved_runs, mapping, files)
        config = gates.in_force(in_use.setup, config)
        rules = gates.rules(config, measures)
        baseline = gates.baseline(config, rules, measures, in_use.suite)
        return ReportTask(
            source, config, in_use.suite, in_use.setup, in_use.answers, measures, outputs, self.splits, gates, rules, baseline
        )


def measures_wanted(names: Sequence[str], config: Config) -> list[AnyMeasure]:
    """The measures of the command line, or else those of the config; without either the suite decides."""
    return measures_named(names or config.suite.measures)


def answer_files(suite: SuiteFileSettings, saved_runs: SavedRuns, reports: Iterable[ReportFile]) -> list[Path]:
    """The files that tell an agent what is right, or what others have answered; that of the suite first."""
    earlier = [path for report in reports for path in report.existing()]
    runs = [parse_run_path(path)[1] for path in saved_runs.run_paths]
    return [suite.file, *(Path(path) for path in (suite.topics, *runs, *earlier) if path is not None)]


@dataclass(frozen=True, eq=False)
class SuiteInUse:
    """A suite that was read, with the config that applies to it."""

    source: SuiteFileSettings
    config: Config
    suite: Suite
    setup: SuiteSetup
    answers: Sequence[Path]  # files that tell what is right, or what others have answered; that of the suite first

    @classmethod
    def read(
        cls,
        source: SuiteFileSettings,
        config: Config,
        saved_runs: SavedRuns,
        mapping: Iterable[str] = (),
        reports: Iterable[ReportFile] = (),
        *,
        decided: bool = True,
    ) -> SuiteInUse:
        suite, setup = source.load(mapping, decided=decided)
        suite = suite if saved_runs.missing is None else replace(suite, missing=saved_runs.missing)
        return cls(source, config, suite, setup, answer_files(source, saved_runs, reports))

    def corpus(self, searched: ChoiceT, chosen_files: GivenSettings[FileSettings]) -> ChoiceT:
        """What was searched: by the command line, or else by the config or the header of the suite."""
        from searchmark.experiments.inputs import corpus_in_use

        return corpus_in_use(searched, self.setup, self.config, self.answers, chosen_files.over(self.config.corpus.files))


@dataclass(frozen=True, eq=False)
class ReportTask(SuiteInUse):
    """What `evaluate`, `compare` and `gate` know of their report before anything is run or scored."""

    measures: Sequence[AnyMeasure]
    outputs: Outputs
    splits: Sequence[str]
    gates: GateRuleSettings
    rules: Sequence[Rule]
    baseline: Baseline

    @property
    def has_rules(self) -> bool:
        return bool(self.rules or self.baseline.rules)

    def evaluation(self, searched: CorpusInputSettings, runs: Sequence[str], **settings: Any) -> Evaluation:
        """How runs are scored, checked and reported; ``runs`` are the files of those that are saved."""
        from searchmark.experiments.evaluation import Evaluation
        from searchmark.experiments.inputs import with_fields_of_targets

        evaluation = Evaluation(
            with_fields_of_targets(self.suite, self.splits, self.rules, searched),
            self.measures,
            by=self.splits,
            rules=self.rules,
            baseline=self.baseline,
            looks=self.gates.looks(self.config, self.rules),
            versions=self.config.versions,
            next_step=self.gates.next_step(self.config, self.source.path, runs),
            **{"options": self.config.compare, **settings},
        )
        return evaluation if self.baseline.found is None else _with_found_baseline(evaluation, self.baseline.found)


def _with_found_baseline(evaluation: Evaluation, file: Path) -> Evaluation:
    """Say that a baseline is used which nobody has named; one that could show no loss on these cases is not."""
    from searchmark.gates.baselines import NO_BASELINE

    ((words, foreseen),) = evaluation.foresee()
    if foreseen.resolvable:
        tell(f"searchmark: {file} is here, so {words} must show no evidence of harm against it (--no-baseline leaves it alone)")
        return evaluation
    tell(f"searchmark: {file} is not compared with: {foreseen.reason}")
    return replace(evaluation, baseline=NO_BASELINE)


def author_named(author: str | None, file: Path, deed: str) -> str:
    """Who changes a file: the one of ``--author``, or else the user of Git."""
    from searchmark.judgments.approve import author_of

    name = author_of(file) if author is None else author.strip()
    if not name:
        raise UsageError(f"--author is empty; name who {deed}")
    return name


# Files of saved runs, for the verb that writes them in another format.

WRITTEN = (".trec", ".jsonl", ".json")


def is_run_file(source: str, mapping: Iterable[str]) -> bool:
    """Whether this is a run and cannot be a suite; what cannot be read is neither."""
    from searchmark.formats.runs import is_surely_run
    from searchmark.formats.runs.source import RunFile

    path = parse_run_path(source)[1]
    return path.is_file() and is_surely_run(RunFile(path, FieldNames.parse(mapping).run))


def convert_run(source: str, target: str, mapping: Iterable[str], suite: str | None = None) -> None:
    """Write a run as TREC or in our own format, and say what the file cannot hold; several runs go into a folder.

    With a ``suite`` its cases get the ids that they have there.
    """
    from searchmark.formats.runs import save_runs
    from searchmark.records.merge import with_suite_case_ids

    refuse_other_name(target)
    runs = load_runs([source], mapping=mapping)
    if suite is not None:
        target_suite = SuiteFileSettings(suite).load(mapping)[0]
        runs = [with_suite_case_ids(target_suite, run) for run in runs]
    elif target.lower().endswith(".trec"):
        _refuse_queries(runs)
    losses: list[str] = []
    for run, path in zip(runs, save_runs(runs, target, losses.append), strict=True):
        tell(f"written: {path}, answers: {len(run)}")
        for note in run.provenance.imported.notes if run.provenance.imported is not None else ():
            tell(f"read: {note}")
    for sentence in losses:
        tell(f"not in it: {sentence}")


def refuse_other_name(target: str) -> None:
    """A file whose name promises another format."""
    if Path(target).suffix and not Path(target).is_dir() and not target.lower().endswith(WRITTEN):
        raise UsageError(f"{target}: a run is written as TREC (.trec) or in Searchmark's own format (.jsonl); name it so")


def _refuse_queries(runs: Sequence[Run]) -> None:
    """A line of TREC has an id for the case, and neither the text of a query nor a place in a list."""
    for run in runs:
        origin = run.provenance.imported
        if (origin is not None and origin.by_position) or any(" " in case for case in run.case_ids):
            raise UsageError(
                f"the cases of the run {run.agent!r} have no ids that a line of TREC could hold; name the suite that has them with "
                "--gold-set, or write .jsonl"
            )
