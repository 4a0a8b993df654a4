"""Where work is to run, read once from its text.

    process:N                processes of this machine
    dask:local:N             a Dask cluster of this machine, started for this
    dask://host:port         a Dask scheduler that is running somewhere (dask+tls:// with encryption, as Dask is configured)
    module:attr file.py:attr Python code: a `concurrent.futures.Executor`, or what returns one

Reading a text imports nothing and connects to nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec

from searchmark.errors import UsageError

_MOST = 1024  # processes of one machine; more is a slip of the finger
_LOCAL = re.compile(r"(process|dask:local):(\d{1,9})")
_SCHEDULER = re.compile(r"dask(\+tls)?://(\[[0-9a-fA-F:.]+\]|[^\s:/@\[\]]+):(\d{1,5})/?")
_CODE = re.compile(r"(?!process:|dask:)(?P<module>[^:\s]+|.+\.py):(?P<attribute>[^\W\d]\w*(\.[^\W\d]\w*)*)")
_FORMS = "write process:N, dask:local:N, dask://host:port, or module:attr for a concurrent.futures.Executor of your own"


@dataclass(frozen=True)
class ProcessChoice:
    """So many processes of this machine."""

    count: int

    @property
    def text(self) -> str:
        return f"process:{self.count}"


@dataclass(frozen=True)
class LocalDaskChoice:
    """A Dask cluster of so many processes of this machine, which lives as long as its pool."""

    count: int

    @property
    def text(self) -> str:
        return f"dask:local:{self.count}"


@dataclass(frozen=True)
class DaskChoice:
    """A Dask scheduler by its address, ``host:port``."""

    address: str
    encrypted: bool = False

    @property
    def text(self) -> str:
        return f"dask+tls://{self.address}" if self.encrypted else f"dask://{self.address}"


@dataclass(frozen=True)
class CodeChoice:
    """An executor of the user's, or what makes one: ``module`` is the name of a module or the path of a ``.py`` file."""

    module: str
    attribute: str

    @property
    def text(self) -> str:
        return f"{self.module}:{self.attribute}"


ExecutorChoice = ProcessChoice | LocalDaskChoice | DaskChoice | CodeChoice


def parse_executor(text: str, *, foreign: bool, network: bool) -> ExecutorChoice:
    """What a text means; refused where code of others (``foreign``) or the ``network`` would be needed and is not allowed."""
    choice = _read(text)
    if isinstance(choice, CodeChoice) and not foreign:
        raise UsageError(f"the executor {text!r} is code that is not built in, and --no-exec allows none; use process:N")
    if isinstance(choice, DaskChoice | LocalDaskChoice) and not (foreign and network):
        raise UsageError(f"the executor {text!r} uses the network, which --offline and --no-exec do not allow; use process:N")
    if isinstance(choice, DaskChoice | LocalDaskChoice) and find_spec("distributed") is None:
        raise UsageError(f"the executor {text!r} needs Dask, which is not installed; install: pip install 'searchmark[dask]'")
    return choice


def _read(text: str) -> ExecutorChoice:
    if local := _LOCAL.fullmatch(text):
        count = int(local[2])
        if not 1 <= count <= _MOST:
            raise UsageError(f"{text!r} is not an executor: N is the number of processes, from 1 to {_MOST}")
        return ProcessChoice(count) if local[1] == "process" else LocalDaskChoice(count)
    if scheduler := _SCHEDULER.fullmatch(text):
        return DaskChoice(f"{scheduler[2]}:{scheduler[3]}", encrypted=scheduler[1] is not None)
    if code := _CODE.fullmatch(text):
        return CodeChoice(code["module"], code["attribute"])
    raise UsageError(f"{text!r} is not an executor; {_FORMS}")
