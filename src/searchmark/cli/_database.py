"""Which database ``pgvector`` and ``vector-table`` ask, for those that name none themselves."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from searchmark.cli._options import Command, option
from searchmark.services.variables import DSN_VARIABLE


def dsn_option(section: str) -> Callable[[Command], Command]:
    """``--dsn``, which no verb gets to see: an environment variable is passed to those alone whose config asks for it."""
    return option(
        section,
        "--dsn",
        metavar="ADDRESS",
        expose_value=False,
        callback=_set_variable,
        help=f"PostgreSQL database of every index pgvector that names none (postgresql://USER@HOST/NAME). With a password, set "
        f"{DSN_VARIABLE} instead, which other users of the machine do not see.",
    )


def _set_variable(context: click.Context, _: click.Parameter, value: Any) -> None:
    if value is None:
        return
    before = os.environ.get(DSN_VARIABLE)
    os.environ[DSN_VARIABLE] = value
    context.call_on_close(lambda: _restore(before))


def _restore(before: str | None) -> None:
    os.environ.pop(DSN_VARIABLE, None)
    if before is not None:
        os.environ[DSN_VARIABLE] = before
