"""``searchmark sweep``."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from searchmark.cli._colour import in_colour
from searchmark.cli._corpus import chosen, corpus_options, survey_of, with_corpus_of
from searchmark.cli._database import dsn_option
from searchmark.cli._groups import SuiteChoice
from searchmark.cli._heartbeat import duration
from searchmark.cli._options import (
    HOW_TO_RUN,
    OUTPUT,
    RESUME,
    WHAT_TO_RUN,
    WHAT_TO_SEARCH,
    Given,
    SectionedCommand,
    config_options,
    option,
    option_group,
)
from searchmark.cli._output import STDOUT, remark, show, tell, width_of_terminal
from searchmark.cli._progress import progress_bars
from searchmark.config import Config
from searchmark.errors import EXIT_OK, EXIT_UNTRUSTED, UsageError
from searchmark.options.corpus_choice import CorpusChoice, FileChoice
from searchmark.options.placement import Placement
from searchmark.options.run_options import CHANGE_NO_ANSWER, RunOptions
from searchmark.records import RunLabel
from searchmark.records.shown import counted

if TYPE_CHECKING:
    from searchmark.corpora.corpus import Survey
    from searchmark.records import Suite
    from searchmark.running.progress import Progress
    from searchmark.sweeps.grid import GridSetting
    from searchmark.sweeps.result import Sweep
    from searchmark.sweeps.running import RowOutcome, SweepRequest

WIDTH = 120


@click.command(
    "sweep",
    cls=SectionedCommand,
    short_help="Run one agent in many settings: recall, latency, and what a setting costs in relevance.",
)
@option_group(SuiteChoice, "source", WHAT_TO_RUN)
@option(
    WHAT_TO_RUN, "--config", "config_path", required=True, metavar="SWEEP", help="YAML file with the grid of settings; see above."
)
@option(WHAT_TO_RUN, "--dry-run", is_flag=True, help="List the settings, say which are finished already, and run none.")
@option_group(CorpusChoice, "named", WHAT_TO_SEARCH)
@corpus_options
@dsn_option(WHAT_TO_SEARCH)
@config_options(
    RunOptions,
    "given",
    HOW_TO_RUN,
    "evaluation",
    left_out=("block",),  # one agent is asked at a time
    defaults={"depth": "that of the sweep file, or 10", "num_runs": "that of the sweep file, or 3"},
)
@option_group(Placement, "placement", HOW_TO_RUN)
@option(RESUME, "--fresh", is_flag=True, help="Run every setting again, also those that are finished.")
@option(
    RESUME,
    "--folder",
    metavar="FOLDER",
    show_default=".searchmark/sweeps/..., named by suite, corpus, version and how cases are asked",
    help="Folder that keeps finished rows; name another one only for rows of the same suite and corpus.",
)
@option(
    OUTPUT,
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="PATH",
    help="File (.json, .md, .html, .csv, .txt; .png or .svg for the picture), or - for JSON on stdout; repeatable.",
)
def command(
    source: SuiteChoice,
    config_path: str,
    dry_run: bool,
    named: CorpusChoice,
    chosen_files: Given[FileChoice],
    given: Given[RunOptions],
    placement: Placement,
    fresh: bool,
    folder: str | None,
    outputs: tuple[str, ...],
) -> int:
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
    from searchmark.corpora.case_locations import Where
    from searchmark.measures.grammar import parse_measures
    from searchmark.sweeps.folder import SweepFolder, default_folder
    from searchmark.sweeps.grid import grid_of
    from searchmark.sweeps.measuring import sweep_result
    from searchmark.sweeps.preflight import refuse_nothing_to_search, refused_settings
    from searchmark.sweeps.rendering import check_output
    from searchmark.sweeps.running import SweepRequest, run_sweep
    from searchmark.sweeps.sweep_config import load_sweep

    config = load_sweep(config_path)
    options = given.over(RunOptions(depth=config.depth, num_runs=config.num_runs))
    grid = grid_of(replace(config, depth=options.depth))
    for path in outputs:
        if path != STDOUT:
            check_output(path)
    suite, setup = source.load(named.mapping)
    parse_measures([config.measure, *config.measures], suite.defaults)  # a wrong name is noticed before hours of searching
    hidden = tuple(Path(each).absolute() for each in (source.file, source.topics, *outputs) if each and each != STDOUT)
    named = with_corpus_of(setup, source.applied(Config()), named, network=options.network)
    searched = chosen(Where(corpus=named.corpus, mapping=named.mapping), chosen_files, Config(), (*hidden, Path(config_path)))
    survey = survey_of(suite, searched)
    kept = Path(folder) if folder else default_folder(_depends_on(suite, survey, options))
    digest = None if survey is None else survey.digest
    request = SweepRequest(suite, grid, searched, options, SweepFolder(kept), fresh, hidden, digest, placement=placement)
    refuse_nothing_to_search(request)
    request = replace(request, refused=refused_settings(request))
    _announce(request)
    if dry_run:
        _list_settings(request)
        return EXIT_UNTRUSTED if request.refused else EXIT_OK
    with _resumable():
        outcomes = run_sweep(request, _RowDisplay(request))
    sweep = sweep_result(suite, config, grid, outcomes, options.depth, survey)
    return _deliver(sweep, outputs)


def _depends_on(suite: Suite, survey: Survey | None, options: RunOptions) -> dict[str, Any]:
    """What every row depends on; its own setting is in the name of its file."""
    from importlib.metadata import version

    told = {name: value for name, value in asdict(options).items() if name not in CHANGE_NO_ANSWER}
    corpus = None if survey is None else survey.digest
    return {"suite": suite.hashes, "corpus": corpus, "options": told, "version": version("searchmark")}


def _announce(request: SweepRequest) -> None:
    from searchmark.sweeps.running import finished_rows, outdated_rows

    grid, finished = request.grid, len(finished_rows(request))
    dropped = f", {grid.duplicates} duplicates dropped" if grid.duplicates else ""
    added = ", the baseline among them, which was added" if grid.baseline.added else ""
    settings, cases = counted(len(grid.settings), "setting"), counted(len(request.suite), "case")
    remark(f"{settings}{added}{dropped}; {finished} finished already; {cases} each")
    for reasons, rows in outdated_rows(request).items():
        tell(f"{rows} finished {'row is' if rows == 1 else 'rows are'} run again: {'; '.join(reasons)}")
    for reason, names in _by_reason(request).items():
        if len(names) == len(grid.settings):
            raise UsageError(f"no setting can be run: {reason}")
        which = f"{names[0]} cannot" if len(names) == 1 else f"{len(names)} of {settings} cannot"
        tell(f"{which} be run: {reason}")


def _by_reason(request: SweepRequest) -> dict[str, list[str]]:
    """The names of the settings that cannot be run, by why."""
    found: dict[str, list[str]] = {}
    for setting in request.grid.settings:
        if setting.key in request.refused:
            found.setdefault(request.refused[setting.key], []).append(setting.name)
    return found


def _list_settings(request: SweepRequest) -> None:
    from searchmark.reports.quoting import visible
    from searchmark.sweeps.running import finished_rows

    finished = {each.key for each in finished_rows(request)}
    lines = []
    for number, setting in enumerate(request.grid.settings, 1):
        roles = {"baseline": setting.is_baseline, "added": setting.added, "finished": setting.key in finished}
        roles |= {"cannot be run": setting.key in request.refused}
        told = ", ".join(role for role, has in roles.items() if has)
        lines.append(f"{number}  {visible(setting.name)}{f'  ({told})' if told else ''}\n")
    show("".join(lines))


@contextmanager
def _resumable() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        click.echo("\nsearchmark: the finished rows and the answers so far are saved; run the same command to continue", err=True)
        raise


class _RowDisplay:
    """Says which row is in work and how long the rest may take; on a terminal with a bar for its cases."""

    def __init__(self, request: SweepRequest) -> None:
        self._settings = request.grid.settings
        self._bars: Any = None
        self._report: Any = None
        self._begun: float | None = None
        self._seconds: list[float] = []
        self._told = set(request.refused.values())

    def row(self, number: int, of: int, setting: GridSetting) -> None:
        rest = f", about {duration(self._mean * (of - number + 1))} left" if self._seconds else ""
        remark(f"row {number} of {of}{rest}: {setting.name}")
        self._begun = time.monotonic()
        self._bars = progress_bars([RunLabel(setting.name)])
        self._report = self._bars.__enter__()

    def progress(self, progress: Progress) -> None:
        self._report(progress)

    def done(self, outcome: RowOutcome) -> None:
        if self._bars is None or self._begun is None:
            return
        self._bars.__exit__(None, None, None)
        self._seconds.append(time.monotonic() - self._begun)
        self._bars = self._begun = None
        if outcome.failure is not None and outcome.failure not in self._told:
            self._told.add(outcome.failure)
            tell(f"no numbers for {outcome.setting.name}: {outcome.failure}")

    @property
    def _mean(self) -> float:
        return sum(self._seconds) / len(self._seconds)


def _deliver(sweep: Sweep, outputs: Sequence[str]) -> int:
    from searchmark.sweeps.rendering import harmless, to_json, to_text, write_sweep

    for path in outputs:
        if path != STDOUT:
            write_sweep(sweep, path)
    if STDOUT in outputs:
        show(to_json(harmless(sweep)))
    else:
        on_terminal = sys.stdout is not None and sys.stdout.isatty()
        width = width_of_terminal(WIDTH) if on_terminal else None
        show(to_text(harmless(sweep), colour=in_colour(sys.stdout), width=width))
    for path in outputs:
        if path != STDOUT:
            remark(f"written: {path}")
    return EXIT_UNTRUSTED if any(row.failure is not None for row in sweep.rows) else EXIT_OK
