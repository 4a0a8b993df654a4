"""Which hit met which judgment, in columns, and how one case is matched by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from math import inf
from typing import TypeAlias
from unicodedata import is_normalized

import numpy as np
from numpy.typing import NDArray

from searchmark.config.strict import short_repr
from searchmark.measures.hits import NEVER, DirectoryPairs
from searchmark.records.columns import Ints, Texts, line_columns
from searchmark.records.judgments import MATCHES, Judgment
from searchmark.records.matching import (
    LEAST_OVERLAP,
    LineRange,
    combine_grades,
    holds_passage,
    is_pattern,
    judgment_fits,
    names_lines,
    nfc,
    normal_path,
    parse_line_target,
    split_line_range,
)
from searchmark.records.run import Run
from searchmark.records.suite import Suite
from searchmark.scoring.targets import NOTHING

# Which hit is credited with which target, where a hit can mean several of them and a target can be meant by several hits.
#
# One hit finds one target, and a target is found once. The targets found by the first k hits are those of a maximum
# matching between the two, of all such matchings one with the highest grades. It grows rank by rank: a hit is credited
# with the target by which it makes the matching larger, the best of them if there are several. Hits above it may mean
# other targets for that, but what they were credited with stays credited: adding a hit never takes a target out of the
# best matching (hits and targets are complements; Shapley, 1962). So the first k credits add up to the best that the
# first k hits can reach, for every k, and no credit depends on a hit further down.


def assign_hits(options: Sequence[Sequence[int]], grades: Sequence[int]) -> dict[int, int]:
    """The target that each hit is credited with; hits by rank from 0, those that find nothing new are left out.

    ``options`` are the targets that each hit can mean, of equally good ones the first is preferred.
    """
    assignment: dict[int, int] = {}
    target_of: dict[int, int] = {}  # the target that a hit means at present
    hit_of: dict[int, int] = {}  # the same from the other side
    dead_ends: set[int] = set()
    for hit in range(len(options)):
        reached_from = _reachable_targets(hit, options, hit_of, dead_ends)
        free = [target for target in reached_from if target not in hit_of]
        if not free:
            dead_ends |= reached_from.keys()  # nothing leads out of there, now or later: no hit needs to look again
            continue
        assignment[hit] = max(free, key=grades.__getitem__)
        _hand_over(assignment[hit], reached_from, target_of, hit_of)
    return assignment


def _reachable_targets(hit: int, options: Sequence[Sequence[int]], hit_of: dict[int, int], dead_ends: set[int]) -> dict[int, int]:
    """The targets that can be freed or taken if this hit joins in, nearest first, and the hit that each is reached from."""
    reached_from: dict[int, int] = {}
    hits = [hit]
    for each in hits:  # grows while it is read
        for target in options[each]:
            if target not in reached_from and target not in dead_ends:
                reached_from[target] = each
                if target in hit_of:
                    hits.append(hit_of[target])
    return reached_from


def _hand_over(target: int | None, reached_from: dict[int, int], target_of: dict[int, int], hit_of: dict[int, int]) -> None:
    """Give a free target to the hit that reaches it, what that hit meant so far to the next one, and so on to the new hit."""
    while target is not None:
        taker = reached_from[target]
        hit_of[target] = taker
        former = target_of.get(taker)
        target_of[taker], target = target, former


# Directories as hits: a hit on a directory pays half of a target below it, where a measure asks for that.

PairRow: TypeAlias = tuple[int, int, int, int, int, int]  # the columns of DirectoryPairs


def directories_above(paths: Iterable[str]) -> set[str]:
    """Every beginning of these paths that ends before a slash."""
    directories: set[str] = set()
    for path in paths:
        end = path.rfind("/")
        while end >= 0 and path[:end] not in directories:  # one that is known has brought those above it along
            directories.add(path[:end])
            end = path.rfind("/", 0, end)
    return directories


def pairs_of_case(case: int, targets: Mapping[str, tuple[int, int]], ranks: Mapping[str, int]) -> Iterator[PairRow]:
    """A hit above a target, for all such pairs of one case, both in path order.

    ``targets`` are the paths that are judged, each with the number of its judgment and its grade; ``ranks`` are the hits
    that exist. Path order is by segment: a directory precedes everything below it, and it decides who pays whom.
    """
    in_order = sorted(targets, key=_segments)
    for directory in sorted(directories_above(targets) & ranks.keys(), key=_segments):
        own_grade = targets[directory][1] if directory in targets else 0
        for target in in_order:
            if target.startswith(f"{directory}/"):
                judgment, grade = targets[target]
                yield case, ranks[directory], own_grade, judgment, grade, ranks.get(target, NEVER)


def _segments(path: str) -> list[str]:
    return path.split("/")


def pair_columns(rows: list[PairRow]) -> DirectoryPairs:
    rows.sort(key=lambda row: row[0])  # by case; within a case they are in path order already
    return DirectoryPairs(*np.array(rows, np.int64).reshape(-1, len(fields(DirectoryPairs))).T)


# The names by which hits and targets are compared, in columns: which cases need which care, and clean spellings.
#
# Nearly all ids are clean: ASCII, paths in their normal form, without lines. To see that of many at once, they
# are joined into one string and looked through; only where something turns up is each id looked at by itself.

ID, PATH, LINES, TEXT = (MATCHES.index(how) for how in ("id", "path", "lines", "text"))

DESCRIPTIONS = [MATCHES.index("glob"), MATCHES.index("symbol")]

PARTS = ("lines", "text")  # what a judgment can be about that is a part of a document


# Texts that are looked through at once: of a list so few that they stay in the cache of a processor, of an Arrow column so
# many that the calls do not matter.
_LISTED_AT_ONCE, _ARROW_AT_ONCE = 1 << 12, 1 << 16


@dataclass(frozen=True, eq=False)
class CaseKinds:
    """Per case: whether any judgment is an id, a path, a description (glob or symbol), about lines, or the text of a passage."""

    ids: NDArray[np.bool_]
    paths: NDArray[np.bool_]
    described: NDArray[np.bool_]
    lines: NDArray[np.bool_]
    text: NDArray[np.bool_]

    @classmethod
    def of(cls, suite: Suite) -> CaseKinds:
        match, none = suite.judgments.match, np.zeros(len(suite), bool)
        if match is None:
            return cls(~none, none, none, none, none)
        masks = (match == ID, match == PATH, np.isin(match, DESCRIPTIONS), match == LINES, match == TEXT)
        return cls(*(_cases_where(suite, mask) for mask in masks))

    @property
    def passages(self) -> NDArray[np.bool_]:
        """The cases that judge parts of documents: several hits may be on one."""
        return self.lines | self.text

    def for_run(self, suite: Suite, run: Run) -> CaseKinds:
        """The same where hits of the run have lines: an id or a path that names lines is a judgment about lines too.

        A case without any judgment is treated like its suite: it has no value that could depend on it.
        """
        if run.first_line is None:
            return self
        targets, lines = suite.judgments.targets, self.lines
        if Spelling.of(targets).lines:
            lines = lines | _cases_where(suite, np.fromiter(map(names_lines, targets), bool, len(targets)))
        return replace(self, lines=lines | (np.diff(suite.judgments.starts) == 0) & lines.any())


def _cases_where(suite: Suite, judgments: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The cases with a judgment that is marked."""
    return np.bincount(suite.judgments.case[judgments], minlength=len(suite)) > 0


@dataclass(frozen=True)
class Spelling:
    """Of many texts: whether all have their accents composed, all are paths in normal form, any may name lines."""

    composed: bool
    normal: bool
    lines: bool

    @classmethod
    def of(cls, texts: Texts, *, paths: bool = False) -> Spelling:
        """Look through the texts; whether they are normal only if they are said to be ``paths``."""
        composed, normal, lines = True, paths, False
        for many in join_lines(texts):
            composed = composed and _is_composed(many)
            normal = normal and composed and not _is_any_path_odd(many)
            lines = lines or _may_name_lines(many)
        return cls(composed, normal, lines)


def is_clean(many: str) -> bool:
    """Whether many ids, a line each, are the names by which they are compared."""
    return _is_composed(many) and not _may_name_lines(many)


def _is_composed(many: str) -> bool:
    return many.isascii() or is_normalized("NFC", many)


def _may_name_lines(many: str) -> bool:
    return "#" in many and "#L" in many  # one letter is found much faster than two


CLEAN = Spelling(composed=True, normal=True, lines=False)


def _is_any_path_odd(many: str) -> bool:
    """Whether one of many lines begins with ``./``, ends with ``/``, or has an empty segment or one of dots behind a slash.

    Looked at as numbers, because slashes are too common to search for.
    """
    letters = np.frombuffer(f"\n{many}\n\n\n".encode("utf-8", "surrogatepass"), np.uint8)
    breaks, dots, slashes = (letters == ord(letter) for letter in "\n./")
    ends = breaks | slashes
    dotted = slashes[:-3] & dots[1:-2]
    masks = (
        slashes[:-1] & ends[1:],
        breaks[:-2] & dots[1:-1] & slashes[2:],
        dotted & ends[2:-1],
        dotted & dots[2:-1] & ends[3:],
    )
    return any(bool(each.any()) for each in masks)


def split_line_ids(run: Run) -> Run:
    """The run with ``a.py#L3-L9`` as what it means, the id ``a.py`` and a range of lines; rows stay where they are.

    Imported runs may spell ranges so; those of live agents have them in columns, and from here on all have.
    """
    ids, lines = zip(*map(split_line_range, run.ids), strict=True)
    if not any(lines):
        return run
    ranges = (run.lines_of(row) for row in range(len(ids)))  # an agent that says it twice means its columns
    first_line, last_line = line_columns([from_columns or from_id for from_columns, from_id in zip(ranges, lines, strict=True)])
    return replace(run, ids=list(ids), first_line=first_line, last_line=last_line, unique=False)


def join_lines(texts: Texts) -> Iterator[str]:
    """All texts, many to a string, a line each."""
    if isinstance(texts, list):
        yield from ("\n".join(texts[start : start + _LISTED_AT_ONCE]) for start in range(0, len(texts), _LISTED_AT_ONCE))
    else:
        yield from (texts.slice(start, _ARROW_AT_ONCE).str.join("\n").item() for start in range(0, len(texts), _ARROW_AT_ONCE))


def compose_ids(texts: list[str]) -> list[str]:
    """Ids as they are compared: accents composed."""
    return texts if Spelling.of(texts).composed else list(map(nfc, texts))


def normal_paths(texts: list[str]) -> list[str]:
    """Paths as they are compared: in their normal form, accents composed."""
    return texts if Spelling.of(texts, paths=True).normal else list(map(normal_path, texts))


def judged_by_path(suite: Suite) -> NDArray[np.bool_]:
    """Which judgments name their target by path."""
    match = suite.judgments.match
    return np.zeros(len(suite.judgments), bool) if match is None else match == PATH


def target_names(suite: Suite) -> Texts:
    """The targets as hits are compared with them: paths in their normal form, all others composed."""
    targets = suite.judgments.targets
    if suite.judgments.match is None and Spelling.of(targets).composed:
        return targets
    texts = list(targets)
    ids, paths, by_path = compose_ids(texts), normal_paths(texts), judged_by_path(suite).tolist()
    return ids if paths is texts else [path if is_path else name for name, path, is_path in zip(ids, paths, by_path, strict=True)]


# Which hit met which judgment, in columns: found part by part, kept as one record.

NO_JUDGMENT = -1

NOT_MET = -1


@dataclass(frozen=True, eq=False)
class Matches:
    """Every hit that is judged, and every judgment that was met."""

    case: Ints  # of each judged hit, by case and rank, like the five columns below
    rank: Ints  # among the distinct hits of the answer
    row: Ints  # in the run
    judgment: Ints  # the one that only this hit meets, a row of the suite's; NO_JUDGMENT where only descriptions fit
    grade: Ints
    valid: NDArray[np.bool_]  # a hit that does not exist pays nothing, whatever it meets
    met: Ints  # per judgment, the number of the hit above that meets it; NOT_MET if none does
    seen: Ints  # the same, or else the first hit that has lines of it and meets another judgment of that file
    returned: Ints  # distinct hits per case
    duplicates: int  # how many were dropped
    directories: DirectoryPairs  # hits above targets

    __repr__ = short_repr

    def of_judgments(self, values: Ints, otherwise: int) -> Ints:
        """A value of the hit that meets each judgment, if it exists."""
        return self._of(self.met, values, otherwise)

    @property
    def seen_ranks(self) -> Ints:
        """The rank at which the target of each judgment was first seen, 0 for one that was not."""
        return self._of(self.seen, self.rank, 0)

    def _of(self, numbers: Ints, values: Ints, otherwise: int) -> Ints:
        counted = numbers != NOT_MET
        counted[counted] = self.valid[numbers[counted]]
        column = np.full(len(numbers), otherwise)
        column[counted] = values[numbers[counted]]
        return column


@dataclass(frozen=True, eq=False)
class Matching:
    """A suite and the run that it is matched with, whose ids name no lines."""

    suite: Suite
    run: Run
    rows: Ints  # where in the run the answer to each case is, -1 for none
    valid: NDArray[np.bool_] | None  # which hits exist, None if all do
    spelling: Spelling  # how clean the ids are

    def exists(self, row: int) -> bool:
        return self.valid is None or bool(self.valid[row])


@dataclass(frozen=True, eq=False)
class CaseMatchColumns:
    """The matches of some cases."""

    hits: Ints  # five rows: case, rank, row, judgment and grade of every judged hit
    met: Ints  # two rows: judgments that were met, and the numbers of the hits in this part that meet them
    repeats: Ints  # the case of every duplicate that was dropped
    pairs: Sequence[PairRow]
    # As `met`, for judgments of which a hit has lines that meets another.
    covered: Ints = field(default_factory=lambda: np.zeros((2, 0), np.int64))


def join_parts(matching: Matching, parts: Sequence[CaseMatchColumns]) -> Matches:
    """All parts as one, by case and rank."""
    hits = np.concatenate([np.zeros((5, 0), np.int64), *(part.hits for part in parts)], axis=1)
    order = _by_case_and_rank(hits[0], hits[1])
    case, rank, row, judgment, grade = hits[:, order]
    met_by = _numbers(np.full(len(matching.suite.judgments), NOT_MET), [part.met for part in parts], parts, order)
    seen_by = _numbers(met_by.copy(), [part.covered for part in parts], parts, order)
    repeats = np.concatenate([np.zeros(0, np.int64), *(part.repeats for part in parts)])
    return Matches(
        case=case,
        rank=rank,
        row=row,
        judgment=judgment,
        grade=grade,
        valid=np.ones(len(row), bool) if matching.valid is None else matching.valid[row],
        met=met_by,
        seen=seen_by,
        returned=_lengths(matching) - np.bincount(repeats, minlength=len(matching.suite)),
        duplicates=len(repeats),
        directories=pair_columns([pair for part in parts for pair in part.pairs]),
    )


def _by_case_and_rank(case: Ints, rank: Ints) -> Ints:
    """The order of hits, found by one key: sorting by two takes several times as long."""
    key = case * (int(rank.max(initial=0)) + 1) + rank
    return np.arange(len(key)) if (key[1:] > key[:-1]).all() else np.argsort(key, kind="stable")


def _numbers(column: Ints, pairs: Sequence[Ints], parts: Sequence[CaseMatchColumns], order: Ints) -> Ints:
    """A column with the hits of some judgments, by the number that each has after sorting."""
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    before = 0
    for (judgment, hit), part in zip(pairs, parts, strict=True):
        column[judgment] = number[before + hit]
        before += part.hits.shape[1]
    return column


def _lengths(matching: Matching) -> Ints:
    """How many hits the answer to every case has, duplicates included."""
    rows, starts = matching.rows, matching.run.starts
    return np.where(rows >= 0, starts[rows + 1] - starts[rows], 0)


# Matching one case by itself: globs, symbols and line ranges, beside ids and paths.
#
# In a case that judges lines or passages, ranges and texts of one document are different hits; in any other they are the document,
# again. Which of them meets which judgment is decided by `assignment`.


@dataclass(frozen=True, slots=True)
class DistinctHit:
    """One hit of an answer that does not repeat another."""

    id: str
    name: str  # the id as it is compared
    lines: LineRange | None  # those that it means, where they matter
    row: int  # in the run
    text: str | None = None  # what it says, where that matters


@dataclass(frozen=True)
class CaseMatches:
    """The matches of one case; hits and judgments by number, from 0.

    ``graded`` holds a hit, the judgment that it meets alone (NO_JUDGMENT where only descriptions fit) and its grade;
    ``met`` the first hit that every judgment fits. ``covered`` is the first hit with lines of a judgment that no hit meets, since
    all those hits have met others.
    """

    graded: list[tuple[int, int, int]]
    met: dict[int, int]
    covered: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DescriptionRules:
    """How descriptions in a case are read: globs and symbols without regard to case, what they never mean, and passages."""

    ignore_case: bool = False
    excluded: Set[str] = NOTHING
    overlap: float = LEAST_OVERLAP

    @classmethod
    def of(cls, suite: Suite, case: int) -> DescriptionRules:
        excluded = NOTHING if suite.table.excluded_ids is None else suite.table.excluded_ids[case]
        return cls(suite.defaults.ignore_case, excluded, suite.defaults.overlap)


AS_WRITTEN = DescriptionRules()


def match_each_case(matching: Matching, cases: Ints, kinds: CaseKinds) -> CaseMatchColumns:
    """All matches of these cases, each taken by itself."""
    hits: list[tuple[int, int, int, int, int]] = []
    met_pairs: list[tuple[int, int]] = []
    covered_pairs: list[tuple[int, int]] = []
    repeats: list[int] = []
    pairs: list[PairRow] = []
    for case in cases.tolist():
        judgments, first = matching.suite.cases[case].judgments, int(matching.suite.judgments.starts[case])
        answer = int(matching.rows[case])
        answer_hits = distinct_hits(matching.run, answer, kinds, case)
        matches = match_case(judgments, answer_hits, DescriptionRules.of(matching.suite, case))
        numbers = {place: number for number, (place, _, _) in enumerate(matches.graded, len(hits))}
        met_pairs += [(first + row, numbers[place]) for row, place in matches.met.items()]
        covered_pairs += [(first + row, numbers[place]) for row, place in matches.covered.items()]
        for place, row, grade in matches.graded:
            hits.append((case, place + 1, answer_hits[place].row, row if row == NO_JUDGMENT else first + row, grade))
        repeats += [case] * (len(matching.run.rows_of(answer)) - len(answer_hits))
        pairs += _directory_pairs(matching, case, judgments, answer_hits)
    return CaseMatchColumns(
        hits=np.array(hits, np.int64).reshape(-1, 5).T,
        met=np.array(met_pairs, np.int64).reshape(-1, 2).T,
        repeats=np.array(repeats, np.int64),
        pairs=pairs,
        covered=np.array(covered_pairs, np.int64).reshape(-1, 2).T,
    )


def _directory_pairs(
    matching: Matching, case: int, judgments: Sequence[Judgment], hits: Sequence[DistinctHit]
) -> Iterator[PairRow]:
    first = int(matching.suite.judgments.starts[case])
    judged_paths = {normal_path(j.target): (row, j.grade) for row, j in enumerate(judgments, first) if j.match == "path"}
    ranks: dict[str, int] = {}
    for rank, hit in enumerate(hits, 1):
        if matching.exists(hit.row):
            ranks.setdefault(normal_path(hit.id), rank)
    return pairs_of_case(case, judged_paths, ranks)


def distinct_hits(run: Run, row: int, kinds: CaseKinds, case: int) -> list[DistinctHit]:
    """The hits of one answer to a case, best first, each once; where paths are judged two spellings of one are one hit."""
    name_of = normal_path if kinds.paths[case] or kinds.described[case] else nfc  # globs are about paths
    parts, texts = kinds.passages[case], run.texts if kinds.text[case] else None
    first: dict[tuple[str, LineRange | None, str | None], DistinctHit] = {}
    for hit, hit_row in zip(run.ids_of(row), run.rows_of(row).tolist(), strict=True):
        line_range = run.lines_of(hit_row) if parts else None
        name, text = name_of(hit), None if texts is None else texts[hit_row]
        first.setdefault((name, line_range, text), DistinctHit(hit, name, line_range, hit_row, text))
    return list(first.values())


def match_case(judgments: Sequence[Judgment], hits: Sequence[DistinctHit], rules: DescriptionRules = AS_WRITTEN) -> CaseMatches:
    parts = _PassageJudgments(judgments, rules.overlap)
    if any(map(is_pattern, judgments)):
        return _match_described(judgments, hits, parts, rules)
    return _match_exact(judgments, hits, parts)


def _match_described(
    judgments: Sequence[Judgment], hits: Sequence[DistinctHit], parts: _PassageJudgments, rules: DescriptionRules
) -> CaseMatches:
    """Hit by hit: without a corpus a description cannot say what was missed, but it can say what was hit."""
    assignment = assign_hits(list(map(parts.fitting, hits)), [judgment.grade for judgment in judgments])
    matches = CaseMatches([], {row: place for place, row in assignment.items()})
    seen_names: set[str] = set()  # documents, of which a case that judges lines may have several hits
    for place, hit in enumerate(hits):
        fitting = [] if hit.name in seen_names else _fitting_judgments(judgments, hit, rules)
        seen_names.add(hit.name)
        excluded = hit.id in rules.excluded
        for row in fitting:
            if not (excluded and is_pattern(judgments[row])):
                matches.met.setdefault(row, place)
        of_part = judgments[assignment[place]].grade if place in assignment else None
        of_document = combine_grades((judgments[row] for row in fitting), excluded=excluded)
        grades = [grade for grade in (of_document, of_part) if grade is not None]
        if grades:
            matches.graded.append((place, NO_JUDGMENT, max(grades)))
    return matches


def _fitting_judgments(judgments: Sequence[Judgment], hit: DistinctHit, rules: DescriptionRules) -> list[int]:
    return [
        row
        for row, judgment in enumerate(judgments)
        if judgment.match not in PARTS and judgment_fits(judgment, hit.id, hit.lines, ignore_case=rules.ignore_case)
    ]


def _match_exact(judgments: Sequence[Judgment], hits: Sequence[DistinctHit], parts: _PassageJudgments) -> CaseMatches:
    """One hit pays one judgment: by its name with its lines, by its lines or its text, or else by the name of its document."""
    by_name, fitting = _NamedJudgments(judgments), list(map(parts.fitting, hits))
    options = [
        _distinct_rows(by_name.get(hit.id, hit.lines), *rows, by_name.get(hit.id, None))
        for hit, rows in zip(hits, fitting, strict=True)
    ]
    assignment = assign_hits(options, [judgment.grade for judgment in judgments])
    graded_hits = [(place, row, judgments[row].grade) for place, row in assignment.items()]
    met_by = {row: place for place, row in assignment.items()}
    covered_by: dict[int, int] = {}
    for place in sorted(assignment):
        for row in fitting[place]:
            if row not in met_by:
                covered_by.setdefault(row, place)
    return CaseMatches(graded_hits, met_by, covered_by)


def _distinct_rows(*rows: int | None) -> list[int]:
    return [row for row in dict.fromkeys(rows) if row is not None]


class _NamedJudgments:
    """The judgments of a case that name their targets by id or path, by that name and the lines that it ends in."""

    def __init__(self, judgments: Sequence[Judgment]) -> None:
        targets = [(row, judgment.match, *split_line_range(judgment.target)) for row, judgment in enumerate(judgments)]
        self._ids = {(nfc(target), lines): row for row, match, target, lines in targets if match == "id"}
        self._paths = {(normal_path(target), lines): row for row, match, target, lines in targets if match == "path"}

    def get(self, hit: str, lines: LineRange | None) -> int | None:
        row = self._ids.get((nfc(hit), lines))
        if row is None and self._paths:
            name = normal_path(hit), lines
            row = self._paths.get(name, self._ids.get(name))
        return row


class _PassageJudgments:
    """The judgments of a case that are about parts of documents: lines by path, in the order of their targets, and passages."""

    def __init__(self, judgments: Sequence[Judgment], overlap: float) -> None:
        self._overlap = overlap
        self._passages = [(judgment.target, row) for row, judgment in enumerate(judgments) if judgment.match == "text"]
        self._ranges: dict[str, list[tuple[int, float, int]]] = {}
        about_lines = [(judgment.target, row) for row, judgment in enumerate(judgments) if judgment.match == "lines"]
        for target, row in sorted(about_lines):
            path, first, last = parse_line_target(target)
            self._ranges.setdefault(path, []).append((first, last, row))

    def fitting(self, hit: DistinctHit) -> list[int]:
        """Those with a line of this hit, which is on the whole file if it has none, and those whose passage it holds."""
        hit_first, hit_last = hit.lines or (1, inf)
        ranges = self._ranges.get(normal_path(hit.id), ()) if self._ranges else ()
        by_lines = [row for first, last, row in ranges if first <= hit_last and hit_first <= last]
        text = hit.text
        return by_lines + [row for each, row in self._passages if text is not None and holds_passage(text, each, self._overlap)]
