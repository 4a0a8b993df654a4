"""The agent `command`: a program that is started for every query, or once and then answers lines of JSON.

Starting it is measured apart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from threading import Event, Timer
from time import perf_counter_ns
from typing import Any

from searchmark.agents.answers import HitStream, IteratedStream, RawHit
from searchmark.agents.outside.options import CommandSettings
from searchmark.agents.outside.process import (
    ChildProcess,
    CommandFailed,
    encode_argument,
    find_program,
    output_excerpt,
    run_program,
)
from searchmark.agents.outside.results import ParsedAnswer, ResultReader
from searchmark.agents.outside.templates import fill_template, has_placeholder
from searchmark.agents.protocol import NO_USAGE, RetrievalAgent, RetrievalResult, Usage
from searchmark.errors import UsageError
from searchmark.formats.corpora.corpus import Changes, Corpus
from searchmark.formats.corpora.documents import FileSource
from searchmark.io.secrets import excerpt_of

# What starting a program takes, measured by starting it for nothing.

STARTS = 5

ENOUGH_MEASURED_MS = 2000.0  # for all starts together; a slow program is started fewer times

PATIENCE = 5.0  # seconds for one start

_LONGEST_VERSION_OUTPUT = 1 << 16

_VERSION_LENGTH = 100


@dataclass(frozen=True)
class StartupTime:
    """The median time of a program that is only started, and the first line that it printed: usually its version."""

    ms: float
    version: str

    @classmethod
    def of(cls, argv: Sequence[str], variables: frozenset[str]) -> StartupTime:
        program, times, output = find_program(argv[0]), list[float](), b""
        while len(times) < STARTS and sum(times) < ENOUGH_MEASURED_MS:
            start = perf_counter_ns()
            output = _first_output(program, argv[1:], variables)
            times.append((perf_counter_ns() - start) / 1e6)
        return cls(median(times), output_excerpt(output.partition(b"\n")[0], _VERSION_LENGTH))


@contextmanager
def _kill_after_timeout(child: ChildProcess) -> Iterator[Event]:
    """End a program that takes too long, and say by the event that this has happened."""
    late = Event()

    def end() -> None:
        late.set()
        child.kill()

    timer = Timer(PATIENCE, end)
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()


def _first_output(program: str, arguments: Sequence[str], variables: frozenset[str]) -> bytes:
    with run_program(program, arguments, None, variables=variables) as child, _kill_after_timeout(child) as late:
        output = bytearray()
        while piece := child.read():
            output += piece[: max(0, _LONGEST_VERSION_OUTPUT - len(output))]
        code = child.wait()
        if late.is_set():
            words = " ".join([child.name, *arguments])
            raise CommandFailed(
                f"startup has failed: {words!r} did not end within {PATIENCE:g} s; give one that only starts and ends"
            )
        if code:
            raise CommandFailed(f"startup has failed: {child.ending(code, bytes(output))}")
        return bytes(output)


# A program that stays: it says that it is ready, and then answers each line of JSON with one, or with several.
#
#     it says     {"ready": true}
#     it reads    {"id": 1, "query": "log in", "k": 10}
#     it says     {"id": 1, "hits": ["src/login.py", {"id": "src/user.py", "score": 0.5}]}
#     or          {"id": 1, "hits": ["src/login.py"], "more": true}, and further lines, of which the last has no "more"
#     or          {"id": 1, "error": "the index is locked"}
#
# Whatever else it says is an error of the case, and the next query is for a new process: nobody knows what the old one would
# answer to.

Reply = Mapping[str, Any]

_LONGEST_REPLY_EXCERPT = 200


class SearchRefused(CommandFailed):
    """The program says that this search failed; it is still there, and can be asked again."""


class PersistentProcess:
    """The process that answers now, and how to start the next one."""

    def __init__(self, start: Callable[[], ChildProcess], longest: int) -> None:
        self._start = start
        self._longest = longest
        self._bytes_left = longest
        self._child: ChildProcess | None = None
        self._buffer = bytearray()
        self._number = 0
        self.restarts = 0  # after answers that were none

    def ensure_started(self) -> float | None:
        """Start it unless it is there; the milliseconds until it was ready, None if it was."""
        if self._child is not None:
            return None
        start = perf_counter_ns()
        self._buffer.clear()
        self._child = self._start()
        try:
            self._wait_until_ready(self._child)
        except BaseException:
            self.end()
            raise
        return (perf_counter_ns() - start) / 1e6

    def _wait_until_ready(self, child: ChildProcess) -> None:
        self._bytes_left = self._longest
        message = self._message(child)
        if message.get("ready") is not True:
            raise CommandFailed(f'a program that stays says {{"ready": true}} first; {child.name} said {_reply_excerpt(message)}')

    def ask(self, query: str, k: int) -> Generator[Reply, None, None]:
        """What it answers, message by message. Where the caller wants no more, the rest is read all the same."""
        child = self._child
        if child is None:
            raise RuntimeError("the process was asked before it was started")
        self._number += 1
        self._bytes_left = self._longest
        child.write(json.dumps({"id": self._number, "query": query, "k": k}).encode() + b"\n")
        more = True
        try:
            while more:
                message = self._answer(child)
                more = message.get("more") is True
                yield message
        except GeneratorExit:
            self._skip_rest(child, more=more)
            raise
        except SearchRefused:
            raise
        except BaseException:
            self.end()
            raise

    def _skip_rest(self, child: ChildProcess, *, more: bool) -> None:
        try:
            while more:
                more = self._answer(child).get("more") is True
        except SearchRefused:
            pass
        except CommandFailed:
            self.end()

    def _answer(self, child: ChildProcess) -> Reply:
        message = self._message(child)
        if message.get("id") != self._number:
            raise CommandFailed(f"{child.name} was asked {self._number} and answered something else: {_reply_excerpt(message)}")
        if not isinstance(message.get("more", False), bool):
            raise CommandFailed(f"more is true or false; {child.name} said {_reply_excerpt(message)}")
        if message.get("error") is not None:
            raise SearchRefused(f"{child.name} says: {excerpt_of(str(message['error']), 2 * _LONGEST_REPLY_EXCERPT)}")
        return message

    def _message(self, child: ChildProcess) -> Reply:
        line = self._line(child)
        try:
            message = json.loads(line.decode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError) as error:
            raise CommandFailed(
                f"{child.name} answered with what is not JSON ({error}): {output_excerpt(line, _LONGEST_REPLY_EXCERPT)}"
            ) from error
        if not isinstance(message, dict):
            raise CommandFailed(f"{child.name} answered with what is not an object: {_reply_excerpt(message)}")
        return message

    def _line(self, child: ChildProcess) -> bytes:
        """The next line; the bound is for all lines of an answer."""
        position = 0
        while (end := self._buffer.find(b"\n", position)) < 0:
            position = len(self._buffer)
            self._check_length(child, position)
            piece = child.read()
            if not piece:
                raise CommandFailed(child.ending(child.wait(), bytes(self._buffer)))
            self._buffer += piece
        self._check_length(child, end)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._bytes_left -= end + 1
        return line

    def _check_length(self, child: ChildProcess, length: int) -> None:
        if length > self._bytes_left:
            raise CommandFailed(f"{child.name} answered with more than {self._longest} bytes (max_output_bytes)")

    def leave(self) -> None:
        """Let the process end by itself."""
        if self._child is not None:
            self._child.leave()
        self._child = None

    def end(self) -> None:
        """End the process now; the next query is for a new one."""
        if self._child is not None:
            self._child.close()
            self.restarts += 1
        self._child = None


def _reply_excerpt(message: object) -> str:
    return excerpt_of(json.dumps(message), _LONGEST_REPLY_EXCERPT)


# Hits that are given away as they come, and what the search took, which is known when they have all come.


class CommandHitStream(HitStream):
    """The hits of one search, best first. ``follow`` gets this object and yields them; it says on it what the search took."""

    searches_meanwhile = True

    def __init__(self) -> None:
        self.cost: float | None = None
        self.usage: Usage = NO_USAGE
        self.metadata: Mapping[str, Any] = {}
        self._hits: Generator[RawHit, None, None] | None = None

    def of(self, hits: Generator[RawHit, None, None]) -> CommandHitStream:
        self._hits = hits
        return self

    def __iter__(self) -> CommandHitStream:
        return self

    def __next__(self) -> RawHit:
        if self._hits is None:
            raise StopIteration
        return next(self._hits)

    def feed(self, take: Callable[[Any], bool]) -> None:
        IteratedStream(self).feed(take)

    def close(self) -> None:
        """No more hits are wanted."""
        if self._hits is not None:
            self._hits.close()


# The ``command`` agent: any program that searches, started for every query or once. docs/command.md has examples.

_EXCERPT_LENGTH = 200


class CommandAgent(RetrievalAgent):
    """Asks a program. Each query is an argument or its input as it was typed, and no shell ever sees it."""

    Config = CommandSettings

    def __init__(self, config: CommandSettings | None = None) -> None:
        self._config = config or CommandSettings()
        if not self._config.argv:
            raise UsageError("the agent 'command' needs argv: the program and its arguments, with {query} where the query goes")
        self._program = find_program(self._config.argv[0])
        if self._config.startup:
            find_program(self._config.startup[0])
        self.needs_corpus = has_placeholder([self._config.argv, self._config.stdin, self._config.folder], "corpus")
        self._corpus: Path | None = None
        self._process = PersistentProcess(self._start_process, self._config.max_output_bytes)

    def connect(self, arms: Mapping[str, RetrievalAgent]) -> None:  # noqa: ARG002  # it has none
        """Measure the start here and not where it is initialised: these starts are for our own numbers, and no index of its own."""
        _ = self._startup

    @cached_property
    def _startup(self) -> StartupTime | None:
        return StartupTime.of(self._config.startup, self.given_variables) if self._config.startup else None

    def initialize(self, corpus: Corpus) -> None:
        self._see(corpus)
        self._process.leave()
        self.start()

    def update(self, changes: Changes) -> bool:
        """A program that stays is started again, since it may have read files that have changed; any other one sees them."""
        if not self.needs_corpus:
            return True
        if self._config.stays:
            return False
        self._see(changes.corpus)
        return True

    def start(self) -> None:
        if self._config.stays:
            self._process.ensure_started()

    def close(self) -> None:
        self._process.leave()

    def describe(self) -> Mapping[str, Any]:
        description: dict[str, Any] = {"program": self._program, "argv": list(self._config.argv)}
        if self._config.stdin is not None:
            description["stdin"] = self._config.stdin
        if self._startup is not None and self._startup.version:
            description["version"] = self._startup.version
        return description | {"format": self._reader.format, "start": self._start_description()}

    def _start_description(self) -> str:
        if self._config.stays:
            return "once, before the first query"
        if self._config.startup:
            return f"for every query; its time is the median of {' '.join(self._config.startup)}, where a search took longer"
        return "for every query; its time is that until the program was executed"

    def retrieve(self, query: str, k: int) -> Any:
        """A result, or hits as they come where the config says so."""
        if self._config.stays:
            return self._ask(query, k)
        if not self._config.streams:
            return self._run_search(query, k)
        stream = CommandHitStream()
        return stream.of(self._stream_output(stream, query, k))

    def _run_search(self, query: str, k: int) -> RetrievalResult:
        start = perf_counter_ns()
        with self._start_search(query, k) as child:
            output = b"".join(self._pieces(child))
            has_hits = self._has_hits(child, output)
        answer = self._reader.read(_decode_output(output)) if has_hits or output.strip() else ParsedAnswer(())
        if not has_hits and answer.hits:
            raise _exit_contradiction(child, output_excerpt(output, _EXCERPT_LENGTH))
        usage, metadata = self._start_of(child, start)
        return answer.result(_add_tokens(usage, answer), **metadata)

    def _stream_output(self, stream: CommandHitStream, query: str, k: int) -> Generator[RawHit, None, None]:
        """Hits as they are printed. How the program has ended is known at the end, and an error then."""
        start = perf_counter_ns()
        with self._start_search(query, k) as child:
            first = None
            for hit in self._reader.read_lines(map(_decode_output, self._lines(child))):
                first = first or hit
                stream.usage, stream.metadata = self._start_of(child, start)  # no more hits may be wanted
                yield hit
            if not self._has_hits(child, b"") and first is not None:
                raise _exit_contradiction(child, first.id)
            stream.usage, stream.metadata = self._start_of(child, start)

    def _ask(self, query: str, k: int) -> Any:
        start_ms = self._process.ensure_started()
        usage, metadata = Usage(start_ms=start_ms), {"restarts": self._process.restarts} if self._process.restarts else {}
        messages = self._process.ask(query, k)
        if self._config.streams:
            stream = CommandHitStream()
            stream.usage, stream.metadata = usage, metadata
            return stream.of(self._stream_messages(stream, messages))
        answers = [self._reader.read_data(message) for message in list(messages)]
        last = answers[-1]
        hits = last.hits if len(answers) == 1 else [hit for answer in answers for hit in answer.hits]
        return replace(last, hits=hits).result(_add_tokens(usage, last), **metadata)

    def _stream_messages(self, stream: CommandHitStream, messages: Generator[Reply, None, None]) -> Generator[RawHit, None, None]:
        with closing(messages):
            for message in messages:
                answer = self._reader.read_data(message)
                stream.cost, stream.usage = answer.cost, _add_tokens(stream.usage, answer)
                yield from answer.hits

    def _has_hits(self, child: ChildProcess, output: bytes) -> bool:
        """Whether a program that has ended found anything; that it failed is an error.

        One that found nothing does not complain: a crash often has the exit code that others give to that.
        """
        code = child.wait()
        if code in self._config.nothing and not child.complaint:
            return False
        if code in self._config.nothing:
            raise CommandFailed(f"{child.ending(code, output)} (nothing: [{code}] holds for a program that complains of nothing)")
        if code in self._config.success:
            return True
        silent = code > 0 and not output and not child.complaint
        advice = f"; if that means that it found nothing, say so (nothing: [{code}])" if silent else ""
        raise CommandFailed(child.ending(code, output) + advice)

    def _pieces(self, child: ChildProcess) -> Iterator[bytes]:
        """Its output up to the bound, beyond which it is an error."""
        bytes_left = self._config.max_output_bytes
        while piece := child.read():
            bytes_left -= len(piece)
            if bytes_left < 0:
                raise CommandFailed(f"{child.name} printed more than {self._config.max_output_bytes} bytes (max_output_bytes)")
            yield piece

    def _lines(self, child: ChildProcess) -> Iterator[bytes]:
        rest = bytearray()
        for piece in self._pieces(child):
            *lines, last = piece.split(b"\n")
            for line in lines:
                yield bytes(rest) + line
                rest.clear()
            rest += last
        yield bytes(rest)

    def _start_search(self, query: str, k: int) -> AbstractContextManager[ChildProcess]:
        values = {"query": query, "k": k, "corpus": self._corpus}
        arguments = [fill_template(each, values) for each in self._config.argv[1:]]
        text = "" if self._config.stdin is None else fill_template(self._config.stdin, values)
        return run_program(self._program, arguments, self._folder, encode_argument(text, "query"), self.given_variables)

    def _start_process(self) -> ChildProcess:
        arguments = [fill_template(each, {"corpus": self._corpus}) for each in self._config.argv[1:]]
        return ChildProcess(self._program, arguments, self._folder, stdin=None, variables=self.given_variables)

    def _start_of(self, child: ChildProcess, start: int) -> tuple[Usage, dict[str, Any]]:
        """What the start has taken, which is a part of what has passed: a ``startup`` that took longer tells nothing of that."""
        start_ms = child.start_ms if self._startup is None else self._startup.ms
        if start_ms <= (perf_counter_ns() - start) / 1e6:
            return Usage(start_ms=start_ms), {}
        return Usage(), {"start": f"not stated: startup takes {start_ms:.3g} ms, which is more than this search took"}

    @cached_property
    def _reader(self) -> ResultReader:
        results = self._config.results
        if not self._config.stays:
            return ResultReader(results, "lines")
        hits, cost, tokens = results.hits or "hits", results.cost or "cost", results.tokens or "tokens"
        return ResultReader(replace(results, hits=hits, cost=cost, tokens=tokens), "json")

    def _see(self, corpus: Corpus) -> None:
        """Take the path of a corpus, where the program is told of it; a folder is made for a commit only if it is."""
        if not self.needs_corpus:
            return
        self._corpus = _corpus_path(corpus)
        if self._corpus is None:
            raise UsageError(
                f"the program gets {{corpus}}, and {corpus.name!r} is neither a folder nor a file: name one with --corpus"
            )

    @property
    def _folder(self) -> str | None:
        """Where the program is started; None is where the user has started us."""
        if self._config.folder is None:
            return None
        return str(Path(fill_template(self._config.folder, {"corpus": self._corpus})).absolute())


def _corpus_path(corpus: Corpus) -> Path | None:
    """The folder of a corpus, or the file that its documents are in."""
    if corpus.folder is not None:
        return corpus.folder.absolute()
    return corpus.source.path.absolute() if isinstance(corpus.source, FileSource) else None


def _decode_output(output: bytes) -> str:
    """What a program has printed; names of files may be any bytes, and are kept as Python keeps them."""
    return output.decode("utf-8-sig", "surrogateescape")


def _exit_contradiction(child: ChildProcess, output: str) -> CommandFailed:
    return CommandFailed(
        f"{child.name} ended with exit code {child.wait()}, which means that it found nothing, and printed {output!r}: "
        "if that is not a hit, say so with results.nothing"
    )


def _add_tokens(usage: Usage, answer: ParsedAnswer) -> Usage:
    return replace(usage, tokens=answer.tokens, tokens_by=None if answer.tokens is None else "the program")
