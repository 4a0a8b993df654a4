"""``searchmark evaluate``."""

from __future__ import annotations

import click

from searchmark.cli.corpus import survey_of
from searchmark.cli.output import STDOUT, deliver, output_files
from searchmark.gate import check_gate, parse_threshold
from searchmark.judging import judge
from searchmark.measures import AnyMeasure, parse_measure
from searchmark.records import Suite
from searchmark.reports import build_report
from searchmark.runs import FORMATS as RUN_FORMATS
from searchmark.runs import load_run
from searchmark.scores import default_measures, score, segment_names
from searchmark.suites import load_suite
from searchmark.suites.detect import FORMATS as SUITE_FORMATS

_SPLIT_BY_DEFAULT = ("category", "tag")


@click.command("evaluate", short_help="Score a saved run against a suite.")
@click.option(
    "--gold-set", "--suite", "suite_path", required=True, metavar="SUITE", help="Suite, in any format that docs/formats.md shows."
)
@click.option("--run", "run_path", required=True, metavar="RUN", help="Saved run: TREC, plain JSON, or our own format.")
@click.option("-m", "--measure", "measures", multiple=True, help="Measure or formula, repeatable: -m nDCG@10 -m 'P(rel=2)@5'.")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="PATH",
    help="Report file (.json, .md, .txt), directory, or - for JSON on stdout; repeatable.",
)
@click.option("--topics", metavar="FILE", help="Query texts for TREC qrels or labels.")
@click.option("--corpus", "corpus_path", metavar="PATH", help="What was searched: .json, .jsonl, .csv or a directory.")
@click.option("--map", "mapping", multiple=True, metavar="FIELD=NAME", help="Fields of the corpus: id=asin, title=name, text=a,b.")
@click.option("--by", "splits", multiple=True, metavar="FIELD", help="Split by category, tag or a field of the cases; repeatable.")
@click.option(
    "--fail-under", "thresholds", multiple=True, metavar="MEASURE=VALUE", help="Exit with 1 if the mean is lower; repeatable."
)
@click.option(
    "--format", "suite_format", type=click.Choice(SUITE_FORMATS), help="Format of the suite, if it should not be guessed."
)
@click.option("--run-format", type=click.Choice(RUN_FORMATS), help="Format of the run, if it should not be guessed.")
def command(
    suite_path: str,
    run_path: str,
    measures: tuple[str, ...],
    outputs: tuple[str, ...],
    topics: str | None,
    corpus_path: str | None,
    mapping: tuple[str, ...],
    splits: tuple[str, ...],
    thresholds: tuple[str, ...],
    suite_format: str | None,
    run_format: str | None,
) -> int:
    """Score a saved run against a suite.

    \b
    searchmark evaluate --gold-set suite.yaml --run results.json
    searchmark evaluate --gold-set qrels.txt --run bm25.run -m nDCG@10 -m MRR -o out.json
    """
    files = output_files(outputs)
    asked = [parse_measure(text) for text in measures]
    gates = [parse_threshold(text, {measure.name: measure for measure in asked}) for text in thresholds]
    suite = load_suite(suite_path, format=suite_format, topics=topics)
    run = load_run(run_path, format=run_format)
    wanted: list[str | AnyMeasure] = [*(asked or default_measures(suite)), *(gate.measure for gate in gates)]
    survey = survey_of(suite, corpus_path, mapping)
    scores = score(judge(suite, run, None if survey is None else survey.ids), wanted)
    gate = check_gate(scores, gates) if gates else None
    by = split_by(suite, splits)
    report = build_report(scores, by, gate, survey)
    return deliver(report, files, json_on_stdout=STDOUT in outputs)


def split_by(suite: Suite, asked: tuple[str, ...]) -> list[str]:
    """What to split the cases by: what was asked for, or else what most suites have."""
    return list(asked) or [name for name in segment_names(suite) if name in _SPLIT_BY_DEFAULT]
