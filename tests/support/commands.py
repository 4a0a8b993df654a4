"""``python -m searchmark`` in a process of its own, without the half second in which Python reads the modules every time.

A template process has imported what the verbs need and has read a suite and a run, whose schemas take long to build. It has
run no command. It forks for each, and the child becomes that command: its own arguments, folder, environment, streams and exit
code. What happens before the first import of ours is the same for every command; the tests of it start Python themselves.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, NoReturn

from searchmark import load_run, load_suite, save_run

ROOT = Path(__file__).parents[2]
# Costly to import, and few commands need it.
RARE = ("searchmark.ext", "searchmark.agents.outside.mcp_connection", "searchmark.__main__")
# What our modules and others import when they first need it.
LATER = ("_strptime", "email.parser", "numpy.ma", "pydantic.dataclasses", "pydantic.main", "rich.console", "zoneinfo")
EXAMPLE = ROOT / "examples" / "quickstart"
PACKAGE = [str(ROOT / "src" / "searchmark")]


class Template:
    """The process that forks for each command, and ends with whoever started it."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tests.support.commands", str(theirs.fileno())]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=ROOT, pass_fds=[theirs.fileno()])
        theirs.close()

    def run(self, files: Sequence[IO[bytes]], timeout: float) -> int:
        """Run the command that the first of three files names, with the others as its streams."""
        self._ours.settimeout(timeout)
        socket.send_fds(self._ours, [b"run"], [file.fileno() for file in files])
        started = int(self._ours.recv(64))
        try:
            return int(self._ours.recv(64))
        except TimeoutError:
            os.kill(started, 9)
            self._ours.settimeout(None)
            self._ours.recv(64)
            raise

    def close(self) -> None:
        self._ours.close()
        self._process.wait()


@cache
def template() -> Template:
    started = Template()
    atexit.register(started.close)
    return started


def searchmark(
    *arguments: str, cwd: str | Path | None = None, env: Mapping[str, str] | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; what it has said and its exit code."""
    request = {"arguments": arguments, "cwd": str(Path(cwd or ".").absolute()), "env": dict(os.environ if env is None else env)}
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        asked.write(json.dumps(request).encode())
        asked.flush()
        code = template().run([asked, output, errors], timeout)
        return subprocess.CompletedProcess(arguments, code, _content(output), _content(errors))


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def serve(requests: socket.socket) -> None:
    """Fork for each request; returns in the child, which is now that command, and in the template when nobody asks any more."""
    while True:
        asked, descriptors, _, _ = socket.recv_fds(requests, 16, 3)
        if not asked:
            sys.exit(0)
        child = os.fork()
        if not child:
            requests.close()
            become(*descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        requests.send(str(child).encode())
        requests.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def become(asked: int, output: int, errors: int) -> None:
    """Take over the arguments, the folder, the environment and the streams of a command."""
    with os.fdopen(asked, "rb") as file:
        request = json.loads(_content(file))
    for number, descriptor in enumerate((output, errors), 1):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    tempfile.tempdir = None  # The template has looked for its own: TMPDIR may be another one now.
    # As Python sets it for -m: the working directory, then PYTHONPATH.
    sys.path[0:1] = [request["cwd"], *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv[1:] = request["arguments"]


def end(code: int) -> NoReturn:
    """End as the interpreter does, but for the objects of the template: to destroy them takes longer than most commands."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def prepare() -> None:
    """Do once what each command would do again."""
    modules = (module.name for module in pkgutil.walk_packages(PACKAGE, "searchmark."))
    for module in (*LATER, *(name for name in modules if not name.startswith(RARE))):
        import_module(module)
    load_suite(EXAMPLE / "suite.yaml")
    with tempfile.TemporaryDirectory() as folder:
        native = Path(folder) / "run.jsonl"
        save_run(load_run(EXAMPLE / "bm25.trec"), native)
        load_run(native)
    # The child neither looks through what is here for garbage nor copies it, when it ends.
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    prepare()
    from searchmark.__main__ import main

    serve(socket.socket(fileno=int(sys.argv[1])))
    end(main())
