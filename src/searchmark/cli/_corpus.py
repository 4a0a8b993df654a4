"""What a command knows about what was searched."""

from __future__ import annotations

from searchmark.corpora.corpus import FieldMapping, Survey, corpus_of, load_corpus
from searchmark.errors import UsageError
from searchmark.records import Suite


def survey_of(suite: Suite, path: str | None, mapping: tuple[str, ...]) -> Survey | None:
    """The corpus that was named, or what the suite brings along, or nothing."""
    fields = FieldMapping.parse(mapping)
    if path is not None:
        return load_corpus(path, fields).survey
    if mapping:
        raise UsageError("--map names the fields of a corpus; it needs --corpus")
    return None if suite.table.documents is None else corpus_of(suite).survey
