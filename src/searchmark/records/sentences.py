"""Numbers in the sentences of findings and reports."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str | None = None) -> str:
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def three_digits(number: float) -> str:
    """Three significant digits, or all before the point, never an exponent for what is large."""
    return f"{number:.3g}" if number < 100 else f"{number:.0f}"  # noqa: PLR2004  # three digits either way


def seconds_text(number: float) -> str:
    """A time; what is next to nothing is in a unit that shows it."""
    scale, unit = (1.0, "s") if number >= 1e-3 or not number else (1e3, "ms") if number >= 1e-6 else (1e6, "µs")  # noqa: PLR2004  # units
    return f"{three_digits(number * scale)} {unit}"


def share(part: int, of: int) -> str:
    """A part in percent; one that is not all, or not nothing, never looks like it."""
    percent = 100 * part / of
    return "under 1 %" if 0 < percent < 1 else "over 99 %" if 99 < percent < 100 else f"{percent:.0f} %"  # noqa: PLR2004  # percent
