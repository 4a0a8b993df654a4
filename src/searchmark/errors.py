"""Everything that Searchmark raises on purpose, and the exit code of each.

    SearchmarkError
    ├── UsageError            4   the request cannot be understood or carried out
    │   ├── FormatError       4   a file is not what it claims to be: names file, place and reason
    │   └── UnknownMeasure    4   no measure has this name: lists the nearest ones
    ├── UntrustedResult       2   there is a number, but nobody should believe it
    ├── NothingEvaluated      5   there is no number at all
    └── GateFailed            1   the numbers are sound and too low

Anything else that escapes is our own mistake and exits with 3; Ctrl-C exits with 130.
"""

from __future__ import annotations

from os import PathLike, fspath

EXIT_OK = 0
EXIT_GATE_FAILED = 1
EXIT_UNTRUSTED = 2
EXIT_INTERNAL = 3
EXIT_USAGE = 4
EXIT_NOTHING_EVALUATED = 5
EXIT_INTERRUPTED = 130


class SearchmarkError(Exception):
    """The root: its text is one sentence for the user, its exit code is for scripts."""

    exit_code = EXIT_INTERNAL


class UsageError(SearchmarkError):
    """The request cannot be understood or carried out as it was made."""

    exit_code = EXIT_USAGE


class FormatError(UsageError):
    """A file is not what it claims to be. ``place`` is a line ("line 7") or a field ("cases.3.id")."""

    def __init__(self, path: str | PathLike[str], place: str | None, reason: str) -> None:
        self.path = fspath(path)
        self.place = place
        self.reason = reason
        where = self.path if place is None else f"{self.path}, {place}"
        super().__init__(f"{where}: {reason}")


class UnknownMeasure(UsageError):
    """No measure has this name."""


class UntrustedResult(SearchmarkError):
    """A result exists, but too much went wrong on the way to it."""

    exit_code = EXIT_UNTRUSTED


class NothingEvaluated(SearchmarkError):
    """Not a single case could be evaluated."""

    exit_code = EXIT_NOTHING_EVALUATED


class GateFailed(SearchmarkError):
    """A measure stayed below the threshold that was set for it."""

    exit_code = EXIT_GATE_FAILED
