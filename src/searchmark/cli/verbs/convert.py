"""``searchmark convert``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from searchmark.cli._options import option_group
from searchmark.cli._output import tell
from searchmark.corpora.beir_writing import NAME, write_corpus
from searchmark.corpora.corpus import opened
from searchmark.errors import UsageError
from searchmark.options.corpus_choice import CorpusChoice, FileChoice
from searchmark.options.field_names import FieldNames
from searchmark.suites import WRITABLE, load_suite_with_setup, save_suite
from searchmark.suites.detect import FORMATS
from searchmark.suites.native import NO_SETUP

WHAT_TO_WRITE = "Documents to write"


@click.command("convert", short_help="Write a suite in another format.")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option("--from", "source_format", type=click.Choice(tuple(FORMATS)), help="Format of IN, if it should not be guessed.")
@click.option("--to", "target_format", type=click.Choice(WRITABLE), help="Format of OUT; guessed from its name otherwise.")
@click.option("--topics", metavar="FILE", help="Query texts for TREC qrels or labels.")
@option_group(CorpusChoice, "corpus", WHAT_TO_WRITE)
@option_group(FileChoice, "files", WHAT_TO_WRITE)
def command(
    source: str,
    target: str,
    source_format: str | None,
    target_format: str | None,
    topics: str | None,
    corpus: CorpusChoice,
    files: FileChoice,
) -> None:
    """Write a suite in another format; what that format cannot hold is said on stderr.

    OUT is native for .json and .jsonl, TREC qrels (with topics beside them) for .qrels, .txt and .trec, and a
    BEIR folder if it has no extension. With --corpus that folder holds the documents, too.

    \b
    searchmark convert benchmark-dataset.json suite.json
    searchmark convert suite.yaml gold_set.json --to gold-set
    searchmark convert --corpus cran.all.1400 cranfield.qrels --topics topics.tsv cranfield/
    """
    names = FieldNames.parse(corpus.mapping)
    if names.corpus and corpus.corpus is None:
        raise UsageError("--map names the fields of a corpus; it needs --corpus")
    to = target_format or written_format(Path(target))
    if corpus.corpus is not None and to != "beir":
        raise UsageError(f"{target}: documents are written into a BEIR folder; name a folder, or leave out --corpus")
    suite, setup = load_suite_with_setup(source, format=source_format, topics=topics, mapping=names.suite)
    told = tuple(Path(each).absolute() for each in (source, topics, target) if each is not None)
    documents = None if corpus.corpus is None else opened(replace(corpus, files=files, never=told))
    lost = save_suite(suite, target, format=to)
    tell(f"written: {target}, cases: {len(suite)}")
    if documents is not None:
        written = write_corpus(documents, Path(target))
        tell(f"written: {Path(target, NAME)}, documents: {written.documents}")
        lost += written.losses()
    for sentence in (*(f"{reason.replace('_', ' ')}: {count}" for reason, count in suite.dropped.items()), *lost):
        tell(f"not in it: {sentence}")
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
