"""Reasons not to rely on a run, its failures by kind, and the agents that only show what a score is worth."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from searchmark.config.agents import BUILT_IN
from searchmark.errors import shortened
from searchmark.records.answers import EMPTY, ERROR, NOT_RUN, OK, STATUSES, TIMEOUT, AnswerDetails, Status
from searchmark.records.columns import distinct
from searchmark.records.finding import RUNS, FindingKind, register
from searchmark.records.judgments import MATCHES
from searchmark.records.matching import names_lines, path_of_lines
from searchmark.records.run import Run
from searchmark.records.sentences import plain_count
from searchmark.scoring.match import MatchedRun
from searchmark.scoring.targets import MOST_TARGETS, NearIds, Remedy

# Agents that only show what a score is worth.

CONTROLS = frozenset(agent.name for agent in BUILT_IN.values() if agent.is_control)


def is_control_run(run: Run) -> bool:
    """Whether a run is of one of them; one that does not know its agent goes by its name."""
    agent = run.provenance.agent
    return (run.agent if agent is None else agent.source) in CONTROLS


# The failures of a run by their kind: which cases each cost, and where in the agent's code the first one arose.

KINDS_KEPT = 20

NOT_STARTED = "the agent could not be started"  # only the case that was asked first knows where

_ERROR = re.compile(r"\A([A-Za-z_][\w.]*)(?::|\Z)")

_OWN = re.compile(r"\d+|'[^']*'|\"[^\"]*\"")  # numbers and quotations: what differs between two failures of one kind


@dataclass(frozen=True)
class FailureKind:
    """Failures of one kind: the same error from the same line, or the same sentence but for numbers and names.

    What is quoted is from the first case that has it, in the order of the suite.
    """

    status: Status
    reason: str  # why there is no answer
    cases: tuple[str, ...]
    traceback: str | None = None  # the calls in the agent's code
    printed: str | None = None  # the end of what it printed meanwhile

    @property
    def cost_a_case(self) -> bool:
        """Whether its cases score 0; one that was not run has no score."""
        return self.status != "not_run"


def failure_kinds(run: Run, order: Mapping[str, int]) -> tuple[FailureKind, ...]:
    """The kinds of failures of a run, those that cost the most cases first."""
    by_kind: dict[tuple[int, str], list[tuple[str, AnswerDetails]]] = {}
    statuses = run.status.tolist()
    rows = sorted(range(len(run.details or ())), key=lambda row: order.get(run.case_ids[row], len(order)))
    for row in rows:
        details = run.details_of(row)
        if details.failure is not None and run.case_ids[row] in order:
            by_kind.setdefault((statuses[row], _kind(details)), []).append((run.case_ids[row], details))
    kinds = [_of_kind(STATUSES[status], failures) for (status, _), failures in by_kind.items()]
    return tuple(sorted(kinds, key=lambda kind: -len(kind.cases)))


def most_costly(kinds: Sequence[FailureKind]) -> tuple[FailureKind, ...]:
    """The kinds that cost the most cases, and one for all others: no case is left out."""
    if len(kinds) <= KINDS_KEPT:
        return tuple(kinds)
    rest = kinds[KINDS_KEPT - 1 :]
    cases = tuple(case for kind in rest for case in kind.cases)
    return (*kinds[: KINDS_KEPT - 1], FailureKind(rest[0].status, f"failures of {len(rest)} more kinds", cases))


def _kind(details: AnswerDetails) -> str:
    """What failures of one kind have in common."""
    reason = details.failure or ""
    error = _ERROR.match(reason)
    if error is not None and details.traceback is not None and not reason.startswith(NOT_STARTED):
        return f"{error[1]} {details.traceback.rpartition(chr(10))[2]}"
    return _OWN.sub("", reason)


def _of_kind(status: Status, failures: Sequence[tuple[str, AnswerDetails]]) -> FailureKind:
    first = next((details for _, details in failures if details.traceback is not None), failures[0][1])
    return FailureKind(status, first.whole_failure or "", tuple(case for case, _ in failures), first.traceback, first.printed)


# Reasons not to rely on a run: it did not search, or it names documents by other ids than the suite and the corpus do.
#
# Each of them scores 0, or next to it, like a search that is bad. So each is said here, where comparisons, gates, baselines
# and reports ask whether a run can be relied on, and not only in a finding beside its numbers.

FEWEST_HITS = 5  # none of which is there, or judged: of fewer, a search may have made up all

FEWEST_ALIKE = 3  # hits that one change makes fit, where others are right as they are

FEWEST_EMPTY = 2  # cases, all of them empty

FEWEST_CASES = 5  # that were all answered by one document

NEARLY_ALL = 0.9  # of the hits, dropped as duplicates

FEW_LEFT = 3.0  # hits of an answer that are left of them on average: a search for chunks has more documents to name

LONGEST_REASON = 160

ERROR_LIMIT = 0.05  # of the cases, that may end in an error or a time-out

LONGEST_PASSAGE = 80

HALF = 0.5  # of the cases

DEPTH = 10  # hits of a case that are looked at

GLOB, LINES, TEXT = (MATCHES.index(how) for how in ("glob", "lines", "text"))


register(RUNS, FindingKind(
    "most-cases-missing", "error", "More than half of the cases are missing from an imported run.",
    "They count as empty answers and score 0, whether they were asked or not.",
    "Name the suite that the run was made for; --missing zero says that a missing case is an empty answer.",
    spoils=True,
), FindingKind(
    "nothing-to-find", "error", "No case has a relevant target that exists.",
    "Whatever is returned scores 0, which says nothing of the search.",
    "Judge the cases, or write globs and symbols so that documents of the corpus fit them.",
    spoils=True,
), FindingKind(
    "cases-not-run", "error", "Cases that were not run.",
    "A mean over the cases that happened to run is the mean of another suite.",
    "Continue with --resume, evaluate all shards together, or compare on the common cases with --intersect.",
    spoils=True,
), FindingKind(
    "too-many-failures", "error", "More than 5 % of the cases ended in an error or a time-out.",
    "They score 0, so the mean tells more of the failures than of the search.",
    "Fix the failures, then ask the failed cases again with --retry-errors.",
    spoils=True,
), FindingKind(
    "all-hits-invalid", "error", "None of the hits of a run exists in the corpus.",
    "The run names documents differently or searched something else: a score of 0 says nothing of the search.",
    "Write the ids of hits as the corpus has them, or name the corpus that was searched.",
    spoils=True,
), FindingKind(
    "hits-in-other-spelling", "error", "No hit of a run is judged, and one change of all ids makes several of them fit.",
    "The run and the suite name documents differently: a score of 0 says nothing of the search.",
    "Write the ids of the run as the suite has them, or those of the suite as the run has them.",
    spoils=True,
), FindingKind(
    "no-hit-judged", "error", "No hit of a run is judged, not even as irrelevant, and no corpus tells whether they exist.",
    "Either the run found nothing that was judged, or it names documents differently; both score 0.",
    "Compare a few ids of both; name the corpus with --corpus, so that ids are checked.",
    spoils=True,
), FindingKind(
    "nothing-relevant", "error", "No judgment of the suite has a grade above 0.",
    "Whatever is returned scores 0, which says nothing of the search.",
    "Read the grades: they may be in another column or of another scale. Mark cases without an answer as unanswerable.",
    spoils=True,
), FindingKind(
    "all-answers-empty", "error", "The agent returned no hit for any case.",
    "A search that is set up wrongly often finds nothing without an error: a score of 0 says nothing of the search.",
    "Ask the agent for something that it must find, and check its corpus, its query and how its hits are read.",
    spoils=True,
), FindingKind(
    "only-duplicates", "error", "Nearly all hits of a run are dropped as duplicates, so that answers have one or two left.",
    "Hits that are read wrongly often have one id: what is left of the answers says little of the search.",
    "Look at the ids that the agent returns, and return every id once.",
    spoils=True,
), FindingKind(
    "no-passages", "error", "Cases judge lines or passages, and no hit says which part of its document it is.",
    "Each hit then means its whole document, so that a wrong part of the right document would count as found.",
    "Return the lines or the text of each hit: documents of LangChain and nodes of LlamaIndex have them.",
    spoils=True,
), FindingKind(
    "one-document", "error", "Every answer is the same single document, and it is a target of fewer than half of the cases.",
    "An agent that does not read the query, or whose hits are read wrongly, answers like this.",
    "Look at what the agent does with the query, and at how its hits become ids.",
    spoils=True,
))  # fmt: skip


@dataclass(frozen=True)
class Distrust:
    """A reason not to rely on scores, and the cases that it is about where it is not about all of them."""

    code: str  # of its kind of finding
    message: str
    cases: tuple[str, ...] = ()


def most_frequent_failure(matched: MatchedRun) -> str:
    """The kind of failure that most of the failed cases have, as the end of a sentence; empty where the run knows none."""
    kinds = [kind for kind in failure_kinds(matched.run, matched.suite.table.index) if kind.cost_a_case]
    return "".join(f"; most often: {shortened(kind.reason, LONGEST_REASON)}" for kind in kinds[:1])


def reasons_for_distrust(matched: MatchedRun, error_limit: float = ERROR_LIMIT) -> Iterator[Distrust]:
    """Every reason not to rely on what a run scores. All that speaks of a run asks this, through `Scores.distrust`."""
    status, ids = matched.status, matched.suite.table.ids
    not_run_ids = tuple(ids[row] for row in np.flatnonzero(status == NOT_RUN))
    if not_run_ids and not matched.run.never_started:  # what kept it from being started is said below
        yield Distrust("cases-not-run", f"{len(not_run_ids)} of {len(status)} cases were not run", not_run_ids)
    missing_ids = tuple(ids[row] for row in np.flatnonzero(~matched.mentioned))
    if len(missing_ids) > HALF * len(status):
        yield Distrust("most-cases-missing", f"{len(missing_ids)} of {len(status)} cases are missing from the run", missing_ids)
    for event in sorted(matched.run.provenance.trust, key=lambda event: (event.kind, event.message)):
        if event.spoils:
            yield Distrust(event.code, event.message)
    failed_ids = tuple(ids[row] for row in np.flatnonzero(np.isin(status, (ERROR, TIMEOUT))))
    if len(failed_ids) > error_limit * len(status):
        message = f"{len(failed_ids)} of {len(status)} cases ended in an error or a time-out, more than {error_limit:.0%}"
        yield Distrust("too-many-failures", f"{message}{most_frequent_failure(matched)}", failed_ids)
    yield from _missing_targets(matched)
    yield from _nothing_relevant(matched)
    yield from _without_passages(matched)
    yield from _unmet_passages(matched)
    yield from _unknown_hits(matched)
    yield from _empty_answers(matched)
    yield from _duplicates(matched)
    yield from _one_document(matched)


def _missing_targets(matched: MatchedRun) -> Iterator[Distrust]:
    missing, of = matched.dropped.get("unreachable_targets"), int((matched.suite.judgments.grades > 0).sum())
    if missing and missing == of:
        yield Distrust("all-targets-missing", f"none of {plain_count(of, 'relevant target')} is in the corpus")


def _nothing_relevant(matched: MatchedRun) -> Iterator[Distrust]:
    """Judgments of which none says that anything is relevant, in cases that are not said to be unanswerable."""
    judgments, cases = matched.suite.judgments, matched.answerable & matched.graded & matched.complete
    if cases.any() and not len(judgments):  # none was written, or no document fits any glob or symbol
        yield Distrust("nothing-to-find", f"none of {plain_count(int(cases.sum()), 'case')} has a target that exists")
    judged_cases = cases & (np.diff(judgments.starts) > 0)
    if int(cases.sum()) >= FEWEST_EMPTY and judged_cases.any() and not (judgments.grades > 0).any():
        sentence = f"none of {plain_count(len(judgments), 'judgment')} has a grade above 0"
        yield Distrust("nothing-relevant", f"{sentence}, like that of {judgments.targets[0]!r}: no search can find anything")


def _without_passages(matched: MatchedRun) -> Iterator[Distrust]:
    """Hits on whole documents where parts of them are judged: any other part of the right document would count as found."""
    judgments, run = matched.suite.judgments, matched.run
    if judgments.match is None or is_control_run(run):
        return
    ranges = judgments.match == LINES
    ranges[ranges] = [names_lines(judgments.targets[row]) for row in np.flatnonzero(ranges).tolist()]
    for judged, rows, needed in (
        ("ranges of lines", ranges, "lines ([first, last]), or the text of each hit with --corpus"),
        ("passages", judgments.of_text, "the text of each hit, or its lines with --corpus"),
    ):
        cases = [matched.suite.table.ids[case] for case in distinct(judgments.case[rows]).tolist()]
        hits = [hit for case in cases if case in run.index for hit in run.rows_of(run.index[case]).tolist()]
        if hits and not any(_has_part(run, hit, judged == "passages") for hit in hits):
            yield Distrust(
                "no-passages",
                f"{plain_count(len(cases), 'case')} judge{'s' if len(cases) == 1 else ''} {judged}, and "
                f"none of {plain_count(len(hits), 'hit')} there says which part of its document it is, like "
                f"{run.ids[hits[0]]!r}; return {needed}",
                tuple(cases),
            )


def _unmet_passages(matched: MatchedRun) -> Iterator[Distrust]:
    """Texts that hold none of the expected passages: a search that is as bad is rarer than texts that were changed on their way."""
    judgments, run = matched.suite.judgments, matched.run
    texts = [] if run.texts is None else [text for text in run.texts if text is not None]
    if not len(judgments) or not judgments.of_text.all() or len(texts) < FEWEST_HITS or len(matched.matches.case):
        return
    passage, text = (shortened(repr(each), LONGEST_PASSAGE) for each in (judgments.targets[0], texts[0]))
    if not is_control_run(run):
        yield Distrust(
            "no-hit-judged", f"none of {len(texts)} hits holds an expected passage: {text} is returned, {passage} expected"
        )


def _has_part(run: Run, hit: int, by_text: bool) -> bool:
    if by_text:
        return run.texts is not None and run.texts[hit] is not None
    return run.lines_of(hit) is not None or names_lines(run.ids[hit])


def _unknown_hits(matched: MatchedRun) -> Iterator[Distrust]:
    """Hits that do not exist, where that is known; else that no judgment is about any hit, which may be for their spelling."""
    if matched.valid is None:
        yield from _unjudged_hits(matched)
    elif has_only_unknown_hits(matched):
        hits = matched.run.ids
        yield Distrust("all-hits-invalid", f"none of {plain_count(len(hits), 'hit')} is in the corpus, like {hits[0]!r}")


def has_only_unknown_hits(matched: MatchedRun) -> bool:
    """Whether a run has hits of which the corpus has none, and too many for a search that has made up a few."""
    return matched.valid is not None and len(matched.valid) >= FEWEST_HITS and not matched.valid.any()


def _unjudged_hits(matched: MatchedRun) -> Iterator[Distrust]:
    matches, returned = matched.matches, int(matched.matches.returned.sum())
    judgments = matched.suite.judgments
    if len(matches.case) or len(matches.directories.case) or not returned or not len(judgments) or judgments.of_text.all():
        return
    own = _first_names(matched)
    if any(not set(hits).isdisjoint(_judged_names(matched, case)) for case, hits in own.items()):
        return  # other lines of the right documents: ids are written alike
    remedy = _fitting_own(matched, own)
    if remedy is not None:
        examples = remedy.example(list(remedy.found), "the suite")
        yield Distrust("hits-in-other-spelling", f"none of {plain_count(returned, 'hit')} is judged: {examples}")
    elif own and returned >= FEWEST_HITS:
        case, hits = next(iter(own.items()))
        target = judgments.targets[int(judgments.starts[matched.suite.table.index[case]])]
        yield Distrust("no-hit-judged", f"none of {returned} hits is judged: {hits[0]!r} is returned, and {target!r} judged")


def other_spelling(matched: MatchedRun) -> Remedy | None:
    """A change of ids by which hits are judged for their own case, where none of its hits is and those of other cases are.

    What is judged for any case is written as the suite writes it, and so is another document.
    """
    matched_rows = set(distinct(np.concatenate([matched.matches.case, matched.matches.directories.case])).tolist())
    if matched.valid is not None or not matched_rows:
        return None
    judgments, index = matched.suite.judgments, matched.suite.table.index
    of_lines = [] if judgments.match is None else np.flatnonzero(judgments.match == LINES).tolist()
    suite_names = {*judgments.targets, *(path_of_lines(judgments.targets[row]) for row in of_lines)}
    names = _first_names(matched, {case for case, row in index.items() if row not in matched_rows})
    strange = {case: [hit for hit in hits if hit not in suite_names] for case, hits in names.items()}
    remedy = _fitting_own(matched, {case: hits for case, hits in strange.items() if hits})
    return remedy if remedy is not None and len(remedy.found) >= FEWEST_ALIKE else None


def _first_names(matched: MatchedRun, of: Container[str] | None = None) -> dict[str, list[str]]:
    """The first hits of cases that have judgments, as far as they are looked at."""
    run, sizes, index = matched.run, np.diff(matched.suite.judgments.starts), matched.suite.table.index
    lengths = np.diff(run.starts)
    cases = (case for case in run.index if case in index and (of is None or case in of))
    answered_cases = (case for case in cases if sizes[index[case]] and lengths[run.index[case]])
    return {case: _first_hits(matched, case) for case in islice(answered_cases, MOST_TARGETS // DEPTH)}


def _first_hits(matched: MatchedRun, case: str) -> list[str]:
    row = matched.run.index[case]
    start, end = matched.run.starts[row : row + 2].tolist()
    names = (matched.run.ids[hit] for hit in range(start, min(end, start + DEPTH)))
    return [path_of_lines(name) if names_lines(name) else name for name in names]


def _fitting_own(matched: MatchedRun, hits: dict[str, list[str]]) -> Remedy | None:
    """The change by which most hits are judged for their own case, if three are, or one in each of fewer cases."""
    judged_names = {case: set(_judged_names(matched, case)) for case in hits}
    near = NearIds(set().union(*judged_names.values()), (hit for some in hits.values() for hit in some))
    own = [_of_own(each, hits, judged_names) for each in near.remedies]
    best = max(own, key=lambda each: len(each.found), default=None)
    return best if best is not None and len(best.found) >= min(FEWEST_ALIKE, len(hits)) else None


def _of_own(remedy: Remedy, hits: dict[str, list[str]], judged_names: dict[str, set[str]]) -> Remedy:
    fitting = {hit for case, some in hits.items() for hit in some if remedy.found.get(hit) in judged_names[case]}
    return Remedy(remedy.words, {hit: name for hit, name in remedy.found.items() if hit in fitting})


def _judged_names(matched: MatchedRun, case: str) -> Iterator[str]:
    """What is judged of a case by its name."""
    judgments, row = matched.suite.judgments, matched.suite.table.index[case]
    for at in range(*judgments.starts[row : row + 2].tolist()):
        match = 0 if judgments.match is None else int(judgments.match[at])
        if match < GLOB or match == LINES:
            yield path_of_lines(judgments.targets[at]) if match == LINES else judgments.targets[at]


def _empty_answers(matched: MatchedRun) -> Iterator[Distrust]:
    """Empty is right where nothing is to be found; a control that knows nothing is one on purpose."""
    answered = matched.answerable & ~np.isin(matched.status, (NOT_RUN, ERROR, TIMEOUT))
    of = int(answered.sum())
    if of >= FEWEST_EMPTY and (matched.status[answered] == EMPTY).all() and not is_control_run(matched.run):
        yield Distrust("all-answers-empty", f"all of {plain_count(of, 'answer')} are empty: the agent returned no hit for any case")


def _duplicates(matched: MatchedRun) -> Iterator[Distrust]:
    dropped, returned = matched.matches.duplicates, matched.matches.returned
    distinct, answers = int(returned.sum()), int((returned > 0).sum())
    if dropped >= max(NEARLY_ALL * (dropped + distinct), FEWEST_HITS) and distinct < FEW_LEFT * answers:
        row = int(np.argmax(returned > 0))
        case = matched.suite.table.ids[row]
        sentence = f"nearly all hits are duplicates: {dropped} of {dropped + distinct} name what the same answer has already"
        yield Distrust("only-duplicates", f"{sentence}, like {_first_hits(matched, case)[0]!r} in case {case!r}")


def _one_document(matched: MatchedRun) -> Iterator[Distrust]:
    """One document for every case, where it is a target of fewer than half of them."""
    judgments = matched.suite.judgments
    with_target = np.bincount(judgments.case[judgments.grades > 0], minlength=len(matched.suite)) > 0
    returned, rows = matched.matches.returned, np.flatnonzero((matched.status == OK) & with_target)
    if len(rows) < FEWEST_CASES or (returned[rows] != 1).any() or is_control_run(matched.run):
        return
    run, ids = matched.run, matched.suite.table.ids
    answers = (_first_hits(matched, ids[row])[0] for row in rows.tolist() if ids[row] in run.index)
    name = next(answers, None)
    if name is None or any(each != name for each in answers):
        return
    if not is_mostly_right(matched):
        yield Distrust("one-document", f"all of {len(rows)} answers are one document, {name!r}, whatever was asked")


def is_mostly_right(matched: MatchedRun) -> bool:
    """Whether something relevant was found for at least half of the cases: then one answer to all of them may be right."""
    cases = matched.matches.case[(matched.matches.grade > 0) & matched.matches.valid]
    return len(distinct(cases)) >= HALF * len(matched.suite)
