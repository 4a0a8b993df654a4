"""What vectors are like, how they score, and what an index finds of the true neighbours: tables that all renderers share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from searchmark.analysis.similarity import Spread
from searchmark.records import VectorStatistics
from searchmark.reports.agent_kinds import is_exact, scores_by_vectors
from searchmark.reports.cells import Cell, Count, Number, OutOf, Table, Text, table
from searchmark.reports.report import AgentSummary

Row = tuple[Cell, ...]

SCORES = {"top_1": "score of the first hit", "top_10": "mean score of the first ten hits"}
_ANN_COLUMNS = ("nearest vectors found", "recall", "overlap", "lowest recall", "below 1", "searches")
_STABILITY_COLUMNS = ("vectors and scores", "mean", "std", "of")


def ann_table(agent: AgentSummary) -> Table:
    """What the searches of a run found of the true nearest vectors, with ties counted fairly and without."""
    return table(_ANN_COLUMNS, _ann_rows(agent), secondary=("below 1", "lowest recall"))


def anns_table(agents: Mapping[str, AgentSummary]) -> Table:
    """The same of several runs."""
    rows = ((Text(name), *row) for name, agent in agents.items() for row in _ann_rows(agent))
    return table(("run", *_ANN_COLUMNS), rows, keys=2, secondary=("below 1", "lowest recall"))


def _ann_rows(agent: AgentSummary) -> Iterator[Row]:
    exact = " (exact index)" if is_exact(agent) else ""
    for found in agent.ann.values():
        numbers = (Number(found.recall), Number(found.overlap), Number(found.lowest), Count(found.incomplete))
        yield Text(f"ANN recall@{found.k}{exact}"), *numbers, OutOf(found.searches, found.of)


def ann_lines(agent: AgentSummary) -> Iterator[str]:
    """The same in lines; of an exact index there is nothing to say."""
    for found in () if is_exact(agent) else agent.ann.values():
        overlap = "" if found.overlap is None else f", overlap {Number(found.overlap).text}"
        yield f"ANN recall@{found.k}: {Number(found.recall).text}{overlap} ({found.searches} of {found.of} searches)"


def stability_table(agent: AgentSummary) -> Table:
    """How the scores of an agent over vectors and the lengths of its vectors are distributed: what should not drift."""
    return table(_STABILITY_COLUMNS, _stability_rows(agent))


def stabilities_table(agents: Mapping[str, AgentSummary]) -> Table:
    """The same of several runs."""
    rows = ((Text(name), *row) for name, agent in agents.items() for row in _stability_rows(agent))
    return table(("run", *_STABILITY_COLUMNS), rows, keys=2)


def _stability_rows(agent: AgentSummary) -> Iterator[Row]:
    for name, spread in score_spreads(agent):
        yield Text(name), Number(spread.mean), Number(spread.std), Text(_counted(spread.answers, "answer"))
    for each in agent.vectors:
        if each.norm_mean is not None:
            yield Text(norm_name(each)), Number(each.norm_mean), Number(each.norm_std), Text(_counted(each.finite, "vector"))


def score_spreads(agent: AgentSummary) -> Iterator[tuple[str, Spread]]:
    """The scores of the first hits, where they are similarities: fused or reranked ones have no scale that should stay."""
    own = bool(agent.vectors) and all(each.arm is None for each in agent.vectors)  # those of an arm are not what it answers by
    if own or scores_by_vectors(agent):
        yield from ((SCORES[name], spread) for name, spread in agent.similarity.items())


def norm_name(statistics: VectorStatistics) -> str:
    return f"norm of vectors{of_arm(statistics)}"


def vector_lines(agent: AgentSummary) -> Iterator[str]:
    """Every set of vectors in a line: how many, of which dimension, and what is odd about them."""
    for each in agent.vectors:
        odd = {
            "of zeros": each.zero,
            "duplicates": each.duplicates,
            "not finite": each.not_finite,
            "of another dimension": each.wrong_dimension,
        }
        parts = (f"{count:,} {what}" for what, count in odd.items() if count or what in ("of zeros", "duplicates"))
        among = "" if each.looked_at is None else f"among the {each.looked_at:,} that were looked at "
        yield f"vectors{of_arm(each)}: {each.count:,} of dimension {each.dimension}, {among}{', '.join(parts)}"


def of_arm(statistics: VectorStatistics) -> str:
    return "" if statistics.arm is None else f" of {statistics.arm}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
