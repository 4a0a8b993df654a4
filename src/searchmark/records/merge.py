"""Runs cut, joined and merged: shards into one run, and parts of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.config.run import FIELDS_WITHOUT_EFFECT_ON_ANSWERS
from searchmark.errors import Incomparable, UsageError, shortened
from searchmark.records.answers import NOT_RUN, NOTHING_KNOWN, AnswerDetails, Hit
from searchmark.records.columns import NO_LINE, Texts, hit_texts, ranks_in_order, starts_of, text_list
from searchmark.records.matching import nfc
from searchmark.records.provenance import (
    PARENT,
    TRUST_KINDS,
    AgentIdentity,
    ImportedRun,
    Provenance,
    RunLabel,
    RunPart,
    ShardIdentity,
    TrustEvent,
    display_names,
    find_stretches,
    incomplete_repository_events,
    join_provenance,
)
from searchmark.records.run import Run
from searchmark.records.sentences import count_of
from searchmark.records.suite import Suite

# Which case an answer belongs to where a run that others have written does not call it by its id.
#
# Files name cases by the text of their query, or by nothing but their order. An answer under the id of a case belongs to that
# case, unless the run says that it asked what another case asks: then its ids are those of a different numbering. Other answers
# are matched by text, in composed form, without blanks around it, capitals as they are. Cases that ask the same get the same
# answer: to leave one of them empty would be a zero that says nothing of the search.

QUERY_DIFFERS = "answers whose query differs from that of the case with their id"

_LONGEST_TEXT = 60


def with_suite_case_ids(suite: Suite, run: Run) -> Run:
    """The run with its answers under the ids of the suite's cases, as far as they can be told; what was done is in its notes."""
    imported_run = run.provenance.imported
    if run.provenance.is_ours or not len(suite):
        return run
    if imported_run is not None and imported_run.by_position:
        return _match_by_position(suite, run)
    return _match_by_text(suite, run)


def _match_by_position(suite: Suite, run: Run) -> Run:
    if len(run) != len(suite):
        raise Incomparable(
            f"the run {run.agent!r} has {count_of(len(run), 'answer')} without what was asked, and the suite {suite.name!r} has "
            f"{count_of(len(suite), 'case')}, so they cannot be told apart by their order; write a JSON object {{query: response}}"
        )
    return _add_note(run.with_cases(suite.table.ids), f"answers taken in the order of the suite's cases: {len(run)}")


def _match_by_text(suite: Suite, run: Run) -> Run:
    if suite.table.queries is None or (run.queries is None and run.index.keys() <= suite.table.index.keys()):
        return run
    suite_queries = _QueriesOfSuite.by(suite)
    case_by_id = {row: suite_queries.ids[nfc(case)] for row, case in enumerate(run.case_ids) if nfc(case) in suite_queries.ids}
    differing = {row: case for row, case in case_by_id.items() if suite_queries.contradicts(case, _query_of_row(run, row))}
    renumbered = any(_query_of_row(run, row) in suite_queries.cases for row in differing)
    doubtful = differing if renumbered else {}
    rows = [row for row in range(len(run)) if row not in case_by_id or row in doubtful]
    cases_by_row = {
        row: cases for row in rows if (cases := suite_queries.cases.get(_query_of_row(run, row) or _fold_text(run.case_ids[row])))
    }
    # Under an id that means another case here, what asks something else would be taken for the answer to that case.
    apart = {row: [f"{run.case_ids[row]}: {_query_of_row(run, row)}"] for row in doubtful if row not in cases_by_row}
    if differing and not renumbered:
        run = _note_differences(run, differing, suite_queries)
    return _rename_cases(run, cases_by_row, apart) if cases_by_row else run


@dataclass(frozen=True)
class _QueriesOfSuite:
    """What the cases of a suite ask: their ids in composed form, their texts by id, and the cases by text."""

    ids: Mapping[str, str]
    texts: Mapping[str, str]
    cases: Mapping[str, list[str]]

    @classmethod
    def by(cls, suite: Suite) -> _QueriesOfSuite:
        names, queries = suite.table.ids, suite.table.queries or ()
        texts = {case: _fold_text(text) for case, text in zip(names, queries, strict=True) if text}
        cases: dict[str, list[str]] = {}
        for case, text in texts.items():
            cases.setdefault(text, []).append(case)
        return cls({nfc(case): case for case in names}, texts, cases)

    def contradicts(self, case: str, text: str | None) -> bool:
        return text is not None and self.texts.get(case, text) != text


def _fold_text(text: str) -> str:
    return nfc(text).strip()


def _query_of_row(run: Run, row: int) -> str | None:
    """What was asked, if the file has it beside the id of a case."""
    query = None if run.queries is None else run.queries[row]
    return None if query is None else _fold_text(query)


def _rename_cases(run: Run, by_text: Mapping[int, list[str]], apart: Mapping[int, list[str]]) -> Run:
    cases, answers = [], []
    for row, case in enumerate(run.case_ids):
        for name in by_text.get(row) or apart.get(row) or [case]:
            cases.append(name)
            answers.append(row)
    twice = next((case for case, count in Counter(cases).items() if count > 1), None)
    if twice is not None:
        raise Incomparable(
            f"the run {run.agent!r} has several answers to the case {twice!r}: they have its id or the text of its query; keep one"
        )
    several = sum(len(each) > 1 for each in by_text.values())
    note = f"answers joined with cases by the text of their query, since their ids differ: {len(by_text)} of {len(run)}"
    if several:
        note += f"; {several} of them to several cases that ask the same"
    return _add_note(run.with_cases(tuple(cases), np.array(answers) if len(cases) > len(run) else None), note)


def _note_differences(run: Run, differing: Mapping[int, str], suite_queries: _QueriesOfSuite) -> Run:
    row, case = next(iter(differing.items()))
    query, text_of_case = (shortened(repr(text), _LONGEST_TEXT) for text in (_query_of_row(run, row), suite_queries.texts[case]))
    return _add_note(run, f"{QUERY_DIFFERS}: {len(differing)} of {len(run)}; {case!r} has {query}, and the suite {text_of_case}")


def _add_note(run: Run, note: str) -> Run:
    earlier = () if run.provenance.imported is None else run.provenance.imported.notes
    if note.startswith(QUERY_DIFFERS) and any(each.startswith(QUERY_DIFFERS) for each in earlier):
        return run  # as it was said when all cases of the suite were known
    return replace(run, provenance=replace(run.provenance, imported=ImportedRun((*earlier, note))))


# Runs with less in them: answers cut to their first hits, or without the answers to some cases.

CUT_REASON = "below_same_depth"


def cut_run(run: Run, depth: int) -> Run:
    """The run with at most so many hits in each answer; what is cut off is counted."""
    if run.longest <= depth:
        return run
    ranks = ranks_in_order(run.starts) if run.rank is None else run.rank
    rows = np.flatnonzero(ranks <= depth)
    cut = run.with_hits(rows, starts_of(np.minimum(np.diff(run.starts), depth).tolist(), len(run)))
    return replace(cut, dropped={**run.dropped, CUT_REASON: len(ranks) - len(rows)})


def restrict_to_suite(runs: Iterable[Run], whole: Suite, part: Suite) -> list[Run]:
    """The runs under the ids of the suite's cases, without their answers to those that were left out of it.

    What is in neither stays, to be counted.
    """
    left_out = set(whole.table.ids).difference(part.table.ids)
    return [without_cases(_with_suite_ids(whole, run), left_out) for run in runs]


def _with_suite_ids(whole: Suite, run: Run) -> Run:
    try:
        return with_suite_case_ids(whole, run)
    except Incomparable:  # it may have been made for the cases that are kept; if not, judging says so
        return run


def without_cases(run: Run, cases: Collection[str]) -> Run:
    """The run without its answers to these cases."""
    rows = [row for row, case in enumerate(run.case_ids) if case not in cases]
    if len(rows) == len(run):
        return run
    return run.with_cases(tuple(run.case_ids[row] for row in rows), np.array(rows, np.int64))


# Where the cases of a part belong: every shard knows the places of its cases among those of all shards.


def parts_of(run: Run) -> tuple[RunPart, ...]:
    """The parts that a run was put together from; one that was not is its own, and so is a shard, however many hosts asked it."""
    parts = run.provenance.parts if run.provenance.shard is None else ()
    return parts or (RunPart(run.case_ids, run.provenance),)


def without_fillers(run: Run) -> Run:
    """The answers that came from its parts: others stand for shards that were missing, and make way for them."""
    return _select_answers(run, {case for part in parts_of(run) for case in part.cases})


def select_cases(run: Run, cases: Collection[str]) -> Run:
    """Its answers to some of its cases, each still at its place."""
    if len(run.index.keys() & cases) == len(run):
        return run
    parts_before, parts = parts_of(run), [_select_from_part(part, cases) for part in parts_of(run)]
    parts_left = tuple(part for part in parts if part.cases)
    own = parts_before[0].provenance is run.provenance
    return replace(
        _select_answers(run, cases), provenance=parts[0].provenance if own else replace(run.provenance, parts=parts_left)
    )


def _select_answers(run: Run, cases: Collection[str]) -> Run:
    rows = np.array([row for row, case in enumerate(run.case_ids) if case in cases], np.int64)
    return run if len(rows) == len(run) else run.with_cases(tuple(run.case_ids[row] for row in rows.tolist()), rows)


def _select_from_part(part: RunPart, cases: Collection[str]) -> RunPart:
    selection, shard = part.with_cases({case: (case,) for case in part.cases if case in cases}), part.provenance.shard
    if shard is None:
        return selection
    places = [place for case, place in zip(part.cases, shard.places, strict=False) if case in cases]
    return replace(selection, provenance=replace(selection.provenance, shard=replace(shard, rows=find_stretches(sorted(places)))))


def places_of(run: Run) -> list[int] | None:
    """The place of each of its cases among those of all shards; None where a part is no shard."""
    places: dict[str, int] = {}
    for part in parts_of(run):
        shard = part.provenance.shard
        if shard is None or shard.size < len(part.cases):
            return None
        # A part that lacks cases does not say which: those that it has are at most as far from their places.
        places |= zip(part.cases, islice(shard.places, len(part.cases)), strict=True)
    return [places[case] for case in run.case_ids] if places.keys() >= run.index.keys() else None


def first_shard(run: Run) -> int:
    """The lowest number of the shards that it has; 0 for what is no shard, which stays where it is."""
    return min(0 if part.provenance.shard is None else part.provenance.shard.number for part in parts_of(run))


# Whether two runs are parts of one: what must be the same in both, and what is said where it is not.

COMPARE_ADVICE = "to hold them against each other: searchmark compare --gold-set SUITE --run A --run B"


# What agents choose by what they search, and say of themselves: it may be another choice in another repository.
CHOSEN_FOR_CORPUS = frozenset(("analyser", "language", "stemmer", "stop_words", "tokenizer"))


def refuse_different(first: Run, other: Run, files: Sequence[str] = ()) -> None:
    """Refuse two runs that are not parts of one, with what differs; ``files`` are those that they were read from."""
    if first.label != other.label:
        names = ", ".join(display_names([first.label, other.label]))
        raise UsageError(f"these are runs of different agents or snapshots, not parts of one: {names}; {COMPARE_ADVICE}")
    different = list(_differences(first, other))
    if different:
        where = f" in {' and '.join(files)}" if files else ""
        raise Incomparable(f"the runs of {first.agent!r}{where} are not parts of one: they differ in {', '.join(different)}")


def _differences(first: Run, other: Run) -> Iterator[str]:
    one, two = first.provenance, other.provenance
    if one.version != two.version:
        yield f"version of Searchmark{_two_values(one.version, two.version)}"
    if different := _agent_differences(one.agent, two.agent, elsewhere=_searched_elsewhere(first, other)):
        yield f"agent ({', '.join(different)})"
    if options := _keys_that_differ(_options_that_matter(one.options), _options_that_matter(two.options)):
        yield f"options ({', '.join(options)})"
    if one.candidates != two.candidates:
        yield "candidates"
    if _differ(one.corpora, two.corpora) or one.service != two.service:
        yield "corpus"
    # At the parents it does not matter where the head of a repository is meanwhile.
    changed = _differ({each.name: each for each in one.repositories}, {each.name: each for each in two.repositories})
    if changed and first.label.snapshot != PARENT:
        yield "state of the repository"
    yield from _suite_differences(one, two, _first_identity(first), _first_identity(other))


def _first_identity(run: Run) -> ShardIdentity | None:
    """The first shard that it is, or is made of: what matters here is the same in all of them."""
    return next((part.provenance.shard for part in parts_of(run)), None)


def _suite_differences(one: Provenance, two: Provenance, first: ShardIdentity | None, other: ShardIdentity | None) -> Iterator[str]:
    suites = [None if each.suite is None else each.suite.name for each in (one, two)]
    if suites[0] != suites[1]:
        yield f"suite{_two_values(*suites)}"
    elif first is not None and other is not None and (first.cases, first.queries) != (other.cases, other.queries):
        yield f"queries of the suite, or which cases were chosen{_two_values(f'{first.cases} cases', f'{other.cases} cases')}"
    elif first is not None and other is not None and first.judgments != other.judgments:
        yield "judgments of the suite"
    if first is not None and other is not None and first.of != other.of:
        yield f"number of shards{_two_values(str(first), str(other))}"


def _two_values(one: str | None, two: str | None) -> str:
    return f" ({one} and {two})" if one != two and one is not None and two is not None else ""


def _differ(one: Mapping[str, object], two: Mapping[str, object]) -> bool:
    """Whether two parts saw something of one name differently; each may have seen what the other has not."""
    return any(one[name] != two[name] for name in one.keys() & two.keys())


def _agent_differences(one: AgentIdentity | None, two: AgentIdentity | None, *, elsewhere: bool) -> list[str]:
    """What differs of two agents; one that could not be started has said nothing of itself.

    What an agent chooses by what it searches may be another choice ``elsewhere``.
    """
    if one is None or two is None:
        return [] if one is two else ["known of one alone"]
    different = [each.name for each in fields(AgentIdentity) if getattr(one, each.name) != getattr(two, each.name)]
    same = not (one.description and two.description) or (
        elsewhere and _without_corpus_choices(one.description) == _without_corpus_choices(two.description)
    )
    return [name for name in different if name != "description" or not same]


def _searched_elsewhere(first: Run, other: Run) -> bool:
    """Whether shards are known to have searched different corpora."""
    one, two = ({part.provenance.suite and part.provenance.suite.corpus for part in parts_of(run)} for run in (first, other))
    return _first_identity(first) is not None and _first_identity(other) is not None and (one != two or len(one) > 1)


def _without_corpus_choices(description: Any) -> Any:
    """What an agent says of itself without what it has chosen for its corpus; its arms say it of themselves."""
    if not isinstance(description, Mapping):
        return description
    return {name: _without_corpus_choices(value) for name, value in description.items() if name not in CHOSEN_FOR_CORPUS}


def _options_that_matter(options: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if name not in FIELDS_WITHOUT_EFFECT_ON_ANSWERS}


def _keys_that_differ(one: Mapping[str, object], two: Mapping[str, object]) -> list[str]:
    return [name for name in {**one, **two} if one.get(name) != two.get(name) or (name in one) != (name in two)]


# The answers of several runs one after the other, column by column: there may be millions of hits.


def concatenate_runs(runs: Sequence[Run]) -> Run:
    """All answers as one run with the label of the first; what is left out is counted over all, by reason."""
    lengths = np.concatenate([np.diff(run.starts) for run in runs])
    return Run(
        label=runs[0].label,
        case_ids=tuple(chain.from_iterable(run.case_ids for run in runs)),
        starts=starts_of(lengths.tolist(), len(lengths)),
        ids=_concatenate_ids(runs),
        scores=np.concatenate([run.scores for run in runs]),
        status=np.concatenate([run.status for run in runs]),
        rank=_concatenate_ranks(runs),
        valid=_concatenate_valid(runs),
        first_line=_concatenate_lines(runs, [run.first_line for run in runs]),
        last_line=_concatenate_lines(runs, [run.last_line for run in runs]),
        texts=hit_texts(text for run in runs for text in run.texts or [None] * len(run.ids)),
        unique=all(run.unique for run in runs),
        dropped={key: sum(run.dropped.get(key, 0) for run in runs) for key in sorted({key for run in runs for key in run.dropped})},
        details=_concatenate_per_answer(runs, [run.details for run in runs], NOTHING_KNOWN),
        queries=_concatenate_per_answer(runs, [run.queries for run in runs], None),
    )


def _concatenate_ids(runs: Sequence[Run]) -> Texts:
    """An Arrow column if all of them are, and else a list."""
    columns = [run.ids for run in runs]
    if any(isinstance(column, list) for column in columns):
        return list(chain.from_iterable(map(text_list, columns)))
    import polars as pl

    return pl.concat([column for column in columns if not isinstance(column, list)])


def _concatenate_ranks(runs: Sequence[Run]) -> NDArray[np.int32] | None:
    columns = [run.rank for run in runs]
    if all(column is None for column in columns):
        return None
    return np.concatenate([ranks_in_order(run.starts) if rank is None else rank for run, rank in zip(runs, columns, strict=True)])


def _concatenate_valid(runs: Sequence[Run]) -> NDArray[np.bool_] | None:
    """Which hits exist; as in a single run, None if that is not known of all of them."""
    masks = [run.valid for run in runs if run.valid is not None]
    return np.concatenate(masks) if len(masks) == len(runs) else None


def _concatenate_lines(runs: Sequence[Run], columns: Sequence[NDArray[np.int32] | None]) -> NDArray[np.int32] | None:
    if all(column is None for column in columns):
        return None
    whole = [np.full(len(run.scores), NO_LINE, np.int32) for run in runs]
    return np.concatenate([none if column is None else column for none, column in zip(whole, columns, strict=True)])


def _concatenate_per_answer(runs: Sequence[Run], columns: Sequence[Sequence[Any] | None], unknown: Any) -> tuple[Any, ...] | None:
    """A column with one value per answer; None where no run has it."""
    if all(column is None for column in columns):
        return None
    return tuple(
        chain.from_iterable((unknown,) * len(run) if column is None else column for run, column in zip(runs, columns, strict=True))
    )


# Runs put together from parts, and runs that lack cases.

NOT_MERGED_REASON = "the shard of this case was not among those that were merged"


def join_runs(runs: Sequence[Run], files: Sequence[str] = ()) -> Run:
    """One run from several that each answer a part of the cases; nothing is lost, and what spoils one part spoils it all.

    Shards come in the order of their suite, whichever is named first, and together are the run that one machine would have
    made. Others stay in the order that they are given in. ``files`` are where they come from, for what is refused.
    """
    for number in range(1, len(runs)):
        refuse_different(runs[0], runs[number], (files[0], files[number]) if files else ())
    return runs[0] if len(runs) == 1 and not _is_only_shard(runs[0]) else join_parts(runs)


def join_parts(runs: Sequence[Run]) -> Run:
    """The same of runs that are known to be parts of one, even of one alone."""
    parts = sorted(map(without_fillers, runs), key=first_shard)
    _refuse_duplicates(parts)
    provenance = join_provenance([RunPart(run.case_ids, run.provenance) for run in parts])
    whole = _concatenate_in_order(parts)
    return replace(whole, provenance=replace(provenance, trust=_joined_trust(provenance, whole)))


def _is_only_shard(run: Run) -> bool:
    """Whether a run is the only shard of its suite."""
    shard = run.provenance.shard
    return shard is not None and shard.cases == len(run)


def _refuse_duplicates(runs: Sequence[Run]) -> None:
    counts = Counter(case for run in runs for case in run.case_ids)
    twice = next((case for case, count in counts.items() if count > 1), None)
    if twice is not None:
        raise UsageError(
            f"several files of {runs[0].agent!r} answer the case {twice!r}, so they are not parts of one; {COMPARE_ADVICE}"
        )


def _concatenate_in_order(runs: Sequence[Run]) -> Run:
    """All answers, in the order of the suite where it is known."""
    whole, places = concatenate_runs(runs), [places_of(run) for run in runs]
    all_places = np.array([place for each in places if each is not None for place in each], np.int64)
    if any(each is None for each in places) or (np.diff(all_places) > 0).all():
        return whole
    order = np.argsort(all_places, kind="stable")
    return whole.with_cases(tuple(whole.case_ids[row] for row in order.tolist()), order)


def _joined_trust(provenance: Provenance, whole: Run) -> tuple[TrustEvent, ...]:
    """What spoils the parts; what is counted over their cases is counted again over all."""
    events = [event for event in provenance.trust if event.kind != "not_whole"]
    return tuple(
        sorted([*events, *incomplete_repository_events(whole.details or ())], key=lambda event: TRUST_KINDS.index(event.kind))
    )


def with_missing_cases(run: Run, cases: Sequence[str], reason: str | None = None) -> Run:
    """A run of ours that lacks cases, a shard for instance, has not run them; in an imported one they are empty."""
    missing = tuple(case for case in cases if case not in run.index)
    if not missing or not run.provenance.is_ours:
        return run
    not_run = Run(
        label=run.label,
        case_ids=missing,
        starts=np.zeros(len(missing) + 1, np.int64),
        ids=[],
        scores=np.zeros(0),
        status=np.full(len(missing), NOT_RUN, np.uint8),
        valid=np.zeros(0, bool),  # there is no hit of which it is not known
        unique=True,
        details=None if reason is None else (AnswerDetails(failure=reason),) * len(missing),
    )
    return replace(concatenate_runs([run, not_run]), provenance=run.provenance)


def with_unrun_cases(run: Run, cases: Sequence[str]) -> Run:
    """A run with all cases of a suite in its order; those that it lacks were not run, since their shard is not there."""
    whole = with_missing_cases(run, cases, NOT_MERGED_REASON)
    return whole.with_cases(tuple(cases), np.array([whole.index[case] for case in cases], np.int64))


# Shards become the run that one machine would have made; what is missing, doubled or of another run is named.

_CASES_NAMED = 10  # cases, files or shards that are named; of more it is said how many there are


@dataclass(frozen=True, eq=False)
class SavedShard:
    """The run of a shard, or of several that were merged before, and the file that it was read from."""

    file: str
    run: Run


@dataclass(frozen=True, eq=False)
class MergeResult:
    """One run from all its shards; ``notes`` say what was missing or doubled, a sentence each."""

    run: Run
    notes: tuple[str, ...] = ()


def merge_shards(shards: Sequence[SavedShard], suite: Suite | None = None, *, partial: bool = False) -> list[MergeResult]:
    """One run for each label. ``suite`` is the one that they were cut from: with it cases that are missing have names.

    What is missing or answered twice is refused, unless a ``partial`` run is wanted. Then answers that are the same count once,
    and cases that nobody has were not run.
    """
    groups: dict[RunLabel, list[SavedShard]] = {}
    for shard in shards:
        _refuse_other_suite(shard)
        groups.setdefault(shard.run.label, []).append(replace(shard, run=without_fillers(shard.run)))
    names = display_names(list(groups))
    shard_groups = [
        _ShardGroup(name if len(groups) > 1 else "", group, suite) for name, group in zip(names, groups.values(), strict=True)
    ]
    notes = [note for each in shard_groups for note in each.notes]
    if notes and not partial:
        raise Incomparable(f"{'; '.join(notes)}; name every shard once, or take what there is with --partial")
    return [each.merge() for each in shard_groups]


def _refuse_other_suite(shard: SavedShard) -> None:
    for part in parts_of(shard.run):
        identity = part.provenance.shard
        if identity is None:
            raise UsageError(
                f"{shard.file} is not a shard: it was not saved by a run with --shard I/N; any runs are scored together by "
                "searchmark evaluate --run A B"
            )
        if len(part.cases) > identity.size or identity.number > identity.of:
            raise UsageError(f"{shard.file} is not what it claims to be: {len(part.cases)} answers of the shard {identity}")


class _ShardGroup:
    """All shards of one run."""

    def __init__(self, name: str, shards: Sequence[SavedShard], suite: Suite | None) -> None:
        for other in shards[1:]:
            refuse_different(shards[0].run, other.run, (shards[0].file, other.file))
        self._before = f"{name}: " if name else ""
        self._shards = shards
        self._identity = next(identity for identity, _ in _shard_identities(shards))
        self._cases_answered = {case for shard in shards for case in shard.run.case_ids}
        self._cases = None if suite is None else _cases_of(suite, self._identity, shards[0].file, self._cases_answered)
        self.notes = [f"{self._before}{note}" for note in (*_duplicate_answers(shards), *self._missing())]

    def merge(self) -> MergeResult:
        run = join_parts(_runs_without_duplicates(self._shards))
        whole = run if self._cases is None or len(run) == self._identity.cases else with_unrun_cases(run, self._cases)
        return MergeResult(whole, tuple(self.notes))

    def _missing(self) -> Iterator[str]:
        missing = self._identity.cases - len(self._cases_answered)
        for lacking, sentence in _missing_in_shards(self._shards):
            missing -= lacking
            yield sentence
        if missing > 0:
            absent = _absent_shards(self._identity.of, {identity.number for identity, _ in _shard_identities(self._shards)})
            yield f"{absent} missing: {count_of(missing, 'case')}"
        if self._cases is not None and len(self._cases_answered) < len(self._cases):
            yield f"no answer to {_list_cases([case for case in self._cases if case not in self._cases_answered])}"


def _shard_identities(shards: Sequence[SavedShard]) -> Iterator[tuple[ShardIdentity, tuple[str, ...]]]:
    """The shards that these runs are made of, each with the cases that it answers."""
    for shard in shards:
        for part in parts_of(shard.run):
            if part.provenance.shard is not None:
                yield part.provenance.shard, part.cases


def _missing_in_shards(shards: Sequence[SavedShard]) -> Iterator[tuple[int, str]]:
    """How many cases a shard lacks that is there, and a sentence about it."""
    cases_by_shard: dict[int, set[str]] = {}
    sizes: dict[int, ShardIdentity] = {}
    for identity, cases in _shard_identities(shards):
        cases_by_shard.setdefault(identity.number, set()).update(cases)
        sizes[identity.number] = identity
    for number, identity in sorted(sizes.items()):
        lacking = identity.size - len(cases_by_shard[number])
        if lacking > 0:
            yield lacking, f"shard {identity} lacks {lacking} of its {count_of(identity.size, 'case')}"


def _absent_shards(of: int, present: set[int]) -> str:
    """The shards that are not there, with the verb that fits."""
    numbers = [f"{number}/{of}" for number in islice((each for each in range(1, of + 1) if each not in present), _CASES_NAMED)]
    more = of - len(present) - len(numbers)
    listing = ", ".join(numbers) + (f" and {more} more" if more else "")
    return f"shard {listing} is" if len(numbers) == 1 else f"shards {listing} are"


def _list_cases(cases: Sequence[str]) -> str:
    more = len(cases) - _CASES_NAMED
    return ", ".join(map(repr, cases[:_CASES_NAMED])) + (f" and {more} more" if more > 0 else "")


def _duplicate_answers(shards: Sequence[SavedShard]) -> Iterator[str]:
    """A sentence for the files that answer the same cases."""
    counts = Counter(case for shard in shards for case in shard.run.case_ids)
    together: dict[str, list[str]] = {}
    for case in (case for case, count in counts.items() if count > 1):
        files = " and ".join(shard.file for shard in shards if case in shard.run.index)
        together.setdefault(files, []).append(case)
    for files, cases in together.items():
        yield f"answered more than once, by {files}: {_list_cases(cases)}"


def _runs_without_duplicates(shards: Sequence[SavedShard]) -> list[Run]:
    """The runs with every case once; two different answers to one case cannot both be right."""
    shard_by_case: dict[str, SavedShard] = {}
    runs: list[Run] = []
    for shard in shards:
        for case in filter(shard_by_case.__contains__, shard.run.case_ids):
            _refuse_contradiction(case, shard_by_case[case], shard)
        new = select_cases(shard.run, shard.run.index.keys() - shard_by_case.keys())
        shard_by_case |= dict.fromkeys(new.case_ids, shard)
        runs += [new] if len(new) else []
    return runs


def _refuse_contradiction(case: str, one: SavedShard, other: SavedShard) -> None:
    if _answer(one.run, case) != _answer(other.run, case):
        raise Incomparable(f"{one.file} and {other.file} answer the case {case!r} differently; leave one of them out")


def _answer(run: Run, case: str) -> tuple[str, list[Hit]]:
    answer = run.answer(run.index[case])
    return answer.status, [replace(hit, valid=None) for hit in answer.hits]


def _cases_of(suite: Suite, shard: ShardIdentity, file: str, cases_answered: set[str]) -> tuple[str, ...] | None:
    """The cases that were cut into shards, if that is the whole suite; None if some were chosen before."""
    if suite.hashes["queries"] == shard.queries:
        return suite.table.ids
    if len(suite) <= shard.cases or not cases_answered <= suite.table.index.keys():
        raise Incomparable(f"{file} is not a shard of the suite {suite.name!r}: it was cut from other queries")
    return None
