"""Moments as users write them: a date, or how long ago."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from searchmark.errors import UsageError

_AGO = re.compile(r"(\d{1,6})([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def moment(text: str, now: datetime, option: str) -> datetime:
    """A date (2026-03-15), a time in ISO 8601, or a number of hours, days or weeks before now (12h, 90d, 8w)."""
    try:
        if ago := _AGO.fullmatch(text):
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        found = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{option}: {text!r} is neither a date, as 2026-03-15, nor a time span, as 90d, 12h or 8w") from error
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
