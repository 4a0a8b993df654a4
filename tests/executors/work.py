"""Work for pools, which other processes import by its name."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event

from searchmark import FormatError
from searchmark.executors.packing import stop_event
from searchmark.io.folders import private_folder


def double(number: int) -> int:
    return 2 * number


def process_id(_: object) -> int:
    return os.getpid()


def kill_the_first(folder: Path) -> int:
    """Ends the first process that comes here, and tells the second one's id."""
    try:
        (folder / "first").mkdir()
    except FileExistsError:
        return os.getpid()
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def kill_if_odd(number: int) -> int:
    if number % 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def raise_format_error(_: object) -> None:
    raise FormatError("suite.json", "line 7", "it is cut off")


def divide_by_zero(_: object) -> float:
    return 1 / 0


def return_a_lambda(_: object) -> object:
    return lambda: None


def name_of_main(_: object) -> str:
    return str(getattr(sys.modules["__main__"], "__file__", ""))


def wait_for_ever(at_work: Path) -> None:
    """Says that it is at work, and when it was ended in an orderly way."""
    at_work.touch()
    try:
        Event().wait()
    finally:
        at_work.with_suffix(".ended").touch()


def wait_to_be_stopped(at_work: Path) -> None:
    at_work.touch()
    if stop_event().wait(60):
        at_work.with_suffix(".ended").touch()


def leave_a_folder(at_work: Path) -> None:
    """Dies of the signal as one does that is in the middle of its clean-up."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with private_folder():
        at_work.touch()
        Event().wait()


def meet_three_others(own: Path) -> int:
    """Comes back when four tasks have been here at the same time."""
    own.touch()
    while not all((own.parent / name).exists() for name in "abcd"):
        Event().wait(0.01)
    return os.getpid()


def tell_twice(number: int, on_news: Callable[[str], None]) -> int:
    on_news(f"{number} begins")
    on_news(f"{number} ends")
    return number


def not_here() -> None:
    raise AttributeError("it is not here")


class Unloadable:
    """A task that nobody can read."""

    def __reduce__(self) -> str | tuple[object, ...]:
        return not_here, ()


class Unpicklable:
    """A task that cannot be sent anywhere."""

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("it stays here")
