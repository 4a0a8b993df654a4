"""`python -m searchmark.executors.process_main`: one process of a pool. It does one task after the other."""

from __future__ import annotations

import os
import signal
import sys
import time
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any

from searchmark.errors import EXIT_INTERRUPTED
from searchmark.executors.packing import perform

GRACE = 10.0  # seconds that a process gets for its clean-up


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, which tells everybody; our parent tells us
    signal.signal(signal.SIGTERM, _end_process)
    connection = Connection(int(sys.argv[1]))
    packages: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=(connection, packages), daemon=True).start()
    while True:
        _send(connection, (False, perform(packages.get(), lambda news: _send(connection, (True, news)))))


def _end_process(*_: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # nothing may interrupt the clean-up
    sys.exit(EXIT_INTERRUPTED)


def _listen(connection: Connection, packages: SimpleQueue[bytes]) -> None:
    """Take tasks as they come. A parent that was killed cannot end us, and nothing is left to hand a result to."""
    try:
        sys.path[:] = connection.recv()
        while True:
            packages.put(connection.recv_bytes())
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        os._exit(EXIT_INTERRUPTED)


def _send(connection: Connection, message: tuple[bool, Any]) -> None:
    """Tell our parent; one that was killed hears nothing, and no other user of the terminal needs to."""
    try:
        connection.send(message)
    except (BrokenPipeError, ConnectionResetError):
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
