"""Work in a thread of its own: its result arrives, and so does what went wrong."""

from __future__ import annotations

import threading

import pytest

from searchmark import FormatError
from searchmark.io.store import start_in_background


def test_the_work_is_done_while_its_result_is_not_asked_for() -> None:
    done = threading.Event()
    work = start_in_background(lambda: done.set() or 7)
    assert done.wait(60)
    assert work.result() == 7


def test_what_the_work_raises_is_raised_where_its_result_is_asked_for() -> None:
    work = start_in_background(lambda: (_ for _ in ()).throw(FormatError("run.txt", "line 3", "is broken")))
    with pytest.raises(FormatError, match=r"run\.txt, line 3: is broken"):
        work.result()
