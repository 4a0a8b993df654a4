"""``searchmark label``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from searchmark.cli._options import WHAT_TO_SEARCH, option_group
from searchmark.cli._output import remark, show, tell
from searchmark.errors import UsageError
from searchmark.options.corpus_choice import CorpusChoice
from searchmark.reports.quoting import visible

if TYPE_CHECKING:
    from searchmark.labelling.label import Labels


@click.command("label", short_help="Grade the items of a catalogue for queries, by rules over its fields.")
@option_group(CorpusChoice, "catalogue", WHAT_TO_SEARCH)
@click.option("--queries", metavar="FILE", help="One query per line, or .jsonl or .tsv with id, query and type.")
@click.option(
    "--fields", metavar="ROLE=FIELD,...", multiple=True, help="Which field says what: category=style,brand=maker; color= for none."
)
@click.option("--synonyms", metavar="FILE", help="Words beside the shipped ones: 'sneakers = running shoes', 'loafers < shoes'.")
@click.option("--zeros", is_flag=True, help="Write pairs of grade 0 too; without them a pair that is not listed has grade 0.")
@click.option(
    "--review", metavar="N", type=click.IntRange(1), help="Write a sample of N pairs for people to grade, instead of labels."
)
@click.option("--seed", metavar="S", type=int, default=0, show_default=True, help="Which sample is drawn.")
@click.option(
    "--import", "reviewed", metavar="FILE", help="Graded review: show how far it agrees with the rule; its grades go first in -o."
)
@click.option(
    "--gold-set",
    "--suite",
    "suite",
    metavar="SUITE",
    help="Suite that the grades of --import are added to, instead of a catalogue.",
)
@click.option("--topics", metavar="FILE", help="Query texts of the suite, for TREC qrels or labels.")
@click.option(
    "-o", "--output", metavar="FILE", help="Labels (.jsonl), a review (.csv or .jsonl), or the suite with its new grades."
)
def command(
    catalogue: CorpusChoice,
    queries: str | None,
    fields: tuple[str, ...],
    synonyms: str | None,
    zeros: bool,
    review: int | None,
    seed: int,
    reviewed: str | None,
    suite: str | None,
    topics: str | None,
    output: str | None,
) -> None:
    """Grade the items of a catalogue for queries, by rules over its fields.

    \b
    3  the item's category and at least two of its attributes are in the query
    2  its category, or two attributes
    1  one attribute, or its brand alone
    0  otherwise

    The category, the brand and attributes such as color and material come from fields of the catalogue (--fields). Where one
    is empty, it is looked for in the title, then in the description. What is missing, and rules that can never fire, are
    said on stderr. Labels and queries are a suite for evaluate and compare.

    \b
    searchmark label --corpus catalogue.jsonl --queries queries_fashion.txt --fields category=style -o labels.jsonl

    Rules are cheap and sometimes wrong. Have people grade a sample, blind to the rule, and see how far both agree:

    \b
    searchmark label --corpus catalogue.jsonl --queries queries_fashion.txt --review 60 -o review.csv
    searchmark label --corpus catalogue.jsonl --queries queries_fashion.txt --import review.csv -o labels.jsonl

    Pairs that `searchmark audit --next 20 -o next.csv` has chosen go to the suite that they are of:

    \b
    searchmark label --gold-set suite.jsonl --import next.csv -o judged.jsonl
    """
    if suite is not None:
        if reviewed is None or output is None or catalogue.corpus is not None or queries is not None:
            raise UsageError("--gold-set takes the grades of --import FILE and writes them with -o; it needs no catalogue")
        _add_to_suite(suite, topics, Path(reviewed), output)
        return
    if catalogue.corpus is None or queries is None:
        raise UsageError("nothing says what to label; name a catalogue with --corpus and --queries, or a suite with --gold-set")
    if output is None and reviewed is None:
        raise UsageError("nothing says where to write; add -o labels.jsonl, or -o review.csv with --review")
    if review is not None and (reviewed is not None or zeros):
        raise UsageError("--review writes a sample for people; --import and --zeros belong to another call")
    labels = _labels(catalogue, queries, fields, synonyms)
    if review is not None:
        _write_review(labels, review, seed, Path(output or ""))
        return
    human = None if reviewed is None else _compare(labels, Path(reviewed))
    if output is not None:
        _write_labels(labels, Path(output), zeros, human, synonyms)


def _add_to_suite(path: str, topics: str | None, graded: Path, output: str) -> None:
    from searchmark.cli.verbs.convert import written_format
    from searchmark.labelling.additions import add_grades
    from searchmark.suites import load_suite_with_setup, save_suite
    from searchmark.suites.native import NO_SETUP

    format_name = written_format(Path(output), "label writes .jsonl, .json, .qrels, or a folder (BEIR)")
    suite, setup = load_suite_with_setup(path, topics=topics)
    if setup != NO_SETUP and Path(output).exists() and any(Path(output).samefile(file) for file in suite.files):
        raise UsageError(f"{path} also says how it is tested (agent, corpus, gates), which would be lost; write to another file")
    found = add_grades(suite, graded)
    lost = save_suite(found.suite, output, format=format_name)
    more = {"known already": found.known, "pairs without a grade, left out": found.empty}
    counts = "".join(f", {what}: {count}" for what, count in more.items() if count)
    remark(f"written: {output}, cases: {len(suite)}, new judgments: {found.added}{counts}")
    for sentence in (*lost, *(["how the suite is tested (agent, corpus, gates)"] if setup != NO_SETUP else [])):
        tell(f"not in it: {sentence}")


def _labels(catalogue: CorpusChoice, queries: str, fields: tuple[str, ...], synonyms: str | None) -> Labels:
    from searchmark.corpora.corpus import opened
    from searchmark.labelling.label import label
    from searchmark.suites.queries import read_queries

    asked = read_queries(Path(queries))
    own = None if synonyms is None else Path(synonyms)
    return label(opened(catalogue), asked, fields=fields, synonyms=own)


def _write_labels(
    labels: Labels, path: Path, zeros: bool, human: Mapping[tuple[str, str], int] | None, synonyms: str | None
) -> None:
    from searchmark.files.store import write_text
    from searchmark.labelling.summary import summary

    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        raise UsageError(f"{path}: labels are written as JSON lines; name the file .jsonl")
    write_text(path, labels.lines(zeros=zeros, human=human))
    for sentence in summary(labels, None if synonyms is None else Path(synonyms)):
        tell(sentence)
    remark(f"written: {path}")


def _write_review(labels: Labels, count: int, seed: int, path: Path) -> None:
    from searchmark.files.store import write_text
    from searchmark.labelling.review import Strata, draw, review_text

    strata = Strata(labels)
    pairs = draw(strata, count, seed)
    write_text(path, review_text(strata, pairs, path))
    remark(
        f"written: {path}, pairs: {len(pairs)}; fill in the column grade with 0, 1, 2 or 3 and read it back with --import {path}"
    )


def _compare(labels: Labels, path: Path) -> Mapping[tuple[str, str], int]:
    from searchmark.labelling.agreement import agreement
    from searchmark.labelling.review import Strata, read_review
    from searchmark.labelling.summary import agreement_lines, grades_by_stratum

    review = read_review(path, labels)
    strata = Strata(labels)
    same = review.drawn_from == {strata.digest}
    drawn = {pair: grade for pair, grade in review.grades.items() if pair in review.sampled}
    if len(drawn) < len(review.grades):
        tell(f"pairs that were chosen, not drawn at random, and say nothing about agreement: {len(review.grades) - len(drawn)}")
    if drawn:
        found = agreement(strata.all, grades_by_stratum(strata, drawn), weighted=same)
        show("\n".join(map(visible, agreement_lines(found, strata, drawn))) + "\n")
    return review.grades
