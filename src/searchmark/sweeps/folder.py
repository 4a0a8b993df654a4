"""The rows of a sweep on disk: each is written whole as soon as it is measured, and read again unless something has changed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from searchmark.errors import SearchmarkError, UsageError
from searchmark.files.locks import lock_file
from searchmark.files.our_folder import keep_out_of_git, refuse_leading_out
from searchmark.options.experiment_options import OUR_FOLDER
from searchmark.records import Run, RunLabel
from searchmark.runs import load_run, save_run
from searchmark.sweeps.grid import GridSetting

SWEEPS = "sweeps"


def default_folder(depends_on: Mapping[str, Any]) -> Path:
    """Below our own folder in the working directory, named by all that every row depends on."""
    text = json.dumps(depends_on, sort_keys=True, default=repr)
    name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Path(OUR_FOLDER) / SWEEPS / name


@dataclass(frozen=True)
class SweepFolder:
    """A folder with one run per finished setting, and a journal of the one in work."""

    path: Path

    @property
    def journals(self) -> Path:
        return self.path / "journals"

    def row_file(self, setting: GridSetting) -> Path:
        return self.path / "rows" / f"{setting.key}.jsonl"

    def finished(self, setting: GridSetting) -> Run | None:
        """The run of a setting that was measured before, under its name of today; one that cannot be read is made again."""
        file = self.row_file(setting)
        if not file.exists():
            return None
        try:
            run = load_run(file, format="native")
        except SearchmarkError:
            return None
        return replace(run, label=RunLabel(setting.name))

    def keep(self, setting: GridSetting, run: Run) -> None:
        save_run(run, self.row_file(setting), private=True)

    def forget(self, setting: GridSetting) -> None:
        self.row_file(setting).unlink(missing_ok=True)

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
        for folder in (self.path / "rows", self.journals):
            link = next((each for each in (folder, *folder.glob("*")) if each.is_symlink()), None)
            if link is not None:
                raise UsageError(f"{link} is a link, and a sweep writes to none; remove it, or name a different folder (--folder)")
