"""Suite and run become arrays: the one place where a hit meets a judgment.

Hits are taken in the run's order. A duplicate hit is dropped and counted; a hit that is not in the corpus
keeps its rank, is worth nothing, and is counted. A case that the run does not mention is empty. Cases are
matched by exact id all at once; globs, symbols, paths and line ranges case by case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from unicodedata import is_normalized

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import NothingEvaluated
from searchmark.judging.exact_ids import NO_JUDGMENT, Chunk, by_join, by_lookup, cases_with_duplicates, chunks_of, target_column
from searchmark.judging.matching import (
    directory_credit,
    expanded,
    grade_by_description,
    is_pattern,
    matches_lines,
    names_lines,
    nfc,
    normal_path,
    path_of_lines,
)
from searchmark.measures.formulas import Floats, GradedHits, Ints
from searchmark.records import EMPTY, MATCHES, NO_RANK, OK, Judgment, JudgmentTable, Run, Suite

_PATH = MATCHES.index("path")


@dataclass(frozen=True, eq=False)
class Judged:
    """A run held against a suite.

    Per case: ``status``, whether it has an answer (``answerable``), whether all its targets are known by id
    (``complete``) and whether its judgments are paths (``has_paths``). ``dropped`` counts what did not take part.
    """

    suite: Suite
    run: Run
    hits: GradedHits
    status: NDArray[np.uint8]
    answerable: NDArray[np.bool_]
    complete: NDArray[np.bool_]
    has_paths: NDArray[np.bool_]
    dropped: dict[str, int]


@dataclass(frozen=True, eq=False)
class _Matches:
    """The judged hits: ``row`` in the run, ``judgment`` is NO_JUDGMENT where only a description fits.

    ``returned`` counts the distinct hits of every case; ``duplicates`` those that were dropped.
    """

    case: Ints
    rank: Ints
    row: Ints
    judgment: Ints
    grade: Ints
    returned: Ints
    duplicates: int


def judge(suite: Suite, run: Run, corpus: Collection[str] | None = None) -> Judged:
    """Hold a run against a suite. ``corpus`` is the ids of all that could have been found, if known."""
    rows = _run_rows(suite, run)
    if corpus is not None:
        suite = expand_suite(suite, corpus)
    status = np.where(rows >= 0, run.status[rows], EMPTY).astype(np.uint8)
    status[(status == OK) & (run.starts[rows + 1] == run.starts[rows])] = EMPTY
    kinds = _Kinds.of(suite)
    existence = _Existence.of(run, corpus)
    matches = _existing(_match(suite, run, np.where(status == OK, rows, -1), kinds), existence)
    answerable = np.ones(len(suite), bool) if suite.table.unanswerable is None else ~suite.table.unanswerable
    hits = _graded_hits(suite, run, matches, existence, np.where(answerable, np.nan, (status == EMPTY).astype(float)))
    dropped = _dropped(suite, run, matches.duplicates, corpus) | {"invalid": existence.invalid()}
    return Judged(suite, run, hits, status, answerable, ~kinds.described, kinds.paths, dropped)


def target_ranks(judged: Judged, case: int) -> dict[str, int | None]:
    """For every relevant target of a case the rank of its hit, None if it was not returned."""
    suite, run = judged.suite, judged.run
    judgments = suite.cases[case].judgments
    ranks: dict[str, int | None] = {j.target: None for j in judgments if j.grade >= suite.defaults.rel}
    answer = run.index.get(suite.table.ids[case])
    if answer is None or judged.status[case] != OK:
        return ranks
    found, _ = _match_one(suite, run, answer, case)
    first = int(suite.judgments.starts[case])
    for _, rank, _, judgment, _ in found.T.tolist():
        target = judgments[judgment - first].target if judgment != NO_JUDGMENT else None
        if target in ranks and ranks[target] is None:
            ranks[target] = rank
    if any(map(is_pattern, judgments)):
        ranks = {target: _first_described(judgments, target, run.ids_of(answer)) for target in ranks}
    return ranks


def _first_described(judgments: tuple[Judgment, ...], target: str, hits: list[str]) -> int | None:
    """A description has no hit of its own: the first that fits stands for it."""
    grade_of = grade_by_description([judgment for judgment in judgments if judgment.target == target])
    return next((rank for rank, hit in enumerate(dict.fromkeys(hits), 1) if grade_of(hit)), None)


def expand_suite(suite: Suite, corpus: Collection[str]) -> Suite:
    """The suite with its globs and symbols replaced by the ids of the corpus that they mean."""
    if not _Kinds.of(suite).described.any():
        return suite
    cases = [replace(case, judgments=expanded(case.judgments, corpus)) for case in suite.cases]
    return replace(suite, judgments=Suite.from_cases(suite.name, cases).judgments)


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Per case: whether any judgment is a path, a description, anything but a plain id, or beyond ASCII."""

    paths: NDArray[np.bool_]
    described: NDArray[np.bool_]
    special: NDArray[np.bool_]
    accented: NDArray[np.bool_]

    @classmethod
    def of(cls, suite: Suite) -> _Kinds:
        judgments = suite.judgments
        accented = _cases_beyond_ascii(suite)
        if judgments.match is None:
            none = np.zeros(len(suite), bool)
            return cls(none, none, none, accented)
        descriptions = [MATCHES.index("glob"), MATCHES.index("symbol")]
        masks = (judgments.match == _PATH, np.isin(judgments.match, descriptions), judgments.match > 0)
        paths, described, special = (np.bincount(judgments.case[mask], minlength=len(suite)) > 0 for mask in masks)
        return cls(paths, described, special, accented)


def _cases_beyond_ascii(suite: Suite) -> NDArray[np.bool_]:
    """Cases with a target that could be written in two ways."""
    targets = suite.judgments.targets
    if isinstance(targets, list):
        beyond = np.fromiter((not target.isascii() for target in targets), bool, len(targets))
    else:
        beyond = (targets.str.len_bytes() != targets.str.len_chars()).to_numpy()
    return np.bincount(suite.judgments.case[beyond], minlength=len(suite)) > 0


def _written_in_two_ways(suite: Suite, run: Run, rows: Ints, candidates: Ints) -> Ints:
    """Of some cases those in which a target or a hit is not composed, so that equal texts may look different."""
    judgments = suite.judgments
    return np.array(
        [
            case
            for case in candidates.tolist()
            if not all(
                text.isascii() or is_normalized("NFC", text)
                for text in chain(
                    judgments.targets[judgments.starts[case] : judgments.starts[case + 1]],
                    run.ids[run.starts[rows[case]] : run.starts[rows[case] + 1]],
                )
            )
        ],
        np.int64,
    )


def _run_rows(suite: Suite, run: Run) -> Ints:
    """For every case of the suite its row in the run, -1 if the run does not mention it."""
    if not len(suite):
        raise NothingEvaluated(f"the suite {suite.name!r} has no cases")
    index = run.index
    rows = np.fromiter((index.get(case, -1) for case in suite.table.ids), np.int64, len(suite))
    accented = [row for row in np.flatnonzero(rows < 0).tolist() if not suite.table.ids[row].isascii()]
    if accented:
        composed = {nfc(case): row for case, row in index.items()}
        rows[accented] = [composed.get(nfc(suite.table.ids[row]), -1) for row in accented]
    if (rows < 0).all():
        theirs = f"its cases are named like {run.case_ids[0]!r}" if run.case_ids else "it has none"
        raise NothingEvaluated(
            f"the run {run.agent!r} answers no case of the suite {suite.name!r}: {theirs}, the suite's like {suite.table.ids[0]!r}"
        )
    return rows


def _match(suite: Suite, run: Run, rows: Ints, kinds: _Kinds) -> _Matches:
    """Match all answers; ``rows`` says where in the run the answer to each case stands, -1 for none.

    Most cases are matched by exact id, many at once. Those that need more thought, because of what their
    judgments are or because an answer repeats itself, are matched one by one.
    """
    answered = rows >= 0
    returned = np.where(answered, run.starts[rows + 1] - run.starts[rows], 0)
    slow = answered & kinds.special
    slow[_written_in_two_ways(suite, run, rows, np.flatnonzero(answered & kinds.accented & ~kinds.special))] = True
    targets = target_column(suite, run)
    parts = [np.zeros((5, 0), np.int64)]
    for cases in chunks_of(np.flatnonzero(answered & ~slow), returned):
        chunk = Chunk.of(run, rows, cases)
        repetitive = np.zeros(0, np.int64) if run.unique else cases_with_duplicates(run, chunk)
        slow[repetitive] = True
        hit, judgment = by_lookup(suite, run, chunk) if targets is None else by_join(suite, run, chunk, targets)
        row, case = chunk.row[hit], chunk.case[hit]
        rank = row - run.starts[rows[case]] + 1 if run.rank is None else run.rank[row]
        kept = ~slow[case]
        parts.append(np.stack([case, rank, row, judgment, suite.judgments.grades[judgment]])[:, kept])
    duplicates = 0
    for number in np.flatnonzero(slow).tolist():
        part, distinct = _match_one(suite, run, int(rows[number]), number)
        duplicates += int(returned[number]) - distinct
        returned[number] = distinct
        parts.append(part)
    columns = np.concatenate(parts, axis=1)
    case, rank, row, judgment, grade = columns[:, np.lexsort((columns[1], columns[0]))]
    return _Matches(case, rank, row, judgment, grade, returned, duplicates)


def _match_one(suite: Suite, run: Run, row: int, case: int) -> tuple[Ints, int]:
    """The columns of `_Matches` for one case, and how many distinct hits its answer has."""
    judgments = suite.cases[case].judgments
    ids, rows = _distinct(run, row, paths=any(j.match == "path" for j in judgments))
    match = _described if any(map(is_pattern, judgments)) else _exact
    first = int(suite.judgments.starts[case])
    found = [
        (case, place + 1, rows[place], NO_JUDGMENT if judgment is None else first + judgment, grade)
        for place, judgment, grade in match(judgments, ids)
    ]
    return np.array(found, np.int64).reshape(-1, 5).T, len(ids)


def _distinct(run: Run, row: int, *, paths: bool) -> tuple[list[str], list[int]]:
    """Ids of one answer, best first, each once, with their rows; two spellings of a path are one id."""
    ids = run.ids_of(row)
    first: dict[str, int] = {}
    for place, hit in enumerate(ids):
        first.setdefault(normal_path(hit) if paths else nfc(hit), place)
    rows = run.rows_of(row)
    return [ids[place] for place in first.values()], [int(rows[place]) for place in first.values()]


def _described(judgments: tuple[Judgment, ...], hits: list[str]) -> Iterator[tuple[int, int | None, int]]:
    """Hit by hit: without a corpus a description cannot say what was missed, but it can say what was hit."""
    grade_of = grade_by_description([j for j in judgments if j.match != "lines"])
    lines = _lines_paid(judgments, hits)
    for place, hit in enumerate(hits):
        grades = [grade_of(hit), judgments[lines[place]].grade if place in lines else None]
        known = [grade for grade in grades if grade is not None]
        if known:
            yield place, None, max(known)


def _exact(judgments: tuple[Judgment, ...], hits: list[str]) -> Iterator[tuple[int, int | None, int]]:
    """One hit pays one judgment: ids and paths by name, line ranges the best one not paid yet."""
    ids = {nfc(j.target): row for row, j in enumerate(judgments) if j.match == "id"}
    paths = {normal_path(j.target): row for row, j in enumerate(judgments) if j.match == "path"}
    named = {place: row for place, hit in enumerate(hits) if (row := _row_by_name(ids, paths, hit)) is not None}
    lines = _lines_paid(judgments, hits)
    for place in range(len(hits)):
        row = named.get(place, lines.get(place))
        if row is not None:
            yield place, row, judgments[row].grade


def _row_by_name(ids: dict[str, int], paths: dict[str, int], hit: str) -> int | None:
    row = ids.get(nfc(hit))
    if row is None and paths:
        row = paths.get(normal_path(hit), ids.get(normal_path(hit)))
    return row


def _lines_paid(judgments: tuple[Judgment, ...], hits: list[str]) -> dict[int, int]:
    """Which line judgment each hit pays: the best one not paid yet, hits that name lines before whole files."""
    lines = sorted((-j.grade, j.target, row) for row, j in enumerate(judgments) if j.match == "lines")
    unpaid = [row for _, _, row in lines]
    paid: dict[int, int] = {}
    for place in sorted(range(len(hits)) if unpaid else (), key=lambda place: not names_lines(hits[place])):
        row = next((row for row in unpaid if matches_lines(judgments[row].target, hits[place])), None)
        if row is not None:
            unpaid.remove(row)
            paid[place] = row
    return paid


def _graded_hits(suite: Suite, run: Run, matches: _Matches, existence: _Existence, abstained: Floats) -> GradedHits:
    judgments = suite.judgments
    ordered = np.zeros(0, np.int64) if judgments.ranks is None else np.flatnonzero(judgments.ranks != NO_RANK)
    ranged = np.zeros(0, np.int64) if judgments.ranges is None else np.flatnonzero(~np.isnan(judgments.ranges[:, 0]))
    return GradedHits(
        cases=len(suite),
        case=matches.case,
        rank=matches.rank,
        grade=matches.grade,
        returned=matches.returned,
        target_case=judgments.case,
        target_grade=judgments.grades,
        ordered_case=judgments.case[ordered],
        ordered_expected=ordered if judgments.ranks is None else judgments.ranks[ordered],
        ordered_rank=_per_judgment(judgments, matches, matches.rank, 0)[ordered],
        ranged_case=judgments.case[ranged],
        ranged_inside=_inside(judgments, run, ranged, _per_judgment(judgments, matches, matches.row, -1)[ranged]),
        abstained=abstained,
        directory_credit=lambda k, rel: _credit(suite, run, matches, existence, k, rel),
    )


@dataclass(frozen=True, eq=False)
class _Existence:
    """Which hits are real: by the corpus if there is one, else by what the run says of itself, else all."""

    run: Run
    known: frozenset[str] | None

    @classmethod
    def of(cls, run: Run, corpus: Collection[str] | None) -> _Existence:
        if corpus is None:
            return cls(run, None)
        known = frozenset(map(nfc, corpus)) | frozenset(map(normal_path, corpus))
        return cls(run, known | {parent for path in known for parent in _parents(path)})

    def __contains__(self, row: int) -> bool:
        if self.known is None:
            return self.run.valid is None or bool(self.run.valid[row])
        hit = nfc(self.run.ids[row])
        return hit in self.known or normal_path(hit) in self.known or path_of_lines(hit) in self.known

    def invalid(self) -> int:
        """How many hits of the run do not exist."""
        if self.known is None and self.run.valid is None:
            return 0
        return sum(row not in self for row in range(len(self.run.ids)))


def _existing(matches: _Matches, existence: _Existence) -> _Matches:
    """The matches without those of hits that do not exist: they keep their rank and are worth nothing."""
    if existence.known is None and existence.run.valid is None:
        return matches
    real = np.array([row in existence for row in matches.row.tolist()], bool)
    columns = {name: getattr(matches, name)[real] for name in ("case", "rank", "row", "judgment", "grade")}
    return replace(matches, **columns)


def _per_judgment(judgments: JudgmentTable, matches: _Matches, values: Ints, otherwise: int) -> Ints:
    """A value of the hit that met each judgment."""
    column = np.full(len(judgments), otherwise)
    named = matches.judgment != NO_JUDGMENT
    column[matches.judgment[named]] = values[named]
    return column


def _inside(judgments: JudgmentTable, run: Run, ranged: Ints, row: Ints) -> Floats:
    """1 where the score of a hit lies in the range of its judgment, 0 outside or without a hit, NaN without a score."""
    if judgments.ranges is None:
        return np.zeros(0)
    low, high = judgments.ranges[ranged].T
    inside = np.zeros(len(ranged))
    returned = row >= 0
    score = run.scores[row[returned]]
    within = (low[returned] <= score) & (score <= high[returned])
    inside[returned] = np.where(np.isnan(score), np.nan, within)
    return inside


def _credit(suite: Suite, run: Run, matches: _Matches, existence: _Existence, k: int | None, rel: int) -> Floats:
    """Targets named by path pay by directory as well; all others only if they were found exactly."""
    path = np.zeros(len(suite.judgments), bool) if suite.judgments.match is None else suite.judgments.match == _PATH
    others = (matches.grade >= rel) & ~path[matches.judgment] & (matches.rank <= (k or matches.rank.max(initial=0)))
    credit = np.bincount(matches.case[others], minlength=len(suite)).astype(np.float64)
    for row, case in enumerate(suite.cases):
        targets = [j.target for j in case.judgments if j.match == "path" and j.grade >= rel]
        answer = run.index.get(case.id)
        if targets and answer is not None and run.status[answer] == OK:
            ids, rows = _distinct(run, answer, paths=True)
            real = [hit for hit, hit_row in zip(ids[:k], rows[:k], strict=True) if hit_row in existence]
            credit[row] += directory_credit(targets, real)
    return credit


def _dropped(suite: Suite, run: Run, duplicates: int, corpus: Collection[str] | None) -> dict[str, int]:
    counts = {
        "duplicate": duplicates,
        "cases_not_in_suite": len(run.index.keys() - suite.table.index.keys()),
        "scores_out_of_order": _rising_scores(run),
        **suite.dropped,
        **run.dropped,
    }
    if corpus is not None:
        counts["unreachable_targets"] = _unreachable(suite, corpus)
    return counts


def _rising_scores(run: Run) -> int:
    """Hits that score higher than the one before them. Where ranks were given by score there is none."""
    if run.rank is not None:
        return 0
    rising = run.scores[1:] > run.scores[:-1]
    seams = run.starts[(run.starts > 0) & (run.starts < len(run.scores))]
    rising[seams - 1] = False
    return int(rising.sum())


def _parents(path: str) -> Iterator[str]:
    """The directories above a path: they exist where the path does."""
    while "/" in path:
        path = path.rsplit("/", 1)[0]
        yield path


def _unreachable(suite: Suite, corpus: Collection[str]) -> int:
    """Relevant targets that the corpus does not hold."""
    known = set(map(nfc, corpus)) | set(map(normal_path, corpus))
    relevant = (j.target for case in suite.cases for j in case.judgments if j.grade > 0 and j.match in ("id", "path"))
    return sum(nfc(target) not in known and normal_path(target) not in known for target in relevant)
