"""How work travels: as bytes, there and back. So nothing depends on how an executor packs what it is given.

Whatever the work raises comes back as a value. An exception of an executor is then always about the executor.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from socket import gethostname
from typing import Any, TypeVar

from searchmark.errors import SearchmarkError, UsageError, os_error_sentence, shortened
from searchmark.executors.stopping import task_of

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class _Made:
    """What the work returned."""

    result: Any


@dataclass(frozen=True)
class _Raised:
    """What it raised: one of our own errors as it was, a defect as its text."""

    error: SearchmarkError | RuntimeError


def packed(work: Callable[..., Any], task: Any, pool: str) -> bytes:
    """A task of a pool, for `perform` in a different process."""
    return pickle.dumps((work, task, pool), protocol=pickle.HIGHEST_PROTOCOL)


def perform(package: bytes, *tell: Callable[[Any], None]) -> bytes:
    """Do the work, here. Work that has news to tell gets ``tell`` as well."""
    outcome = _outcome(package, tell)
    try:
        return pickle.dumps(outcome, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001  # of the result, whatever that is made of
        return pickle.dumps(_Raised(RuntimeError(_said(error))))


def unpacked(outcome: bytes) -> Any:
    """The result that came back, or the error, which is raised here."""
    came = pickle.loads(outcome)  # noqa: S301  # made by our own `perform`
    if isinstance(came, _Raised):
        raise came.error
    return came.result


def _outcome(package: bytes, tell: tuple[Callable[[Any], None], ...]) -> _Made | _Raised:
    try:
        work, task, pool = pickle.loads(package)  # noqa: S301  # made by our own `packed`
    except Exception as error:  # noqa: BLE001  # another version of anything may fail in any way
        return _Raised(not_loaded(error, f" on {gethostname()}"))
    try:
        with task_of(pool):
            return _Made(work(task, *tell))
    except SearchmarkError as error:
        return _Raised(error)
    except OSError as error:
        return _Raised(UsageError(os_error_sentence(error)))
    except Exception as error:  # noqa: BLE001  # said by the one who gave us the work, and has the user's ear
        return _Raised(RuntimeError(_said(error)))


def not_loaded(error: BaseException, where: str = "") -> UsageError:
    """What to say where a process lacks what it needs; none of the others will fare better."""
    return UsageError(
        f"a process of the executor{where} cannot load its work ({_said(error)}); "
        "it needs the packages of this one, in the same versions"
    )


def _said(error: BaseException) -> str:
    return shortened(f"{type(error).__name__}: {error}", 400)
