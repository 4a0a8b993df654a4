"""What a command knows about what was searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from searchmark.corpora.case_locations import Where
from searchmark.corpora.corpus import FieldMapping, Survey, corpus_of, load_corpus
from searchmark.errors import UsageError
from searchmark.options.report_options import ReportOptions
from searchmark.records import Run, Suite

if TYPE_CHECKING:
    from searchmark.reports.hit_texts import HitTexts


def survey_of(suite: Suite, path: str | None, mapping: tuple[str, ...]) -> Survey | None:
    """The corpus that was named, or what the suite brings along, or nothing."""
    fields = FieldMapping.parse(mapping)
    if path is not None:
        return load_corpus(path, fields).survey
    if mapping:
        raise UsageError("--map names the fields of a corpus; it needs --corpus")
    return None if suite.table.documents is None else corpus_of(suite).survey


def texts_of_hits(detail: ReportOptions, suite: Suite, where: Where, runs: Sequence[Run]) -> HitTexts | None:
    """What reads the texts of hits; None unless they were asked for."""
    if not detail.hit_texts:
        return None
    from searchmark.reports.hit_texts import hit_texts

    return hit_texts(suite, where, runs, detail.limit)
