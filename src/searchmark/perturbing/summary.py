"""What is said about variants and traps: how many there are, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.perturbing.perturb import Perturbed
from searchmark.perturbing.traps import LexicalTraps, Trap
from searchmark.records.shown import counted, quoted

TRAPS_SHOWN = 10


def perturbed_lines(found: Perturbed) -> Iterator[str]:
    """One line per kind, then what had no variants at all."""
    width = max(len(each.kind) for each in found.kinds)
    for each in found.kinds:
        reasons = [f"{reason}: {count}" for reason, count in sorted(each.left_out.items())]
        reasons += [f"cases with nothing to change: {each.unchanged}"] if each.unchanged else []
        left_out = f" (left out: {', '.join(reasons)})" if reasons else ""
        yield f"{each.kind:<{width}}  {counted(each.variants, 'variant')} of {counted(each.cases, 'case')}{left_out}"
    for reason, count in sorted(found.skipped.items()):
        yield f"cases not varied, {reason}: {count}"


def trap_lines(found: LexicalTraps) -> Iterator[str]:
    """How many cases are traps, the first of them, and which cases were not looked at."""
    share = f" ({len(found.traps) / found.looked_at:.0%})" if found.looked_at else ""
    yield (
        f"lexical traps: {len(found.traps)} of {counted(found.looked_at, 'case')}{share}: a document that is not judged relevant "
        "has more of the query's words, by their idf, than every relevant one"
    )
    queries = {case.id: case.query or "" for case in found.suite.cases if case.id in found.traps}
    for trap in list(found.traps.values())[:TRAPS_SHOWN]:
        yield f"  {trap_sentence(trap, queries[trap.case])}"
    if len(found.traps) > TRAPS_SHOWN:
        yield f"  and {len(found.traps) - TRAPS_SHOWN} more"
    for reason, count in sorted(found.skipped.items()):
        yield f"cases not looked at, {reason}: {count}"


def trap_sentence(trap: Trap, query: str) -> str:
    return (
        f"{trap.case} {quoted(query)}: {trap.distractors[0]} has {trap.share:.0%} of the words' weight, the best relevant document "
        f"{trap.relevant_share:.0%}; documents with more than that: {trap.more}"
    )
