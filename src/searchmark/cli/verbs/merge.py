"""The verb `searchmark merge`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from searchmark.cli.groups import SUITE_FORMAT, SuiteFileSettings, refuse_other_name
from searchmark.cli.options import OUTPUT, Flag, OptionGroup, Positional, verb
from searchmark.cli.output import remark, tell
from searchmark.config.inputs import GRADES_HELP
from searchmark.config.option import Option
from searchmark.errors import UsageError

if TYPE_CHECKING:
    from searchmark.records.merge import MergeResult, SavedShard
    from searchmark.records.suite import Suite


WHAT_IS_MISSING = "What is missing"


@dataclass(frozen=True)
class CutSuite:
    """The suite that the shards were cut from."""

    path: Annotated[
        str | None, Option("Suite that was cut into shards: cases that are missing are named.", ("--gold-set", "--suite"), "SUITE")
    ] = None
    format: Annotated[str | None, SUITE_FORMAT] = None
    topics: Annotated[str | None, Option("Query texts for TREC qrels or labels.", metavar="FILE")] = None
    grades: Annotated[str | None, Option(GRADES_HELP, metavar="WORD=NUMBER,...")] = None
    partial: Annotated[
        bool, Option("Write what there is although cases are missing, or the same answers come twice; what is missing was not run.")
    ] = False

    def load(self) -> Suite | None:
        return None if self.path is None else SuiteFileSettings(self.path, self.format, self.topics, self.grades).load()[0]


@dataclass(frozen=True)
class MergeCommand:
    """The arguments and options of ``merge``."""

    paths: Annotated[tuple[str, ...], Positional("SHARD...", nargs=-1, required=True)]
    output: Annotated[
        str,
        Flag(
            OUTPUT,
            "-o",
            "--output",
            metavar="PATH",
            required=True,
            help="The merged run (.jsonl, or .trec for TREC), or a folder if there are several agents.",
        ),
    ]
    suite: Annotated[CutSuite, OptionGroup(WHAT_IS_MISSING)]


@verb("merge", MergeCommand, short_help="Make one run of the shards that several machines have run.")
def command(settings: MergeCommand) -> None:
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
    from searchmark.records.merge import merge_shards
    from searchmark.running.journal_files import load_shards

    refuse_other_name(settings.output)
    shards = load_shards(settings.paths)
    merge_results = merge_shards(shards, settings.suite.load(), partial=settings.suite.partial)
    _refuse_overwriting(merge_results, shards, settings.output)
    _save(merge_results, settings.output)


def _refuse_overwriting(merge_results: Sequence[MergeResult], shards: Sequence[SavedShard], output: str) -> None:
    from searchmark.formats.runs import target_files

    shard_files = {Path(shard.file).resolve(): shard.file for shard in shards}
    clashes = [
        shard_files[file.resolve()]
        for file in target_files([each.run for each in merge_results], output)
        if file.resolve() in shard_files
    ]
    if clashes:
        raise UsageError(f"{output} would overwrite the shard {clashes[0]}; name another file or folder")


def _save(merge_results: Sequence[MergeResult], output: str) -> None:
    from searchmark.formats.runs import save_runs

    losses: list[str] = []
    paths = save_runs([each.run for each in merge_results], output, losses.append)
    for each, path in zip(merge_results, paths, strict=True):
        remark(f"written: {path}, shards: {len(each.run.provenance.parts)}, answers: {len(each.run)}")
        for note in each.notes:
            tell(f"partial: {note}")
    for sentence in losses:
        tell(f"not in it: {sentence}")
