"""The ``command`` agent: any program that searches, started for every query or once. docs/command.md has examples."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from searchmark.agents.agent import RetrievalAgent, RetrievalResult, Usage
from searchmark.agents.hits import FoundHit
from searchmark.agents.outside.options import CommandConfig
from searchmark.agents.outside.process import Child, CommandFailed, as_bytes, found_program, one_line, running
from searchmark.agents.outside.results import ReadAnswer, ResultReader
from searchmark.agents.outside.startup import MeasuredStart
from searchmark.agents.outside.staying import Reply, StayingProcess
from searchmark.agents.outside.streamed import StreamedHits
from searchmark.agents.outside.templates import filled, names
from searchmark.corpora.corpus import Changes, Corpus
from searchmark.corpora.documents import FileSource
from searchmark.errors import UsageError

_SHOWN = 200


class CommandAgent(RetrievalAgent):
    """Asks a program. Each query is an argument or its input as it was typed, and no shell ever sees it."""

    Config = CommandConfig

    def __init__(self, config: CommandConfig | None = None) -> None:
        self._config = config or CommandConfig()
        if not self._config.argv:
            raise UsageError("the agent 'command' needs argv: the program and its arguments, with {query} where the query goes")
        self._program = found_program(self._config.argv[0])
        if self._config.startup:
            found_program(self._config.startup[0])
        self.needs_corpus = names([self._config.argv, self._config.stdin, self._config.folder], "corpus")
        self._corpus: Path | None = None
        self._process = StayingProcess(self._started, self._config.max_output_bytes)

    def connect(self, arms: Mapping[str, RetrievalAgent]) -> None:  # noqa: ARG002  # it has none
        """Measure the start here and not where it is initialised: these starts are for our own numbers, and no index of its own."""
        _ = self._measured

    @cached_property
    def _measured(self) -> MeasuredStart | None:
        return MeasuredStart.of(self._config.startup, self.given_variables) if self._config.startup else None

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
        said: dict[str, Any] = {"program": self._program, "argv": list(self._config.argv)}
        if self._config.stdin is not None:
            said["stdin"] = self._config.stdin
        if self._measured is not None and self._measured.version:
            said["version"] = self._measured.version
        return said | {"format": self._reader.format, "start": self._start_described()}

    def _start_described(self) -> str:
        if self._config.stays:
            return "once, before the first query"
        if self._config.startup:
            return f"for every query; its time is the median of {' '.join(self._config.startup)}, where a search took longer"
        return "for every query; its time is that until the program was executed"

    def retrieve(self, query: str, k: int) -> Any:
        """A result, or hits as they come where the config says so."""
        if self._config.stays:
            return self._asked(query, k)
        if not self._config.streams:
            return self._searched(query, k)
        stream = StreamedHits()
        return stream.of(self._printed_hits(stream, query, k))

    def _searched(self, query: str, k: int) -> RetrievalResult:
        begun = perf_counter_ns()
        with self._searching(query, k) as child:
            output = b"".join(self._pieces(child))
            found = self._found_something(child, output)
        answer = self._reader.read(_text(output)) if found or output.strip() else ReadAnswer(())
        if not found and answer.hits:
            raise _contradiction(child, one_line(output, _SHOWN))
        usage, metadata = self._start_of(child, begun)
        return answer.result(_with_tokens(usage, answer), **metadata)

    def _printed_hits(self, stream: StreamedHits, query: str, k: int) -> Generator[FoundHit, None, None]:
        """Hits as they are printed. How the program has ended is known at the end, and an error then."""
        begun = perf_counter_ns()
        with self._searching(query, k) as child:
            first = None
            for hit in self._reader.read_lines(map(_text, self._lines(child))):
                first = first or hit
                stream.usage, stream.metadata = self._start_of(child, begun)  # no more hits may be wanted
                yield hit
            if not self._found_something(child, b"") and first is not None:
                raise _contradiction(child, first.id)
            stream.usage, stream.metadata = self._start_of(child, begun)

    def _asked(self, query: str, k: int) -> Any:
        start_ms = self._process.ensure_started()
        usage, metadata = Usage(start_ms=start_ms), {"restarts": self._process.restarts} if self._process.restarts else {}
        messages = self._process.ask(query, k)
        if self._config.streams:
            stream = StreamedHits()
            stream.usage, stream.metadata = usage, metadata
            return stream.of(self._said_hits(stream, messages))
        answers = [self._reader.read_data(message) for message in list(messages)]
        last = answers[-1]
        hits = last.hits if len(answers) == 1 else [hit for answer in answers for hit in answer.hits]
        return replace(last, hits=hits).result(_with_tokens(usage, last), **metadata)

    def _said_hits(self, stream: StreamedHits, messages: Generator[Reply, None, None]) -> Generator[FoundHit, None, None]:
        with closing(messages):
            for message in messages:
                answer = self._reader.read_data(message)
                stream.cost, stream.usage = answer.cost, _with_tokens(stream.usage, answer)
                yield from answer.hits

    def _found_something(self, child: Child, output: bytes) -> bool:
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

    def _pieces(self, child: Child) -> Iterator[bytes]:
        """Its output up to the bound, beyond which it is an error."""
        left = self._config.max_output_bytes
        while piece := child.read():
            left -= len(piece)
            if left < 0:
                raise CommandFailed(f"{child.name} printed more than {self._config.max_output_bytes} bytes (max_output_bytes)")
            yield piece

    def _lines(self, child: Child) -> Iterator[bytes]:
        rest = bytearray()
        for piece in self._pieces(child):
            *lines, last = piece.split(b"\n")
            for line in lines:
                yield bytes(rest) + line
                rest.clear()
            rest += last
        yield bytes(rest)

    def _searching(self, query: str, k: int) -> AbstractContextManager[Child]:
        values = {"query": query, "k": k, "corpus": self._corpus}
        arguments = [filled(each, values) for each in self._config.argv[1:]]
        given = "" if self._config.stdin is None else filled(self._config.stdin, values)
        return running(self._program, arguments, self._folder, as_bytes(given, "query"), self.given_variables)

    def _started(self) -> Child:
        arguments = [filled(each, {"corpus": self._corpus}) for each in self._config.argv[1:]]
        return Child(self._program, arguments, self._folder, given=None, variables=self.given_variables)

    def _start_of(self, child: Child, begun: int) -> tuple[Usage, dict[str, Any]]:
        """What the start has taken, which is a part of what has passed: a ``startup`` that took longer tells nothing of that."""
        measured = child.start_ms if self._measured is None else self._measured.ms
        if measured <= (perf_counter_ns() - begun) / 1e6:
            return Usage(start_ms=measured), {}
        return Usage(), {"start": f"not stated: startup takes {measured:.3g} ms, which is more than this search took"}

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
        self._corpus = _path_of(corpus)
        if self._corpus is None:
            raise UsageError(
                f"the program gets {{corpus}}, and {corpus.name!r} is neither a folder nor a file: name one with --corpus"
            )

    @property
    def _folder(self) -> str | None:
        """Where the program is started; None is where the user has started us."""
        if self._config.folder is None:
            return None
        return str(Path(filled(self._config.folder, {"corpus": self._corpus})).absolute())


def _path_of(corpus: Corpus) -> Path | None:
    """The folder of a corpus, or the file that its documents are in."""
    if corpus.folder is not None:
        return corpus.folder.absolute()
    return corpus.source.path.absolute() if isinstance(corpus.source, FileSource) else None


def _text(output: bytes) -> str:
    """What a program has printed; names of files may be any bytes, and are kept as Python keeps them."""
    return output.decode("utf-8-sig", "surrogateescape")


def _contradiction(child: Child, printed: str) -> CommandFailed:
    return CommandFailed(
        f"{child.name} ended with exit code {child.wait()}, which means that it found nothing, and printed {printed!r}: "
        "if that is not a hit, say so with results.nothing"
    )


def _with_tokens(usage: Usage, answer: ReadAnswer) -> Usage:
    return replace(usage, tokens=answer.tokens, tokens_by=None if answer.tokens is None else "the program")
