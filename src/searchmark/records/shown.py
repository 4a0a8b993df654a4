"""How notebooks show a record: a card in HTML, and one short line where there is only text."""

from __future__ import annotations

from importlib import import_module

from searchmark.options.short_repr import LONGEST

LONGEST_NAME = 40


class NotebookRecord:
    """A record that Jupyter shows as a card."""

    def _repr_html_(self) -> str:
        # The one way from the records up to the reports: Jupyter asks the object itself, and only reports know how to write a
        # text of others into a page. The module is named, not imported, until a notebook asks; nothing below depends on it.
        html: str = import_module("searchmark.reports.cards").card(self)
        return html


def quoted(name: str) -> str:
    """A name for one line of text: in quotation marks, what is invisible written out, its middle left out if it is long.

    Ids often differ at their ends alone.
    """
    end = LONGEST_NAME // 2
    return repr(name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - end - 1]}…{name[-end:]}")


def on_a_line(said: str) -> str:
    """What a record says of itself, cut where it is too long for one line."""
    return said if len(said) <= LONGEST else f"{said[: LONGEST - 2]}…)"


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(parts: list[str], most: int) -> str:
    """The first of some parts, and how many more there are."""
    return ", ".join([*parts[:most], *([f"{len(parts) - most} more"] if len(parts) > most else [])])
