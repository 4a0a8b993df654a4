"""Numbers in sentences: counts, shares, times."""

from __future__ import annotations

from searchmark.config.strict import LONGEST_REPR
from searchmark.io.plugins import load_code


def count_of(count: int, noun: str) -> str:
    """How many of something there are, thousands set apart by commas."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def plain_count(count: int, noun: str, plural: str | None = None) -> str:
    """The same without commas: in findings and texts that have always been written so, and that scripts may read."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def three_digits(number: float) -> str:
    """Three significant digits, or all before the point, never an exponent for what is large."""
    return f"{number:.3g}" if number < 100 else f"{number:.0f}"  # noqa: PLR2004  # three digits either way


def seconds_text(number: float) -> str:
    """A time; what is next to nothing is in a unit that shows it."""
    scale, unit = (1.0, "s") if number >= 1e-3 or not number else (1e3, "ms") if number >= 1e-6 else (1e6, "µs")  # noqa: PLR2004  # units
    return f"{three_digits(number * scale)} {unit}"


def share_text(part: int, of: int) -> str:
    """A part in percent; one that is not all, or not nothing, never looks like it."""
    percent = 100 * part / of
    return "under 1 %" if 0 < percent < 1 else "over 99 %" if 99 < percent < 100 else f"{percent:.0f} %"  # noqa: PLR2004  # percent


# How notebooks show a record: a card in HTML, and one short line where there is only text.

LONGEST_QUOTED_NAME = 40


class NotebookRecord:
    """A record that Jupyter shows as a card."""

    def _repr_html_(self) -> str:
        # The one way from the records up to the reports: Jupyter asks the object itself, and only reports know how to write a
        # text of others into a page. The module is named, not imported, until a notebook asks; nothing below depends on it.
        html: str = load_code("searchmark.reports.cards:card")(self)
        return html


def quote_name(name: str) -> str:
    """A name for one line of text: in quotation marks, what is invisible written out, its middle left out if it is long.

    Ids often differ at their ends alone.
    """
    end = LONGEST_QUOTED_NAME // 2
    return repr(name if len(name) <= LONGEST_QUOTED_NAME else f"{name[: LONGEST_QUOTED_NAME - end - 1]}…{name[-end:]}")


def fit_line(text: str) -> str:
    """What a record says of itself, cut where it is too long for one line."""
    return text if len(text) <= LONGEST_REPR else f"{text[: LONGEST_REPR - 2]}…)"


def list_first(parts: list[str], most: int) -> str:
    """The first of some parts, and how many more there are."""
    return ", ".join([*parts[:most], *([f"{len(parts) - most} more"] if len(parts) > most else [])])
