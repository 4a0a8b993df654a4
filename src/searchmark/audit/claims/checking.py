"""All rules over a table of published numbers, one finding per code."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.audit.claims.claim_table import Claim, ClaimedRow, ClaimTable
from searchmark.audit.claims.counts import fitting_counts, impossible_counts, impossible_sums, parts_of_one
from searchmark.audit.claims.evidence import check_baselines, differences, intervals, small_ps
from searchmark.audit.claims.printed import PrintedNumber
from searchmark.audit.claims.relations import Said, contradictions
from searchmark.audit.result import AuditTable
from searchmark.findings import Finding, by_severity, finding
from searchmark.findings.sentences import counted

EXAMPLES = 3


def check_claims(table: ClaimTable) -> list[Finding]:
    """What of these numbers no data could have given, and what it cannot support, the worst first."""
    check_baselines(table)
    found: dict[str, list[str]] = {}
    for label, (code, sentence) in _said(table):
        found.setdefault(code, []).append(f"{label}: {sentence}")
    return by_severity([*(finding(code, _listed(sentences)) for code, sentences in found.items()), *_about_reading(table)])


def _said(table: ClaimTable) -> Iterator[tuple[str, Said]]:
    for row in table.rows:
        for rule in (_ranges, contradictions, impossible_sums, intervals, small_ps):
            yield from ((row.label, said) for said in rule(row))
    yield from impossible_counts(table.rows)
    yield from differences(table.rows)


def _listed(sentences: list[str]) -> str:
    more = f"; and {len(sentences) - EXAMPLES} more" if len(sentences) > EXAMPLES else ""
    return "; ".join(sentences[:EXAMPLES]) + more


def _ranges(row: ClaimedRow) -> Iterator[Said]:
    for claim in row.claims:
        yield from _outside(claim.said, claim.value, claim.measure.low, claim.measure.high)
    for header, p in (("p", row.p), *((f"{each.header} p", each.p) for each in row.claims)):
        if p is not None:
            yield from _outside(f"{header} {p.text}", p, 0.0, 1.0)


def _outside(said: str, value: PrintedNumber, least: float, most: float) -> Iterator[Said]:
    if value.high < least or value.low > most or value.value < least:
        yield "claim-outside-range", f"{said} is outside {least:g} to {most:g}"


def _about_reading(table: ClaimTable) -> Iterator[Finding]:
    without = [row.label for row in table.rows if row.n is None]
    if without:
        yield finding("claim-without-n", f"{counted(len(without), 'row')} of {len(table.rows)} without n: {_names(without)}")
    if table.per_cent:
        yield finding("claim-read-as-per-cent", f"read as per cent, without a sign that says so: {_names(list(table.per_cent))}")
    if table.skipped:
        yield finding("claim-columns-skipped", f"columns that are not checked: {_names(list(table.skipped))}")


def _names(names: list[str]) -> str:
    more = f" and {len(names) - EXAMPLES} more" if len(names) > EXAMPLES else ""
    return ", ".join(names[:EXAMPLES]) + more


def claims_table(table: ClaimTable) -> AuditTable:
    """Every number as it was read: what it can have been before it was rounded, and the counts that fit."""
    columns = ("row", "n", "measure", "printed", "at least", "at most", "counts")
    rows = tuple(
        (row.label, row.n, claim.measure.name, *_limits(claim.value), _counts(row, claim)) for row, claim in table.claims()
    )
    return AuditTable("claims", "Published numbers, as they were read", columns, rows)


def _limits(value: PrintedNumber) -> tuple[str, float, float]:
    return value.text, float(value.low), float(value.high)


def _counts(row: ClaimedRow, claim: Claim) -> str | None:
    parts = parts_of_one(claim)
    if parts is None or row.n is None:
        return None
    total = parts * row.n
    fitting = fitting_counts(claim.value, total)
    if not fitting:
        return f"none of {total}"
    return f"{fitting[0]} of {total}" if fitting[0] == fitting[-1] else f"{fitting[0]} to {fitting[-1]} of {total}"
