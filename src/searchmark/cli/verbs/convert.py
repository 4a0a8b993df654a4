"""``searchmark convert``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from searchmark.cli._groups import SuiteChoice
from searchmark.cli._options import option_group
from searchmark.cli._output import remark, tell
from searchmark.cli._run_files import convert_run, is_run_file
from searchmark.corpora.beir_writing import NAME, write_corpus
from searchmark.corpora.corpus import opened
from searchmark.errors import UsageError
from searchmark.options.corpus_choice import CorpusChoice, FileChoice
from searchmark.options.field_names import FieldNames
from searchmark.options.grade_words import GRADES_HELP
from searchmark.suites import WRITABLE, save_suite
from searchmark.suites.detect import FORMATS
from searchmark.suites.native import NO_SETUP

WHAT_TO_WRITE = "Documents to write"


@click.command("convert", short_help="Write a suite, a suite with its corpus, or a saved run in another format.")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option("--from", "source_format", type=click.Choice(tuple(FORMATS)), help="Format of IN, if it should not be guessed.")
@click.option("--to", "target_format", type=click.Choice(WRITABLE), help="Format of OUT; guessed from its name otherwise.")
@click.option("--topics", metavar="FILE", help="Query texts for TREC qrels or labels.")
@click.option("--grades", metavar="WORD=NUMBER,...", help=GRADES_HELP)
@click.option("--run", "is_run", is_flag=True, help="IN is a saved run, where its content alone does not tell.")
@click.option("--gold-set", "suite_of_run", metavar="SUITE", help="Suite whose ids the cases of a run get, if it has queries.")
@option_group(CorpusChoice, "corpus", WHAT_TO_WRITE)
@option_group(FileChoice, "files", WHAT_TO_WRITE)
def command(
    source: str,
    target: str,
    source_format: str | None,
    target_format: str | None,
    topics: str | None,
    grades: str | None,
    is_run: bool,
    suite_of_run: str | None,
    corpus: CorpusChoice,
    files: FileChoice,
) -> None:
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
    if is_run or (source_format is None and is_run_file(source, corpus.mapping)):
        convert_run(source, target, corpus.mapping, suite_of_run)
        return
    if FieldNames.parse(corpus.mapping).corpus and corpus.corpus is None:
        raise UsageError("--map names the fields of a corpus; it needs --corpus")
    to = target_format or written_format(Path(target))
    if corpus.corpus is not None and to != "beir":
        raise UsageError(f"{target}: documents are written into a BEIR folder; name a folder, or leave out --corpus")
    read = SuiteChoice(source, source_format, topics, grades)
    suite, setup = read.load(corpus.mapping)
    told = tuple(Path(each).absolute() for each in (read.file, topics, target) if each is not None)
    documents = None if corpus.corpus is None else opened(replace(corpus, files=files, never=told))
    # Documents first: where they cannot be read or written to the end, no suite is left that looks whole.
    written = None if documents is None else write_corpus(documents, Path(target))
    lost = save_suite(suite, target, format=to)
    remark(f"written: {target}, cases: {len(suite)}")
    if written is not None:
        remark(f"written: {Path(target, NAME)}, documents: {written.documents}")
        lost += written.losses()
    for sentence in (*(f"{reason.replace('_', ' ')}: {count}" for reason, count in suite.dropped.items()), *lost):
        tell(f"not in it: {sentence}")
    for note in suite.notes:
        tell(f"note: {note}")
    if setup != NO_SETUP:
        tell("not in it: how the suite is tested (agent, corpus, gates)")


def written_format(target: Path, fix: str = "name it with --to") -> str:
    """The format that the name of a new file asks for; ``fix`` says what to do if it asks for none."""
    if target.suffix.lower() in {".json", ".jsonl"}:
        return "native"
    if target.suffix.lower() in {".qrels", ".txt", ".trec"}:
        return "qrels"
    if target.suffix and not target.is_dir():
        raise UsageError(f"{target}: the extension does not tell the format; {fix}")
    return "beir"
