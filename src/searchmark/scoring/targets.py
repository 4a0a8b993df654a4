"""What exists in a corpus: what globs and symbols mean there, and which id a missing target may have meant."""

from __future__ import annotations

import os.path
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import accumulate, islice, takewhile
from pathlib import Path
from types import MappingProxyType
from urllib.parse import unquote

from searchmark.records.judgments import Judgment, JudgmentTable
from searchmark.records.matching import (
    GlobAlternative,
    combine_grades,
    compile_glob,
    folder_roots,
    is_pattern,
    matches_symbol,
    names_lines,
    nfc,
    normal_path,
    path_of_lines,
    relative_path,
    symbol_parts,
)
from searchmark.records.suite import Suite

# What globs and symbols mean in a corpus: each description is looked up once, however many cases have it.

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
        by_name = {_target_name(j): j for j in judgments if not is_pattern(j)}
        for row, fitting in sorted(self._by_row(judgments).items()):
            hit = self._ids[row]
            base = by_name.get(nfc(hit)) or by_name.get(normal_path(hit)) or Judgment(hit)
            grade = combine_grades(fitting, excluded=hit in excluded)
            by_name[_target_name(base)] = base if grade is None else _described_judgment(base, grade, fitting)
        return tuple(by_name.values())

    def _by_row(self, judgments: Iterable[Judgment]) -> dict[int, list[Judgment]]:
        """The judgments of whole documents that mean each id, by its row."""
        fitting: dict[int, list[Judgment]] = {}
        for judgment in judgments:
            for row in self._rows(judgment) if judgment.match not in ("lines", "text") else ():
                fitting.setdefault(row, []).append(judgment)
        return fitting

    def _rows(self, judgment: Judgment) -> list[int]:
        key = judgment.match, judgment.target
        if key not in self._known:
            self._known[key] = self._look_up(*key)
        return self._known[key]

    def _look_up(self, match: str, target: str) -> list[int]:
        if match == "glob":
            alternatives = compile_glob(target, self._ignore_case)
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
        candidates = (row for row in self._by_part.get(first, ()))
        return (row for row in candidates if matches_symbol(symbol, self._ids[row], ignore_case=self._ignore_case))

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
        text = "\n".join(names)
        self._count = len(names)
        # Letters of other alphabets may be equal without case although their small forms differ: there, each is looked at.
        self._folds = ignore_case
        self._usable = (not ignore_case or text.isascii()) and text.count("\n") == max(len(names) - 1, 0)
        self._text = text.lower() if ignore_case else text
        self._starts = list(accumulate((len(each) + 1 for each in names), initial=0))

    def holding(self, part: str) -> Iterator[int]:
        """The rows of the names that have a part; of all where that cannot be told fast."""
        if not part or not self._usable or (self._folds and not part.isascii()):
            yield from range(self._count)
            return
        needle, position = part.lower() if self._folds else part, 0
        while (start := self._text.find(needle, position)) >= 0:
            row = bisect_right(self._starts, start) - 1
            yield row
            position = self._starts[row + 1]


def _rows_by(names: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, each in enumerate(names):
        for name in dict.fromkeys(each):
            rows.setdefault(name, []).append(row)
    return rows


def _described_judgment(base: Judgment, grade: int, fitting: Sequence[Judgment]) -> Judgment:
    """A judgment with the grade that others decided, and with what those of them say that have that grade."""
    deciding = [judgment for judgment in fitting if judgment.grade == grade]
    gain = max((judgment.grade if judgment.gain is None else judgment.gain for judgment in deciding), default=grade)
    aspects: dict[str, int] = {}
    for aspect, aspect_grade in (pair for judgment in fitting for pair in (judgment.aspects or {}).items()):
        aspects[aspect] = max(aspect_grade, aspects.get(aspect, aspect_grade))
    named_aspects = aspects if aspects and max(aspects.values()) == grade else None
    return replace(base, grade=grade, gain=None if gain == grade else gain, aspects=named_aspects)


def _target_name(judgment: Judgment) -> str:
    """The one name of what a judgment means, whichever way its path is spelt."""
    return normal_path(judgment.target) if judgment.match == "path" else nfc(judgment.target)


# What can be found: ids of a corpus and the directories above them, under every spelling that means one of them.
#
# Absolute paths below the corpus become relative, ``./`` and ``a/../`` go, ``/`` at the end goes, and accents may be
# encoded either way. A hit that does not exist stays as it is, in its rank, and is marked. The runner and the matcher ask
# the same class, so that a hit exists for both of them or for neither.


class ExistingIds:
    """What can be found in one corpus; ``folder`` is where it lies, for hits that are absolute paths."""

    def __init__(self, ids: Collection[str], folder: Path | None = None) -> None:
        self._ids: Set[str] = ids if isinstance(ids, Set) else frozenset(ids)
        self._roots = folder_roots(folder)

    def resolve(self, hit: str) -> tuple[str, bool]:
        """The id by which the corpus knows a hit, and whether it does."""
        if hit in self._ids:  # nearly all hits, and for them nothing has to be prepared
            return hit, True
        corpus_id = self._known.get(nfc(hit)) or self._known.get(normal_path(hit)) or self._by_path(hit)
        return (hit, False) if corpus_id is None else (corpus_id, True)

    def __contains__(self, hit: str) -> bool:
        return self.resolve(hit)[1]

    def missing_targets(self, judgments: JudgmentTable, start: int, end: int) -> list[str]:
        """The relevant targets in some rows, named by id or path, that no hit could be: they do not exist here."""
        return [target for target in judgments.named_targets(start, end) if not self.has_target(target)]

    def has_target(self, target: str) -> bool:
        """Whether a hit could be this target; one that ends as a directory does never means a document."""
        return target in self._ids or (target in self and not (target.endswith("/") and self.resolve(target)[0] in self._ids))

    @cached_property
    def _known(self) -> dict[str, str]:
        """Every spelling that means something, and what the corpus calls that; an id goes before a directory."""
        ids_by_spelling = {nfc(each): each for each in self._ids}
        for each in self._ids:
            ids_by_spelling.setdefault(normal_path(each), each)
        for directory in _directories(self._ids):
            ids_by_spelling.setdefault(nfc(directory), directory)
            ids_by_spelling.setdefault(normal_path(directory), directory)
        return ids_by_spelling

    def _by_path(self, hit: str) -> str | None:
        """As a path, which may name lines: those stay behind the name that the corpus has for the file."""
        path, lines = (path_of_lines(hit), hit[hit.rindex("#") :]) if names_lines(hit) else (hit, "")
        if not path or "\0" in path:
            return None
        name = self._known.get(path) or self._known.get(nfc(relative_path(os.path.normpath(path), self._roots)))
        return None if name is None else name + lines


def _directories(paths: Iterable[str]) -> set[str]:
    """All directories above some paths: they exist where the paths do."""
    directories: set[str] = set()
    for path in paths:
        parent = path.rpartition("/")[0]
        while parent and parent not in directories:  # where one is known, those above it are known too
            directories.add(parent)
            parent = parent.rpartition("/")[0]
    return directories


# What a missing target could have meant: ids of the corpus that are nearly the same, and what would make many of them fit.

MOST_IDS, MOST_TARGETS = 100_000, 1000  # that are looked at: reports wait for this

COMMON_START, MOST_ALIKE = 2, 300  # characters in which a similar last part begins alike, and how many such parts are looked at

LEAST_ALIKE = 0.75  # of the characters of both last parts, in the same order: a typing error or a word more, which a person accepts

COMMON_FOLDERS = 2  # that two paths must share if they begin in different ones

LONGEST = 200  # characters of last parts that are compared sign by sign, which takes the square of their length

SHORTEST = 4  # characters of a last part that says something: "1" or "en" may be anything

_EXTENSION = re.compile(r"(?<=[^/.\n])\.[A-Za-z]\w{0,9}$", re.MULTILINE)

_BLANKS = re.compile(r"^[ \t]+|[ \t]+$", re.MULTILINE)

_LAST_SLASH = re.compile(r"/+$", re.MULTILINE)

_FRAGMENT = re.compile(r"#.*")

_SEPARATORS = re.compile(r"[-_ .:/\\]+")

_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")

_NUMBERS = re.compile(r"\d+")


# What may have happened to ids on their way into a suite, and a form in which both are the same; of many, one a line.
FORMS: dict[str, Callable[[str], str]] = {
    "upper and lower case ignored": str.casefold,
    "extensions left out": lambda text: _EXTENSION.sub("", text),
    "backslashes written as slashes": lambda text: text.replace("\\", "/"),
    "blanks around them left out": lambda text: _BLANKS.sub("", text),
    "slashes at their end left out": lambda text: _LAST_SLASH.sub("", text),
    "leading zeros left out": lambda text: _ZEROS.sub("", text),
    "percent signs decoded": unquote,
    "what is behind # left out": lambda text: _FRAGMENT.sub("", text),
    "separators and case ignored": lambda text: _SEPARATORS.sub("", text).casefold(),
}


@dataclass(frozen=True)
class Remedy:
    """What would make missing targets fit: what to do with them, and the id that each becomes."""

    words: str
    found: dict[str, str]

    def sentence(self, names: Sequence[str]) -> str:
        """What it would do for these names; of many different ones only the first were tried."""
        sample = set(islice(dict.fromkeys(names), MOST_TARGETS))
        fitting = sum(each in self.found for each in names if each in sample)
        of = "them" if len(sample) < MOST_TARGETS else f"the {len(sample)} that were tried"
        return f"{self.words}, {fitting if of == 'them' else len(self.found)} of {of} would be found"

    def example(self, names: Sequence[str], there: str = "the corpus") -> str:
        """One of the names beside what is there, and what the change would do for all of them."""
        name = next(iter(self.found))
        return f"{with_nearest_id(name, self.found[name], there)}; {self.sentence(names)}"


class NearIds:
    """The ids of a corpus, by all that some missing targets may have in common with them."""

    def __init__(self, ids: Iterable[str], missing: Iterable[str]) -> None:
        self._ids = sorted(ids)[:MOST_IDS]  # sets have another order in every process
        self._missing = list(islice(dict.fromkeys(missing), MOST_TARGETS))

    def remedy(self, fewest: int) -> Remedy | None:
        """What would make most of the missing targets fit, if anything does so for half of them, and for so many at least."""
        best = max(self.remedies, key=lambda each: len(each.found), default=None)
        return best if best is not None and len(best.found) >= max(len(self._missing) / 2, fewest) else None

    def examples(self, *names: str, both_sides: bool, known: Mapping[str, str] = MappingProxyType({})) -> str:
        """Missing names, each with the id that it most likely means.

        Where no id is near to any and ``both_sides`` are asked for, with one that shows how ids are written. ``known`` are those of
        which it is known what they mean.
        """
        nearest = [known.get(name) or self.nearest(name) for name in names]
        pairs = ", ".join(map(with_nearest_id, names, nearest))
        return pairs if any(nearest) or not self._ids or not both_sides else f"{pairs}; ids there are like {self._ids[0]!r}"

    def nearest(self, target: str) -> str | None:
        """The id that a missing target most likely means; None where a person would see none that is near."""
        candidates = (each.found[target] for each in self.remedies if target in each.found)
        return next(candidates, None) or self._alike(target)

    def renamed(self, target: str) -> str | None:
        """The only id with the same last part as a missing target, if there is exactly one and it is near."""
        tail = _tail(target)
        ids = self._by_tail.get(tail, [])
        unique = len(ids) == 1 and ids[0] != target and len(tail) >= SHORTEST
        return ids[0] if unique and _are_near(target, ids[0]) else None

    @cached_property
    def remedies(self) -> list[Remedy]:
        """All that makes any of them fit, up to what does so for all."""
        remedies: list[Remedy] = []
        for each in self._changes():
            remedies.append(each)
            if len(each.found) == len(self._missing):
                break
        return remedies

    def _changes(self) -> Iterator[Remedy]:
        yield from self._prefixes()
        for words, form in FORMS.items():
            forms = dict(zip(self._missing, _apply_form(form, self._missing), strict=True))
            names, near_forms = _apply_form(form, self._ids), set(forms.values())
            if near_forms.isdisjoint(names):
                continue
            ids = _unique((name, each) for name, each in zip(names, self._ids, strict=True) if name in near_forms)
            ids_by_target = {target: each for target, name in forms.items() if (each := ids.get(name)) is not None}
            if ids_by_target:
                yield Remedy(f"with {words}", ids_by_target)

    def _prefixes(self) -> Iterator[Remedy]:
        """One prefix that all targets lack, or that all have too many: the most frequent of each."""
        missing, surplus = dict[str, dict[str, str]](), dict[str, dict[str, str]]()
        for target in self._missing:
            for each in self._by_tail.get(_tail(target), ()):
                if each != target and each.endswith(target):
                    missing.setdefault(each[: -len(target)], {})[target] = each
                elif each != target and target.endswith(each):
                    surplus.setdefault(target[: -len(each)], {})[target] = each
        for words, by_prefix in (("added", missing), ("left out", surplus)):
            if by_prefix:
                prefix = max(by_prefix, key=lambda each: (len(by_prefix[each]), each))
                yield Remedy(f"with the prefix {prefix!r} {words}", by_prefix[prefix])

    @cached_property
    def _by_tail(self) -> dict[str, list[str]]:
        tails: dict[str, list[str]] = {}
        for each in self._ids:
            tails.setdefault(_tail(each), []).append(each)
        return tails

    def _alike(self, target: str) -> str | None:
        """The near id with the most similar last part. Who differs in numbers alone is another document."""
        tail = _tail(target)
        begins, bare = tail[:COMMON_START], _EXTENSION.sub("", tail)
        if not SHORTEST <= len(tail) <= LONGEST:
            return None
        names = (each for each in self._by_tail if each.startswith(begins) and len(each) <= LONGEST)
        similar = (each for each in names if _NUMBERS.sub("0", each) != _NUMBERS.sub("0", tail))
        ids = ((tail, each) for tail in similar for each in self._by_tail[tail] if _are_near(target, each))
        # Of several with one name the one with the most folders in common comes last, and stays.
        pairs = sorted(islice(ids, MOST_ALIKE), key=lambda each: _common_folders(target, each[1]))
        by_name = {_EXTENSION.sub("", tail): each for tail, each in pairs}
        return next((by_name[each] for each in get_close_matches(bare, by_name, 1, LEAST_ALIKE)), None)


def with_nearest_id(name: str, nearest: str | None, there: str = "the corpus") -> str:
    """What is looked for, with what is there in its stead."""
    return repr(name) if nearest is None else f"{name!r} ({there} has {nearest!r})"


def _common_folders(one: str, other: str) -> int:
    """How many folders two paths have in common from the top."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one.split("/")[:-1], other.split("/")[:-1], strict=False)))


def _tail(text: str) -> str:
    """The last part of a path or a qualified id."""
    return text[max(map(text.rfind, "/:#|\\")) + 1 :] or text


def _are_near(one: str, other: str) -> bool:
    """Whether two ids may lie in one project: in one folder at the top, under several common ones, or where there is none."""
    folders, others = (each.split("/")[:-1] for each in (one, other))
    return not folders or not others or folders[0] == others[0] or len(set(folders) & set(others)) >= COMMON_FOLDERS


def _apply_form(form: Callable[[str], str], ids: Sequence[str]) -> list[str]:
    """All ids in this form: at once, which is much faster, unless one of them has several lines."""
    lines = form("\n".join(ids)).split("\n")
    return lines if len(lines) == len(ids) else [form(each) for each in ids]


def _unique(pairs: Iterable[tuple[str, str]]) -> dict[str, str | None]:
    """The id of each form; None where several ids have it."""
    ids: dict[str, str | None] = {}
    for form, each in pairs:
        ids[form] = None if form in ids else each
    return ids


# Cases without a query beside queries without a case: how both are named, and the change that makes them fit.


def describe_unjoined(suite: Suite, without: Sequence[str]) -> str:
    """One name of each side, and the change that makes them fit; ``without`` are the cases that have no query."""
    if not suite.unjudged:
        return f"cases are named like {without[0]!r}"
    remedy = NearIds(suite.unjudged, without).remedy(1)
    if remedy is None:
        return f"cases are named like {without[0]!r}, queries like {suite.unjudged[0]!r}"
    case = next(iter(remedy.found))
    return f"the case {case!r} may be the query {remedy.found[case]!r}; {remedy.sentence(without)}"


def describe_missing_queries(suite: Suite) -> str:
    """How many cases cannot be asked, and what to do; one at least has no query."""
    ids, queries = suite.table.ids, suite.table.queries
    without = list(ids) if queries is None else [case for case, query in zip(ids, queries, strict=True) if query is None]
    count = f"the case {without[0]!r} has no query" if len(ids) == 1 else f"{len(without)} of {len(ids)} cases have no query"
    if suite.unjudged:  # queries were given, under other names
        return f"{count}, and {len(suite.unjudged)} queries no judgments: {describe_unjoined(suite, without)}; number both alike"
    has_queries = queries is not None and len(without) < len(ids)
    remedy = (
        "these cases are in no line of the topics" if has_queries else "for TREC qrels and labels, give the queries with --topics"
    )
    return f"{count}, like {without[0]!r}; {remedy}" if len(ids) > 1 else f"{count}; {remedy}"
