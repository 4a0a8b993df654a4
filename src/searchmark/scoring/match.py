"""Matches the hits of a run with the judgments of a suite: both become arrays that formulas read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import pairwise, repeat
from math import inf
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from searchmark.config.strict import short_repr
from searchmark.errors import NothingEvaluated
from searchmark.measures.hits import MOST_LINES, MOST_TOKENS, TOKENIZER, Coverage, GradedHits, ReadLines, expected_orders
from searchmark.records.answers import EMPTY, OK, AnswerDetails
from searchmark.records.columns import Floats, Ints, starts_of, text_list
from searchmark.records.judgments import Judgment, JudgmentTable
from searchmark.records.matching import nfc, normal_path, parse_line_target
from searchmark.records.merge import with_suite_case_ids
from searchmark.records.provenance import same_model
from searchmark.records.run import Run, ScoredRun
from searchmark.records.suite import Suite
from searchmark.scoring.match_ids import match_in_batches, match_scored
from searchmark.scoring.matches import (
    CLEAN,
    LINES,
    NO_JUDGMENT,
    NOT_MET,
    CaseKinds,
    Matches,
    Matching,
    Spelling,
    join_parts,
    match_each_case,
    split_line_ids,
)
from searchmark.scoring.targets import NOTHING, DescribedIds, ExistingIds

# Which lines a reader sees who follows an answer hit by hit, and which of them are judged relevant.
#
# A run says what lines cost, since only the program that made it had the texts. Lines are read as far as that is known,
# which is further than any budget goes.

Place: TypeAlias = tuple[int, int, int]  # first line, last line, grade


@dataclass(frozen=True, eq=False)
class LineReading:
    """What is read of all answers; per case, whether everything relevant is lines, and whether their cost is known."""

    read: ReadLines | None
    about_lines: NDArray[np.bool_]
    counted: NDArray[np.bool_]


@dataclass
class _CaseLines:
    """What is read of one answer, line by line."""

    tokens: list[int] = field(default_factory=list)
    grades: list[int] = field(default_factory=list)
    counted: bool = True


def cases_about_lines(suite: Suite) -> NDArray[np.bool_]:
    """The cases in which everything relevant is a range of lines that says where it ends, and there is something."""
    judgments = suite.judgments
    if judgments.match is None:
        return np.zeros(len(suite), bool)
    relevant = judgments.grades > 0
    ranges = judgments.match == LINES
    ranges[ranges] = [parse_line_target(judgments.targets[row])[2] < inf for row in np.flatnonzero(ranges).tolist()]
    of_lines, of_others = (np.bincount(judgments.case[relevant & each], minlength=len(suite)) for each in (ranges, ~ranges))
    return np.asarray((of_lines > 0) & (of_others == 0))


def read_answer_lines(suite: Suite, run: Run, rows: Ints, status: NDArray[np.uint8]) -> LineReading:
    """Read every answer to a case that is about lines; ``rows`` says where in the run it is. No answer is nothing to read."""
    about_lines = cases_about_lines(suite)
    if not about_lines.any():
        return LineReading(None, about_lines, about_lines)
    run = split_line_ids(run) if len(run.ids) else run
    counted, lines, places = about_lines.copy(), [_CaseLines() for _ in about_lines], []
    for case in np.flatnonzero(about_lines).tolist():
        places_by_path = _disjoint_places(suite.cases[case].judgments)
        places += [(case, last - first + 1, grade) for of_path in places_by_path.values() for first, last, grade in of_path]
        if status[case] == OK:
            lines[case] = _read_answer(run, int(rows[case]), places_by_path)
            counted[case] = lines[case].counted
    answered = about_lines & (status == OK)
    if answered.any() and not counted[answered].any():
        counted[:] = False  # else the answers that failed, all 0, would be the mean
    place = np.array(places, np.int64).reshape(-1, 3).T
    read_lines = ReadLines(
        starts=starts_of((len(each.tokens) for each in lines), len(lines)),
        tokens=np.array([each for of_case in lines for each in of_case.tokens], np.int64),
        grade=np.array([each for of_case in lines for each in of_case.grades], np.int64),
        place_case=place[0],
        place_lines=place[1],
        place_grade=place[2],
    )
    return LineReading(read_lines, about_lines, counted)


def _disjoint_places(judgments: Iterable[Judgment]) -> dict[str, list[Place]]:
    """The relevant lines by path, as ranges that do not overlap; where judgments do, the highest grade counts."""
    ranges: dict[str, list[Place]] = {}
    for judgment in judgments:
        if judgment.match == "lines" and judgment.grade > 0:
            path, first, last = parse_line_target(judgment.target)
            ranges.setdefault(path, []).append((first, int(last), judgment.grade))
    return {path: list(_split_overlaps(of_path)) for path, of_path in ranges.items()}


def _split_overlaps(ranges: Sequence[Place]) -> Iterator[Place]:
    waiting = sorted(ranges, reverse=True)  # the next one last
    open_ranges: list[tuple[int, int]] = []  # the highest grade first
    for begin, end in pairwise(sorted({border for first, last, _ in ranges for border in (first, last + 1)})):
        while waiting and waiting[-1][0] <= begin:
            _, last, grade = waiting.pop()
            heappush(open_ranges, (-grade, last))
        while open_ranges and open_ranges[0][1] < begin:
            heappop(open_ranges)
        if open_ranges:
            yield begin, end - 1, -open_ranges[0][0]


def _read_answer(run: Run, answer: int, places: Mapping[str, Sequence[Place]]) -> _CaseLines:
    """Line after line, none twice, until no budget reaches further; what is not counted before that makes all unknown."""
    lines, tokens_so_far = _CaseLines(), 0
    texts = _stated_lines(run.details_of(answer))
    seen_lines: set[tuple[str, int]] = set()
    for hit, row in zip(run.ids_of(answer), run.rows_of(answer).tolist(), strict=True):
        path = normal_path(hit)
        text = None if texts is None else texts.get(path)
        if text is None:
            lines.counted = tokens_so_far >= MOST_TOKENS and len(seen_lines) >= MOST_LINES
            return lines
        first, last = run.lines_of(row) or (1, text.lines)
        grades = _grades(places.get(path, ()), first, min(last, text.lines))
        for line, grade in grades:
            if tokens_so_far >= MOST_TOKENS and len(seen_lines) >= MOST_LINES:
                return lines
            if (path, line) in seen_lines:
                continue
            if line not in text.tokens:
                lines.counted = False
                return lines
            seen_lines.add((path, line))
            tokens_so_far += text.tokens[line]
            lines.tokens.append(text.tokens[line])
            lines.grades.append(grade)
    return lines


@dataclass(frozen=True)
class _StatedText:
    lines: int
    tokens: Mapping[int, int]


def _stated_lines(details: AnswerDetails) -> dict[str, _StatedText] | None:
    """What an answer says of the lines of documents, by path; None where it says nothing, or by another count."""
    if details.line_tokens is None or details.line_tokens_by != TOKENIZER:
        return None
    return {
        normal_path(document): _StatedText(
            text.lines, {first + place: each for first, tokens in text.pieces for place, each in enumerate(tokens)}
        )
        for document, text in details.line_tokens.items()
    }


def _grades(places: Sequence[Place], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Every line of a range and its grade."""
    rest = iter(places)
    place = next(rest, None)
    for line in range(first, last + 1):
        while place is not None and place[1] < line:
            place = next(rest, None)
        yield line, place[2] if place is not None and place[0] <= line else 0


# Whose score ranges count: those for all models, and those for the embedding model that was searched with.
#
# A range that is given for all models belongs to the model of the suite, if that names one. What is known of another model says
# nothing about this one.

_ALL = slice(None)


def ranged_rows(judgments: JudgmentTable, part: slice = _ALL) -> Ints:
    """The judgments, of some rows, that have a score range for any model."""
    if not judgments.has_ranges:
        return np.zeros(0, np.int64)
    columns = [column for column in (judgments.ranges, *(judgments.model_ranges or {}).values()) if column is not None]
    return np.flatnonzero(np.any([~np.isnan(column[part, 0]) for column in columns], axis=0))


def scores_inside_range(suite: Suite, run: Run, with_range: Ints, row: Ints) -> Floats:
    """1 where the score of a hit lies in the range of its judgment, 0 outside or without a hit.

    NaN without a score, or where the judgment has no range for the model that was searched with.
    """
    bounds = _bounds(suite, run)
    if bounds is None:
        return np.full(len(with_range), np.nan)
    low, high = bounds[with_range].T
    share = np.zeros(len(with_range))
    returned = row >= 0
    score = run.scores[row[returned]]
    within = (low[returned] <= score) & (score <= high[returned])
    share[returned] = np.where(np.isnan(score), np.nan, within)
    share[np.isnan(low)] = np.nan
    return share


def why_no_range(suite: Suite, run: Run, case: int) -> str | None:
    """Why the ranges of a case say nothing about a run; None if they do, or if there are none."""
    part = slice(*suite.judgments.starts[case : case + 2].tolist())
    bounds = _bounds(suite, run, part)
    without_range = [row for row in ranged_rows(suite.judgments, part).tolist() if bounds is None or np.isnan(bounds[row, 0])]
    if not without_range:
        return None
    run_model = model_of(run)
    model_of_run = f"the run searched with {run_model}" if run_model else "the run does not say which one it searched with"
    return f"score ranges are known for {', '.join(_models(suite, part.start + without_range[0]))}, and {model_of_run}"


def model_of(run: Run) -> str | None:
    """The embedding model of a run, if it is known."""
    agent = run.provenance.agent
    return None if agent is None else agent.model


def _bounds(suite: Suite, run: Run, part: slice = _ALL) -> Floats | None:
    """The ranges of judgments, of all or of some rows, for this run, NaN where there is none; None if no judgment has any."""
    judgments, run_model = suite.judgments, model_of(run)
    plain = judgments.ranges
    if plain is not None and suite.model is not None and run_model is not None and not same_model(suite.model, run_model):
        plain = None
    own = [
        column for model, column in (judgments.model_ranges or {}).items() if run_model is not None and same_model(model, run_model)
    ]
    columns = [column[part] for column in (own if plain is None else [plain, *own])]
    if not columns:
        return None
    bounds = columns[0]
    for column in columns[1:]:
        bounds = np.where(np.isnan(bounds), column, bounds)
    return bounds


def _models(suite: Suite, row: int) -> Iterator[str]:
    judgments = suite.judgments
    if judgments.ranges is not None and not np.isnan(judgments.ranges[row, 0]):
        yield suite.model or "every model"
    yield from (model for model, column in sorted((judgments.model_ranges or {}).items()) if not np.isnan(column[row, 0]))


# What judgments say beside a grade: explicit gains, and the aspects that their targets cover.

MOST_DIGITS = 9  # of an aspect that is a number


def gains_of_hits(suite: Suite, matches: Matches) -> Floats | None:
    """What each judged hit pays, None where that is its grade everywhere.

    NaN for a hit that is known by description only, in a case where descriptions have gains: which of them fit is not kept.
    """
    judgments = suite.judgments
    if judgments.gains is None:
        return None
    described = judgments.described & (judgments.gains != judgments.grades)
    open_cases = np.isin(matches.case, judgments.case[described])
    by_description = np.where(open_cases & (matches.grade > 0), np.nan, matches.grade.astype(np.float64))
    return np.where(matches.judgment == NO_JUDGMENT, by_description, judgments.gains[matches.judgment])


def coverage_of(suite: Suite, matches: Matches) -> Coverage | None:
    """Which aspects targets cover, and which target each judged hit is; None where no judgment names an aspect."""
    coverage = coverage_of_targets(suite)
    return None if coverage is None else coverage.of_hits(matches.judgment)


def coverage_of_targets(suite: Suite) -> Coverage | None:
    judgments = suite.judgments
    if judgments.aspects is None:
        return None
    aspects = [each or {} for each in judgments.aspects]
    names = sorted({name for each in aspects for name in each}, key=_natural_key)
    number = {name: place for place, name in enumerate(names)}
    _, name_order = np.unique(np.array(text_list(judgments.targets), object), return_inverse=True)
    return Coverage(
        hit=np.zeros(0, np.int64),
        starts=np.concatenate([[0], np.cumsum([len(each) for each in aspects])]).astype(np.int64),
        aspect=np.array([number[name] for each in aspects for name in each], np.int64),
        grade=np.array([grade for each in aspects for grade in each.values()], np.int64),
        name_order=name_order.reshape(-1).astype(np.int64),
    )


def _natural_key(name: str) -> tuple[bool, int, str]:
    """Numbers first, by their value: in this order ndeval adds what aspects pay."""
    is_number = name.isdecimal() and len(name) <= MOST_DIGITS
    return not is_number, int(name) if is_number else 0, name


# Suite and run become arrays: the one place where a hit meets a judgment.
#
# Hits are taken in the run's order. A duplicate hit is dropped and counted; a hit that is not in the corpus
# keeps its rank, pays nothing, and is counted. A case that the run does not mention is empty. Every case is
# matched once, and what was found is kept.


@dataclass(frozen=True, eq=False)
class MatchedRun:
    """A run matched with the judgments of a suite: which hit met which judgment."""

    suite: Suite
    run: Run
    matches: Matches
    hits: GradedHits  # the part of the matches that formulas read
    status: NDArray[np.uint8]  # per case, like the seven columns below
    answerable: NDArray[np.bool_]  # whether it has an answer
    complete: NDArray[np.bool_]  # whether all its targets are known by id
    has_paths: NDArray[np.bool_]  # whether its judgments are paths
    graded: NDArray[np.bool_]  # whether they say what is relevant
    about_lines: NDArray[np.bool_]  # whether that is lines alone
    lines_counted: NDArray[np.bool_]  # whether it is known what the lines of its hits cost
    mentioned: NDArray[np.bool_]  # whether the run has it, also without hits
    dropped: dict[str, int | None]  # counts of what did not take part, None where not known
    valid: NDArray[np.bool_] | None = None  # per hit of the run, whether it exists; None if that is not known

    __repr__ = short_repr


def match_hits(suite: Suite, run: Run, corpus: Collection[str] | None = None, folder: Path | None = None) -> MatchedRun:
    """Match the hits of a run with the judgments of a suite.

    ``corpus`` is the ids of everything that could have been found, if known; ``folder`` is where these are as files, if they are:
    hits may be absolute paths below it.
    """
    run = with_suite_case_ids(suite, run)
    rows = _run_rows(suite, run)
    existing = None if corpus is None else ExistingIds(corpus, folder)
    if corpus is not None:
        suite = expand_suite(suite, corpus)
    status = np.where(rows >= 0, run.status[rows], EMPTY).astype(np.uint8)
    status[(status == OK) & (run.starts[rows + 1] == run.starts[rows])] = EMPTY
    kinds = CaseKinds.of(suite)
    resolved_run, valid = (run, run.valid) if existing is None else resolve_hits(run, existing)
    matches = _match_cases(suite, resolved_run, np.where(status == OK, rows, -1), kinds, valid)
    answerable, graded = (_without_marks(suite, marks) for marks in (suite.table.unanswerable, suite.table.order_only))
    reading = read_answer_lines(suite, resolved_run, rows, status)
    hits = _graded_hits(suite, run, matches, reading, np.where(answerable, np.nan, (status == EMPTY).astype(float)))
    dropped = _dropped_counts(suite, run, matches, existing) | {"invalid": None if valid is None else int((~valid).sum())}
    return MatchedRun(
        suite=suite,
        run=run,
        matches=matches,
        hits=hits,
        status=status,
        answerable=answerable,
        complete=~kinds.described,
        has_paths=kinds.paths,
        graded=graded,
        about_lines=reading.about_lines,
        lines_counted=reading.counted,
        mentioned=(rows >= 0) | (suite.missing == "zero"),
        dropped=dropped,
        valid=valid,
    )


def _without_marks(suite: Suite, marks: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    return np.ones(len(suite), bool) if marks is None else ~marks


def _match_cases(suite: Suite, run: Run, rows: Ints, kinds: CaseKinds, valid: NDArray[np.bool_] | None) -> Matches:
    """Scores by id suffice where they are known; else names are matched in batches; globs, symbols and lines go one by one."""
    columns = match_scored(suite, run, rows) if valid is None else None
    if columns is not None:
        return join_parts(Matching(suite, run, rows, valid, CLEAN), [columns])
    spelling = Spelling.of(run.ids, paths=bool(kinds.paths.any()))
    if spelling.lines:
        run = split_line_ids(run)
        spelling = Spelling.of(run.ids, paths=True)
    kinds = kinds.for_run(suite, run)
    matching = Matching(suite, run, rows, valid, spelling)
    answered, alone = rows >= 0, kinds.described | kinds.passages
    in_batches = match_in_batches(matching, np.flatnonzero(answered & ~alone), kinds)
    return join_parts(matching, [*in_batches, match_each_case(matching, np.flatnonzero(answered & alone), kinds)])


def target_ranks(matched: MatchedRun, case: int) -> dict[str, int | None]:
    """For every relevant target of a case the rank of its hit, None if it was not returned.

    No hit belongs to a glob or a symbol alone: the first that fits meets it. Lines are found by any hit that has some of them.
    """
    judgments, matches = matched.suite.judgments, matched.matches
    ranks: dict[str, int | None] = {}
    for row in range(*judgments.starts[case : case + 2].tolist()):
        if judgments.grades[row] >= matched.suite.defaults.rel:
            target, hit = judgments.targets[row], matches.seen[row]
            here = None if hit == NOT_MET else int(matches.rank[hit])
            ranks[target] = min(filter(None, (ranks.get(target), here)), default=None)
    return ranks


def expand_suite(suite: Suite, corpus: Collection[str]) -> Suite:
    """The suite with its globs and symbols replaced by the ids of the corpus that they mean."""
    if not CaseKinds.of(suite).described.any():
        return suite
    corpus_ids = DescribedIds(corpus, ignore_case=suite.defaults.ignore_case)
    excluded_by_case = suite.table.excluded_ids or (NOTHING,) * len(suite)
    cases = [
        replace(case, judgments=corpus_ids.expanded(case.judgments, excluded_ids))
        for case, excluded_ids in zip(suite.cases, excluded_by_case, strict=True)
    ]
    return replace(suite, judgments=Suite.from_cases(suite.name, cases).judgments)


def _run_rows(suite: Suite, run: Run) -> Ints:
    """For every case of the suite its row in the run, -1 if the run does not mention it."""
    if not len(suite):
        raise NothingEvaluated(f"the suite {suite.name!r} has no cases")
    if suite.table.ids == run.case_ids:
        return np.arange(len(suite))
    index = run.index
    rows = np.fromiter(map(index.get, suite.table.ids, repeat(-1)), np.int64, len(suite))
    accented_rows = [row for row in np.flatnonzero(rows < 0).tolist() if not suite.table.ids[row].isascii()]
    if accented_rows:
        rows_by_case = {nfc(case): row for case, row in index.items()}
        rows[accented_rows] = [rows_by_case.get(nfc(suite.table.ids[row]), -1) for row in accented_rows]
    if (rows < 0).all():
        theirs = f"its cases are named like {run.case_ids[0]!r}" if run.case_ids else "it has none"
        raise NothingEvaluated(
            f"the run {run.agent!r} answers no case of the suite {suite.name!r}: {theirs}, the suite's like {suite.table.ids[0]!r}"
        )
    return rows


def resolve_hits(run: Run, existing: ExistingIds) -> tuple[Run, NDArray[np.bool_]]:
    """The run with hits as the corpus names them (a live run has them so from the start), and which of them exist.

    An id that many cases return is looked up once.
    """
    resolutions = {hit: existing.resolve(hit) for hit in set(run.ids)}
    valid = np.fromiter((resolutions[hit][1] for hit in run.ids), bool, len(run.ids))
    if all(name == hit for hit, (name, _) in resolutions.items()):
        return run, valid
    return replace(run, ids=[resolutions[hit][0] for hit in run.ids], unique=False), valid


def _graded_hits(suite: Suite, run: Run, matches: Matches, reading: LineReading, abstained: Floats) -> GradedHits:
    judgments = suite.judgments
    orders = expected_orders(suite)
    with_range = ranged_rows(judgments)
    gains, coverage = gains_of_hits(suite, matches), coverage_of(suite, matches)
    return GradedHits(
        cases=len(suite),
        case=matches.case[matches.valid],
        rank=matches.rank[matches.valid],
        grade=matches.grade[matches.valid],
        returned=matches.returned,
        target_case=judgments.case,
        target_grade=judgments.grades,
        order=orders.order,
        ordered_case=judgments.case[orders.judgment],
        ordered_expected=orders.rank,
        ordered_rank=matches.of_judgments(matches.rank, 0)[orders.judgment],
        ranged_case=judgments.case[with_range],
        ranged_inside=scores_inside_range(suite, run, with_range, matches.of_judgments(matches.row, -1)[with_range]),
        abstained=abstained,
        directories=matches.directories,
        gain=None if gains is None else gains[matches.valid],
        target_gain=judgments.gains,
        coverage=None if coverage is None else coverage.of_hits(coverage.hit[matches.valid]),
        lines=reading.read,
    )


def _dropped_counts(suite: Suite, run: Run, matches: Matches, existing: ExistingIds | None) -> dict[str, int | None]:
    counts: dict[str, int | None] = {
        "duplicate": matches.duplicates,
        "cases_not_in_suite": len(set(run.case_ids).difference(suite.table.ids)),
        "scores_out_of_order": _rising_scores(run),
        **suite.dropped,
        **run.dropped,
    }
    if existing is None and run.provenance.service is not None:
        counts["unreachable_targets"] = None
    if existing is not None:
        counts["unreachable_targets"] = len(existing.missing_targets(suite.judgments, 0, len(suite.judgments)))
    return counts


def _rising_scores(run: Run) -> int:
    """Hits that score higher than the one before them. Where ranks were given by score there is none."""
    if (isinstance(run, ScoredRun) and run.by_id is not None) or run.rank is not None:
        return 0
    rising = run.scores[1:] > run.scores[:-1]
    seams = run.starts[(run.starts > 0) & (run.starts < len(run.scores))]
    rising[seams - 1] = False
    return int(rising.sum())
