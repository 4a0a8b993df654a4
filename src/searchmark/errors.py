"""Everything that Searchmark raises on purpose, and the exit code of each.

    SearchmarkError
    ├── UsageError            4   the request cannot be understood or carried out
    │   ├── FormatError       4   a file is not what it claims to be: names file, place and reason
    │   ├── ServiceError      4   a service over HTTP did not answer as it should: names address and reason
    │   │   ├── BudgetSpent   4   it was not asked, since a bound on requests or tokens is reached
    │   │   └── MissingService 4  nobody answers at its address
    │   ├── Missing           4   a database, a model, a server, a package or a file is not there (so is a MissingService)
    │   ├── PoolGone          4   what runs the tasks is gone, with all that it was running: what came before is kept
    │   ├── DamagedRepository 4   a Git repository lacks an object, or has one that is not what its name says
    │   └── UnknownMeasure    4   no measure has this name: lists the nearest ones
    ├── Incomparable          2   the numbers exist and must not be held against each other
    ├── Unresolvable          2   a gate could not fail, whatever the run shows
    └── NothingEvaluated      5   there is no number at all

A gate that failed (1) and an untrusted result (2) are results, not exceptions: the report says
so and the command line exits accordingly. Anything else that escapes is our own mistake and exits with 3; Ctrl-C
exits with 130.
"""

from __future__ import annotations

import errno
import os
from os import PathLike, fspath
from typing import Any

EXIT_OK = 0

EXIT_GATE_FAILED = 1

EXIT_UNTRUSTED = 2

EXIT_INTERNAL = 3

EXIT_USAGE = 4

EXIT_NOTHING_EVALUATED = 5

EXIT_BISECT_SKIP = 125  # what tells 'git bisect run' that a commit is neither good nor bad

EXIT_INTERRUPTED = 130

_OF_A_STREAM = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}


def shortened(text: str, width: int) -> str:
    """A text that fits into a sentence; the middle goes first, since both ends tell more."""
    half = (width - 3) // 2
    return text if len(text) <= width else f"{text[:half]}...{text[-half:]}"


def with_excerpt(sentence: str, excerpt: str | None) -> str:
    """A sentence, and behind it what a stranger said."""
    return sentence if excerpt is None else f"{sentence}: {excerpt}"


def os_error_sentence(error: OSError) -> str:
    """What to say of an error of the system that none of ours has named better."""
    reason = error.strerror or str(error) or type(error).__name__
    if isinstance(error, FileNotFoundError) and error.filename is None and not _has_working_directory():
        return "the working directory no longer exists; change to another one"
    if error.filename is not None:
        return f"{os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else error.filename}: {reason}"
    # Files are opened where their errors get a name. What is left and cannot be written is our own output.
    return f"the output cannot be written: {reason}" if error.errno in _OF_A_STREAM else f"the system refuses: {reason}"


def _has_working_directory() -> bool:
    try:
        os.getcwd()  # noqa: PTH109  # asked for its error alone
    except OSError:
        return False
    return True


class PluginWarning(UserWarning):
    """A plug-in of another package is not used, and why; everything else goes on without it."""


class SearchmarkError(Exception):
    """The root: its text is one sentence for the user, its exit code is for scripts.

    ``excerpt`` is what a stranger said, if it is known: it comes last, and errors with the same ``sentence`` have the same reason.
    """

    exit_code = EXIT_INTERNAL
    excerpt: str | None = None

    @property
    def sentence(self) -> str:
        """What happened and what to do, without anybody else's words."""
        return super().__str__()

    def __str__(self) -> str:
        return with_excerpt(self.sentence, self.excerpt)

    def __reduce__(self) -> tuple[Any, ...]:
        """An error comes out of another process as it was, however its class is made."""
        return _unpickled, (type(self), self.args, self.__dict__)


def _unpickled(kind: type[SearchmarkError], args: tuple[Any, ...], state: dict[str, Any]) -> SearchmarkError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class UsageError(SearchmarkError):
    """The request cannot be understood or carried out as it was made."""

    exit_code = EXIT_USAGE


class FormatError(UsageError):
    """A file is not what it claims to be. ``place`` is a line ("line 7") or a field ("cases.3.id")."""

    def __init__(self, path: str | PathLike[str], place: str | None, reason: str, longest: int = 400) -> None:
        self.path = fspath(path)
        self.place = None if place is None else shortened(place, 120)
        self.reason = shortened(reason, longest)
        where = self.path if place is None else f"{self.path}, {self.place}"
        super().__init__(f"{where}: {self.reason}")


class ServiceError(UsageError):
    """A service did not answer as it should. ``status`` is None where no answer came at all."""

    def __init__(self, sentence: str, status: int | None = None, attempts: int = 0, excerpt: str | None = None) -> None:
        super().__init__(sentence)
        self.excerpt = excerpt
        self.status = status
        self.attempts = attempts


class BudgetSpent(ServiceError):
    """A request was not made, because a bound on requests or tokens is reached."""


class Missing(UsageError):
    """What a search needs is not on this machine: a database, a model, a program, a package, a file."""


class MissingService(ServiceError, Missing):
    """Nobody answers at the address of a service."""


class PoolGone(UsageError):
    """What runs the tasks is gone as a whole: a scheduler that no longer answers, an executor that is broken.

    ``reason`` is what happened. Whoever keeps nothing of what came, or resumes it in another way, gives the advice anew.
    """

    def __init__(self, reason: str, advice: str = "what came is kept: run again with --resume") -> None:
        super().__init__(f"{reason}; {advice}")
        self.reason = reason


class DamagedRepository(UsageError):
    """A Git repository lacks an object, or has one that cannot be read or is not what its name says."""


class UnknownMeasure(UsageError):
    """No measure has this name."""


class Incomparable(SearchmarkError):
    """Runs that were judged on different suites or by different measures."""

    exit_code = EXIT_UNTRUSTED


class Unresolvable(SearchmarkError):
    """A gate could not fail, or not pass, whatever a run shows: there is no use in making one."""

    exit_code = EXIT_UNTRUSTED


class NothingEvaluated(SearchmarkError):
    """Not a single case could be evaluated."""

    exit_code = EXIT_NOTHING_EVALUATED


# What says that something is not there: our own word, or that of Python. Whoever searches may look for a file of the query's own.
MISSING_IN_SEARCH = (Missing, ImportError, ConnectionRefusedError)

MISSING = (*MISSING_IN_SEARCH, FileNotFoundError)


def is_missing(error: BaseException | None, kinds: tuple[type[BaseException], ...] = MISSING) -> bool:
    """Whether an error, or what it was raised from, is of a kind that says that something is not there."""
    explicit = True
    while error is not None:
        # Libraries of networks name no cause. What failed before anything else is no cause: an import may have an alternative.
        if isinstance(error, kinds) and (explicit or not isinstance(error, Missing | ImportError | FileNotFoundError)):
            return True
        explicit = explicit and error.__cause__ is not None
        error = error.__cause__ or error.__context__
    return False
