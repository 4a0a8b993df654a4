"""The file itself: shell, style, script and data, under a policy that runs nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from searchmark.findings.sentences import counted
from searchmark.measures.words import in_words, with_words
from searchmark.reports.page.case_data import case_data
from searchmark.reports.page.sections import page_of
from searchmark.reports.quoting import visible
from searchmark.reports.report import Report

if TYPE_CHECKING:
    from jinja2 import Environment

# In the order in which they need each other: together they are one script.
SCRIPTS = ("data", "state", "selection", "elements", "table", "answers", "case", "main")
_PIECES = 1 << 10  # parts of the template that are handed on at once


def to_html(report: Report) -> Iterator[str]:
    """The pieces of a page that shows everything a report holds."""
    # Escaped for a script element, where HTML's own escapes mean nothing.
    data = map(_environment().filters["ours"], case_data(report))
    return filled("page.html", script_text(), page=page_of(report), data=data)


def filled(template: str, script: str = "", **values: Any) -> Iterator[str]:
    """The pieces of a page made from one of our templates; it may run this script and nothing else."""
    ours = _environment().filters["ours"]
    style = _file("style.css")
    parts = {"policy": policy(style, script), "style": ours(style), "script": ours(script)}
    stream = _environment().get_template(template).stream(**parts, **values)
    stream.enable_buffering(_PIECES)
    return iter(stream)


def policy(style: str, script: str) -> str:
    """What a browser may do with the page: apply this style, run this script, and nothing else."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def script_text() -> str:
    """All of the script, as it is in the page."""
    return "\n".join(('"use strict";', *(_file(f"script/{name}.js") for name in SCRIPTS)))


@cache
def _file(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


@cache
def _environment() -> Environment:
    """Templates in which every text is made visible, then escaped, wherever it comes from.

    Also one that says it needs no escaping, as `Markup` does: only what the filter `ours` lets through, which is what our own
    macros have made, and files of ours.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    class Ours(Markup):
        """Markup that this package has written."""

    def harmless(value: Any) -> Any:
        return visible(str.__str__(value)) if isinstance(value, str) and not isinstance(value, Ours) else value

    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"ours": Ours, "with_words": with_words, "in_words": in_words, "counted": counted}
    return environment
