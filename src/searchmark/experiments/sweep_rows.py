"""What a sweep means, in words: the cheapest setting that was shown to lose less than the margin, and what the best one gains.

Only the quality is a claim, corrected for the whole grid. Which setting is cheapest is read off the times of this sweep.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from searchmark.analysis.intervals import SAME
from searchmark.findings.sentences import three_digits
from searchmark.records.shown import counted, listed
from searchmark.reports.cells import Bytes, Milliseconds, PValue
from searchmark.sweeps.notes import row_notes
from searchmark.sweeps.result import AgainstBaseline, Sweep, SweepRow

SETTINGS_NAMED = 10
_CLAIM = "only the quality is a claim; which one is cheapest is what this sweep measured"


def concluded(sweep: Sweep) -> Sweep:
    """The sweep with its sentence and notes."""
    shown = [row for row in sweep.rows if _is_shown(row)]
    cheapest = min([*shown, sweep.baseline], key=lambda row: _price(sweep, row), default=None)
    if sweep.baseline.failure is not None or sweep.not_compared or (not shown and cheapest is sweep.baseline):
        cheapest = None
    sentence = _no_baseline(sweep) if sweep.baseline.failure is not None else _sentence(sweep, shown, cheapest)
    best = _best(sweep)
    return replace(
        sweep,
        cheapest=None if cheapest is None else cheapest.name,
        best=None if best is None else best.name,
        sentence=sentence if best is None else f"{sentence} {_gain(sweep, best)}",
        notes=tuple(_notes(sweep)),
    )


def _is_shown(row: SweepRow) -> bool:
    return row.against_baseline is not None and row.against_baseline.non_inferior.shown


def _price(sweep: Sweep, row: SweepRow) -> tuple[float, float]:
    """What is not known is dear."""
    p95 = sweep.p95(row)
    return inf if p95 is None else p95, inf if row.index_bytes is None else row.index_bytes


def _best(sweep: Sweep) -> SweepRow | None:
    """The setting with the highest mean; None if that is the baseline, or none was compared with it."""
    compared = [(found, row) for row in sweep.rows if (found := row.against_baseline) is not None and found.low is not None]
    gains = [(found.difference or 0.0, row) for found, row in compared]
    gain, row = max(gains, key=lambda each: each[0], default=(0.0, None))
    return row if gain > SAME else None


def _gain(sweep: Sweep, best: SweepRow) -> str:
    """What the best setting is worth, by the verdict of the comparison, and what it costs."""
    found = best.against_baseline
    if found is None:
        return ""
    p = f"p {PValue(found.p_holm).text} after Holm's correction for {counted(found.family, 'comparison')}"
    why = "" if found.verdict == "IMPROVED" else f" ({found.reason})"
    dearer = _factors(sweep, best)
    price = f", at {dearer}" if dearer else ""
    return f"Best {sweep.measure}: {best.name}, {_interval(sweep, found)}, {p}: {found.verdict}{why}{price}."


def _factors(sweep: Sweep, row: SweepRow) -> str:
    """What a setting costs, as multiples of the baseline; what is not known of either is left out."""
    costs = {"p95": (sweep.p95(row), sweep.p95(sweep.baseline)), "bytes": (row.index_bytes, sweep.baseline.index_bytes)}
    known = [f"{three_digits(one / other)} times the {name}" for name, (one, other) in costs.items() if one is not None and other]
    return f"{' and '.join(known)} of the baseline" if known else ""


def _no_baseline(sweep: Sweep) -> str:
    return f"Nothing can be said about the cost in relevance: the baseline ({sweep.baseline.name}) failed: {sweep.baseline.failure}"


def _sentence(sweep: Sweep, shown: list[SweepRow], cheapest: SweepRow | None) -> str:
    base = sweep.baseline
    loss = f"less than {sweep.margin:g} {sweep.measure}"
    tested = [row for row in sweep.rows if row.against_baseline is not None]
    if not tested:
        return f"There is no other setting to hold against the baseline ({base.name})."
    if shown and sweep.not_compared is not None:
        names = listed([row.name for row in shown], SETTINGS_NAMED)
        return f"Which setting is cheapest is not decided: {sweep.not_compared}. Shown to lose {loss} against {base.name}: {names}."
    if cheapest is None:
        return f"No setting was shown to lose {loss} against {base.name}: {_what_is_missing(sweep, tested)}"
    if cheapest is base:
        among = f"of {counted(len(shown), 'setting')} shown to lose {loss} against it, none is cheaper"
        return f"Keep {base.name} ({_cost(sweep, base)}): {among} ({_CLAIM})."
    found = cheapest.against_baseline
    return (
        f"Cheapest setting shown to lose {loss} against {base.name}: {cheapest.name}, {_cost(sweep, cheapest)} "
        f"instead of {_cost(sweep, base)}; {_evidence(sweep, found)} ({_CLAIM})."
    )


def _cost(sweep: Sweep, row: SweepRow) -> str:
    time = f"p95 {Milliseconds(sweep.p95(row)).text} {sweep.decided_by}"
    return time if row.index_bytes is None else f"{time}, {Bytes(row.index_bytes).text}"


def _evidence(sweep: Sweep, found: AgainstBaseline | None) -> str:
    if found is None or found.difference is None or found.low is None or found.high is None:
        return ""
    tested = counted(found.non_inferior.family, "setting")
    return f"{_interval(sweep, found)}, p {PValue(found.non_inferior.p_holm).text} after Holm's correction for {tested}"


def _what_is_missing(sweep: Sweep, tested: list[SweepRow]) -> str:
    """How many cases would show it of the setting that needs the fewest, or that no number would."""
    known = [(found, row) for row in tested if (found := row.against_baseline) is not None and found.low is not None]
    if not known:
        return f"{counted(sweep.suite.cases, 'case')} are too few to say anything."
    found, nearest = min(known, key=lambda each: (each[0].non_inferior.cases_needed or inf, -(each[0].low or 0.0)))
    so_far = f"Nearest so far: {nearest.name}, {_interval(sweep, found)}."
    if found.non_inferior.cases_needed is None:
        return f"more cases like these would not show it either. {so_far}"
    needed = _about(found.non_inferior.cases_needed)
    return f"{counted(sweep.suite.cases, 'case')} are too few, about {needed} are needed. {so_far}"


def _interval(sweep: Sweep, found: AgainstBaseline) -> str:
    return f"{sweep.measure} {found.difference:+.4f}, interval {found.low:+.4f} to {found.high:+.4f}"


def _about(cases: int) -> int:
    """Two digits of it, not less."""
    unit = int(10 ** max(0, len(str(cases)) - 2))
    return -(-cases // unit) * unit


def _notes(sweep: Sweep) -> Iterator[str]:
    yield from sweep.notes
    if sweep.duplicates:
        yield f"{counted(sweep.duplicates, 'duplicate combination')} dropped"
    if sweep.baseline.added:
        yield f"the baseline ({sweep.baseline.name}) is not in the grid and was added"
    if sweep.not_compared is not None:
        yield f"{sweep.not_compared}; --fresh measures all again, on one host"
    elif sweep.decided_by != "index only":
        yield "the end-to-end cold p95 decides: settings differ in their embedder, or not all of them time their index alone"
    yield from row_notes(sweep)
    yield from (each.sentence for each in sweep.equivalences)
