"""From settings to runs: one after the other, each kept as soon as it is made, and resumed by its journal if it was begun."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from searchmark.corpora.case_locations import Where
from searchmark.errors import PoolGone, SearchmarkError, UsageError
from searchmark.executors.choice import CodeChoice, DaskChoice, ExecutorChoice, parse_executor
from searchmark.executors.opening import opened
from searchmark.experiments import Experiment
from searchmark.options.experiment_options import CaseSelection, Resumption
from searchmark.options.placement import Placement
from searchmark.options.run_options import RunOptions
from searchmark.records import ERROR, NOT_RUN, TIMEOUT, Run, RunLabel, Suite
from searchmark.sweeps.folder import ExpectedRow, KeptRow, SweepFolder, processes
from searchmark.sweeps.grid import Grid, GridSetting, spec_of_setting
from searchmark.sweeps.row_inputs import RowInputs, row_inputs, with_made_files

if TYPE_CHECKING:
    from searchmark.running.progress import Progress

OnProgress: TypeAlias = "Callable[[Progress], None]"


@dataclass(frozen=True)
class SweepRequest:
    """What is to be run, on what, and where rows are kept.

    ``hidden``: files that a sandboxed agent must not see. ``corpus``: the digest of what is searched.
    ``refused``: by key of a setting why it cannot be run, as far as that is known before. ``placement``: who asks the cases.
    """

    suite: Suite
    grid: Grid
    where: Where
    options: RunOptions
    folder: SweepFolder
    fresh: bool = False
    hidden: tuple[Path, ...] = ()
    corpus: str | None = None
    refused: Mapping[str, str] = field(default_factory=dict)
    placement: Placement = Placement()  # noqa: RUF009  # frozen

    @property
    def named_executor(self) -> ExecutorChoice | None:
        """The one that was named, if one was; refused if it cannot be meant or is not allowed."""
        named, options = self.placement.executor, self.options
        return None if named is None else parse_executor(named, foreign=not options.no_exec, network=options.network)

    @property
    def executor(self) -> str:
        """Who asks the cases: rows that others have asked have other times."""
        named = self.named_executor
        return processes(self.options.jobs) if named is None else named.text


@dataclass(frozen=True, eq=False)
class RowOutcome:
    """What became of a setting: a run, or why there is none. ``reused``: it was finished before."""

    setting: GridSetting
    run: Run | None
    failure: str | None = None
    reused: bool = False


class SweepWatcher(Protocol):
    """Who is told of what happens."""

    def row(self, number: int, of: int, setting: GridSetting) -> None:
        """A setting is about to be run."""

    def progress(self, progress: Progress) -> None:
        """A case was asked."""

    def done(self, outcome: RowOutcome) -> None:
        """A setting is finished, or was before."""


def run_sweep(request: SweepRequest, watcher: SweepWatcher) -> list[RowOutcome]:
    """Every setting of the grid. One whose agent cannot be asked is an outcome like the others, and is tried again next time."""
    with request.folder.held():
        if request.fresh:
            for setting in request.grid.settings:
                _forget(request, setting)
        if len(finished_rows(request)) < len(request.grid.settings):
            _refuse_absent(request.named_executor)
        return [_outcome(request, watcher, number) for number in range(len(request.grid.settings))]


def _refuse_absent(executor: ExecutorChoice | None) -> None:
    """One that is not there is said once, and not of every row."""
    if isinstance(executor, DaskChoice | CodeChoice):
        with opened(executor):
            pass


def finished_rows(request: SweepRequest) -> list[GridSetting]:
    """The settings that need not be run again."""
    return [each for each in request.grid.settings if (kept := _kept(request, each)) is not None and kept.run is not None]


def outdated_rows(request: SweepRequest) -> dict[tuple[str, ...], int]:
    """How many finished rows are run again, by the reasons for it."""
    rows = [kept for each in request.grid.settings if (kept := _kept(request, each)) is not None]
    return dict(Counter(kept.reasons for kept in rows if kept.run is None))


def _kept(request: SweepRequest, setting: GridSetting) -> KeptRow | None:
    return None if request.fresh else request.folder.kept(setting, _expected(request, setting))


def _expected(request: SweepRequest, setting: GridSetting) -> ExpectedRow:
    spec = spec_of_setting(request.grid, setting)
    inputs = row_inputs(spec)
    return ExpectedRow(spec.name, request.suite.hashes["queries"], request.corpus, request.options, inputs, request.executor)


def _outcome(request: SweepRequest, watcher: SweepWatcher, number: int) -> RowOutcome:
    setting = request.grid.settings[number]
    known = _kept(request, setting)
    if known is not None and known.run is not None:
        outcome = RowOutcome(setting, known.run, reused=True)
    elif setting.key in request.refused:
        outcome = RowOutcome(setting, None, request.refused[setting.key])
    else:
        watcher.row(number + 1, len(request.grid.settings), setting)
        outcome = _made(request, setting, watcher)
    watcher.done(outcome)
    return outcome


def _made(request: SweepRequest, setting: GridSetting, watcher: SweepWatcher) -> RowOutcome:
    def told(progress: Progress) -> None:
        watcher.progress(replace(progress, label=RunLabel(setting.name)))

    inputs = row_inputs(spec_of_setting(request.grid, setting))
    try:
        run = _run(request, setting, inputs, told)
    except PoolGone as error:  # no other row would fare better
        raise PoolGone(error.reason, "finished rows and the answers so far are kept: run the same command again") from error
    except SearchmarkError as error:
        return RowOutcome(setting, None, own_words(str(error), request.grid, setting))
    failure = _failure(run)
    if failure is not None:
        _remove_journal(request, setting)
        return RowOutcome(setting, None, own_words(failure, request.grid, setting))
    made_from = with_made_files(inputs, row_inputs(spec_of_setting(request.grid, setting)))
    request.folder.keep(setting, run, made_from, request.corpus, request.executor)
    _remove_journal(request, setting)
    return RowOutcome(setting, replace(run, label=RunLabel(setting.name)))


def _run(request: SweepRequest, setting: GridSetting, inputs: RowInputs, on_progress: OnProgress) -> Run:
    begun = _journal(request, setting)
    if begun.exists() and begun.stat().st_size and request.folder.begun(setting, inputs, request.executor):
        try:
            return _experiment(request, setting, resume=True).run(on_progress).runs[0]
        except PoolGone:
            raise
        except UsageError:  # a journal of what has changed since cannot be resumed; then the row is begun again
            pass
    request.folder.forget(setting)
    request.folder.begin(setting, inputs, request.executor)
    return _experiment(request, setting, resume=False).run(on_progress).runs[0]


def _experiment(request: SweepRequest, setting: GridSetting, *, resume: bool) -> Experiment:
    return Experiment(
        request.suite,
        (spec_of_setting(request.grid, setting),),
        request.where,
        options=request.options,
        resumption=Resumption(resume=resume, journal_folder=str(request.folder.journals)),
        hidden=request.hidden,
        placement=request.placement,
    )


def _journal(request: SweepRequest, setting: GridSetting) -> Path:
    from searchmark.running.journals import journal_path

    label = RunLabel(spec_of_setting(request.grid, setting).name)
    return journal_path(request.folder.journals, request.suite, label, CaseSelection(), request.options.seed)


def _remove_journal(request: SweepRequest, setting: GridSetting) -> None:
    _journal(request, setting).unlink(missing_ok=True)


def _forget(request: SweepRequest, setting: GridSetting) -> None:
    request.folder.forget(setting)
    _remove_journal(request, setting)


def _failure(run: Run) -> str | None:
    """Why a run says nothing of its setting: the agent could not be started, or no case was answered without an error."""
    if run.provenance is not None and run.provenance.failure is not None:
        return run.provenance.failure
    if len(run) and all(status in (ERROR, TIMEOUT, NOT_RUN) for status in run.status.tolist()):
        reasons: Sequence[str] = [each.failure for each in run.details or () if each.failure]
        return reasons[0] if reasons else "every case failed"
    return None


def own_words(sentence: str, grid: Grid, setting: GridSetting) -> str:
    """The reason without the name that the agent has for us alone."""
    return sentence.replace(spec_of_setting(grid, setting).name, grid.agent.name)
