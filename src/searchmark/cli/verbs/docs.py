"""The verb `searchmark docs`."""

from __future__ import annotations

import sys

import click

from searchmark.cli.options import completed_by, page_of, topic_lines, topic_names
from searchmark.cli.output import show


@click.command("docs", short_help="List the topics of the documentation, or print one.")
@click.argument("topic", required=False, shell_complete=completed_by(topic_names))
def command(topic: str | None) -> None:
    """List the topics of the documentation, or print the page about one.

    On a terminal a page is shown in the pager (PAGER); anywhere else it is printed as it is.

    \b
    searchmark docs
    searchmark docs troubleshooting
    """
    if topic is None:
        show("\n".join([*topic_lines(), "", "searchmark docs TOPIC prints a page"]) + "\n")
        return
    text = page_of(topic)
    if sys.stdout is not None and sys.stdout.isatty():
        click.echo_via_pager(text)
    else:
        show(text)
