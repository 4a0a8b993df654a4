"""A program that uses a pool: ``python -m tests.executors.program EXECUTOR FOLDER``. It has no guard for other processes' sake.

It prints what came of quick tasks. Then it waits for slow ones, which never end by themselves, and says how it was ended.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from searchmark import SearchmarkError
from searchmark.executors.backends import open_executor
from searchmark.executors.pool import RetryingTasks, TaskDone, parse_executor
from tests.executors.work import double, wait_to_be_stopped


def do(task: Path | int) -> int | None:
    return double(task) if isinstance(task, int) else wait_to_be_stopped(task)


def main(text: str, folder: Path) -> str:
    from tests.executors.program import do as by_name  # not by that of the main module, which is another one elsewhere

    try:
        with open_executor(parse_executor(text, foreign=True, network=True)) as pool:
            completion: RetryingTasks[Path | int, int | None] = RetryingTasks(pool, by_name, [1, 2])
            for outcome in completion:
                assert isinstance(outcome, TaskDone)
                sys.stdout.write(f"{outcome.result}\n")
                completion.add(folder / f"slow-{outcome.result}")
    except KeyboardInterrupt:
        return "interrupted"
    except SearchmarkError as error:
        return str(error)
    return "done"


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job has it ignored, and we may be of one
    print(main(sys.argv[1], Path(sys.argv[2])), flush=True)  # noqa: T201  # for the test
