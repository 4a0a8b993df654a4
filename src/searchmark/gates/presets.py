"""Gates that come with Searchmark, each with its exact measures."""

from __future__ import annotations

from searchmark.errors import UsageError
from searchmark.options.gate_options import GateOptions, GateRule

PRESETS: dict[str, GateOptions] = {
    "search-relevance": GateOptions(
        rules=(
            GateRule(measure="Relevance", at_least=0.85),
            GateRule(measure="RR@5", at_least=0.80),
            GateRule(measure="P@5", at_least=0.85),
        )
    ),
    "fts5-vector-reranker": GateOptions(
        rules=(
            GateRule(measure="P@5", above=0.60),
            GateRule(measure="P@10", above=0.50),
            GateRule(measure="RR@10", above=0.5),
            GateRule(measure="Success@5", above=0.80),
        )
    ),
    "semantic-fixtures": GateOptions(
        rules=(
            GateRule(own_k="ndcg", at_least=0.90),
            GateRule(own_k="mrr", at_least=0.95),
            GateRule(own_k="precision", at_least=0.65),
        )
    ),
    "fashion-vectors": GateOptions(
        rules=(
            GateRule(measure="nDCG(gain=exp)@10", at_least=0.85),
            GateRule(ann_recall=10, at_least=0.95),
            GateRule(latency="index_only.p95", at_most=250, warn_above=150),
        )
    ),
}


def preset_named(name: str) -> GateOptions:
    """The preset of this name."""
    if name not in PRESETS:
        raise UsageError(f"there is no preset {name!r} of gates; there are: {', '.join(PRESETS)}")
    return PRESETS[name]
