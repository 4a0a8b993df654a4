"""Suite and run become arrays: the one place where a hit meets a judgment.

Hits are taken in the run's order. A duplicate hit is dropped and counted; a hit that is not in the corpus
keeps its rank, is worth nothing, and is counted. A case that the run does not mention is empty. Every case is
matched once, and what was found is kept.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import NothingEvaluated
from searchmark.judging.described import NOTHING, DescribedIds
from searchmark.judging.existence import Existing
from searchmark.judging.expected_orders import expected_orders
from searchmark.judging.in_batches import match_in_batches
from searchmark.judging.line_reading import LineReading, line_reading
from searchmark.judging.matches import NOT_MET, Matches, Matching, put_together
from searchmark.judging.names import CLEAN, CaseKinds, Spelling, lines_apart
from searchmark.judging.one_by_one import match_one_by_one
from searchmark.judging.query_texts import with_cases_of
from searchmark.judging.score_ranges import inside, ranged_rows
from searchmark.judging.scored_ids import match_scored
from searchmark.judging.spelling import nfc
from searchmark.judging.worth import coverage_of, gains_of_hits
from searchmark.measures.formulas import Floats, GradedHits, Ints
from searchmark.options.short_repr import short_repr
from searchmark.records import EMPTY, OK, Run, ScoredRun, Suite


@dataclass(frozen=True, eq=False)
class Judged:
    """A run held against a suite, and which hit met which judgment.

    Per case: ``status``, whether it has an answer (``answerable``), whether all its targets are known by id
    (``complete``), whether its judgments are paths (``has_paths``), whether they say what is relevant (``graded``), whether
    that is lines alone (``about_lines``), and whether it is known what the lines of its hits cost (``lines_counted``).
    ``dropped`` counts what did not take part, None where that is not known. ``hits`` is what of the matches the formulas see.
    ``valid`` says of every hit of the run whether it exists, None if that is not known.
    """

    suite: Suite
    run: Run
    matches: Matches
    hits: GradedHits
    status: NDArray[np.uint8]
    answerable: NDArray[np.bool_]
    complete: NDArray[np.bool_]
    has_paths: NDArray[np.bool_]
    graded: NDArray[np.bool_]
    about_lines: NDArray[np.bool_]
    lines_counted: NDArray[np.bool_]
    dropped: dict[str, int | None]
    valid: NDArray[np.bool_] | None = None

    __repr__ = short_repr


def judge(suite: Suite, run: Run, corpus: Collection[str] | None = None, folder: Path | None = None) -> Judged:
    """Hold a run against a suite. ``corpus`` is the ids of all that could have been found, if known.

    ``folder`` is where they lie as files, if they do: hits may be absolute paths below it.
    """
    run = with_cases_of(suite, run)
    rows = _run_rows(suite, run)
    existing = None if corpus is None else Existing(corpus, folder)
    if corpus is not None:
        suite = expand_suite(suite, corpus)
    status = np.where(rows >= 0, run.status[rows], EMPTY).astype(np.uint8)
    status[(status == OK) & (run.starts[rows + 1] == run.starts[rows])] = EMPTY
    kinds = CaseKinds.of(suite)
    settled, valid = (run, run.valid) if existing is None else settled_hits(run, existing)
    matches = _match(suite, settled, np.where(status == OK, rows, -1), kinds, valid)
    answerable, graded = (_unmarked(suite, marks) for marks in (suite.table.unanswerable, suite.table.order_only))
    reading = line_reading(suite, settled, rows, status)
    hits = _graded_hits(suite, run, matches, reading, np.where(answerable, np.nan, (status == EMPTY).astype(float)))
    dropped = _dropped(suite, run, matches, existing) | {"invalid": None if valid is None else int((~valid).sum())}
    return Judged(
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
        dropped=dropped,
        valid=valid,
    )


def _unmarked(suite: Suite, marks: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    return np.ones(len(suite), bool) if marks is None else ~marks


def _match(suite: Suite, run: Run, rows: Ints, kinds: CaseKinds, valid: NDArray[np.bool_] | None) -> Matches:
    """Scores by id suffice where they are known; else names are matched in batches; globs, symbols and lines go one by one."""
    scored = match_scored(suite, run, rows) if valid is None else None
    if scored is not None:
        return put_together(Matching(suite, run, rows, valid, CLEAN), [scored])
    spelling = Spelling.of(run.ids, paths=bool(kinds.paths.any()))
    if spelling.lines:
        run = lines_apart(run)
        spelling = Spelling.of(run.ids, paths=True)
    kinds = kinds.for_run(suite, run)
    matching = Matching(suite, run, rows, valid, spelling)
    answered, alone = rows >= 0, kinds.described | kinds.lines
    in_batches = match_in_batches(matching, np.flatnonzero(answered & ~alone), kinds)
    return put_together(matching, [*in_batches, match_one_by_one(matching, np.flatnonzero(answered & alone), kinds)])


def target_ranks(judged: Judged, case: int) -> dict[str, int | None]:
    """For every relevant target of a case the rank of its hit, None if it was not returned.

    A glob or a symbol has no hit of its own: the first that fits meets it. Lines are found by any hit that has some of them.
    """
    judgments, matches = judged.suite.judgments, judged.matches
    ranks: dict[str, int | None] = {}
    for row in range(*judgments.starts[case : case + 2].tolist()):
        if judgments.grades[row] >= judged.suite.defaults.rel:
            target, met = judgments.targets[row], matches.seen[row]
            here = None if met == NOT_MET else int(matches.rank[met])
            ranks[target] = min(filter(None, (ranks.get(target), here)), default=None)
    return ranks


def expand_suite(suite: Suite, corpus: Collection[str]) -> Suite:
    """The suite with its globs and symbols replaced by the ids of the corpus that they mean."""
    if not CaseKinds.of(suite).described.any():
        return suite
    described = DescribedIds(corpus, ignore_case=suite.defaults.ignore_case)
    excluded = suite.table.excluded_ids or (NOTHING,) * len(suite)
    cases = [
        replace(case, judgments=described.expanded(case.judgments, hidden))
        for case, hidden in zip(suite.cases, excluded, strict=True)
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


def settled_hits(run: Run, existing: Existing) -> tuple[Run, NDArray[np.bool_]]:
    """The run with hits as the corpus names them, as a live one has them from the start, and which of them exist.

    An id that many cases return is looked up once.
    """
    known = {hit: existing.settled(hit) for hit in set(run.ids)}
    valid = np.fromiter((known[hit][1] for hit in run.ids), bool, len(run.ids))
    if all(name == hit for hit, (name, _) in known.items()):
        return run, valid
    return replace(run, ids=[known[hit][0] for hit in run.ids], unique=False), valid


def _graded_hits(suite: Suite, run: Run, matches: Matches, reading: LineReading, abstained: Floats) -> GradedHits:
    judgments = suite.judgments
    orders = expected_orders(suite)
    ranged = ranged_rows(judgments)
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
        ranged_case=judgments.case[ranged],
        ranged_inside=inside(suite, run, ranged, matches.of_judgments(matches.row, -1)[ranged]),
        abstained=abstained,
        directories=matches.directories,
        gain=None if gains is None else gains[matches.valid],
        target_gain=judgments.gains,
        coverage=None if coverage is None else coverage.of_hits(coverage.hit[matches.valid]),
        lines=reading.read,
    )


def _dropped(suite: Suite, run: Run, matches: Matches, existing: Existing | None) -> dict[str, int | None]:
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
