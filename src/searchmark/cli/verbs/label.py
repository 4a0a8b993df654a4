"""The verb `searchmark label`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from searchmark.cli.options import WHAT_TO_SEARCH, Flag, OptionGroup, verb
from searchmark.cli.output import remark, show, tell
from searchmark.config.inputs import CorpusInputSettings
from searchmark.errors import UsageError
from searchmark.reports.quoting import visible

if TYPE_CHECKING:
    from searchmark.judgments.label import Labels


@dataclass(frozen=True)
class LabelCommand:
    """The arguments and options of ``label``."""

    catalogue: Annotated[CorpusInputSettings, OptionGroup(WHAT_TO_SEARCH)]
    queries: Annotated[
        str | None, Flag(None, "--queries", metavar="FILE", help="One query per line, or .jsonl or .tsv with id, query and type.")
    ]
    fields: Annotated[
        tuple[str, ...],
        Flag(
            None,
            "--fields",
            metavar="ROLE=FIELD,...",
            multiple=True,
            help="Which field says what: category=style,brand=maker; color= for none.",
        ),
    ]
    synonyms: Annotated[
        str | None,
        Flag(
            None, "--synonyms", metavar="FILE", help="Words beside the shipped ones: 'sneakers = running shoes', 'loafers < shoes'."
        ),
    ]
    zeros: Annotated[
        bool,
        Flag(None, "--zeros", is_flag=True, help="Write pairs of grade 0 too; without them a pair that is not listed has grade 0."),
    ]
    review: Annotated[
        int | None,
        Flag(
            None,
            "--review",
            metavar="N",
            type=click.IntRange(1),
            help="Write a sample of N pairs for people to grade, instead of labels.",
        ),
    ]
    seed: Annotated[int, Flag(None, "--seed", metavar="S", type=int, default=0, show_default=True, help="Which sample is drawn.")]
    reviewed: Annotated[
        str | None,
        Flag(
            None, "--import", metavar="FILE", help="Graded review: show how far it agrees with the rule; its grades go first in -o."
        ),
    ]
    suite: Annotated[
        str | None,
        Flag(
            None,
            "--gold-set",
            "--suite",
            metavar="SUITE",
            help="Suite that the grades of --import are added to, instead of a catalogue.",
        ),
    ]
    topics: Annotated[
        str | None, Flag(None, "--topics", metavar="FILE", help="Query texts of the suite, for TREC qrels or labels.")
    ]
    output: Annotated[
        str | None,
        Flag(
            None,
            "-o",
            "--output",
            metavar="FILE",
            help="Labels (.jsonl), a review (.csv or .jsonl), or the suite with its new grades.",
        ),
    ]


@verb("label", LabelCommand, cls=click.Command, short_help="Grade the items of a catalogue for queries, by rules over its fields.")
def command(settings: LabelCommand) -> None:
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
    if settings.suite is not None:
        _add_to_suite(settings.suite, settings)
        return
    labels = _labels(settings)
    if settings.review is not None:
        _write_review(labels, settings.review, settings.seed, Path(settings.output or ""))
        return
    human = None if settings.reviewed is None else _compare(labels, Path(settings.reviewed))
    if settings.output is not None:
        _write_labels(labels, Path(settings.output), settings.zeros, human, settings.synonyms)


def _add_to_suite(path: str, settings: LabelCommand) -> None:
    from searchmark.cli.verbs.convert import written_format
    from searchmark.formats.suites import load_suite_with_setup, save_suite
    from searchmark.formats.suites.native import NO_SETUP
    from searchmark.judgments.review import add_grades

    output, catalogue = settings.output, (settings.catalogue.corpus, settings.queries)
    if settings.reviewed is None or output is None or catalogue != (None, None):
        raise UsageError("--gold-set takes the grades of --import FILE and writes them with -o; it needs no catalogue")
    format_name = written_format(Path(output), "label writes .jsonl, .json, .qrels, or a folder (BEIR)")
    suite, setup = load_suite_with_setup(path, topics=settings.topics)
    if setup != NO_SETUP and Path(output).exists() and any(Path(output).samefile(file) for file in suite.files):
        raise UsageError(f"{path} also says how it is tested (agent, corpus, gates), which would be lost; write to another file")
    graded_suite = add_grades(suite, Path(settings.reviewed))
    losses = save_suite(graded_suite.suite, output, format=format_name)
    more = {"known already": graded_suite.known, "pairs without a grade, left out": graded_suite.empty}
    counts = "".join(f", {what}: {count}" for what, count in more.items() if count)
    remark(f"written: {output}, cases: {len(suite)}, new judgments: {graded_suite.added}{counts}")
    for sentence in (*losses, *(["how the suite is tested (agent, corpus, gates)"] if setup != NO_SETUP else [])):
        tell(f"not in it: {sentence}")


def _labels(settings: LabelCommand) -> Labels:
    from searchmark.formats.corpora.corpus import open_corpus
    from searchmark.formats.suites.labels import read_queries
    from searchmark.judgments.label import label_queries

    if settings.catalogue.corpus is None or settings.queries is None:
        raise UsageError("nothing says what to label; name a catalogue with --corpus and --queries, or a suite with --gold-set")
    if settings.output is None and settings.reviewed is None:
        raise UsageError("nothing says where to write; add -o labels.jsonl, or -o review.csv with --review")
    if settings.review is not None and (settings.reviewed is not None or settings.zeros):
        raise UsageError("--review writes a sample for people; --import and --zeros belong to another call")
    queries = read_queries(Path(settings.queries))
    own = None if settings.synonyms is None else Path(settings.synonyms)
    return label_queries(open_corpus(settings.catalogue), queries, fields=settings.fields, synonyms=own)


def _write_labels(
    labels: Labels, path: Path, zeros: bool, human: Mapping[tuple[str, str], int] | None, synonyms: str | None
) -> None:
    from searchmark.io.store import write_text
    from searchmark.judgments.review import label_summary

    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        raise UsageError(f"{path}: labels are written as JSON lines; name the file .jsonl")
    write_text(path, labels.lines(zeros=zeros, human=human))
    for sentence in label_summary(labels, None if synonyms is None else Path(synonyms)):
        tell(sentence)
    remark(f"written: {path}")


def _write_review(labels: Labels, count: int, seed: int, path: Path) -> None:
    from searchmark.io.store import write_text
    from searchmark.judgments.review import Strata, draw_sample, review_text

    strata = Strata(labels)
    pairs = draw_sample(strata, count, seed)
    write_text(path, review_text(strata, pairs, path))
    remark(
        f"written: {path}, pairs: {len(pairs)}; fill in the column grade with 0, 1, 2 or 3 and read it back with --import {path}"
    )


def _compare(labels: Labels, path: Path) -> Mapping[tuple[str, str], int]:
    from searchmark.judgments.review import Strata, agreement_lines, grades_by_stratum, measure_agreement, read_review

    review = read_review(path, labels)
    strata = Strata(labels)
    same = review.drawn_from == {strata.digest}
    sample = {pair: grade for pair, grade in review.grades.items() if pair in review.sampled}
    if len(sample) < len(review.grades):
        tell(f"pairs that were chosen, not drawn at random, and say nothing about agreement: {len(review.grades) - len(sample)}")
    if sample:
        agreement = measure_agreement(strata.all, grades_by_stratum(strata, sample), weighted=same)
        show("\n".join(map(visible, agreement_lines(agreement, strata, sample))) + "\n")
    return review.grades
