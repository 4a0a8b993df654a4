"""A program that stays: it says that it is ready, and then answers each line of JSON with one, or with several.

    it says     {"ready": true}
    it reads    {"id": 1, "query": "log in", "k": 10}
    it says     {"id": 1, "hits": ["src/login.py", {"id": "src/user.py", "score": 0.5}]}
    or          {"id": 1, "hits": ["src/login.py"], "more": true}, and further lines, of which the last has no "more"
    or          {"id": 1, "error": "the index is locked"}

Whatever else it says is an error of the case, and the next query is for a new process: nobody knows what the old one would
answer to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from time import perf_counter_ns
from typing import Any

from searchmark.agents.outside.process import Child, CommandFailed, one_line
from searchmark.services.excerpts import excerpt_of

Reply = Mapping[str, Any]
_SHOWN = 200


class Refused(CommandFailed):
    """The program says that this search failed; it is still there, and can be asked again."""


class StayingProcess:
    """The process that answers now, and how to start the next one."""

    def __init__(self, start: Callable[[], Child], longest: int) -> None:
        self._start = start
        self._longest = longest
        self._left = longest
        self._child: Child | None = None
        self._buffer = bytearray()
        self._asked = 0
        self.restarts = 0  # after answers that were none

    def ensure_started(self) -> float | None:
        """Start it unless it is there; the milliseconds until it was ready, None if it was."""
        if self._child is not None:
            return None
        begun = perf_counter_ns()
        self._buffer.clear()
        self._child = self._start()
        try:
            self._wait_until_ready(self._child)
        except BaseException:
            self.end()
            raise
        return (perf_counter_ns() - begun) / 1e6

    def _wait_until_ready(self, child: Child) -> None:
        self._left = self._longest
        said = self._message(child)
        if said.get("ready") is not True:
            raise CommandFailed(f'a program that stays says {{"ready": true}} first; {child.name} said {_shown(said)}')

    def ask(self, query: str, k: int) -> Generator[Reply, None, None]:
        """What it answers, message by message. Where the caller wants no more, the rest is read all the same."""
        child = self._child
        if child is None:
            raise RuntimeError("the process was asked before it was started")
        self._asked += 1
        self._left = self._longest
        child.write(json.dumps({"id": self._asked, "query": query, "k": k}).encode() + b"\n")
        more = True
        try:
            while more:
                message = self._answer(child)
                more = message.get("more") is True
                yield message
        except GeneratorExit:
            self._skip_rest(child, more=more)
            raise
        except Refused:
            raise
        except BaseException:
            self.end()
            raise

    def _skip_rest(self, child: Child, *, more: bool) -> None:
        try:
            while more:
                more = self._answer(child).get("more") is True
        except Refused:
            pass
        except CommandFailed:
            self.end()

    def _answer(self, child: Child) -> Reply:
        message = self._message(child)
        if message.get("id") != self._asked:
            raise CommandFailed(f"{child.name} was asked {self._asked} and answered something else: {_shown(message)}")
        if not isinstance(message.get("more", False), bool):
            raise CommandFailed(f"more is true or false; {child.name} said {_shown(message)}")
        if message.get("error") is not None:
            raise Refused(f"{child.name} says: {excerpt_of(str(message['error']), 2 * _SHOWN)}")
        return message

    def _message(self, child: Child) -> Reply:
        line = self._line(child)
        try:
            message = json.loads(line.decode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError) as error:
            raise CommandFailed(f"{child.name} answered with what is not JSON ({error}): {one_line(line, _SHOWN)}") from error
        if not isinstance(message, dict):
            raise CommandFailed(f"{child.name} answered with what is not an object: {_shown(message)}")
        return message

    def _line(self, child: Child) -> bytes:
        """The next line; the bound is for all lines of an answer."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            self._check_length(child, searched)
            piece = child.read()
            if not piece:
                raise CommandFailed(child.ending(child.wait(), bytes(self._buffer)))
            self._buffer += piece
        self._check_length(child, end)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._left -= end + 1
        return line

    def _check_length(self, child: Child, length: int) -> None:
        if length > self._left:
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


def _shown(message: object) -> str:
    return excerpt_of(json.dumps(message), _SHOWN)
