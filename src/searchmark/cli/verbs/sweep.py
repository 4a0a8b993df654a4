"""The verb `searchmark sweep`."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

from searchmark.cli.groups import CHOSEN_FILES, SuiteFileSettings
from searchmark.cli.live import dsn_flag
from searchmark.cli.options import (
    HOW_TO_RUN,
    OUTPUT,
    RESUME,
    WHAT_TO_RUN,
    WHAT_TO_SEARCH,
    ConfigGroup,
    Flag,
    GivenSettings,
    OptionGroup,
    verb,
)
from searchmark.cli.output import STDOUT, remark, show, tell, width_of_terminal
from searchmark.cli.progress import duration, progress_bars, resumable
from searchmark.cli.terminal import in_colour
from searchmark.config.inputs import CorpusInputSettings, FileSettings
from searchmark.config.run import ExecutorSettings, RunSettings
from searchmark.config.sections import Config
from searchmark.errors import EXIT_OK, EXIT_UNTRUSTED, UsageError
from searchmark.records.provenance import RunLabel
from searchmark.records.sentences import count_of

if TYPE_CHECKING:
    from searchmark.experiments.sweep import RowOutcome, SweepRequest
    from searchmark.experiments.sweep_grid import GridSetting, SweepSettings
    from searchmark.formats.corpora.corpus import Survey
    from searchmark.reports.sweep import Sweep
    from searchmark.running.request import RunProgress


WIDTH = 120

_SAVED = "the finished rows and the answers so far are saved; run the same command to continue"


@dataclass(frozen=True)
class SweepCommand:
    """The arguments and options of ``sweep``."""

    source: Annotated[SuiteFileSettings, OptionGroup(WHAT_TO_RUN)]
    config_path: Annotated[
        str, Flag(WHAT_TO_RUN, "--config", required=True, metavar="SWEEP", help="YAML file with the grid of settings; see above.")
    ]
    dry_run: Annotated[
        bool, Flag(WHAT_TO_RUN, "--dry-run", is_flag=True, help="List the settings, say which are finished already, and run none.")
    ]
    named: Annotated[CorpusInputSettings, OptionGroup(WHAT_TO_SEARCH)]
    chosen_files: Annotated[GivenSettings[FileSettings], CHOSEN_FILES]
    dsn: Annotated[None, dsn_flag(WHAT_TO_SEARCH)]
    given: Annotated[
        GivenSettings[RunSettings],
        ConfigGroup(
            HOW_TO_RUN,
            "evaluation",
            left_out=("block",),
            defaults={"depth": "that of the sweep file, or 10", "num_runs": "that of the sweep file, or 3"},
        ),
    ]
    placement: Annotated[ExecutorSettings, OptionGroup(HOW_TO_RUN)]
    fresh: Annotated[bool, Flag(RESUME, "--fresh", is_flag=True, help="Run every setting again, also those that are finished.")]
    folder: Annotated[
        str | None,
        Flag(
            RESUME,
            "--folder",
            metavar="FOLDER",
            show_default=".searchmark/sweeps/..., named by suite, corpus, version and how cases are asked",
            help="Folder that keeps finished rows; name another one only for rows of the same suite and corpus.",
        ),
    ]
    outputs: Annotated[
        tuple[str, ...],
        Flag(
            OUTPUT,
            "-o",
            "--output",
            multiple=True,
            metavar="PATH",
            help="File (.json, .md, .html, .csv, .txt; .png or .svg for the picture), or - for JSON on stdout; repeatable.",
        ),
    ]


@verb("sweep", SweepCommand, short_help="Run one agent in many settings: recall, latency, and what a setting costs in relevance.")
def command(settings: SweepCommand) -> int:
    """Run one agent in many settings: recall, latency, and what a setting costs in relevance.

    The sweep file says what is varied. Lists are choices, and lists inside a described choice are all combined;
    'fields' and 'filter' have lists of their own, so theirs are lists of lists, or of mappings:

    \b
    agent: semantic                # the default
    options: {pooling: max}        # the same for every setting
    grid:
      index: [exact, {name: hnsw, m: [8, 16], ef_search: [10, 40, 160]}]
      distance: [cosine, ip]
      normalize: [true]            # of the embedder
      fields: [[title], [title, text]]
    measure: nDCG@10               # the one that decides
    margin: 0.02                   # a smaller loss does not matter

    Every setting becomes one row: how much of the true neighbours its index finds, how long that takes, how large it
    is, and the measure with its difference to the baseline, which is the exact index with the first choice of
    everything else ('baseline: {...}' names another one). The sentence at the end names the cheapest setting, by p95
    and then by bytes, that was shown to lose less than the margin, corrected for all settings of the grid.

    Rows are kept as they are finished: run the same command again to resume it, whatever ended it. A setting whose
    agent cannot be started is a row with its reason. Exit code 0: all settings are measured; 2: some are not.

    \b
    searchmark sweep --gold-set suite.yaml --corpus docs/ --config sweep.yaml --dry-run
    searchmark sweep --gold-set suite.yaml --corpus docs/ --config sweep.yaml -o sweep.html -o sweep.json
    searchmark sweep --gold-set suite.yaml --corpus docs/ --config sweep.yaml -o sweep.html --executor dask://host:8786
    """
    from searchmark.experiments.sweep_rows import sweep_result

    config, survey, request = _prepare(settings)
    if settings.dry_run:
        return _list_settings(request)
    with resumable(_SAVED):
        outcomes = _RowDisplay(request).run()
    sweep = sweep_result(request.suite, config, request.grid, outcomes, request.options.depth, survey)
    return _deliver(sweep, settings.outputs)


def _prepare(settings: SweepCommand) -> tuple[SweepSettings, Survey | None, SweepRequest]:
    """The sweep file and what is to be run, announced; refused here is what must not come out hours later."""
    from searchmark.experiments.inputs import corpus_in_use, survey_of
    from searchmark.experiments.sweep import SweepFolder, SweepRequest, default_folder, refuse_nothing_to_search, refused_settings
    from searchmark.experiments.sweep_grid import grid_of, load_sweep
    from searchmark.formats.corpora.case_locations import SearchScope
    from searchmark.measures.grammar import parse_measures
    from searchmark.reports.sweep import check_output

    source, named = settings.source, settings.named
    files = [each for each in settings.outputs if each != STDOUT]
    config = load_sweep(settings.config_path)
    options = settings.given.over(RunSettings(depth=config.depth, num_runs=config.num_runs))
    grid = grid_of(replace(config, depth=options.depth))
    for path in files:
        check_output(path)
    suite, setup = source.load(named.mapping)
    parse_measures([config.measure, *config.measures], suite.defaults)  # a wrong name is noticed before hours of searching
    hidden_paths = tuple(Path(each).absolute() for each in (source.file, source.topics, *files) if each)
    project, answers = source.applied(Config()), (*hidden_paths, Path(settings.config_path))
    chosen_files, where = settings.chosen_files.over(project.corpus.files), SearchScope(corpus=named.corpus, mapping=named.mapping)
    scope = corpus_in_use(where, setup, project, answers, chosen_files, network=options.network)
    survey = survey_of(suite, scope)
    corpus = None if survey is None else survey.digest
    folder = SweepFolder(Path(settings.folder) if settings.folder else default_folder(suite, corpus, options))
    placement, fresh = settings.placement, settings.fresh
    request = SweepRequest(suite, grid, scope, options, folder, fresh, hidden_paths, corpus, placement=placement)
    refuse_nothing_to_search(request)
    request = replace(request, refused=refused_settings(request))
    _announce(request)
    return config, survey, request


def _announce(request: SweepRequest) -> None:
    grid, saved_rows = request.grid, request.saved_rows().values()
    duplicates_note = f", {grid.duplicates} duplicates dropped" if grid.duplicates else ""
    baseline_note = ", the baseline among them, which was added" if grid.baseline.added else ""
    settings, cases = count_of(len(grid.settings), "setting"), count_of(len(request.suite), "case")
    finished = sum(row.run is not None for row in saved_rows)
    remark(f"{settings}{baseline_note}{duplicates_note}; {finished} finished already; {cases} each")
    for reasons, rows in Counter(row.reasons for row in saved_rows if row.run is None).items():
        tell(f"{rows} finished {'row is' if rows == 1 else 'rows are'} run again: {'; '.join(reasons)}")
    for reason in dict.fromkeys(request.refused.values()):
        names = [each.name for each in grid.settings if request.refused.get(each.key) == reason]
        if len(names) == len(grid.settings):
            raise UsageError(f"no setting can be run: {reason}")
        which = f"{names[0]} cannot" if len(names) == 1 else f"{len(names)} of {settings} cannot"
        tell(f"{which} be run: {reason}")


def _list_settings(request: SweepRequest) -> int:
    from searchmark.reports.quoting import visible

    finished_keys = {key for key, row in request.saved_rows().items() if row.run is not None}
    for number, setting in enumerate(request.grid.settings, 1):
        roles = {"baseline": setting.is_baseline, "added": setting.added, "finished": setting.key in finished_keys}
        roles |= {"cannot be run": setting.key in request.refused}
        words = ", ".join(role for role, has in roles.items() if has)
        show(f"{number}  {visible(setting.name)}{f'  ({words})' if words else ''}\n")
    return EXIT_UNTRUSTED if request.refused else EXIT_OK


class _RowDisplay:
    """Says which row is in work and how long the rest may take; on a terminal with a bar for its cases."""

    def __init__(self, request: SweepRequest) -> None:
        self._request = request
        self._seconds: list[float] = []
        self._told = set(request.refused.values())

    def run(self) -> list[RowOutcome]:
        """The outcome of every setting."""
        from searchmark.experiments.sweep import run_sweep

        return [self._told_once(each) for each in run_sweep(self._request, self._row)]

    @contextmanager
    def _row(self, number: int, setting: GridSetting) -> Iterator[Callable[[RunProgress], None]]:
        of = len(self._request.grid.settings)
        rest = f", about {duration(fmean(self._seconds) * (of - number + 1))} left" if self._seconds else ""
        remark(f"row {number} of {of}{rest}: {setting.name}")
        begun = time.monotonic()
        with progress_bars([RunLabel(setting.name)]) as report:
            yield report
        self._seconds.append(time.monotonic() - begun)

    def _told_once(self, outcome: RowOutcome) -> RowOutcome:
        """The outcome, once it is said why it has no numbers; what was said of another row is not said again."""
        if outcome.failure is not None and outcome.failure not in self._told:
            self._told.add(outcome.failure)
            tell(f"no numbers for {outcome.setting.name}: {outcome.failure}")
        return outcome


def _deliver(sweep: Sweep, outputs: Sequence[str]) -> int:
    from searchmark.reports.sweep import scrub_sweep, sweep_json, sweep_text, write_sweep

    files = [path for path in outputs if path != STDOUT]
    for path in files:
        write_sweep(sweep, path)
    if STDOUT in outputs:
        show(sweep_json(scrub_sweep(sweep)))
    else:
        show(sweep_text(scrub_sweep(sweep), colour=in_colour(sys.stdout), width=width_of_terminal(WIDTH)))
    for path in files:
        remark(f"written: {path}")
    return EXIT_UNTRUSTED if any(row.failure is not None for row in sweep.rows) else EXIT_OK
