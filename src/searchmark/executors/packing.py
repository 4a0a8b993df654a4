"""How work travels to a process and back, and how it learns there that it should stop."""

from __future__ import annotations

import hashlib
import pickle
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from socket import gethostname
from threading import Event
from typing import Any

from searchmark.errors import PoolGone, SearchmarkError, UsageError, os_error_sentence, shortened

# How work that runs in a thread learns that it should end: nobody can end a thread from outside.
#
# A process of ours is told by SIGTERM instead, which ends it wherever it is.

_MAX_STOP_EVENTS = 64  # pools whose events are kept: the processes of a cluster may live for months

_stop_events: dict[str, Event] = {}

_current_stop_event: ContextVar[Event | None] = ContextVar("stop", default=None)


def stop_event() -> Event:
    """Set when the pool that the running task came from is stopped: ask it now and then, or wait for it."""
    return _current_stop_event.get() or Event()


@contextmanager
def working_for_pool(pool: str) -> Iterator[None]:
    """Meanwhile this thread works for a pool; one that has been stopped starts nothing more."""
    event = _stop_event_of(pool)
    if event.is_set():
        raise PoolGone("the pool of this task has been stopped")
    before = _current_stop_event.set(event)
    try:
        yield
    finally:
        _current_stop_event.reset(before)


def stop_tasks_of(pool: str) -> None:
    """Tell all tasks of a pool that run in this process, and those that are about to."""
    _stop_event_of(pool).set()


def _stop_event_of(pool: str) -> Event:
    event = _stop_events.setdefault(pool, Event())
    if len(_stop_events) > _MAX_STOP_EVENTS:
        _stop_events.pop(next(iter(_stop_events)), None)
    return event


# Which Searchmark does the work: the same everywhere, or nothing is done.


@dataclass(frozen=True)
class InstalledVersion:
    """What is installed. Two copies of one version may differ, as checkouts do, hence the digest of all code."""

    version: str
    python: str
    code: str


@cache
def installed_version() -> InstalledVersion:
    """What this process runs."""
    from importlib.metadata import version

    digest, folder = hashlib.sha256(), Path(__file__).parents[1]
    for file in sorted(folder.rglob("*.py")):
        digest.update(f"{file.relative_to(folder).as_posix()}\0".encode() + file.read_bytes())
    return InstalledVersion(version("searchmark"), ".".join(platform.python_version_tuple()[:2]), digest.hexdigest())


def refuse_other_version(expected: InstalledVersion) -> None:
    """A worker with another version would give other answers, or the same ones by chance."""
    here, host = installed_version(), gethostname()
    if here == expected:
        return
    if here.python != expected.python:
        raise UsageError(f"{host} has Python {here.python}, not {expected.python}; use the same one everywhere")
    what = f"Searchmark {here.version}, not {expected.version}" if here.version != expected.version else "other code of Searchmark"
    raise UsageError(f"{host} has {what}; install the same one everywhere")


# How work travels: as bytes, there and back. So nothing depends on how an executor packs what it is given.
#
# Whatever the work raises comes back as a value. An exception of an executor is then always about the executor.


def pack_task(work: Callable[..., Any], task: Any, pool: str, *, tells: bool = False) -> bytes:
    """A task of a pool, for `perform` in a different process. Work that ``tells`` is called with the task and with whom to tell."""
    contents = pickle.dumps((work, task, pool, tells), protocol=pickle.HIGHEST_PROTOCOL)
    return pickle.dumps((installed_version(), contents))  # another version may be unable to read what is inside


def perform(package: bytes, hear: Callable[[Any], None] = lambda _: None) -> bytes:
    """Do the work, here: its outcome, or the error that it raised, one of our own as it was, a defect as its text."""
    outcome: tuple[SearchmarkError | RuntimeError | None, Any]
    try:
        outcome = None, _perform(package, hear)
    except SearchmarkError as error:
        outcome = error, None
    except OSError as error:
        outcome = UsageError(os_error_sentence(error)), None
    except Exception as error:  # noqa: BLE001  # said by the one who gave us the work, and has the user's ear
        outcome = RuntimeError(error_text(error)), None
    try:
        return pickle.dumps(outcome, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001  # of the result, whatever that is made of
        return pickle.dumps((RuntimeError(error_text(error)), None))


def _perform(package: bytes, hear: Callable[[Any], None]) -> Any:
    try:
        expected, contents = pickle.loads(package)  # noqa: S301  # made by our own `pack_task`
        refuse_other_version(expected)
        work, task, pool, tells = pickle.loads(contents)  # noqa: S301  # likewise
    except UsageError:
        raise
    except Exception as error:
        raise cannot_load_error(error, f" on {gethostname()}") from error  # another version of anything may fail in any way
    with working_for_pool(pool):
        return work(task, hear) if tells else work(task)


def unpack_outcome(outcome: bytes) -> Any:
    """The result that came back, or the error, which is raised here."""
    error, result = pickle.loads(outcome)  # noqa: S301  # made by our own `perform`
    if error is not None:
        raise error
    return result


def cannot_load_error(error: BaseException, where: str = "") -> UsageError:
    """What to say where a process lacks what it needs; none of the others will fare better."""
    return UsageError(
        f"a process of the executor{where} cannot load its work ({error_text(error)}); "
        "it needs the packages of this one, in the same versions"
    )


def error_text(error: BaseException) -> str:
    """An error in one line."""
    return shortened(" ".join(f"{type(error).__name__}: {error}".split()), 400)
