"""``searchmark merge``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from searchmark.cli._groups import SuiteChoice
from searchmark.cli._options import OUTPUT, SectionedCommand, option, option_group
from searchmark.cli._output import remark, tell
from searchmark.cli._run_files import refuse_other_name
from searchmark.errors import UsageError
from searchmark.options.grade_words import GRADES_HELP
from searchmark.options.option import Option
from searchmark.suites.detect import FORMATS as SUITE_FORMATS

if TYPE_CHECKING:
    from searchmark.records import Suite
    from searchmark.runs.merge import Merged, SavedShard

WHAT_IS_MISSING = "What is missing"


@dataclass(frozen=True)
class CutSuite:
    """The suite that the shards were cut from."""

    path: Annotated[
        str | None, Option("Suite that was cut into shards: cases that are missing are named.", ("--gold-set", "--suite"), "SUITE")
    ] = None
    format: Annotated[str | None, Option("Format of the suite.", default="detected", choices=tuple(SUITE_FORMATS))] = None
    topics: Annotated[str | None, Option("Query texts for TREC qrels or labels.", metavar="FILE")] = None
    grades: Annotated[str | None, Option(GRADES_HELP, metavar="WORD=NUMBER,...")] = None
    partial: Annotated[
        bool, Option("Write what there is although cases are missing, or the same answers come twice; what is missing was not run.")
    ] = False

    def load(self) -> Suite | None:
        return None if self.path is None else SuiteChoice(self.path, self.format, self.topics, self.grades).load()[0]


@click.command("merge", cls=SectionedCommand, short_help="Make one run of the shards that several machines have run.")
@click.argument("paths", metavar="SHARD...", nargs=-1, required=True)
@option(
    OUTPUT,
    "-o",
    "--output",
    metavar="PATH",
    required=True,
    help="The merged run (.jsonl, or .trec for TREC), or a folder if there are several agents.",
)
@option_group(CutSuite, "suite", WHAT_IS_MISSING)
def command(paths: tuple[str, ...], output: str, suite: CutSuite) -> None:
    """Make one run of shards: the run that one machine would have made, but for times, machines and ids.

    A SHARD is what 'evaluate --shard I/N --save-run FILE' has written, or a folder of 'compare --shard I/N --save-run FOLDER'.
    They are named in any order. Shards of several agents become one run for each, in a folder.

    Everything must be there, once: cases that are missing or doubled are named, nothing is written, and the exit code is 2.
    Shards of another suite, agent, version or number of shards, or run with other options, are refused as well.

    \b
    searchmark evaluate --gold-set gold_set.json --agent bm25 --shard 1/2 --save-run 1.jsonl
    searchmark evaluate --gold-set gold_set.json --agent bm25 --shard 2/2 --save-run 2.jsonl
    searchmark merge 1.jsonl 2.jsonl -o bm25.jsonl
    searchmark evaluate --gold-set gold_set.json --run bm25.jsonl
    """
    from searchmark.running.shard_files import load_shards
    from searchmark.runs.merge import merged

    refuse_other_name(output)
    shards = load_shards(paths)
    found = merged(shards, suite.load(), partial=suite.partial)
    _refuse_overwriting(found, shards, output)
    _save(found, output)


def _refuse_overwriting(found: Sequence[Merged], shards: Sequence[SavedShard], output: str) -> None:
    from searchmark.runs import target_files

    read = {Path(shard.file).resolve(): shard.file for shard in shards}
    lost = [read[file.resolve()] for file in target_files([each.run for each in found], output) if file.resolve() in read]
    if lost:
        raise UsageError(f"{output} would overwrite the shard {lost[0]}; name another file or folder")


def _save(found: Sequence[Merged], output: str) -> None:
    from searchmark.runs import save_runs

    lost: list[str] = []
    paths = save_runs([each.run for each in found], output, lost.append)
    for each, path in zip(found, paths, strict=True):
        remark(f"written: {path}, shards: {len(each.run.provenance.parts)}, answers: {len(each.run)}")
        for note in each.notes:
            tell(f"partial: {note}")
    for sentence in lost:
        tell(f"not in it: {sentence}")
