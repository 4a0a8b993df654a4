"""What a command knows about what was searched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from searchmark.corpora.case_locations import Where
from searchmark.corpora.corpus import Corpus, FieldMapping, Survey, corpus_of, load_corpus
from searchmark.errors import UsageError
from searchmark.options.field_names import FieldNames
from searchmark.options.report_options import ReportOptions
from searchmark.records import Run, Suite

if TYPE_CHECKING:
    from searchmark.gates.rules import Rule
    from searchmark.reports.hit_texts import HitTexts


def survey_of(suite: Suite, path: str | None, mapping: tuple[str, ...]) -> Survey | None:
    """The corpus that was named, or what the suite brings along, or nothing."""
    corpus = corpus_named(suite, path, mapping)
    return None if corpus is None else corpus.survey


def corpus_named(suite: Suite, path: str | None, mapping: tuple[str, ...]) -> Corpus | None:
    """The same, to be read."""
    fields = FieldMapping.parse(mapping)
    if path is not None:
        return load_corpus(path, fields)
    if FieldNames.parse(mapping).corpus:
        raise UsageError("--map names the fields of a corpus; it needs --corpus")
    return None if suite.table.documents is None else corpus_of(suite)


def with_fields_of_targets(
    suite: Suite, splits: Iterable[str], rules: Iterable[Rule], path: str | None, mapping: tuple[str, ...]
) -> Suite:
    """The suite with the fields of targets that ``--by`` and rules of a gate ask for; nothing is read where they ask for none."""
    from searchmark.corpora.target_fields import fields_of_targets, with_target_fields
    from searchmark.gates.bounds import NumberRule
    from searchmark.gates.relative import RelativeRule

    segments = [rule.segment.by for rule in rules if isinstance(rule, NumberRule | RelativeRule)]
    names = [*splits, *filter(None, segments)]
    if not fields_of_targets(names):
        return suite
    return with_target_fields(suite, names, None if path is None else load_corpus(path, FieldMapping.parse(mapping)))


def texts_of_hits(detail: ReportOptions, suite: Suite, where: Where, runs: Sequence[Run]) -> HitTexts | None:
    """What reads the texts of hits; None unless they were asked for."""
    if not detail.hit_texts:
        return None
    from searchmark.reports.hit_texts import hit_texts

    return hit_texts(suite, where, runs, detail.limit)
