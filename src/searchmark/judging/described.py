"""What globs and symbols mean in a corpus: each description is looked up once, however many cases have it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property
from itertools import accumulate

from searchmark.judging.globs import GlobAlternative, compiled_glob
from searchmark.judging.matching import combined_grade, is_pattern, matches_symbol, symbol_parts
from searchmark.judging.spelling import nfc, normal_path
from searchmark.records import Judgment

NOTHING: frozenset[str] = frozenset()


class DescribedIds:
    """The ids of a corpus, by what describes them."""

    def __init__(self, ids: Collection[str], *, ignore_case: bool = False) -> None:
        self._ids = list(ids) if isinstance(ids, Sequence) else sorted(ids)  # sets have another order in every process
        self._ignore_case = ignore_case
        self._known: dict[tuple[str, str], list[int]] = {}

    def meant_by(self, judgment: Judgment) -> list[str]:
        """The ids that a judgment by id, path, glob or symbol means, in their order."""
        return [self._ids[row] for row in self._rows(judgment)]

    def expanded(self, judgments: Sequence[Judgment], excluded: Set[str] = NOTHING) -> tuple[Judgment, ...]:
        """The same judgments with every glob and symbol replaced by the ids that it means; ``excluded`` are not relevant."""
        if not any(map(is_pattern, judgments)):
            return tuple(judgments)
        kept = {_known_as(j): j for j in judgments if not is_pattern(j)}
        for row, fitting in sorted(self._by_row(judgments).items()):
            hit = self._ids[row]
            known = kept.get(nfc(hit)) or kept.get(normal_path(hit)) or Judgment(hit)
            grade = combined_grade(fitting, excluded=hit in excluded)
            kept[_known_as(known)] = known if grade is None else _worth(known, grade, fitting)
        return tuple(kept.values())

    def _by_row(self, judgments: Iterable[Judgment]) -> dict[int, list[Judgment]]:
        """The judgments of whole documents that mean each id, by its row."""
        fitting: dict[int, list[Judgment]] = {}
        for judgment in judgments:
            for row in self._rows(judgment) if judgment.match != "lines" else ():
                fitting.setdefault(row, []).append(judgment)
        return fitting

    def _rows(self, judgment: Judgment) -> list[int]:
        key = judgment.match, judgment.target
        if key not in self._known:
            self._known[key] = self._look_up(*key)
        return self._known[key]

    def _look_up(self, match: str, target: str) -> list[int]:
        if match == "glob":
            alternatives = compiled_glob(target, self._ignore_case)
            return sorted({row for each in alternatives for row in self._of_alternative(each)})
        if match == "symbol":
            return list(self._of_symbol(target))
        return self._by_path.get(normal_path(target), []) if match == "path" else self._by_id.get(nfc(target), [])

    def _of_alternative(self, glob: GlobAlternative) -> Iterator[int]:
        names = self._last_segments if glob.floats else self._whole_paths
        return (row for row in names.holding(glob.literal) if glob.means(self._segments[row]))

    def _of_symbol(self, symbol: str) -> Iterator[int]:
        """Only ids with the first part of the symbol are looked at."""
        first = symbol_parts(symbol, ignore_case=self._ignore_case)[0]
        held = (row for row in self._by_part.get(first, ()))
        return (row for row in held if matches_symbol(symbol, self._ids[row], ignore_case=self._ignore_case))

    @cached_property
    def _segments(self) -> list[list[str]]:
        return [normal_path(each).split("/") for each in self._ids]

    @cached_property
    def _last_segments(self) -> _Names:
        return _Names([segments[-1] for segments in self._segments], ignore_case=self._ignore_case)

    @cached_property
    def _whole_paths(self) -> _Names:
        return _Names(["/".join(segments) for segments in self._segments], ignore_case=self._ignore_case)

    @cached_property
    def _by_part(self) -> dict[str, list[int]]:
        return _rows_by(symbol_parts(each, ignore_case=self._ignore_case) for each in self._ids)

    @cached_property
    def _by_id(self) -> dict[str, list[int]]:
        return _rows_by([nfc(each)] for each in self._ids)

    @cached_property
    def _by_path(self) -> dict[str, list[int]]:
        return _rows_by([normal_path(each)] for each in self._ids)


class _Names:
    """Many names as one text, in which a part of a name is found without looking at each."""

    def __init__(self, names: Sequence[str], *, ignore_case: bool) -> None:
        joined = "\n".join(names)
        self._count = len(names)
        # Letters of other alphabets may be equal without case although their small forms differ: there, each is looked at.
        self._folds = ignore_case
        self._usable = (not ignore_case or joined.isascii()) and joined.count("\n") == max(len(names) - 1, 0)
        self._text = joined.lower() if ignore_case else joined
        self._starts = list(accumulate((len(each) + 1 for each in names), initial=0))

    def holding(self, part: str) -> Iterator[int]:
        """The rows of the names that have a part; of all where that cannot be told fast."""
        if not part or not self._usable or (self._folds and not part.isascii()):
            yield from range(self._count)
            return
        wanted, position = part.lower() if self._folds else part, 0
        while (found := self._text.find(wanted, position)) >= 0:
            row = bisect_right(self._starts, found) - 1
            yield row
            position = self._starts[row + 1]


def _rows_by(names: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, each in enumerate(names):
        for name in dict.fromkeys(each):
            rows.setdefault(name, []).append(row)
    return rows


def _worth(known: Judgment, grade: int, fitting: Sequence[Judgment]) -> Judgment:
    """A judgment with the grade that others decided, and with what those of them say that have that grade."""
    deciding = [judgment for judgment in fitting if judgment.grade == grade]
    gain = max((judgment.grade if judgment.gain is None else judgment.gain for judgment in deciding), default=grade)
    aspects: dict[str, int] = {}
    for aspect, covered in (pair for judgment in fitting for pair in (judgment.aspects or {}).items()):
        aspects[aspect] = max(covered, aspects.get(aspect, covered))
    told = aspects if aspects and max(aspects.values()) == grade else None
    return replace(known, grade=grade, gain=None if gain == grade else gain, aspects=told)


def _known_as(judgment: Judgment) -> str:
    """The one name of what a judgment means, whichever way its path is spelt."""
    return normal_path(judgment.target) if judgment.match == "path" else nfc(judgment.target)
