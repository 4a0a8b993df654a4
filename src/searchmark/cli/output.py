"""Printing that survives a reader who has seen enough."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from searchmark.reports import Report


def show(text: str) -> None:
    """Print text as it is. A closed pipe is not our failure, and must not hide the exit code of a gate."""
    if sys.stdout is None:  # closed by whoever started us
        return
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        click.echo(text.encode(encoding, "replace").decode(encoding), nl=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whatever is still in the buffer goes nowhere, quietly, when Python flushes it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def text_for_terminal(report: Report) -> str:
    """The report as wide as the terminal and in colour, if stdout is one."""
    from searchmark.reports.text import WIDTH, to_text

    if sys.stdout is None or not sys.stdout.isatty():
        return to_text(report)
    return to_text(report, colour="NO_COLOR" not in os.environ, width=shutil.get_terminal_size((WIDTH, 0)).columns)
