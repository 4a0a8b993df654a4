"""Dask says a lot in its log, on the terminal of the user. What matters of it we say ourselves."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

SILENT = logging.CRITICAL + 1
_LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application")  # those that Dask gives a handler


@contextmanager
def quiet() -> Iterator[None]:
    """Meanwhile its handlers print nothing; handlers of others still hear everything."""
    import distributed  # type: ignore[import-not-found,unused-ignore]  # an extra  # noqa: F401  # it sets up its handlers

    before = {handler: handler.level for name in _LOGGERS for handler in logging.getLogger(name).handlers}
    for handler in before:
        handler.setLevel(SILENT)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="distributed")
            yield
    finally:
        for handler, level in before.items():
            handler.setLevel(level)
