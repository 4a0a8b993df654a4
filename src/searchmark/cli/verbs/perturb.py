"""The verb `searchmark perturb`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
from annotated_types import Interval

from searchmark.cli.groups import SUITE_FORMAT, SuiteFileSettings
from searchmark.cli.options import OUTPUT, WHAT_TO_SEARCH, Flag, OptionGroup, Positional, verb
from searchmark.cli.output import remark, show, tell
from searchmark.config.builtin import builtin_suite_at
from searchmark.config.inputs import GRADES_HELP, CorpusInputSettings
from searchmark.config.option import Option
from searchmark.errors import UsageError
from searchmark.git.builtin import REPOSITORIES
from searchmark.judgments.perturb import LANGUAGES, VARIANT_KINDS
from searchmark.reports.quoting import visible

if TYPE_CHECKING:
    from searchmark.formats.suites.native import SuiteSetup
    from searchmark.records.suite import Suite


SUITE_READ = "How the suite is read"

VARIANTS = "Variants"


@dataclass(frozen=True)
class PerturbedSuite:
    """How the suite is read."""

    format: Annotated[str | None, SUITE_FORMAT] = None
    topics: Annotated[str | None, Option("Query texts for TREC qrels or labels.", metavar="FILE")] = None
    grades: Annotated[str | None, Option(GRADES_HELP, metavar="WORD=NUMBER,...")] = None


@dataclass(frozen=True)
class VariantSettings:
    """Which variants are made."""

    kinds: Annotated[
        tuple[str, ...],
        Option(
            "Kind of variants, repeatable; those that need a file need it.",
            ("--kind",),
            default="all",
            choices=tuple(VARIANT_KINDS),
        ),
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


@dataclass(frozen=True)
class PerturbCommand:
    """The arguments and options of ``perturb``."""

    suite_path: Annotated[str, Positional("SUITE")]
    read_as: Annotated[PerturbedSuite, OptionGroup(SUITE_READ)]
    chosen: Annotated[VariantSettings, OptionGroup(VARIANTS)]
    adversarial: Annotated[
        bool,
        Flag(
            None,
            "--adversarial",
            is_flag=True,
            help="Find the cases in which words point to the wrong document, instead of variants.",
        ),
    ]
    corpus: Annotated[CorpusInputSettings, OptionGroup(WHAT_TO_SEARCH)]
    output: Annotated[str | None, Flag(OUTPUT, "-o", "--output", metavar="FILE", help="Suite to write (.jsonl or .json).")]


@verb(
    "perturb",
    PerturbCommand,
    cls=click.Command,
    short_help="Write a suite with variants of its queries, or find where words mislead.",
)
def command(settings: PerturbCommand) -> None:
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
    if settings.output is not None and Path(settings.output).suffix.lower() not in (".json", ".jsonl"):
        raise UsageError(f"{settings.output}: suites are written as .json or .jsonl")
    source = SuiteFileSettings(settings.suite_path, settings.read_as.format, settings.read_as.topics, settings.read_as.grades)
    if settings.adversarial:
        if settings.chosen != VariantSettings():
            raise UsageError("--adversarial changes no query; leave out --kind and what else is about variants")
        never = tuple(
            Path(each).absolute() for each in (settings.suite_path, settings.read_as.topics, settings.output) if each is not None
        )
        _find_traps(source, replace(settings.corpus, never=never), settings.output)
        return
    if settings.corpus.corpus is not None:
        raise UsageError("variants are made of queries alone; --corpus belongs to --adversarial")
    if settings.output is None:
        raise UsageError("nothing says where to write; add -o perturbed.jsonl")
    _write_variants(source, settings.corpus, settings.chosen, settings.output)


def _write_variants(source: SuiteFileSettings, corpus: CorpusInputSettings, settings: VariantSettings, output: str) -> None:
    from searchmark.judgments.perturb import WordFiles, choose_kinds, perturb, variant_lines

    kinds = choose_kinds(settings.kinds, WordFiles(_path(settings.synonyms), _path(settings.glossary)), settings.language)
    suite, _ = _load_suite(source, corpus, output)
    variants = perturb(suite, kinds, per_case=settings.per_case, seed=settings.seed)
    show("\n".join(map(visible, variant_lines(variants))) + "\n")
    for flag, count in kinds.skipped_lines.items():
        tell(f"lines of {flag} that name no words for each other, passed over: {count}")
    _save(variants.suite, output, f"cases: {len(variants.suite)}, of them variants: {len(variants.suite) - variants.originals}")
    _say_what_to_search(source)


def _find_traps(source: SuiteFileSettings, corpus: CorpusInputSettings, output: str | None) -> None:
    from searchmark.formats.corpora.corpus import open_corpus
    from searchmark.judgments.perturb import lexical_traps, trap_lines

    suite, setup = _load_suite(source, corpus, output)
    corpus_path = corpus.corpus or (None if setup.corpus is None else str(setup.corpus))
    if corpus_path is None and suite.table.documents is None:
        raise UsageError("--adversarial looks for documents that mislead; name them with --corpus")
    traps = lexical_traps(suite, None if corpus_path is None else open_corpus(replace(corpus, corpus=corpus_path)))
    show("\n".join(map(visible, trap_lines(traps))) + "\n")
    if output is not None:
        _save(traps.trapped(), output, f"cases: {len(traps.traps)}")
        _say_what_to_search(source)


def _say_what_to_search(source: SuiteFileSettings) -> None:
    """A built-in suite knows what is searched, and a file that is made of it does not."""
    builtin = builtin_suite_at(source.path)
    if builtin is not None and builtin.corpus is not None:
        remark(f"to evaluate it, name its documents: --corpus {shlex.quote(str(builtin.corpus))}")
    elif builtin is not None and builtin.name in REPOSITORIES:
        remark(f'to evaluate it, name its repository: --repo "$(searchmark suites {builtin.name} --repository)"')


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def _load_suite(source: SuiteFileSettings, corpus: CorpusInputSettings, output: str | None) -> tuple[Suite, SuiteSetup]:
    from searchmark.formats.suites.native import NO_SETUP

    suite, setup = source.load(corpus.mapping)
    if output is not None and any(Path(output).exists() and Path(output).samefile(each) for each in suite.files):
        raise UsageError(f"{output} is the suite itself; write to another file")
    if setup != NO_SETUP and output is not None:
        tell("not in it: how the suite is tested (agent, corpus, gates)")
    return suite, setup


def _save(suite: Suite, output: str, counts: str) -> None:
    from searchmark.formats.suites import save_suite

    save_suite(suite, output)
    remark(f"written: {output}, {counts}")
