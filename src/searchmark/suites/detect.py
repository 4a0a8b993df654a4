"""The formats of suites, and which one a file has. Light: the command line lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from searchmark.suites.source import Source

# Format and where its reader is.
FORMATS = {
    "native": ("native", "read_native"),
    "qrels": ("trec", "read_qrels"),
    "table": ("table", "read_table"),
    "diversity-qrels": ("trec", "read_diversity_qrels"),
    "gold-set": ("gold_set", "read_gold_set"),
    "case-list": ("case_list", "read_case_list"),
    "labels": ("labels", "read_labels"),
    "symbols": ("symbols", "read_symbols"),
    "fixtures": ("fixtures", "read_fixtures"),
    "beir": ("beir", "read_beir"),
    "mteb": ("mteb", "read_mteb"),
    "quepid": ("quepid", "read_quepid"),
    "opensearch": ("opensearch", "read_opensearch"),
    "rank-eval": ("rank_eval", "read_rank_eval"),
    "rre": ("rre", "read_rre"),
    "ltr": ("letor", "read_letor"),
    "swe-bench": ("swe_bench", "read_swe_bench"),
}


def detect(source: Source) -> str:
    """The name of the format; a table where somebody says what its columns are."""
    from searchmark.suites.recognition import recognised_format

    return recognised_format(source)
