"""One process of a pool: ``python -m searchmark.executors.process_main DESCRIPTOR``. It does one task after the other.

It ends quietly when it is told to, and when the one that started it is gone, and cleans up behind itself.
"""

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
    signal.signal(signal.SIGTERM, _end)
    connection = Connection(int(sys.argv[1]))
    tasks: SimpleQueue[tuple[bytes, bool]] = SimpleQueue()
    Thread(target=_listen, args=(connection, tasks), daemon=True).start()
    while True:
        package, tells = tasks.get()
        news = [lambda news: _send(connection, (True, news))] if tells else []
        _send(connection, (False, perform(package, *news)))


def _end(*_: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # nothing may interrupt the clean-up
    sys.exit(EXIT_INTERRUPTED)


def _listen(connection: Connection, tasks: SimpleQueue[tuple[bytes, bool]]) -> None:
    """Take tasks as they come. A parent that was killed cannot end us, and nothing is left to hand a result to."""
    try:
        sys.path[:] = connection.recv()
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        os._exit(EXIT_INTERRUPTED)


def _send(connection: Connection, said: tuple[bool, Any]) -> None:
    """Tell our parent; one that was killed hears nothing, and no other user of the terminal needs to."""
    try:
        connection.send(said)
    except (BrokenPipeError, ConnectionResetError):
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
