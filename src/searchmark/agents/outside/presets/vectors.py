"""Vector databases: Qdrant, Weaviate, Chroma. The embedder of the config makes the vector of a query."""

from __future__ import annotations

import re

from searchmark.agents.outside.options import HttpConfig
from searchmark.agents.outside.presets.escaping import quoted_for_graphql
from searchmark.agents.outside.presets.preset import Lookup, Preset
from searchmark.agents.outside.presets.weights import searched_fields
from searchmark.agents.outside.result_format import ResultFormat
from searchmark.errors import UsageError


def qdrant(config: HttpConfig) -> Preset:
    """The nearest points; their payload only where an id is taken from it. A score is a distance in some collections."""
    named = config.results.id or ""
    return Preset(
        url="/collections/{index}/points/query",
        body={"query": "{vector}", "limit": "{k}", "with_payload": "payload" in named},
        results=ResultFormat(hits="result.points", id="id", score="score", distance="score", error="status.error"),
    )


def weaviate(config: HttpConfig) -> Preset:
    """The nearest objects with an embedder, else those that BM25 finds."""
    searched_fields(config.fields)
    if not (config.index or "").isidentifier():
        raise UsageError(f"{config.index!r} cannot be the name of a collection of Weaviate, which has letters, digits and _")
    named = config.results.id or ""
    property_ = f"{named} " if named.isidentifier() else ""
    if config.embedder is not None:
        search, rated = "nearVector: {vector: {vector}}", "distance"
        results = ResultFormat(hits=f"data.Get.{config.index}", id="_additional.id", distance="_additional.distance", error=_ERRORS)
    else:
        fields = ", ".join(quoted_for_graphql(name) for name in config.fields)
        search, rated = "bm25: {query: {escaped}" + (f", properties: [{fields}]" if fields else "") + "}", "score"
        score = "to_number(_additional.score)"
        results = ResultFormat(hits=f"data.Get.{config.index}", id="_additional.id", score=score, error=_ERRORS)
    selected = f"{property_}_additional {{ id {rated} }}"
    query = f"{{ Get {{ {config.index}(limit: {{k}}, {search}) {{ {selected} }} }} }}"
    return Preset(url="/v1/graphql", body={"query": query}, results=results, escape=quoted_for_graphql)


_ERRORS = "errors[0].message"


def chroma(config: HttpConfig) -> Preset:
    """The nearest records of a collection in the default tenant and database; its id is asked for by its name, once."""
    known = _UUID.fullmatch(config.index or "") is not None
    return Preset(
        url=f"{_COLLECTIONS}/{{{'index' if known else 'found'}}}/query",
        body={"query_embeddings": ["{vector}"], "n_results": "{k}", "include": ["distances"]},
        results=ResultFormat(hits="[ids[0], distances[0]]", columns=True, id="[0]", distance="[1]", error="message"),
        lookup=None if known else Lookup(f"{_COLLECTIONS}/{{index}}", "id"),
    )


_UUID = re.compile(r"(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"
