"""The verb `searchmark convert`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import click

from searchmark.cli.groups import SuiteFileSettings, convert_run, is_run_file
from searchmark.cli.options import Flag, OptionGroup, PluginChoice, Positional, verb
from searchmark.cli.output import remark, tell
from searchmark.config.inputs import GRADES_HELP, CorpusInputSettings, FieldNames, FileSettings
from searchmark.errors import UsageError
from searchmark.formats import SUITE_FORMATS, WRITABLE_FORMATS
from searchmark.formats.corpora.corpus import BEIR_CORPUS_FILE, open_corpus, write_corpus
from searchmark.formats.suites import save_suite
from searchmark.formats.suites.native import NO_SETUP

WHAT_TO_WRITE = "Documents to write"


@dataclass(frozen=True)
class ConvertCommand:
    """The arguments and options of ``convert``."""

    source: Annotated[str, Positional("IN")]
    target: Annotated[str, Positional("OUT")]
    source_format: Annotated[
        str | None,
        Flag(None, "--from", type=PluginChoice(tuple(SUITE_FORMATS), "formats"), help="Format of IN, if it should not be guessed."),
    ]
    target_format: Annotated[
        str | None,
        Flag(None, "--to", type=PluginChoice(WRITABLE_FORMATS, "formats"), help="Format of OUT; guessed from its name otherwise."),
    ]
    topics: Annotated[str | None, Flag(None, "--topics", metavar="FILE", help="Query texts for TREC qrels or labels.")]
    grades: Annotated[str | None, Flag(None, "--grades", metavar="WORD=NUMBER,...", help=GRADES_HELP)]
    is_run: Annotated[bool, Flag(None, "--run", is_flag=True, help="IN is a saved run, where its content alone does not tell.")]
    suite_of_run: Annotated[
        str | None, Flag(None, "--gold-set", metavar="SUITE", help="Suite whose ids the cases of a run get, if it has queries.")
    ]
    corpus: Annotated[CorpusInputSettings, OptionGroup(WHAT_TO_WRITE)]
    files: Annotated[FileSettings, OptionGroup(WHAT_TO_WRITE)]


@verb(
    "convert",
    ConvertCommand,
    cls=click.Command,
    short_help="Write a suite, a suite with its corpus, or a saved run in another format.",
)
def command(settings: ConvertCommand) -> None:
    """Write a suite or a saved run in another format; what that format cannot hold is said on stderr.

    A suite is written as native for .json and .jsonl, TREC qrels (with topics beside them) for .qrels, .txt and .trec, and a
    BEIR folder if OUT has no extension. With --corpus that folder holds the documents, too. A run is written as TREC for
    .trec, and in Searchmark's own format for .jsonl.

    \b
    searchmark convert benchmark-dataset.json suite.json
    searchmark convert suite.yaml gold_set.json --to gold-set
    searchmark convert questions.csv suite.json --map suite.query=ask --map suite.target=page
    searchmark convert --corpus cran.all.1400 cranfield.qrels --topics topics.tsv cranfield/
    searchmark convert results.csv run.trec
    """
    if settings.is_run or (settings.source_format is None and is_run_file(settings.source, settings.corpus.mapping)):
        convert_run(settings.source, settings.target, settings.corpus.mapping, settings.suite_of_run)
        return
    if FieldNames.parse(settings.corpus.mapping).corpus and settings.corpus.corpus is None:
        raise UsageError("--map names the fields of a corpus; it needs --corpus")
    to = settings.target_format or written_format(Path(settings.target))
    if settings.corpus.corpus is not None and to != "beir":
        raise UsageError(f"{settings.target}: documents are written into a BEIR folder; name a folder, or leave out --corpus")
    source = SuiteFileSettings(settings.source, settings.source_format, settings.topics, settings.grades)
    suite, setup = source.load(settings.corpus.mapping)
    never = tuple(Path(each).absolute() for each in (source.file, settings.topics, settings.target) if each is not None)
    documents = None if settings.corpus.corpus is None else open_corpus(replace(settings.corpus, files=settings.files, never=never))
    # Documents first: where they cannot be read or written to the end, no suite is left that looks whole.
    corpus_result = None if documents is None else write_corpus(documents, Path(settings.target))
    losses = save_suite(suite, settings.target, format=to)
    remark(f"written: {settings.target}, cases: {len(suite)}")
    if corpus_result is not None:
        remark(f"written: {Path(settings.target, BEIR_CORPUS_FILE)}, documents: {corpus_result.documents}")
        losses += corpus_result.losses()
    for sentence in (*(f"{reason.replace('_', ' ')}: {count}" for reason, count in suite.dropped.items()), *losses):
        tell(f"not in it: {sentence}")
    for note in suite.notes:
        tell(f"note: {note}")
    if setup != NO_SETUP:
        tell("not in it: how the suite is tested (agent, corpus, gates)")


def written_format(target: Path, fix: str = "name it with --to") -> str:
    """The format that the name of a new file asks for; ``fix`` says what to do if it asks for none."""
    by_name = next((each.name for each in SUITE_FORMATS.values() if target.suffix.lower() in each.extensions), None)
    if by_name is not None:
        return by_name
    if target.suffix and not target.is_dir():
        raise UsageError(f"{target}: the extension does not tell the format; {fix}")
    return "beir"
