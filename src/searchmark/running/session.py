"""An agent's life during a run: started, given a corpus, asked, ended, started again.

Each question ends in one of five statuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from searchmark.config.agents import AgentSpec
from searchmark.config.run import RunSettings
from searchmark.config.strict import Number, Whole, strict_record
from searchmark.errors import Missing, UsageError, with_excerpt
from searchmark.formats.corpora.locations import Commit, Location
from searchmark.records.answers import NOTHING_KNOWN, AnswerDetails, Samples, Status
from searchmark.records.provenance import IndexBuild, VectorStatistics, WorkerOutput
from searchmark.running.clock_check import ClockCheck, Load
from searchmark.running.corpus_inspector import CaseExistence, CorpusInspector
from searchmark.running.plan import Step
from searchmark.running.sandbox.launch import Launch, explain_missing_variable
from searchmark.running.sandbox.view import has_vector_cache
from searchmark.running.worker.client import DeadlinePassed, OutputCapture, Worker, WorkerDied, start_worker
from searchmark.running.worker.protocol import longest_answer, malformed_reason, reply_problem

if TYPE_CHECKING:
    from pydantic import TypeAdapter


# What happens to a worker during a run, as it is written to the journal.

EventKind = Literal["started", "prepared", "ended", "not_started", "closed"]


@strict_record(slots=True)
class WorkerEvent:
    """A worker was started, its agent was prepared or could not be, it was lost, or closed in good order."""

    event: EventKind
    seconds: Number | None = None  # that starting or preparing took
    doubted: bool | None = None  # the worker reported much less: ``seconds`` is what passed on the runner's clock
    how: Literal["initialised", "updated", "remote"] | None = None  # whether the index was built or updated
    index_bytes: Whole | None = None
    memory: Whole | None = None  # the most it has had, in bytes
    reason: str | None = None  # why it was lost, or could not be prepared
    missing: bool | None = None  # it could not be prepared for want of something that is not on this machine
    description: Mapping[str, Any] | None = None  # what the agent says of itself
    vectors: tuple[VectorStatistics, ...] | None = None
    host: Whole | None = None  # the number of the machine
    place: Whole | None = None  # of the first case of its block, in the order in which cases are asked

    def to_plain(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in self.__slots__}
        plain["vectors"] = None if self.vectors is None else [asdict(each) for each in self.vectors]
        return {name: value for name, value in plain.items() if value is not None}

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> WorkerEvent:
        return _adapter().validate_python(data)


@cache
def _adapter() -> TypeAdapter[WorkerEvent]:
    from pydantic import TypeAdapter

    return TypeAdapter(WorkerEvent)


def index_build(events: Sequence[WorkerEvent]) -> IndexBuild:
    """What it took to get the agent ready, in this run and in those that it resumes."""
    preparations = [event for event in events if event.event == "prepared"]
    return IndexBuild(
        seconds=sum(event.seconds or 0.0 for event in preparations) if preparations else None,
        full_builds=sum(event.how == "initialised" for event in preparations),
        updates=sum(event.how == "updated" for event in preparations),
        bytes=max((event.index_bytes for event in preparations if event.index_bytes is not None), default=None),
    )


def order_events(events: Sequence[WorkerEvent]) -> list[WorkerEvent]:
    """As one worker that asks case after case would have had them; blocks come home in any order."""
    return sorted(events, key=lambda event: event.place or 0)


def peak_memory(events: Sequence[WorkerEvent]) -> int | None:
    """The most memory that any worker has had, with what it has started."""
    return max((event.memory for event in events if event.memory is not None), default=None)


def start_failure(events: Sequence[WorkerEvent]) -> WorkerEvent | None:
    """The event that says why the agent never became ready; None if it did."""
    if any(event.event == "prepared" for event in events):
        return None
    return next((event for event in reversed(events) if event.event == "not_started"), None)


def vector_statistics_of(events: Sequence[WorkerEvent]) -> tuple[VectorStatistics, ...]:
    """What the vectors of the agent were like when it was last ready."""
    return next((event.vectors for event in reversed(events) if event.vectors is not None), ())


def description_of(events: Sequence[WorkerEvent]) -> Mapping[str, Any]:
    """What the agent last said of itself."""
    return next((event.description for event in reversed(events) if event.description is not None), {})


class RequestFailed(Exception):
    """A request to a worker that did not end well."""

    def __init__(
        self,
        status: Status,  # of the case
        reason: str,
        ms: float | None = None,  # that the search took: the deadline if it had to be ended, None if it never began
        *,
        doubted: bool = False,  # ``ms`` is our own time, since the worker's is not believed
        where: str | None = None,  # in its code the agent was
        excerpt: str | None = None,  # what a tool said, apart from the reason
        printed: str | None = None,  # the end of what the agent printed meanwhile
        missing: bool = False,  # for want of something that is not on this machine
    ) -> None:
        super().__init__(with_excerpt(reason, excerpt))
        self.reason, self.excerpt = reason, excerpt
        self.status: Status = status
        self.ms = ms
        self.doubted = doubted
        self.where = where
        self.printed = printed
        self.missing = missing


# Every question ends in one of the five statuses. An agent that cannot be started has no scores at all; one that fails
# too often in a row is left alone, and the rest of its cases are not run.

CLOSING_SECONDS = 30.0  # an index may have to be saved

LOADING_SECONDS = 60.0  # importing is not indexing: a short limit for that must not fail on a busy machine


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """How one question ended: the answer as the agent gave it, and what is known about it."""

    status: Status
    ids: tuple[str, ...] = ()
    scores: tuple[float | None, ...] | None = None
    lines: tuple[tuple[int, int] | None, ...] | None = None  # first and last of each hit, None for a whole document
    texts: tuple[str | None, ...] | None = None  # what each hit says, where passages are judged
    starts: tuple[int | None, ...] | None = None  # the character at which that begins; read into lines where the document is known
    details: AnswerDetails = NOTHING_KNOWN


class Session:
    """An agent in a worker of its own. Not to be shared between threads; ``note`` is called with every start and end.

    A case is recorded one case late: while the worker is busy with the next request, so that recording costs no time. Whatever ends
    the asking, what is pending is recorded. Only a process that is killed loses one answer, which is asked for again on resuming.
    """

    def __init__(
        self,
        spec: AgentSpec,
        options: RunSettings,
        launch: Launch,
        warm_up: Step | None = None,
        note: Callable[[WorkerEvent], None] = lambda _: None,
    ) -> None:
        self.spec = spec
        self._launch = launch
        self._snapshots = launch.snapshot_folder()
        self._options = options
        self._warm_up_query = "" if warm_up is None else warm_up.query
        self._own_request = {} if warm_up is None else _request_field(warm_up.request)  # of the case that is asked
        self._on_event = note
        self._pending: Callable[[], None] | None = None  # records the last case
        self._next: Mapping[str, Step] = {}  # after the case with this id
        self._process: Worker | None = None
        self._location: Location | None = None
        self._clock = ClockCheck(Load(options.depth, options.jobs))
        self._resets = self._counts = self._streams = False
        self.needs_corpus = True  # as far as is known before it is loaded
        self.ever_ready = False
        self._was_ready = False  # in this session: of one that was not, there is nothing to close
        self._in_a_row = 0
        self.given_up: str | None = None
        self._not_started: SearchOutcome | None = None  # of an agent that failed before the first case
        self._output = {"stdout": OutputCapture(), "stderr": OutputCapture()}

    def load(self) -> str | None:
        """Start the worker and load the agent; a digest of its code. One that cannot be loaded is a wrong request."""
        try:
            return self._start()
        except RequestFailed as failure:
            self._end()
            raise (Missing if failure.missing else UsageError)(str(failure)) from failure

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

    def expect(self, steps: Sequence[Step]) -> None:
        """Learn the order, so that a case's location is looked at while the agent is busy with the case before."""
        self._next = {step.case: following for step, following in pairwise(steps)}

    def make_ready(self, steps: Iterable[Step], inspector: CorpusInspector) -> None:
        """Have everything done before the first of these that will be asked, as it is done anyway.

        An agent that cannot start is given up.
        """
        step = next((step for step in steps if inspector.prefetch(step)().problem is None), None)
        if step is None or self.given_up:
            return
        try:
            self._prepare(step.location)
        except RequestFailed as failure:
            if not self.ever_ready:
                self._not_started = self._not_ready(failure)

    def ask_cases(
        self,
        steps: Iterable[Step],
        inspector: CorpusInspector,
        record: Callable[[Step, SearchOutcome, CaseExistence], None],
    ) -> None:
        """Ask one after the other; whatever ends this, all answers are recorded.

        An agent is not asked where contents are missing: it could not know, and would be blamed.
        """
        try:
            for step in steps:
                existence = inspector.prefetch(step)()
                if step.case in self._next:
                    inspector.prefetch(self._next[step.case])  # while the agent is busy; the inspector remembers it until then
                if existence.problem is None:
                    outcome = self.ask(step, existence.judges_passages)
                else:
                    outcome = SearchOutcome("error", details=AnswerDetails(failure=existence.problem, not_whole=True))
                self._record_pending()
                self._pending = partial(record, step, outcome, existence)
        finally:
            self._record_pending()

    def _record_pending(self) -> None:
        """Record the last case. It is dropped first: after an interruption in here nobody knows how much was recorded."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending()

    def _note(self, event: WorkerEvent) -> None:
        self._record_pending()
        self._on_event(event)

    def ask(self, step: Step, passages: bool = False) -> SearchOutcome:
        """Search one corpus once cold and then warm, as often as the options say.

        ``passages``: parts of documents are judged, so that hits need their texts.
        """
        if self.given_up:
            outcome, self._not_started = self._not_started, None  # its first case says where it failed
            return outcome or SearchOutcome("not_run", details=AnswerDetails(failure=self.given_up))
        query = step.query
        try:
            self._prepare(step.location)
        except RequestFailed as failure:
            return self._not_ready(failure)
        self._own_request = _request_field(step.request) | ({"passages": True} if passages else {})
        try:
            if self._resets:
                self._perform({"op": "reset"}, self._options.timeout_seconds)
            cold = self._request("search", query)
            ms, doubted = self._time(cold, query)
            first = self._first_hit_ms(ms)
            if self._counts:
                cold |= self._perform({"op": "afterwards"}, self._options.timeout_seconds)
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
                wrong = reply_problem("close", reply, 0)
                self._note(WorkerEvent("closed", memory=None if wrong else reply.get("memory"), reason=wrong))
            except (WorkerDied, DeadlinePassed):
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

    def printed(self) -> list[WorkerOutput]:
        """What the agent has printed: its beginning, and how much there was."""
        return [WorkerOutput(name, output.size, output.text()) for name, output in self._output.items() if output.size]

    def _outcome(self, cold: dict[str, Any], query: str, ms: float, first: float | None, doubted: bool) -> SearchOutcome:
        repeats = self._repeats(query)
        doubts = repeats.pop("doubted_times") + doubted
        return outcome_of_reply(
            _without_impossible_times(cold, ms), cold_ms=(ms,), first_hit_ms=first, doubted_times=doubts, **repeats
        )

    def _first_hit_ms(self, ms: float) -> float | None:
        """Until the first hit of a stream, by our own clock; its way to us may make that longer than the whole search was."""
        assert self._process is not None  # noqa: S101  # it has just answered
        first = self._process.first_hit_ns
        return None if first is None else min(first / 1e6, ms)

    def _time(self, reply: dict[str, Any], query: str) -> tuple[float, bool]:
        """How long a search took, and whether that is our own time, since the worker's is not to be believed."""
        assert self._process is not None  # noqa: S101  # it has just answered
        believed = self._clock.believes(reply, self._process, query)
        return (reply["ns"] if believed else _least_elapsed_ns(self._process)) / 1e6, not believed

    def _repeats(self, query: str) -> dict[str, Any]:
        """The fields of the details that warm searches fill in. After a repeat that fails there are no more."""
        samples: list[float] = []
        index_samples: list[float] = []
        unstable = doubted = 0
        for _ in range(self._options.num_runs - 1):
            try:
                reply = self._request("again", query)
            except RequestFailed as failure:
                self._in_a_row += 1
                self._give_up_at_the_limit(str(failure))
                samples += [] if failure.ms is None else [failure.ms]
                doubted += failure.doubted
                found = {"repeat_failure": str(failure), "repeat_failures": int(failure.ms is not None)}
                break
            ms, is_doubted = self._time(reply, query)
            samples.append(ms)
            index_samples += [reply["index_ms"]] if (reply.get("index_ms") or ms + 1) <= ms else []
            doubted += is_doubted
            unstable += not reply["same"]
        else:
            self._in_a_row = 0
            found = {"unstable": unstable}
        times = {"warm_ms": _pack_samples(samples), "index_warm_ms": _pack_samples(index_samples)}
        return {**times, "doubted_times": doubted, **found}

    def _failed(self, failure: RequestFailed, ms: float | None = None) -> SearchOutcome:
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
        return SearchOutcome(failure.status, details=details)

    def _not_ready(self, failure: RequestFailed) -> SearchOutcome:
        if self.ever_ready:
            return self._failed(failure)
        self.give_up_starting(
            f"{failure}{self._more_time() if failure.status == 'timeout' else ''}", missing=failure.missing or None
        )
        details = AnswerDetails(failure=self.given_up, traceback=failure.where, printed=failure.printed)
        return SearchOutcome("not_run", details=details)  # the cases that follow are not run for the same reason

    def give_up_starting(self, reason: str, *, missing: bool | None = None) -> None:
        """Ask nothing any more: there is no agent."""
        self._end()  # what it has read so far would be kept for nothing
        self.given_up = f"the agent could not be started: {reason}"
        self._note(WorkerEvent("not_started", reason=self.given_up, missing=missing))

    def _more_time(self) -> str:
        is_cached = self._launch.sandbox is None and has_vector_cache(self.spec)  # a sandbox has a cache that goes with it
        resumes = "; finished batches of vectors are cached, and the next try continues after them" if is_cached else ""
        return f"; --initialize-timeout sets a longer limit for building an index{resumes}"

    def _give_up_at_the_limit(self, reason: str) -> None:
        if self._in_a_row >= self._options.max_failures:
            self.given_up = stopped_sentence(self._in_a_row, reason)
            self._end()

    def _start(self) -> str | None:
        launch = self._launch.with_snapshots(self._snapshots)
        process = start_worker(self.spec, self._output, longest_answer(self._options.depth), launch)
        self._process, self._location = process, None
        agent = self.spec.to_plain()
        limits = {
            "memory_limit_mb": self._options.memory_limit_mb,
            "foreign": not self._options.no_exec,
            "network": self._options.network,
        }
        reply = self._perform({"op": "load", "agent": agent, **limits}, max(self._options.initialize_seconds, LOADING_SECONDS))
        self._note(WorkerEvent("started", seconds=process.age()))
        self._resets, self._counts, self.needs_corpus = (reply[key] for key in ("resets", "counts", "needs_corpus"))
        code: str | None = reply["code"]
        return code

    def _prepare(self, location: Location) -> None:
        """Have a worker whose agent is ready for this location, warmed up by a search that nobody counts.

        An agent that says in its first search that something is missing, as of a server that nobody has started, is not ready.
        """
        if (prepared := self._bring_to(location)) is None:
            return
        if self._options.warm_up and not self._in_a_row:
            try:
                self._request("search", self._warm_up_query)
            except RequestFailed as failure:
                if failure.missing and not self.ever_ready:
                    raise
                self._note_ready(prepared)
                prepared = self._bring_to(location)  # whatever it was, it must not hit the case that comes next
        if prepared is not None:
            self._note_ready(prepared)

    def _note_ready(self, prepared: WorkerEvent) -> None:
        self._note(prepared)
        self.ever_ready = self._was_ready = True

    def _bring_to(self, location: Location) -> WorkerEvent | None:
        """Start and prepare the agent as far as needed; what it took, None if nothing was needed."""
        if self._process is not None and location == self._location:
            return None
        export = self._export(location)
        if self._process is None:
            self._start()
        assert self._process is not None  # noqa: S101  # it was started above
        self._clock.begin(self._process)
        reply = self._perform({"op": "prepare", "location": location.to_plain(), **export}, self._options.initialize_seconds)
        believed = self._clock.believes_preparation(reply, self._process, location)
        ns = reply["ns"] if believed else _least_elapsed_ns(self._process)
        self._clock.begin(self._process)
        facts = {key: reply[key] for key in ("how", "index_bytes", "memory", "description", "vectors")}
        event = {"event": "prepared", "seconds": ns / 1e9, "doubted": None if believed else True, **facts}
        self._location = location
        return WorkerEvent.from_plain(event)

    def _export(self, location: Location) -> dict[str, Any]:
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
        return self._perform(
            {"op": operation, "query": query, "depth": self._options.depth, "seconds": seconds, **self._own_request}, seconds
        )

    def _perform(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Ask the worker. One that has gone, is late or out of memory is ended."""
        assert self._process is not None  # noqa: S101  # nobody asks before there is one
        if self._streams:
            self._record_pending()  # not while hits come: when the first one did would not be seen
        start, before = perf_counter(), self._printed_sizes()
        try:
            reply = self._process.ask(message, seconds, _do_nothing if self._streams else self._record_pending)
        except DeadlinePassed:
            self._lose("timeout")
            reason, output = f"no answer within {seconds:g} s", self._output_since(before)
            raise RequestFailed("timeout", reason, seconds * 1e3, printed=output) from None
        except WorkerDied as death:
            took = _ms_since(start) - self._process.unseen_ns / 1e6  # by our own clock, since that of the worker is gone
            self._lose(str(death))
            raise RequestFailed("error", str(death), took, printed=self._output_since(before)) from None
        self._streams = self._streams or self._process.first_hit_ns is not None
        problem = self._problem(message["op"], reply)
        if problem:
            took = _ms_since(start) - self._process.unseen_ns / 1e6
            self._lose(problem)
            raise RequestFailed("error", problem, took)
        if "failed" in reply:
            has_time = "query" in message and reply.get("ns") is not None
            ms, doubted = self._time(reply, message["query"]) if has_time else (None, False)
            if reply.get("spent"):
                self._lose("out of memory")
            reason = explain_missing_variable(reply["failed"], self._launch.withheld)
            where, excerpt = reply.get("traceback"), reply.get("excerpt")
            output = self._output_since(before)
            missing = reply.get("missing", False)
            raise RequestFailed("error", reason, ms, doubted=doubted, where=where, excerpt=excerpt, printed=output, missing=missing)
        return reply

    def _printed_sizes(self) -> dict[str, int]:
        """How much the agent has printed so far."""
        if self._process is not None:
            self._process.take_printed()
        return {name: output.size for name, output in self._output.items()}

    def _output_since(self, sizes: Mapping[str, int]) -> str | None:
        """The end of what the agent has printed since then, stdout before stderr; None if it printed nothing."""
        if self._process is not None:
            self._process.take_printed()
        texts = (output.end_since(sizes[name]).strip() for name, output in self._output.items())
        return "\n".join(filter(None, texts)) or None

    def _problem(self, operation: str, reply: dict[str, Any]) -> str | None:
        """What is wrong with a reply; nothing can take longer than we waited for it."""
        wrong = reply_problem(operation, reply, self._options.depth)
        claim = 0 if wrong else (reply.get("ns") or 0) + (reply.get("around_ns") or 0)
        late = self._process is not None and claim > self._process.took_ns
        return wrong or (malformed_reason("ns") if late else None)

    def _lose(self, reason: str) -> None:
        """End a worker that is of no use any more; another one will be started for the next case."""
        self._end()
        self._note(WorkerEvent("ended", reason=reason))

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None
            self._location = None


def stopped_sentence(in_a_row: int, last: str) -> str:
    """Why an agent is not asked any more."""
    return f"{in_a_row} consecutive failures, the last one: {last}"


def _request_field(request: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"request": request} if request else {}


def _without_impossible_times(reply: Mapping[str, Any], ms: float) -> Mapping[str, Any]:
    """A reply without stated parts of its time that are longer than all of it; these are counted."""
    impossible = [part for part in ("waited_ms", "start_ms", "index_ms") if (reply.get(part) or 0.0) > ms]
    dropped_counts = {**reply["dropped"], "impossible_times": len(impossible)} if impossible else reply["dropped"]
    return {**reply, **dict.fromkeys(impossible), "dropped": dropped_counts}


def outcome_of_reply(reply: Mapping[str, Any], **times: Any) -> SearchOutcome:
    """What a reply to a search says, with the fields of its details that say how long the searches took."""
    scores, lines, texts, starts = (reply.get(name) for name in ("scores", "lines", "texts", "starts"))
    return SearchOutcome(
        status="ok" if reply["ids"] else "empty",
        ids=tuple(reply["ids"]),
        scores=None if scores is None else tuple(scores),
        lines=None if lines is None else tuple(None if span is None else (span[0], span[1]) for span in lines),
        texts=None if texts is None else tuple(texts),
        starts=None if starts is None else tuple(starts),
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


def _do_nothing() -> None:
    """What there is to do while hits come."""


def _pack_samples(samples: Sequence[float]) -> Sequence[float]:
    """Times that are kept until the run ends; most cases of most runs have few or none, and share that."""
    return Samples(samples) if samples else ()


def _least_elapsed_ns(worker: Worker) -> int:
    """What a request took at least, by our own clock."""
    return worker.took_ns - worker.unseen_ns


def _ms_since(start: float) -> float:
    return (perf_counter() - start) * 1e3
