"""The rows of a sweep on disk: each is written whole as soon as it is measured, and read again unless something has changed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from searchmark.errors import SearchmarkError, UsageError
from searchmark.files.locks import lock_file
from searchmark.files.our_folder import keep_out_of_git, refuse_leading_out
from searchmark.files.store import check_shape, parse_json, read_text, write_text
from searchmark.options.experiment_options import OUR_FOLDER
from searchmark.options.run_options import CHANGE_NO_ANSWER, RunOptions
from searchmark.options.strict import strict_record
from searchmark.records import Run, RunLabel
from searchmark.runs import load_run, save_run
from searchmark.sweeps.grid import GridSetting
from searchmark.sweeps.row_inputs import RowInputs, changed_inputs

SWEEPS = "sweeps"
THIS_PROCESS = "this process"


def processes(jobs: int) -> str:
    """The executor that a number of jobs is short for."""
    return f"process:{jobs}" if jobs > 1 else THIS_PROCESS


def default_folder(depends_on: Mapping[str, Any]) -> Path:
    """Below our own folder in the working directory, named by all that every row depends on."""
    text = json.dumps(depends_on, sort_keys=True, default=repr)
    name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Path(OUR_FOLDER) / SWEEPS / name


@strict_record
class KeptInputs:
    """What a row was made from, the corpus of the sweep, the id of the run, and the executor that asked the cases.

    Corpus and run are None while the row is in work, and the executor is None in files of earlier versions.
    """

    inputs: RowInputs
    corpus: str | None = None
    run: str | None = None
    executor: str | None = None


@dataclass(frozen=True)
class KeptRow:
    """A row that lies in the folder: its run, or why it is made again."""

    run: Run | None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExpectedRow:
    """What a row of today has been asked, of whom, and from what; one that differs in any of it is another one's."""

    agent: str
    queries: str | None
    corpus: str | None
    options: RunOptions
    inputs: RowInputs
    executor: str

    def misfits(self, run: Run, kept: KeptInputs) -> Iterator[str]:
        """What does not fit, in words."""
        known, suite = run.provenance, run.provenance.suite
        if run.label.agent != self.agent:
            yield "it is a row of another setting"
        if suite is None or suite.queries != self.queries:
            yield "different queries"
        # What cases bring along has a digest for each of them in the run.
        if kept.corpus != self.corpus or any(digest != self.corpus for digest in known.corpora.values()):
            yield "different corpus"
        if known.version != version("searchmark"):
            yield f"made by Searchmark {known.version}"
        for name, value in asdict(self.options).items():
            if name not in CHANGE_NO_ANSWER and known.options.get(name) != value:
                yield f"{name} was {known.options.get(name)} and is {value}"
        jobs = known.options.get("jobs")
        executor = kept.executor or processes(jobs if isinstance(jobs, int) else 1)
        if executor != self.executor:  # searches side by side, or elsewhere, take another time
            yield f"executor was {executor} and is {self.executor}"
        yield from changed_inputs(kept.inputs, self.inputs)


@dataclass(frozen=True)
class SweepFolder:
    """A folder with one run per finished setting, and a journal of the one in work."""

    path: Path

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
        return self._inputs(setting) == KeptInputs(inputs, executor=executor)

    def begin(self, setting: GridSetting, inputs: RowInputs, executor: str) -> None:
        self._keep_inputs(setting, KeptInputs(inputs, executor=executor))

    def kept(self, setting: GridSetting, expected: ExpectedRow) -> KeptRow | None:
        """The row of a setting that was measured before, under its name of today; None if there is none."""
        file = self.row_file(setting)
        if not os.path.lexists(file):
            return None
        try:
            run = load_run(file, format="native")
        except (SearchmarkError, OSError):
            return KeptRow(None, ("cannot be read",))
        found = self._inputs(setting)
        if found is None or found.run != run.provenance.id:
            return KeptRow(None, ("what it was made from is not known",))
        reasons = tuple(expected.misfits(run, found))
        return KeptRow(None if reasons else replace(run, label=RunLabel(setting.name)), reasons)

    def keep(self, setting: GridSetting, run: Run, inputs: RowInputs, corpus: str | None, executor: str) -> None:
        # In this order: a row without its inputs is not believed, and until it is there its journal is.
        self._keep_inputs(setting, KeptInputs(inputs, corpus, run.provenance.id, executor))
        save_run(run, self.row_file(setting), private=True)

    def forget(self, setting: GridSetting) -> None:
        for file in (self.row_file(setting), self.inputs_file(setting)):
            if file.is_dir():
                raise UsageError(f"{file} is a folder; remove it, or name a different folder (--folder)")
            file.unlink(missing_ok=True)

    def _keep_inputs(self, setting: GridSetting, kept: KeptInputs) -> None:
        write_text(self.inputs_file(setting), json.dumps(asdict(kept)))

    def _inputs(self, setting: GridSetting) -> KeptInputs | None:
        from pydantic import TypeAdapter

        file = self.inputs_file(setting)
        try:
            return check_shape(file, TypeAdapter(KeptInputs), parse_json(file, read_text(file)))
        except (SearchmarkError, OSError):
            return None

    @contextmanager
    def held(self) -> Iterator[None]:
        """The folder for this process alone: two sweeps at once would spoil each other's times."""
        if self.path.parts[:1] == (OUR_FOLDER,):
            refuse_leading_out(self.path)
        self.path.mkdir(parents=True, exist_ok=True)
        self._refuse_links()
        if self.path.parts[:1] == (OUR_FOLDER,):
            keep_out_of_git(Path(OUR_FOLDER))
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
