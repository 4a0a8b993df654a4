"""Git as a child process: its environment, time limits and output."""

from __future__ import annotations

import io
import os
import select
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, cast

from searchmark.errors import UsageError, shortened
from searchmark.io.folders import temporary_file

_PIPE = 1 << 20

_BUFFER = 1 << 16

ASK_SECONDS = 20.0  # for an answer that is known to be small

SILENCE_SECONDS = 300.0  # without a byte: a log of a million commits is sorted before its first line

SILENCE_VARIABLE = "SEARCHMARK_GIT_SECONDS"  # replaces both


_SEALED_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # what older versions of git have instead of the line above
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


# A repository may be a stranger's. Where its own config is read, nothing that it names is run and nothing is fetched; that
# is also why it does not matter whose files they are.
# Copies of what the objects say that git believes without a look at these: a forged or outdated one would change the history.
IGNORE_INDEXES = ("-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false")


_SAFE_SETTINGS = (
    *IGNORE_INDEXES,
    "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.sshCommand=false",
    "-c", "protocol.allow=never", "--no-pager",
)  # fmt: skip


def sealed_environment(**more: str) -> dict[str, str]:
    """The environment without a word about Git from outside, and with ours."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") and name != "LANGUAGE"}
    return others | _SEALED_ENVIRONMENT | more


def silence_limit(usual: float) -> float:
    """How many seconds git may be silent: the usual number, or what the environment says."""
    setting = os.environ.get(SILENCE_VARIABLE)
    if setting is None:
        return usual
    try:
        seconds = float(setting)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise UsageError(f"{SILENCE_VARIABLE} is a number of seconds above 0, not {setting!r}")
    return seconds


def ask_git(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Ask the repository that a folder belongs to, with its own config; for answers that are known to be small."""
    return run_to_end(
        _command_inside(folder, arguments),
        sealed_environment(**environment),
        f"{folder}: git {_subcommand(arguments)}",
        silence_limit(ASK_SECONDS),
    )


def run_to_end(
    command: Sequence[str], environment: Mapping[str, str], title: str, seconds: float
) -> subprocess.CompletedProcess[bytes]:
    """A command that has ended within so many seconds, with all that it said."""
    try:
        return subprocess.run(  # noqa: S603  # git itself
            command, env=environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=seconds, check=False
        )
    except FileNotFoundError as error:
        raise _no_git_error() from error
    except subprocess.TimeoutExpired:
        raise _silence_error(title, seconds) from None


def user_setting(folder: Path, name: str) -> str | None:
    """What the user's own Git has set in a folder, None if nothing: the one question that is not sealed from settings."""
    command = ["git", "-C", str(folder), "config", "--get", name]
    try:
        result = subprocess.run(  # noqa: S603  # git itself
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=silence_limit(ASK_SECONDS), check=False
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    return result.stdout.decode("utf-8", "replace").strip() or None


def _subcommand(arguments: Sequence[str]) -> str:
    """What git is asked for, behind its options; a setting follows its ``-c``."""
    words = (each for before, each in pairwise(("", *arguments)) if before != "-c" and not each.startswith("-"))
    return next(words, "")


def _silence_error(title: str, seconds: float) -> UsageError:
    return UsageError(
        f"{title} said nothing for {seconds:g} s and was stopped; check that the repository and what its config includes can "
        f"be read, or allow more with {SILENCE_VARIABLE}"
    )


def _command_inside(folder: Path, arguments: Sequence[str]) -> list[str]:
    return ["git", "-C", str(folder), *_SAFE_SETTINGS, *arguments]


@contextmanager
def stream_output(
    command: Sequence[str],
    environment: Mapping[str, str],
    title: str,
    input: bytes | None = None,  # noqa: A002  # as subprocess calls it
    failure: Callable[[str], UsageError] = UsageError,
) -> Iterator[io.BufferedReader]:
    """The output of one command to read from. One that ends with an error is an error, however much it has said.

    Leaving before the end of the output stops the command, and so does an exception. ``title`` is what an error calls it, and
    ``failure`` makes the error of what git has said.
    """
    # Input and complaints go through files: a pipe that is full on one side while we wait on the other would never end.
    with temporary_file() as words, temporary_file() as stdin:
        stdin.write(input or b"")
        stdin.seek(0)
        process = start_git(command, environment, stdin, words)
        output = watch_replies(process, title)
        code = 0
        try:
            yield output
            if not output.read(1):  # the reader has seen the end, so the exit code means something
                code = _exit_code(process, title)
        finally:
            output.close()
            stop_git(process)
        if code:
            words.seek(0)
            message = " ".join(words.read(4000).decode("utf-8", "replace").split()) or f"exit code {code}"
            raise failure(f"{title} failed: {shortened(message, 300)}")


def start_git(
    command: Sequence[str], environment: Mapping[str, str], stdin: IO[bytes] | int, words: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Start git; what it complains about goes to ``words``."""
    try:
        process = subprocess.Popen(command, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=words)  # noqa: S603  # git itself
    except FileNotFoundError as error:
        raise _no_git_error() from error
    assert process.stdout is not None  # noqa: S101  # it is a pipe
    _widen_pipe(process.stdout)
    return process


def watch_replies(process: subprocess.Popen[bytes], title: str) -> io.BufferedReader:
    """What git says, to read from; silence for too long is an error."""
    return io.BufferedReader(_WatchedPipe(cast(IO[bytes], process.stdout).fileno(), title), _BUFFER)


class _WatchedPipe(io.RawIOBase):
    """A pipe that is not waited for without end."""

    def __init__(self, pipe: int, title: str) -> None:
        super().__init__()
        self._pipe, self._title, self._seconds = pipe, title, silence_limit(SILENCE_SECONDS)
        self._poll = select.poll()  # select.select knows no descriptor above 1023
        self._poll.register(pipe, select.POLLIN)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._poll.poll(self._seconds * 1e3):
            raise _silence_error(self._title, self._seconds)
        return os.readv(self._pipe, [buffer])


def _exit_code(process: subprocess.Popen[bytes], title: str) -> int:
    """The exit code of a command that has closed its output."""
    seconds = silence_limit(SILENCE_SECONDS)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise _silence_error(title, seconds) from None


def _widen_pipe(pipe: IO[bytes]) -> None:
    """Let git work ahead while we think: a pipe holds 64 kB unless it is told to hold more, which only Linux can."""
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE)


def stop_git(process: subprocess.Popen[bytes]) -> None:
    """End a command that may have ended already, whatever it still had to say."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # what was not read goes nowhere
                pipe.close()
    process.wait()


def _no_git_error() -> UsageError:
    return UsageError("git is not on the PATH; install it (version 2.36 or newer)")


def split_at_nul(output: IO[bytes], size: int = 1 << 20) -> Iterator[bytes]:
    """The NUL-ended pieces of a stream."""
    rest = b""
    while chunk := output.read(size):
        *pieces, rest = (rest + chunk).split(b"\0")
        yield from pieces
