"""Files of saved runs, for the verb that writes them in another format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from searchmark.cli._groups import SuiteChoice, load_runs
from searchmark.cli._output import tell
from searchmark.errors import UsageError
from searchmark.options.field_names import FieldNames

if TYPE_CHECKING:
    from searchmark.records import Run

WRITTEN = (".trec", ".jsonl", ".json")


def is_run_file(source: str, mapping: Iterable[str]) -> bool:
    """Whether this is a run and cannot be a suite; what cannot be read is neither."""
    from searchmark.runs import named_path
    from searchmark.runs.detect import is_surely_run
    from searchmark.runs.source import RunFile

    path = named_path(source)[1]
    return path.is_file() and is_surely_run(RunFile(path, FieldNames.parse(mapping).run))


def convert_run(source: str, target: str, mapping: Iterable[str], suite: str | None = None) -> None:
    """Write a run as TREC or in our own format, and say what the file cannot hold; several runs go into a folder.

    With a ``suite`` its cases get the ids that they have there.
    """
    from searchmark.judging.query_texts import with_cases_of
    from searchmark.runs import save_runs

    refuse_other_name(target)
    runs = load_runs([source], mapping=mapping)
    if suite is not None:
        known = SuiteChoice(suite).load(mapping)[0]
        runs = [with_cases_of(known, run) for run in runs]
    elif target.lower().endswith(".trec"):
        _refuse_queries(runs)
    lost: list[str] = []
    for run, path in zip(runs, save_runs(runs, target, lost.append), strict=True):
        tell(f"written: {path}, answers: {len(run)}")
        for note in run.provenance.imported.notes if run.provenance.imported is not None else ():
            tell(f"read: {note}")
    for sentence in lost:
        tell(f"not in it: {sentence}")


def refuse_other_name(target: str) -> None:
    """A file whose name promises another format."""
    if Path(target).suffix and not Path(target).is_dir() and not target.lower().endswith(WRITTEN):
        raise UsageError(f"{target}: a run is written as TREC (.trec) or in Searchmark's own format (.jsonl); name it so")


def _refuse_queries(runs: Sequence[Run]) -> None:
    """A line of TREC has an id for the case, and neither the text of a query nor a place in a list."""
    for run in runs:
        imported = run.provenance.imported
        if (imported is not None and imported.by_position) or any(" " in case for case in run.case_ids):
            raise UsageError(
                f"the cases of the run {run.agent!r} have no ids that a line of TREC could hold; name the suite that has them with "
                "--gold-set, or write .jsonl"
            )
