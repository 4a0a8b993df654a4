"""Records as cards for notebooks: a few lines of HTML that say what a record holds, and how it ended.

A card has no script, no style sheet and nothing from elsewhere. It takes its colours from the page around it, so it is dark
where that is dark. Every text goes through the same filter on its way into the template: what is invisible is written out,
what is long is cut, and what would be markup is escaped.
"""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from searchmark.records.shown import NotebookRecord
from searchmark.reports.cards.content import card_of
from searchmark.reports.quoting import visible
from searchmark.services.environment_secrets import environment_secrets
from searchmark.services.redaction import scrubbed

LONGEST_TEXT = 300


def card(record: NotebookRecord) -> str:
    """A record in HTML, without secrets of the environment."""
    return _template().render(card=scrubbed(card_of(record), environment_secrets()))


@cache
def _template() -> Template:
    loader = PackageLoader("searchmark.reports.cards", "")
    made = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, finalize=_finalize, trim_blocks=True, lstrip_blocks=True
    )
    return made.get_template("card.html")


def _finalize(value: object) -> object:
    """What the template prints of a value, before it is escaped; of a text that calls itself markup, too."""
    return visible("".join((value, "")), LONGEST_TEXT) if isinstance(value, str) else value
