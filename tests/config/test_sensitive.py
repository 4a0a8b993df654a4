"""Fields by which a config reaches beyond itself are known by their types, wherever they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from searchmark import Config
from searchmark.agents.rerank import RERANKERS
from searchmark.agents.vectors import EMBEDDERS, INDEXES
from searchmark.config.agents import BUILT_IN, AgentEntry, BuiltInSource
from searchmark.config.permissions import (
    Address,
    CommandLine,
    FilePath,
    KeyVariable,
    NestedSettings,
    OptionsMark,
    Sensitive,
    SensitiveValue,
    sensitive_nested_values,
    sensitive_values,
)
from searchmark.config.sections import RewriterSettings


@dataclass(frozen=True)
class Inner:
    url: Address = "http://default"
    key_variable: KeyVariable | None = None


KNOWN = OptionsMark(lambda choice: [NestedSettings(Inner, choice, "options")])
FREE = OptionsMark(lambda choice: [NestedSettings(None, choice)])


@dataclass(frozen=True)
class Outer:
    command: CommandLine | None = None
    files: tuple[FilePath, ...] = ()
    inner: Inner = field(default_factory=Inner)
    chosen: Annotated[str | dict[str, Any], KNOWN] = ""
    free: Annotated[dict[str, Any] | None, FREE] = None
    text: str = ""


def test_every_mark_is_found_with_its_field_and_whether_it_was_given() -> None:
    content = {
        "command": "rm -r",
        "files": ["a", "b"],
        "inner": {"key_variable": "K"},
        "chosen": {"url": "http://x"},
        "free": {"anything": 1},
        "text": "harmless",
    }
    assert list(sensitive_values(Outer, content)) == [
        SensitiveValue(Sensitive.COMMAND, "command", "rm -r", True),
        SensitiveValue(Sensitive.PATH, "files.0", "a", True),
        SensitiveValue(Sensitive.PATH, "files.1", "b", True),
        SensitiveValue(Sensitive.ADDRESS, "inner.url", "http://default", False),
        SensitiveValue(Sensitive.KEY_VARIABLE, "inner.key_variable", "K", True),
        SensitiveValue(Sensitive.ADDRESS, "chosen.options.url", "http://x", True),
        SensitiveValue(Sensitive.UNKNOWN, "free", {"anything": 1}, True),
    ]


def test_whatever_a_config_grants_an_agent_is_a_permission() -> None:
    (granted,) = AgentEntry.read({"name": "bm25", "env": ["TOKEN"], "source": "nothing:"})
    assert list(sensitive_nested_values(granted)) == [SensitiveValue(Sensitive.PERMISSION, "env", {"env": ["TOKEN"]}, True)]


def unmarked_texts(record: type) -> Iterator[str]:
    hints = get_type_hints(record, include_extras=True)
    return (each.name for each in fields(record) if is_dataclass(record) and _holds_text(hints[each.name]))


def _holds_text(hint: Any) -> bool:
    """Whether a type is text that no mark says anything about."""
    if get_origin(hint) is Annotated:
        marked = any(isinstance(mark, Sensitive | OptionsMark) for mark in get_args(hint)[1:])
        return not marked and _holds_text(get_args(hint)[0])
    inside = get_origin(hint) in (Union, UnionType, tuple, list)
    return hint is str or (inside and any(map(_holds_text, get_args(hint))))


HARMLESS = {
    "Bm25Settings": {"fields"},
    "PgvectorSettings": {"schema"},
    "Fts5Settings": {"fields"},
    "SemanticSettings": {"chunking", "fields"},
    "VectorTableSettings": {"table", "id_column", "vector_column"},
    "DatasetSettings": {"revisions", "since", "until", "paths", "without_rules", "exclude_patterns"},
    "RewriterSettings": {"model", "prompt"},
    "OutputSettings": {"formats", "file_name"},
    "Versions": {"dataset_version", "model_version", "index_params", "chunking_config", "query_set_version"},
    "CompareSettings": {"baseline", "primary"},
    "CorpusSettings": {"include", "exclude"},
    "SuiteSettings": {"format", "measures", "agent"},  # an agent that the config lists, and nothing else
    "GateSettings": {"preset", "known_failures"},
    "WordllamaSettings": {"query_prefix", "document_prefix"},
    "MinilmSettings": {"query_prefix", "document_prefix"},
    "OnnxSettings": {"query_prefix", "document_prefix", "file"},  # a file that is not inside of the model's folder is refused
    "TransformerSettings": {"query_prefix", "document_prefix", "hub_revision"},
    "OpenAISettings": {"query_prefix", "document_prefix", "model", "revision"},
    "HashingSettings": {"query_prefix", "document_prefix"},
    "PrecomputedSettings": {"query_prefix", "document_prefix", "table", "id_column", "vector_column"},
    "ServedRerankerSettings": {"model"},
}


def test_a_text_in_a_config_is_marked_or_known_to_be_harmless() -> None:
    """Whoever adds a text decides here, or by its type, what it can reach."""
    sections = [hint for hint in get_type_hints(Config).values() if is_dataclass(hint)]
    agents = [BuiltInSource(name).load().Config for name in BUILT_IN]
    records = [
        *sections,
        RewriterSettings,
        *filter(None, agents),
        *(each.settings_class() for parts in (EMBEDDERS, INDEXES) for each in parts.parts.values()),
        *(part.settings_class() for part in RERANKERS.parts.values()),
    ]
    found = {record.__name__: set(unmarked_texts(record)) for record in records}
    assert {name: texts for name, texts in found.items() if texts} == HARMLESS
