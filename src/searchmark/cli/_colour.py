"""Whether a stream is shown to people: in colour, and with lines that change while they are looked at."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO

DUMB = ("dumb", "unknown")  # values of TERM for terminals that understand no codes


def in_colour(stream: IO[str] | None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether colours belong there: on a terminal that has them, unless NO_COLOR or FORCE_COLOR is set to anything."""
    if stream is None or environment.get("NO_COLOR"):
        return False
    return bool(environment.get("FORCE_COLOR")) or is_live(stream, environment)


def is_live(stream: IO[str] | None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a terminal shows it that can change what it has shown."""
    return stream is not None and stream.isatty() and environment.get("TERM", "").lower() not in DUMB
