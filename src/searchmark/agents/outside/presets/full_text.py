"""Engines of full text: Elasticsearch, OpenSearch, Solr, Meilisearch, Typesense."""

from __future__ import annotations

from typing import Any

from searchmark.agents.outside.options import HttpConfig
from searchmark.agents.outside.presets.escaping import escaped_for_lucene, without_operators
from searchmark.agents.outside.presets.preset import Preset
from searchmark.agents.outside.presets.weights import searched_fields, without_weights
from searchmark.agents.outside.result_format import ResultFormat


def elasticsearch(config: HttpConfig) -> Preset:
    """``multi_match``, which takes any text; without fields it searches those that the index names for that, usually all."""
    searched_fields(config.fields)
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


def solr(config: HttpConfig) -> Preset:
    """edismax, with a query in which nothing is left to interpret."""
    searched_fields(config.fields)
    weighted = {"qf": " ".join(config.fields)} if config.fields else {}
    return Preset(
        url="/solr/{index}/select",
        method="GET",
        parameters={"q": "{escaped}", "defType": "edismax", **weighted, "fl": "id,score", "rows": "{k}", "wt": "json"},
        results=ResultFormat(hits="response.docs", id="id", score="score", error=_PARTIAL),
        escape=escaped_for_lucene,
    )


_PARTIAL = "error.msg || (responseHeader.partialResults && 'Solr says that its results are partial')"


def meilisearch(config: HttpConfig) -> Preset:
    """The search of an index. Weights are settings of the index."""
    fields = without_weights(config.fields, "Meilisearch")
    body: dict[str, Any] = {"q": "{escaped}", "limit": "{k}", "showRankingScore": True}
    return Preset(
        url="/indexes/{index}/search",
        body=body | ({"attributesToSearchOn": fields} if fields else {}),
        results=ResultFormat(hits="hits", id="id", score="_rankingScore", error="message"),
        escape=without_operators,
    )


def typesense(config: HttpConfig) -> Preset:
    """The search of a collection; weights are sent where any field has one."""
    fields = searched_fields(config.fields)
    weighted = any(each.weight is not None for each in fields)
    weights = {"query_by_weights": ",".join(each.weight or "1" for each in fields)} if weighted else {}
    query_by = {"query_by": ",".join(each.name for each in fields), **weights}
    return Preset(
        url="/collections/{index}/documents/search",
        method="GET",
        parameters={"q": "{escaped}", **query_by, "per_page": "{k}", "include_fields": "id"},
        results=ResultFormat(hits="hits", id="document.id", score="text_match", error=_CUT_OFF),
        escape=without_operators,
    )


_CUT_OFF = "message || search_cutoff && 'the search was cut off before its end'"
