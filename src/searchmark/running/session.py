"""One agent through a whole run: started, brought to its corpus, asked, ended, started again.

Every question ends in one of the five statuses. An agent that cannot be started has no scores at all; one that fails
too often in a row is left alone, and the rest of its cases are not run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from searchmark.agents.agent import AgentSpec
from searchmark.corpora.locations import Commit, Location
from searchmark.errors import UsageError
from searchmark.options.run_options import RunOptions
from searchmark.records import NOTHING_KNOWN, AnswerDetails, Printed, Status
from searchmark.records.samples import Samples
from searchmark.running.clock_check import ClockCheck, Load
from searchmark.running.events import WorkerEvent
from searchmark.running.request_failures import RequestFailed
from searchmark.running.sandbox.launch import Launch
from searchmark.running.sandbox.needs import caches_vectors
from searchmark.running.sandbox.variables import explained
from searchmark.running.worker.client import Gone, Late, Output
from searchmark.running.worker.in_process import Worker, start_worker
from searchmark.running.worker.protocol import longest_answer, malformed, wrong_shape

CLOSING_SECONDS = 30.0  # an index may have to be saved
LOADING_SECONDS = 60.0  # importing is not indexing: a short limit for that must not fail on a busy machine


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one question ended: the answer as the agent gave it, and what is known about it.

    ``lines`` are the first and last lines that each hit means, None for a whole document; None if all hits are.
    """

    status: Status
    ids: tuple[str, ...] = ()
    scores: tuple[float | None, ...] | None = None
    lines: tuple[tuple[int, int] | None, ...] | None = None
    details: AnswerDetails = NOTHING_KNOWN


class Session:
    """An agent in a worker of its own. Not to be shared between threads; ``happened`` is told of every start and end.

    ``meanwhile`` is called whenever the worker has got a request and its answer is waited for.
    """

    def __init__(
        self,
        spec: AgentSpec,
        options: RunOptions,
        warm_up_query: str,
        happened: Callable[[WorkerEvent], None],
        launch: Launch,
        meanwhile: Callable[[], None] = lambda: None,
        warm_up_request: Mapping[str, Any] | None = None,
    ) -> None:
        self.spec = spec
        self._launch = launch
        self._snapshots = launch.snapshot_folder()
        self._options = options
        self._warm_up_query = warm_up_query
        self._own_request = _own(warm_up_request)  # what the case that is asked brings along
        self._happened, self._meanwhile = happened, meanwhile
        self._process: Worker | None = None
        self._location: Location | None = None
        self._clock = ClockCheck(Load(options.depth, options.jobs))
        self._resets = self._counts = self._streams = False
        self.needs_corpus = True  # as far as is known before it is loaded
        self.ever_ready = False
        self._was_ready = False  # in this session: of one that was not, there is nothing to close
        self._in_a_row = 0
        self.given_up: str | None = None
        self._output = {"stdout": Output(), "stderr": Output()}

    def load(self) -> str | None:
        """Start the worker and load the agent; a digest of its code. One that cannot be loaded is a wrong request."""
        try:
            return self._start()
        except RequestFailed as failure:
            self._end()
            raise UsageError(str(failure)) from failure

    @property
    def failures_in_a_row(self) -> int:
        """With what the last question ended."""
        return self._in_a_row

    def pass_over(self, in_a_row: int) -> None:
        """Go on after a question that was answered before this run was resumed: so many failures are consecutive with it."""
        self._in_a_row = in_a_row
        if in_a_row:
            self._give_up_at_the_limit("see the journal")

    def begin_block(self, *, ever_ready: bool) -> None:
        """Ask what comes as if nothing had failed before: of the blocks that are asked elsewhere nothing is known here.

        ``ever_ready``: the agent was, somewhere, if not here.
        """
        self._in_a_row, self.given_up = 0, None
        self.ever_ready = self.ever_ready or ever_ready

    def ask(self, query: str, location: Location, request: Mapping[str, Any] | None = None) -> Outcome:
        """Search one corpus once cold and then warm, as often as the options say; ``request`` is the case's own, if it has one."""
        if self.given_up:
            return Outcome("not_run", details=AnswerDetails(failure=self.given_up))
        try:
            self._prepare(location)
        except RequestFailed as failure:
            return self._unprepared(failure)
        self._own_request = _own(request)
        try:
            if self._resets:
                self._told({"op": "reset"}, self._options.timeout_seconds)
            cold = self._request("search", query)
            ms, doubted = self._time(cold, query)
            first = self._first_hit_ms(ms)
            if self._counts:
                cold |= self._told({"op": "afterwards"}, self._options.timeout_seconds)
        except RequestFailed as failure:
            return self._failed(failure, failure.ms)
        self._warm_up_query = query
        return self._outcome(cold, query, ms, first, doubted)

    def close(self) -> None:
        """Let the agent close itself, for a few seconds, then end its worker."""
        self._close_worker()
        self.abandon()

    def _close_worker(self) -> None:
        if self._process is not None and self._was_ready:
            try:
                reply = self._process.ask({"op": "close"}, CLOSING_SECONDS)
                wrong = wrong_shape("close", reply, 0)
                self._happened(WorkerEvent("closed", memory=None if wrong else reply.get("memory"), reason=wrong))
            except (Gone, Late):
                pass
        self._end()

    def abandon(self) -> None:
        """End the worker at once."""
        self._end()
        self._snapshots.close()

    def interrupt(self) -> None:
        """Have what is being asked fail at once. For any thread, as nothing else here is; whoever asks ends the worker."""
        if (process := self._process) is not None:
            process.hang_up()

    def printed(self) -> list[Printed]:
        """What the agent has printed: its beginning, and how much there was."""
        return [Printed(name, output.size, output.text()) for name, output in self._output.items() if output.size]

    def _outcome(self, cold: dict[str, Any], query: str, ms: float, first: float | None, doubted: bool) -> Outcome:
        repeats = self._repeats(query)
        doubts = repeats.pop("doubted_times") + doubted
        return answered(_possible(cold, ms), cold_ms=(ms,), first_hit_ms=first, doubted_times=doubts, **repeats)

    def _first_hit_ms(self, ms: float) -> float | None:
        """Until the first hit of a stream, by our own clock; its way to us may make that longer than the whole search was."""
        assert self._process is not None  # noqa: S101  # it has just answered
        first = self._process.first_hit_ns
        return None if first is None else min(first / 1e6, ms)

    def _time(self, reply: dict[str, Any], query: str) -> tuple[float, bool]:
        """How long a search took, and whether that is our own time, since the worker's is not to be believed."""
        assert self._process is not None  # noqa: S101  # it has just answered
        believed = self._clock.believes(reply, self._process, query)
        return (reply["ns"] if believed else _surely_ns(self._process)) / 1e6, not believed

    def _repeats(self, query: str) -> dict[str, Any]:
        """The fields of the details that warm searches fill in. After a repeat that fails there are no more."""
        samples: list[float] = []
        inside: list[float] = []
        changed = doubted = 0
        for _ in range(self._options.num_runs - 1):
            try:
                reply = self._request("again", query)
            except RequestFailed as failure:
                self._in_a_row += 1
                self._give_up_at_the_limit(str(failure))
                samples += [] if failure.ms is None else [failure.ms]
                failures = {"repeat_failure": str(failure), "repeat_failures": int(failure.ms is not None)}
                return {
                    "warm_ms": _packed(samples),
                    "index_warm_ms": _packed(inside),
                    "doubted_times": doubted + failure.doubted,
                    **failures,
                }
            ms, not_believed = self._time(reply, query)
            samples.append(ms)
            inside += [reply["index_ms"]] if (reply.get("index_ms") or ms + 1) <= ms else []
            doubted += not_believed
            changed += not reply["same"]
        self._in_a_row = 0
        return {"warm_ms": _packed(samples), "index_warm_ms": _packed(inside), "doubted_times": doubted, "unstable": changed}

    def _failed(self, failure: RequestFailed, ms: float | None = None) -> Outcome:
        """A case without an answer; ``ms`` is how long it was searched for, None where it never came to that."""
        self._in_a_row += 1
        self._give_up_at_the_limit(str(failure))
        samples = () if ms is None else (ms,)
        doubted = int(failure.doubted and ms is not None)
        details = AnswerDetails(
            cold_ms=samples,
            failure=failure.reason,
            failure_excerpt=failure.excerpt,
            traceback=failure.where,
            printed=failure.printed,
            doubted_times=doubted,
        )
        return Outcome(failure.status, details=details)

    def _unprepared(self, failure: RequestFailed) -> Outcome:
        if self.ever_ready:
            return self._failed(failure)
        self.give_up_starting(f"{failure}{self._more_time() if failure.status == 'timeout' else ''}")
        details = AnswerDetails(failure=self.given_up, traceback=failure.where, printed=failure.printed)
        return Outcome("not_run", details=details)  # the cases that follow are not run for the same reason

    def give_up_starting(self, reason: str) -> None:
        """Ask nothing any more: there is no agent to be asked."""
        self.given_up = f"the agent could not be started: {reason}"
        self._happened(WorkerEvent("not_started", reason=self.given_up))

    def _more_time(self) -> str:
        kept = self._launch.sandbox is None and caches_vectors(self.spec)  # a sandbox has a cache that goes with it
        resumes = "; finished batches of vectors are cached, and the next try continues after them" if kept else ""
        return f"; --initialize-timeout sets a longer limit for building an index{resumes}"

    def _give_up_at_the_limit(self, reason: str) -> None:
        if self._in_a_row >= self._options.max_failures:
            self.given_up = too_many_failures(self._in_a_row, reason)
            self._end()

    def _start(self) -> str | None:
        launch = self._launch.showing(self._snapshots)
        process = start_worker(self.spec, self._output, longest_answer(self._options.depth), launch)
        self._process, self._location = process, None
        agent = self.spec.to_plain()
        limits = {
            "memory_limit_mb": self._options.memory_limit_mb,
            "foreign": not self._options.no_exec,
            "network": self._options.network,
        }
        reply = self._told({"op": "load", "agent": agent, **limits}, max(self._options.initialize_seconds, LOADING_SECONDS))
        self._happened(WorkerEvent("started", seconds=process.age()))
        self._resets, self._counts, self.needs_corpus = (reply[key] for key in ("resets", "counts", "needs_corpus"))
        code: str | None = reply["code"]
        return code

    def _prepare(self, location: Location) -> None:
        """Have a worker whose agent is ready for this location, warmed up by a search that nobody counts."""
        if self._bring_to(location) and self._options.warm_up and not self._in_a_row:
            try:
                self._request("search", self._warm_up_query)
            except RequestFailed:
                self._bring_to(location)  # whatever it was, it must not hit the case that comes next

    def _bring_to(self, location: Location) -> bool:
        """Start and prepare the agent as far as needed; whether anything was needed."""
        if self._process is not None and location == self._location:
            return False
        export = self._exported(location)
        if self._process is None:
            self._start()
        assert self._process is not None  # noqa: S101  # it was started above
        self._clock.begin(self._process)
        reply = self._told({"op": "prepare", "location": location.to_plain(), **export}, self._options.initialize_seconds)
        believed = self._clock.believes_preparation(reply, self._process, location)
        ns = reply["ns"] if believed else _surely_ns(self._process)
        self._clock.begin(self._process)
        facts = {key: reply[key] for key in ("how", "index_bytes", "memory", "description", "vectors")}
        event = {"event": "prepared", "seconds": ns / 1e9, "doubted": None if believed else True, **facts}
        self._happened(WorkerEvent.from_plain(event))
        self._location, self.ever_ready, self._was_ready = location, True, True
        return True

    def _exported(self, location: Location) -> dict[str, Any]:
        """What a request says of the files of a commit, where the agent sees only these; they are there before it is."""
        if not self._snapshots.commits or not isinstance(location, Commit):
            return {}
        if self._process is None or self._snapshots.reveals_later(location):
            self._close_worker()
            self._snapshots.forget_seen()
        try:
            return {"export": self._snapshots.show(location)}
        except UsageError as error:
            raise RequestFailed("error", str(error)) from error

    def _request(self, operation: str, query: str) -> dict[str, Any]:
        seconds = self._options.timeout_seconds
        return self._told(
            {"op": operation, "query": query, "depth": self._options.depth, "seconds": seconds, **self._own_request}, seconds
        )

    def _told(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Ask the worker. One that has gone, is late or out of memory is ended."""
        assert self._process is not None  # noqa: S101  # nobody asks before there is one
        if self._streams:
            self._meanwhile()  # not while hits come: when the first one did would not be seen
        start, before = perf_counter(), self._printed_sizes()
        try:
            reply = self._process.ask(message, seconds, _nothing if self._streams else self._meanwhile)
        except Late:
            self._lose("timeout")
            reason, printed = f"no answer within {seconds:g} s", self._printed_since(before)
            raise RequestFailed("timeout", reason, seconds * 1e3, printed=printed) from None
        except Gone as gone:
            took = _ms_since(start) - self._process.unseen_ns / 1e6  # by our own clock, since that of the worker is gone
            self._lose(str(gone))
            raise RequestFailed("error", str(gone), took, printed=self._printed_since(before)) from None
        self._streams = self._streams or self._process.first_hit_ns is not None
        problem = self._problem(message["op"], reply)
        if problem:
            took = _ms_since(start) - self._process.unseen_ns / 1e6
            self._lose(problem)
            raise RequestFailed("error", problem, took)
        if "failed" in reply:
            timed = "query" in message and reply.get("ns") is not None
            ms, doubted = self._time(reply, message["query"]) if timed else (None, False)
            if reply.get("spent"):
                self._lose("out of memory")
            reason = explained(reply["failed"], self._launch.withheld)
            where, excerpt = reply.get("traceback"), reply.get("excerpt")
            printed = self._printed_since(before)
            raise RequestFailed("error", reason, ms, doubted=doubted, where=where, excerpt=excerpt, printed=printed)
        return reply

    def _printed_sizes(self) -> dict[str, int]:
        """How much the agent has printed so far."""
        if self._process is not None:
            self._process.take_printed()
        return {name: output.size for name, output in self._output.items()}

    def _printed_since(self, sizes: Mapping[str, int]) -> str | None:
        """The end of what the agent has printed since then, stdout before stderr; None if it printed nothing."""
        if self._process is not None:
            self._process.take_printed()
        said = (output.end_since(sizes[name]).strip() for name, output in self._output.items())
        return "\n".join(filter(None, said)) or None

    def _problem(self, operation: str, reply: dict[str, Any]) -> str | None:
        """What is wrong with a reply; nothing can take longer than we waited for it."""
        wrong = wrong_shape(operation, reply, self._options.depth)
        claimed = 0 if wrong else (reply.get("ns") or 0) + (reply.get("around_ns") or 0)
        late = self._process is not None and claimed > self._process.took_ns
        return wrong or (malformed("ns") if late else None)

    def _lose(self, reason: str) -> None:
        """End a worker that is of no use any more; another one will be started for the next case."""
        self._end()
        self._happened(WorkerEvent("ended", reason=reason))

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None
            self._location = None


def too_many_failures(in_a_row: int, last: str) -> str:
    """Why an agent is not asked any more."""
    return f"{in_a_row} consecutive failures, the last one: {last}"


def _own(request: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"request": request} if request else {}


def _possible(reply: Mapping[str, Any], ms: float) -> Mapping[str, Any]:
    """A reply without stated parts of its time that are longer than all of it; these are counted."""
    impossible = [part for part in ("waited_ms", "start_ms", "index_ms") if (reply.get(part) or 0.0) > ms]
    dropped = {**reply["dropped"], "impossible_times": len(impossible)} if impossible else reply["dropped"]
    return {**reply, **dict.fromkeys(impossible), "dropped": dropped}


def answered(reply: Mapping[str, Any], **times: Any) -> Outcome:
    """What a reply to a search says, with the fields of its details that say how long the searches took."""
    scores, lines = reply.get("scores"), reply.get("lines")
    return Outcome(
        status="ok" if reply["ids"] else "empty",
        ids=tuple(reply["ids"]),
        scores=None if scores is None else tuple(scores),
        lines=None if lines is None else tuple(None if span is None else (span[0], span[1]) for span in lines),
        details=AnswerDetails(
            cost=reply.get("cost"),
            tokens=reply.get("tokens"),
            tokens_by=reply.get("tokens_by"),
            retries=reply.get("retries"),
            waited_ms=reply.get("waited_ms"),
            start_ms=reply.get("start_ms"),
            index_cold_ms=reply.get("index_ms"),
            ann_k=reply.get("ann_k"),
            ann_recall=reply.get("ann_recall"),
            ann_overlap=reply.get("ann_overlap"),
            dropped=reply["dropped"],
            said=reply.get("metadata"),
            **times,
        ),
    )


def _nothing() -> None:
    """What there is to do while hits come."""


def _packed(samples: Sequence[float]) -> Sequence[float]:
    """Times that are kept until the run ends; most cases of most runs have few or none, and share that."""
    return Samples(samples) if samples else ()


def _surely_ns(worker: Worker) -> int:
    """What a request took at least, by our own clock."""
    return worker.took_ns - worker.unseen_ns


def _ms_since(start: float) -> float:
    return (perf_counter() - start) * 1e3
