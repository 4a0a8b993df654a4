"""``searchmark perturb``."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
from annotated_types import Interval

from searchmark.cli._groups import SuiteChoice
from searchmark.cli._options import OUTPUT, WHAT_TO_SEARCH, option, option_group
from searchmark.cli._output import remark, show, tell
from searchmark.errors import UsageError
from searchmark.options.corpus_choice import CorpusChoice
from searchmark.options.grade_words import GRADES_HELP
from searchmark.options.option import Option
from searchmark.perturbing.kinds import KINDS, LANGUAGES
from searchmark.reports.quoting import visible
from searchmark.suites.builtin import builtin_suite
from searchmark.suites.detect import FORMATS as SUITE_FORMATS

if TYPE_CHECKING:
    from searchmark.records import Suite
    from searchmark.suites.native import SuiteSetup

SUITE_READ = "How the suite is read"
VARIANTS = "Variants"


@dataclass(frozen=True)
class PerturbedSuite:
    """How the suite is read."""

    format: Annotated[str | None, Option("Format of the suite.", default="detected", choices=tuple(SUITE_FORMATS))] = None
    topics: Annotated[str | None, Option("Query texts for TREC qrels or labels.", metavar="FILE")] = None
    grades: Annotated[str | None, Option(GRADES_HELP, metavar="WORD=NUMBER,...")] = None


@dataclass(frozen=True)
class VariantChoice:
    """Which variants are made."""

    kinds: Annotated[
        tuple[str, ...],
        Option("Kind of variants, repeatable; those that need a file need it.", ("--kind",), default="all", choices=tuple(KINDS)),
    ] = ()
    per_case: Annotated[int, Interval(ge=1, le=20), Option("Variants of each kind per case, at most.")] = 1
    seed: Annotated[int, Option("Which variants are chosen; the same seed gives the same file everywhere.")] = 0
    language: Annotated[str, Option("Whose function words come and go.", choices=LANGUAGES)] = "english"
    synonyms: Annotated[
        str | None, Option("Words for the kind synonym: 'ticket = issue', 'a, b, c' or 'a => b'.", metavar="FILE")
    ] = None
    glossary: Annotated[str | None, Option("Words for the kind translation: 'issue = problema', one per line.", metavar="FILE")] = (
        None
    )


@click.command("perturb", short_help="Write a suite with variants of its queries, or find where words mislead.")
@click.argument("suite_path", metavar="SUITE")
@option_group(PerturbedSuite, "read_as", SUITE_READ)
@option_group(VariantChoice, "chosen", VARIANTS)
@click.option("--adversarial", is_flag=True, help="Find the cases in which words point to the wrong document, instead of variants.")
@option_group(CorpusChoice, "corpus", WHAT_TO_SEARCH)
@option(OUTPUT, "-o", "--output", metavar="FILE", help="Suite to write (.jsonl or .json).")
def command(
    suite_path: str,
    read_as: PerturbedSuite,
    chosen: VariantChoice,
    adversarial: bool,
    corpus: CorpusChoice,
    output: str | None,
) -> None:
    """Write a suite with variants of its queries: does search still find it when people type as people do?

    Every variant is a case with the judgments of its original. The kind is its field perturbation and its tag
    perturbed-KIND, and it shares its original's origin: both are one observation. evaluate and compare show what each kind
    costs each agent.

    \b
    searchmark perturb suite.yaml -o perturbed.jsonl
    searchmark perturb suite.yaml --kind typo --kind synonym --synonyms synonyms.txt --per-case 3 -o perturbed.jsonl
    searchmark evaluate --gold-set perturbed.jsonl --corpus docs/ --agent bm25

    With --adversarial no query is changed. It writes the cases in which a document that is not judged relevant has more of the
    query's words than every relevant one, tagged lexical-trap, with that document named. Without -o it counts them.

    \b
    searchmark perturb suite.yaml --adversarial --corpus docs/ -o traps.jsonl
    """
    if output is not None and Path(output).suffix.lower() not in (".json", ".jsonl"):
        raise UsageError(f"{output}: suites are written as .json or .jsonl")
    source = SuiteChoice(suite_path, read_as.format, read_as.topics, read_as.grades)
    if adversarial:
        if chosen != VariantChoice():
            raise UsageError("--adversarial changes no query; leave out --kind and what else is about variants")
        told = tuple(Path(each).absolute() for each in (suite_path, read_as.topics, output) if each is not None)
        _find_traps(source, replace(corpus, never=told), output)
        return
    if corpus.corpus is not None:
        raise UsageError("variants are made of queries alone; --corpus belongs to --adversarial")
    if output is None:
        raise UsageError("nothing says where to write; add -o perturbed.jsonl")
    _write_variants(source, corpus, chosen, output)


def _write_variants(source: SuiteChoice, corpus: CorpusChoice, chosen: VariantChoice, output: str) -> None:
    from searchmark.perturbing.kinds import WordFiles, choose_kinds
    from searchmark.perturbing.perturb import perturb
    from searchmark.perturbing.summary import perturbed_lines

    kinds = choose_kinds(chosen.kinds, WordFiles(_path(chosen.synonyms), _path(chosen.glossary)), chosen.language)
    suite, _ = _loaded(source, corpus, output)
    found = perturb(suite, kinds, per_case=chosen.per_case, seed=chosen.seed)
    show("\n".join(map(visible, perturbed_lines(found))) + "\n")
    for flag, count in kinds.passed_over.items():
        tell(f"lines of {flag} that name no words for each other, passed over: {count}")
    _save(found.suite, output, f"cases: {len(found.suite)}, of them variants: {len(found.suite) - found.originals}")
    _say_what_to_search(source)


def _find_traps(source: SuiteChoice, corpus: CorpusChoice, output: str | None) -> None:
    from searchmark.corpora.corpus import opened
    from searchmark.perturbing.summary import trap_lines
    from searchmark.perturbing.traps import lexical_traps

    suite, setup = _loaded(source, corpus, output)
    named = corpus.corpus or (None if setup.corpus is None else str(setup.corpus))
    if named is None and suite.table.documents is None:
        raise UsageError("--adversarial looks for documents that mislead; name them with --corpus")
    found = lexical_traps(suite, None if named is None else opened(replace(corpus, corpus=named)))
    show("\n".join(map(visible, trap_lines(found))) + "\n")
    if output is not None:
        _save(found.trapped(), output, f"cases: {len(found.traps)}")
        _say_what_to_search(source)


def _say_what_to_search(source: SuiteChoice) -> None:
    """A built-in suite knows what is searched, and a file that is made of it does not."""
    builtin = builtin_suite(source.path)
    if builtin is not None and builtin.corpus is not None:
        remark(f"to evaluate it, name its documents: --corpus {shlex.quote(str(builtin.corpus))}")
    elif builtin is not None and builtin.is_about_commits:
        remark(f'to evaluate it, name its repository: --repo "$(searchmark suites {builtin.name} --repository)"')


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def _loaded(source: SuiteChoice, corpus: CorpusChoice, output: str | None) -> tuple[Suite, SuiteSetup]:
    from searchmark.suites.native import NO_SETUP

    suite, setup = source.load(corpus.mapping)
    if output is not None and any(Path(output).exists() and Path(output).samefile(each) for each in suite.files):
        raise UsageError(f"{output} is the suite itself; write to another file")
    if setup != NO_SETUP and output is not None:
        tell("not in it: how the suite is tested (agent, corpus, gates)")
    return suite, setup


def _save(suite: Suite, output: str, counts: str) -> None:
    from searchmark.suites import save_suite

    save_suite(suite, output)
    remark(f"written: {output}, {counts}")
