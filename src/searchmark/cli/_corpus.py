"""What a command knows about what was searched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from searchmark.cli._options import WHAT_TO_SEARCH, Command, Given, config_options
from searchmark.config import Config
from searchmark.corpora.case_locations import Where
from searchmark.corpora.corpus import Corpus, Survey, corpus_of, opened
from searchmark.corpora.downloads import downloaded, is_address
from searchmark.errors import UsageError
from searchmark.options.corpus_choice import CorpusChoice, FileChoice
from searchmark.options.field_names import FieldNames
from searchmark.options.report_options import ReportOptions
from searchmark.records import Run, Suite

if TYPE_CHECKING:
    from searchmark.gates.rules import Rule
    from searchmark.reports.hit_texts import HitTexts
    from searchmark.suites.native import SuiteSetup

ChoiceT = TypeVar("ChoiceT", bound=CorpusChoice)


def corpus_options(command: Command) -> Command:
    """``--include``, ``--exclude``, ``--kinds`` and ``--no-ignore``: the command gets what is `Given` of the section ``corpus``."""
    return config_options(FileChoice, "chosen_files", WHAT_TO_SEARCH, "corpus")(command)


def chosen(choice: ChoiceT, files: Given[FileChoice], config: Config, never: Iterable[Path]) -> ChoiceT:
    """What is searched, as command line and config say it; ``never`` and the config itself are no documents."""
    not_searched = tuple(path.absolute() for path in (*never, *config.own_files))
    return replace(choice, files=files.over(config.corpus.files), never=not_searched)


def with_corpus_of(setup: SuiteSetup, config: Config, choice: ChoiceT, *, network: bool | None = None) -> ChoiceT:
    """The choice with the corpus of the config or else of the suite's header, where the command line names none.

    One that is an address is downloaded now, if there may be ``network``: unless that is said, the config decides. It stays an
    address, so that another machine can do the same.
    """
    named = choice.corpus or config.corpus.path or (None if setup.corpus is None else str(setup.corpus))
    if named is not None and is_address(named):
        downloaded(named, network=config.evaluation.network if network is None else network)
    return replace(choice, corpus=named)


def survey_of(suite: Suite, choice: CorpusChoice) -> Survey | None:
    """The corpus that was named, or what the suite brings along, or nothing."""
    corpus = corpus_named(suite, choice)
    return None if corpus is None else corpus.survey


def corpus_named(suite: Suite, choice: CorpusChoice) -> Corpus | None:
    """The same, to be read."""
    if choice.corpus is not None:
        return opened(choice)
    if FieldNames.parse(choice.mapping).corpus:
        raise UsageError("--map names the fields of a corpus; it needs --corpus")
    return None if suite.table.documents is None else corpus_of(suite)


def with_fields_of_targets(suite: Suite, splits: Iterable[str], rules: Iterable[Rule], choice: CorpusChoice) -> Suite:
    """The suite with the fields of targets that ``--by`` and rules of a gate ask for; nothing is read where they ask for none."""
    from searchmark.corpora.target_fields import fields_of_targets, with_target_fields
    from searchmark.gates.bounds import NumberRule
    from searchmark.gates.relative import RelativeRule

    segments = [rule.segment.by for rule in rules if isinstance(rule, NumberRule | RelativeRule)]
    names = [*splits, *filter(None, segments)]
    if not fields_of_targets(names):
        return suite
    return with_target_fields(suite, names, None if choice.corpus is None else opened(choice))


def texts_of_hits(detail: ReportOptions, suite: Suite, where: Where, runs: Sequence[Run]) -> HitTexts | None:
    """What reads the texts of hits; None unless they were asked for."""
    if not detail.hit_texts:
        return None
    from searchmark.reports.hit_texts import hit_texts

    return hit_texts(suite, where, runs, detail.limit)
