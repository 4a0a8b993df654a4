"""A child process with pipes that never block: fed, read and ended together with everything it has started."""

from __future__ import annotations

import errno
import os
import select
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter_ns

from searchmark.errors import Missing, UsageError
from searchmark.io.secrets import end_of, environment_with, output_end

PIECE = 1 << 16

KEPT_OUTPUT_BYTES = 1 << 13  # bytes of what a program complains of; its end tells most

LONGEST_OUTPUT_EXCERPT = 300

GRACE = 1.0  # seconds that a program has to end by itself, once its input has ended

_POLL_MILLISECONDS = 20  # milliseconds between two looks at a program, where the system cannot tell when it ends


class CommandFailed(UsageError):
    """A program did not search as it should: names the program and what it said."""


def find_program(name: str) -> str:
    """The absolute path of a program: from the PATH, or installed beside this Python; a path counts from the working directory."""
    beside = None if os.sep in name else shutil.which(name, path=sysconfig.get_path("scripts"))
    path = shutil.which(name) or beside
    if path is None:
        where = f"there is no such file below {Path.cwd()}" if os.sep in name else "it is not on the PATH"
        raise Missing(f"the program {name!r} cannot be started: {where}, or it is not executable")
    return str(Path(path).absolute())


def encode_argument(text: str, role: str) -> bytes:
    """A text as a program gets it: in UTF-8, and bytes that were none before as they were."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise CommandFailed(f"the {role} holds {text[error.start]!a}, which is half of a character and cannot be sent") from error


class ChildProcess:
    """A running program, in a session of its own: it has no terminal to ask at, and whatever it starts ends with it."""

    def __init__(
        self,
        program: str,
        arguments: Sequence[str],
        folder: str | None,
        *,
        stdin: bytes | None = b"",
        variables: frozenset[str] = frozenset(),
    ) -> None:
        """``stdin`` is what it reads, None that more will follow; ``variables`` are secrets of the environment that it gets."""
        start = perf_counter_ns()
        self.program = program
        self._popen = _start_program(program, arguments, folder, environment_with(variables), reads=stdin != b"")
        self.start_ms = (perf_counter_ns() - start) / 1e6  # until it was executed: an error of that is known by now
        self._complaint = bytearray()
        self._input = memoryview(stdin or b"")
        self._more_input = stdin is None
        self._exited = False
        self._poll = select.poll()
        self._out, self._err, self._in = (
            _make_nonblocking(each) for each in (self._popen.stdout, self._popen.stderr, self._popen.stdin)
        )
        self._exit = _exit_descriptor(self._popen.pid)
        self._heard = {each for each in (self._out, self._err, self._exit) if each is not None}
        for descriptor in self._heard:
            self._poll.register(descriptor, select.POLLIN)
        if stdin:
            self._feed()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def name(self) -> str:
        return Path(self.program).name

    @property
    def complaint(self) -> str:
        """The end of what it wrote to its error stream."""
        return output_excerpt(bytes(self._complaint))

    def ending(self, code: int, output: bytes) -> str:
        """How it ended, and what it said of that: on its error stream or, failing that, at the end of its output."""
        how = f"was ended by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
        words = self.complaint or output_excerpt(output[-KEPT_OUTPUT_BYTES:])
        return f"{self.name} {how}" + (f": {words}" if words else ", and said nothing")

    def write(self, data: bytes) -> None:
        """Give it more to read; what does not fit into the pipe follows while its output is read."""
        self._input = memoryview(bytes(self._input) + data if self._input else data)
        self._feed()

    def read(self) -> bytes:
        """The next piece of its output, waited for; nothing at its end."""
        while self._heard or not self._exited:
            if not self._heard:  # it has let go of its output, and is still there
                self._reap()
                break
            ready = self._poll.poll(self._patience)
            if not ready and self._nothing_follows():
                break
            piece = b"".join([self._handle(descriptor) for descriptor, _ in ready])
            if piece:
                return piece
        return b""

    @property
    def _patience(self) -> int | None:
        return 0 if self._exited else _POLL_MILLISECONDS if self._exit is None else None

    def _nothing_follows(self) -> bool:
        """Whether a program that is gone has left nothing more in its pipes, which its children may still hold open."""
        if not self._exited and self._popen.poll() is not None:
            self._reap()
            return False
        return self._exited

    def _handle(self, descriptor: int) -> bytes:
        if descriptor == self._in:
            self._feed()
        elif descriptor == self._exit:
            self._reap()
        elif descriptor == self._err:
            self._complaint += self._read_piece(descriptor)
            del self._complaint[:-KEPT_OUTPUT_BYTES]
        else:
            return self._read_piece(descriptor)
        return b""

    def _read_piece(self, descriptor: int) -> bytes:
        try:
            piece = os.read(descriptor, PIECE)
        except BlockingIOError:
            return b""
        if not piece:
            self._forget(descriptor)
        return piece

    def _feed(self) -> None:
        """Write as much as the pipe takes. A program may stop reading whenever it likes."""
        assert self._in is not None  # noqa: S101  # it was started with a pipe to write to
        try:
            self._input = self._input[os.write(self._in, self._input) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._input = memoryview(b"")
        if self._input:
            self._poll.register(self._in, select.POLLOUT)
            return
        with suppress(KeyError):
            self._poll.unregister(self._in)
        if not self._more_input:
            self._end_input()

    def _end_input(self) -> None:
        if self._popen.stdin is not None:
            self._popen.stdin.close()
            self._in = None

    def _reap(self) -> None:
        """Its group is ended before it is reaped, for as long as no other process can have its number."""
        if self._exit is None:
            self._popen.wait()
        self.kill()
        self._popen.wait()
        self._exited = True
        if self._exit is not None:
            self._forget(self._exit)
            os.close(self._exit)
            self._exit = None

    def _forget(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        self._heard.discard(descriptor)

    def kill(self) -> None:
        """Send its whole group the signal that none can ignore."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its exit code, once its output has ended; negative is the signal that ended it."""
        if not self._exited:
            self._reap()
        return self._popen.returncode

    def leave(self) -> None:
        """Let it end by itself for a moment, as its input has ended, and then end it."""
        self._end_input()
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(GRACE)
        self.close()

    def close(self) -> None:
        """End it and whatever it has started, wherever it is."""
        if not self._exited:
            self.kill()
            self._reap()
        for stream in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if stream is not None:
                stream.close()


@contextmanager
def run_program(
    program: str, arguments: Sequence[str], folder: str | None, stdin: bytes = b"", variables: frozenset[str] = frozenset()
) -> Iterator[ChildProcess]:
    """A program that reads what it is given and ends with the block, in whichever way that ends."""
    child = ChildProcess(program, arguments, folder, stdin=stdin, variables=variables)
    try:
        yield child
    finally:
        child.close()


def _start_program(
    program: str, arguments: Sequence[str], folder: str | None, environment: Mapping[str, str], *, reads: bool
) -> subprocess.Popen[bytes]:
    encoded_arguments = [_argument_bytes(each) for each in arguments]
    try:
        return subprocess.Popen(  # noqa: S603  # what the user has named, word by word; no shell
            [os.fsencode(program), *encoded_arguments],
            stdin=subprocess.PIPE if reads else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        raise CommandFailed(_start_error(program, folder, encoded_arguments, error)) from error


def _argument_bytes(text: str) -> bytes:
    if "\0" in text:
        raise CommandFailed(
            "the query holds a NUL character, which no argument can: let the program read the query (stdin: '{query}')"
        )
    return encode_argument(text, "query")


def _start_error(program: str, folder: str | None, arguments: Sequence[bytes], error: OSError) -> str:
    if error.errno == errno.E2BIG:
        longest = max(map(len, arguments), default=0)
        return f"an argument of {longest} bytes is too long for this system: let the program read the query (stdin: '{{query}}')"
    if folder is not None and not Path(folder).is_dir():
        return f"{program} cannot be started in {folder}, which is not a folder"
    return f"{program} cannot be started: {error.strerror or error}"


def _make_nonblocking(stream: object) -> int | None:
    """The descriptor of a pipe, made such that it never blocks; None if there is no pipe."""
    if stream is None:
        return None
    descriptor: int = stream.fileno()  # type: ignore[attr-defined]  # a raw file, of which typeshed knows only IO
    os.set_blocking(descriptor, False)
    return descriptor


def _exit_descriptor(pid: int) -> int | None:
    """What can be waited for until a process ends; None where the system has no such thing."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def output_excerpt(text: bytes, width: int = LONGEST_OUTPUT_EXCERPT) -> str:
    """The end of a text as a part of a sentence."""
    return end_of(" ".join(output_end(text, KEPT_OUTPUT_BYTES).split()), width)
