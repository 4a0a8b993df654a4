"""Requests and answers of known search engines: Elasticsearch, Solr, Qdrant and others.

A config then needs only an address and an index.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal
from urllib.parse import quote

from searchmark.agents.outside.options import HttpSettings
from searchmark.agents.outside.results import ResultFormat
from searchmark.agents.outside.templates import fill_template
from searchmark.errors import UsageError
from searchmark.io.plugins import find_plugin, installed_plugins
from searchmark.io.sqlite import sql_name

# Queries in which nothing is left for an engine to interpret: a query of a suite is text, whatever is in it.

_LUCENE = re.compile(r'[\\+\-!():^\[\]"{}~*?|&;/]')

_LUCENE_WORDS = re.compile(r"(?<!\S)(AND|OR|NOT)(?!\S)")

_GROONGA = re.compile(r'[\\"()+\-><~*:]')

_GROONGA_WORDS = re.compile(r"(?<!\S)OR(?!\S)")

_QUOTES_AND_MINUS = re.compile(r'"|(?<!\S)-+')


def escape_for_lucene(query: str) -> str:
    """With a backslash before every character and word that Lucene's syntax knows, as Solr's own client does it."""
    return _LUCENE_WORDS.sub(r"\\\1", _LUCENE.sub(r"\\\g<0>", query))


def escape_for_groonga(query: str) -> str:
    """With a backslash before every character and word that Groonga's query syntax knows."""
    return _GROONGA_WORDS.sub(r"\\OR", _GROONGA.sub(r"\\\g<0>", query))


def remove_operators(query: str) -> str:
    """For engines that know quotes and a minus before a word, and no way to escape them; to their tokenizers both are blanks."""
    rest = _QUOTES_AND_MINUS.sub(" ", query)
    if rest.strip() in ("", "*"):
        raise UsageError(f"the query {query!r} has no word to search for, and the engine would return all documents")
    return rest


def quote_for_graphql(query: str) -> str:
    """As a string of GraphQL, quotes included."""
    return json.dumps(query, ensure_ascii=False)


def quote_for_fts5(query: str) -> str:
    """Every word as a string of SQLite's full text; Datasette's own ``escape_fts`` makes quotes with nothing in them an error."""
    words = (word.replace('"', '""') for word in query.split())
    return " ".join(f'"{word}"' for word in words)


@dataclass(frozen=True)
class PresetLookup:
    """A value that one GET finds before the first search: ``{found}`` in the address is what ``path`` (a JMESPath) has there."""

    url: str
    path: str


@dataclass(frozen=True)
class Preset:
    """How an engine is asked and how it answers.

    The url, parameters, headers, body and form may hold the placeholders of every request; ``{escaped}`` is the query as ``escape``
    makes it, in which nothing is left for the engine to interpret.
    """

    url: str  # follows the address in the config
    method: Literal["GET", "POST"] = "POST"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    form: Mapping[str, Any] = field(default_factory=dict)
    results: ResultFormat = field(default_factory=ResultFormat)
    escape: Callable[[str], str] | None = None
    lookup: PresetLookup | None = None
    case_requests: bool = False  # cases of a suite may have requests of their own, as those of ``_rank_eval`` do


@dataclass(frozen=True)
class Engine:
    """A search engine: what its config must say, and what that makes of it. The texts are for the docs."""

    preset: Callable[[HttpSettings], Preset]
    requires: tuple[str, ...] = ("index",)
    searched_by: str = ""
    index: str = ""  # what it is
    fields: str = ""  # whether there may be any, and what they are like
    checked: str = "documented requests and answers"  # what the tests compare with


PRESETS: dict[str, Engine] = {}  # in the order in which they are defined below

PresetFunction = Callable[[HttpSettings], Preset]


def engine(*names: str, **facts: Any) -> Callable[[PresetFunction], PresetFunction]:
    """The function below makes the preset of these engines, of which the facts of `Engine` are true."""

    def register(preset: PresetFunction) -> PresetFunction:
        PRESETS.update(dict.fromkeys(names, Engine(preset, **facts)))
        return preset

    return register


# Searched fields as people write them, ``title^3``, in the spellings of engines.

_FIELD = re.compile(r"(?P<name>[^^\s]+)(?:\^(?P<weight>\d+(?:\.\d+)?))?")


@dataclass(frozen=True)
class SearchedField:
    """A field and its weight, which is text as it was written; None if it has none."""

    name: str
    weight: str | None = None


def parse_searched_fields(texts: Sequence[str]) -> list[SearchedField]:
    """Read ``title^3``."""
    return [_parse_searched_field(text) for text in texts]


def _parse_searched_field(text: str) -> SearchedField:
    match = _FIELD.fullmatch(text)
    if match is None:
        raise UsageError(f"the field {text!r} cannot be read; write a name, or a name with its weight: title^3")
    return SearchedField(match["name"], match["weight"])


def field_names_without_weights(texts: Sequence[str], engine: str) -> list[str]:
    """Names of fields for an engine that takes no weights with a search."""
    for each in parse_searched_fields(texts):
        if each.weight is not None:
            raise UsageError(f"{engine} takes no weights with a search: write {each.name!r} without ^{each.weight}")
    return list(texts)


# Engines of full text: Elasticsearch, OpenSearch, Solr, Meilisearch, Typesense.


@engine(
    "elasticsearch",
    "opensearch",
    searched_by="`multi_match`",
    index="indexes, also `a,b` and `logs-*`",
    fields="optional, with weights",
)
def elasticsearch(config: HttpSettings) -> Preset:
    """``multi_match``, which takes any text; without fields it searches those that the index names for that, usually all."""
    parse_searched_fields(config.fields)
    fields = {"fields": list(config.fields)} if config.fields else {}
    return Preset(
        url="/{index}/_search",
        body={"query": {"multi_match": {"query": "{query}", **fields}}, "size": "{k}", "_source": False},
        results=ResultFormat(hits="hits.hits", id="_id", score="_score", error=_INCOMPLETE),
        case_requests=True,
    )


# An answer without the hits of some shards looks like a worse ranking.
_INCOMPLETE = (
    "error.reason || timed_out && 'the search timed out and its answer is incomplete' "
    "|| _shards.failed > `0` && _shards.failures[0].reason.reason || _shards.failed > `0` && 'shards failed'"
)


@engine("solr", searched_by="edismax", index="a core or collection", fields="optional, with weights")
def solr(config: HttpSettings) -> Preset:
    """edismax, with a query in which nothing is left to interpret."""
    parse_searched_fields(config.fields)
    query_fields = {"qf": " ".join(config.fields)} if config.fields else {}
    return Preset(
        url="/solr/{index}/select",
        method="GET",
        parameters={"q": "{escaped}", "defType": "edismax", **query_fields, "fl": "id,score", "rows": "{k}", "wt": "json"},
        results=ResultFormat(hits="response.docs", id="id", score="score", error=_PARTIAL),
        escape=escape_for_lucene,
    )


_PARTIAL = "error.msg || (responseHeader.partialResults && 'Solr says that its results are partial')"


@engine("meilisearch", searched_by="its search", index="an index", fields="optional, without weights")
def meilisearch(config: HttpSettings) -> Preset:
    """The search of an index. Weights are settings of the index."""
    fields = field_names_without_weights(config.fields, "Meilisearch")
    body: dict[str, Any] = {"q": "{escaped}", "limit": "{k}", "showRankingScore": True}
    return Preset(
        url="/indexes/{index}/search",
        body=body | ({"attributesToSearchOn": fields} if fields else {}),
        results=ResultFormat(hits="hits", id="id", score="_rankingScore", error="message"),
        escape=remove_operators,
    )


@engine("typesense", requires=("index", "fields"), searched_by="its search", index="a collection", fields="required, with weights")
def typesense(config: HttpSettings) -> Preset:
    """The search of a collection; weights are sent where any field has one."""
    fields = parse_searched_fields(config.fields)
    weighted = any(each.weight is not None for each in fields)
    weights = {"query_by_weights": ",".join(each.weight or "1" for each in fields)} if weighted else {}
    query_by = {"query_by": ",".join(each.name for each in fields), **weights}
    return Preset(
        url="/collections/{index}/documents/search",
        method="GET",
        parameters={"q": "{escaped}", **query_by, "per_page": "{k}", "include_fields": "id"},
        results=ResultFormat(hits="hits", id="document.id", score="text_match", error=_CUT_OFF),
        escape=remove_operators,
    )


_CUT_OFF = "message || search_cutoff && 'the search was cut off before its end'"


# Vector databases: Qdrant, Weaviate, Chroma. The embedder of the config makes the vector of a query.


@engine("qdrant", requires=("index", "embedder"), searched_by="the nearest vectors", index="a collection", fields="–")
def qdrant(config: HttpSettings) -> Preset:
    """The nearest points; their payload only where an id is taken from it. A score is a distance in some collections."""
    id_path = config.results.id or ""
    return Preset(
        url="/collections/{index}/points/query",
        body={"query": "{vector}", "limit": "{k}", "with_payload": "payload" in id_path},
        results=ResultFormat(hits="result.points", id="id", score="score", distance="score", error="status.error"),
    )


@engine(
    "weaviate",
    searched_by="the nearest vectors with an `embedder`, else BM25",
    index="a collection",
    fields="optional for BM25, with weights",
)
def weaviate(config: HttpSettings) -> Preset:
    """The nearest objects with an embedder, else those that BM25 finds."""
    parse_searched_fields(config.fields)
    if not (config.index or "").isidentifier():
        raise UsageError(f"{config.index!r} cannot be the name of a collection of Weaviate, which has letters, digits and _")
    id_path = config.results.id or ""
    property_ = f"{id_path} " if id_path.isidentifier() else ""
    if config.embedder is not None:
        search, rating = "nearVector: {vector: {vector}}", "distance"
        results = ResultFormat(hits=f"data.Get.{config.index}", id="_additional.id", distance="_additional.distance", error=_ERRORS)
    else:
        fields = ", ".join(quote_for_graphql(name) for name in config.fields)
        search, rating = "bm25: {query: {escaped}" + (f", properties: [{fields}]" if fields else "") + "}", "score"
        score = "to_number(_additional.score)"
        results = ResultFormat(hits=f"data.Get.{config.index}", id="_additional.id", score=score, error=_ERRORS)
    selection = f"{property_}_additional {{ id {rating} }}"
    query = f"{{ Get {{ {config.index}(limit: {{k}}, {search}) {{ {selection} }} }} }}"
    return Preset(url="/v1/graphql", body={"query": query}, results=results, escape=quote_for_graphql)


_ERRORS = "errors[0].message"


@engine(
    "chroma",
    requires=("index", "embedder"),
    searched_by="the nearest vectors",
    index="a collection, by name or id",
    fields="–",
    checked="the real server, 1.5",
)
def chroma(config: HttpSettings) -> Preset:
    """The nearest records of a collection in the default tenant and database; its id is asked for by its name, once."""
    is_id = _UUID.fullmatch(config.index or "") is not None
    return Preset(
        url=f"{_COLLECTIONS}/{{{'index' if is_id else 'found'}}}/query",
        body={"query_embeddings": ["{vector}"], "n_results": "{k}", "include": ["distances"]},
        results=ResultFormat(hits="[ids[0], distances[0]]", columns=True, id="[0]", distance="[1]", error="message"),
        lookup=None if is_id else PresetLookup(f"{_COLLECTIONS}/{{index}}", "id"),
    )


_UUID = re.compile(r"(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"


# Databases with full text: Groonga, and Datasette over SQLite.


@engine(
    "groonga",
    requires=("index", "fields"),
    searched_by="`select`",
    index="a table",
    fields="required, with weights",
    checked="the real server, 13.0",
)
def groonga(config: HttpSettings) -> Preset:
    """``select``, best first; an answer is ``[[status, start, elapsed, message], [[[count], columns, row, ...]]]``."""
    columns = "||".join(
        each.name if each.weight is None else f"{each.name}*{each.weight}" for each in parse_searched_fields(config.fields)
    )
    return Preset(
        url="/d/select",
        method="GET",
        parameters={
            "table": config.index,
            "match_columns": columns,
            "query": "{escaped}",
            "output_columns": _GROONGA_COLUMNS,
            "sort_keys": "-_score,_id",
            "limit": "{k}",
        },
        results=ResultFormat(hits="[1][0][2:]", header="[1][0][1][*][0]", id=_first_column(config), score="_score", error="[0][3]"),
        escape=escape_for_groonga,
    )


_GROONGA_COLUMNS = "_key,_score"


def _first_column(config: HttpSettings) -> str:
    """What ids are in, by name: Groonga leaves out a column that a table does not have, and says nothing of it."""
    first = str(config.parameters.get("output_columns", _GROONGA_COLUMNS)).partition(",")[0].strip()
    return json.dumps(first if re.fullmatch(r"[\w.]+", first) else "_key")


@engine(
    "datasette",
    searched_by="an FTS5 table, by rank",
    index="`DATABASE/TABLE`",
    fields="optional, without weights",
    checked="the real server, 0.65",
)
def datasette(config: HttpSettings) -> Preset:
    """A query in SQL over an FTS5 table, best first: rows that ``_search`` finds are in the order of their keys."""
    database, _, table = (config.index or "").partition("/")
    if not database or not table:
        raise UsageError(f"the index of the preset datasette is DATABASE/TABLE, with an FTS5 table, and not {config.index!r}")
    columns = field_names_without_weights(config.fields, "Datasette")
    return Preset(
        url=f"/{_datasette_path_name(database)}.json",
        method="GET",
        parameters={"sql": _fts5_query(table, columns), "query": "{escaped}", "k": "{k}", "_shape": "objects"},
        results=ResultFormat(hits="rows", id="path || id || rowid", score="score", error=_DATASETTE_ERROR),
        escape=quote_for_fts5,
    )


_DATASETTE_ERROR = "error || (truncated && 'Datasette returns no more rows than its setting max_returned_rows')"


def _fts5_query(table: str, columns: list[str]) -> str:
    name = sql_name(table)
    match = ":query"
    if columns:
        conditions = " ".join(sql_name(column) for column in columns).replace("'", "''")
        match = f"'{{{conditions}}} : (' || :query || ')'"
    return f"select rowid, *, -rank as score from {name} where {name} match {match} order by rank limit :k"  # noqa: S608  # names are quoted, and come from the user's own config


def _datasette_path_name(name: str) -> str:
    """As Datasette spells names in paths: with a tilde where others have a percent sign."""
    return "".join(chr(byte) if chr(byte) in _UNSPELLED else f"~{byte:02X}" for byte in name.encode())


_UNSPELLED = frozenset(f"{string.ascii_letters}{string.digits}_-")


# From a config to the options of its requests.


def preset_of(config: HttpSettings) -> Preset | None:
    """What is known of the engine that a config names; None if it names none. Its addresses are whole ones."""
    if config.preset is None:
        return None
    known = _engine_named(config.preset)
    missing = [name for name in ("url", *known.requires) if not getattr(config, name)]
    if missing:
        raise UsageError(f"the preset {config.preset} needs {' and '.join(missing)} in the config")
    preset = known.preset(config)
    lookup = preset.lookup and replace(preset.lookup, url=_address(config, preset.lookup.url))
    return replace(preset, url=_address(config, preset.url), lookup=lookup)


def _engine_named(name: str) -> Engine:
    """One of ours, or else that of a plug-in."""
    if name in PRESETS:
        return PRESETS[name]
    plugin = find_plugin("presets", name)
    if plugin is None:
        names = dict.fromkeys((*PRESETS, *(each.name for each in installed_plugins("presets"))))
        raise UsageError(f"{name!r} is not a preset; there are {', '.join(names)}")
    found: Engine = plugin.load_checked()
    return found


def preset_options(config: HttpSettings) -> HttpSettings:
    """The options with what their preset adds; what the config says itself goes before it."""
    preset = preset_of(config)
    if preset is None:
        return config
    own_content = config.body is not None or bool(config.form)
    return replace(
        config,
        url=preset.url,
        method=config.method or preset.method,
        parameters={**preset.parameters, **config.parameters},
        headers={**preset.headers, **config.headers},
        body=config.body if own_content else preset.body,
        results=_merge_results(config.results, preset.results),
    )


def _address(config: HttpSettings, path: str) -> str:
    """Commas and stars stay: engines read lists and patterns of indexes there."""
    index = quote(config.index or "", safe=",*")
    return f"{(config.url or '').rstrip('/')}{fill_template(path, {'index': index})}"


def _merge_results(own: ResultFormat, preset: ResultFormat) -> ResultFormat:
    """Field by field; hits in another list or format are read by nothing of the preset."""
    if own.hits is not None or own.format is not None or own.pattern is not None:
        return own
    ratings: dict[str, Any] = {"score": None, "distance": None} if own.score is not None or own.distance is not None else {}
    own_values = {each.name: value for each in fields(own) if (value := getattr(own, each.name)) not in (None, False)}
    return replace(preset, **(ratings | own_values))
