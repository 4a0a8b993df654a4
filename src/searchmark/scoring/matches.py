"""The names by which hits and targets are compared, in columns: which cases need which care, and clean spellings.

Nearly all ids are clean: ASCII, paths in their normal form, without lines. To see that of many at once, they
are joined into one string and looked through; only where something turns up is each id looked at by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from unicodedata import is_normalized

import numpy as np
from numpy.typing import NDArray

from searchmark.judging.matching import apart, names_lines
from searchmark.judging.spelling import nfc, normal_path
from searchmark.records import MATCHES, Run, Suite, line_columns
from searchmark.records.id_columns import Texts

ID, PATH, LINES = MATCHES.index("id"), MATCHES.index("path"), MATCHES.index("lines")
DESCRIPTIONS = [MATCHES.index("glob"), MATCHES.index("symbol")]

# Texts that are looked through at once: of a list so few that they stay in the cache of a processor, of an Arrow column so
# many that the calls do not matter.
_LISTED_AT_ONCE, _ARROW_AT_ONCE = 1 << 12, 1 << 16


@dataclass(frozen=True, eq=False)
class CaseKinds:
    """Per case: whether any judgment is an id, a path, a description (glob or symbol), or about lines."""

    ids: NDArray[np.bool_]
    paths: NDArray[np.bool_]
    described: NDArray[np.bool_]
    lines: NDArray[np.bool_]

    @classmethod
    def of(cls, suite: Suite) -> CaseKinds:
        match, none = suite.judgments.match, np.zeros(len(suite), bool)
        if match is None:
            return cls(~none, none, none, none)
        masks = (match == ID, match == PATH, np.isin(match, DESCRIPTIONS), match == LINES)
        ids, paths, described, lines = (_cases_where(suite, mask) for mask in masks)
        return cls(ids, paths, described, lines)

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
        for many in joined(texts):
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
    found = (
        slashes[:-1] & ends[1:],
        breaks[:-2] & dots[1:-1] & slashes[2:],
        dotted & ends[2:-1],
        dotted & dots[2:-1] & ends[3:],
    )
    return any(bool(each.any()) for each in found)


def lines_apart(run: Run) -> Run:
    """The run with ``a.py#L3-L9`` as what it means, the id ``a.py`` and a range of lines; rows stay where they are.

    Imported runs may spell ranges so; those of live agents have them in columns, and from here on all have.
    """
    ids, lines = zip(*map(apart, run.ids), strict=True)
    if not any(lines):
        return run
    known = (run.lines_of(row) for row in range(len(ids)))  # an agent that says it twice means its columns
    first_line, last_line = line_columns([given or spelt for given, spelt in zip(known, lines, strict=True)])
    return replace(run, ids=list(ids), first_line=first_line, last_line=last_line, unique=False)


def joined(texts: Texts) -> Iterator[str]:
    """All texts, many to a string, a line each."""
    if isinstance(texts, list):
        yield from ("\n".join(texts[start : start + _LISTED_AT_ONCE]) for start in range(0, len(texts), _LISTED_AT_ONCE))
    else:
        yield from (texts.slice(start, _ARROW_AT_ONCE).str.join("\n").item() for start in range(0, len(texts), _ARROW_AT_ONCE))


def composed(texts: list[str]) -> list[str]:
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
    ids, paths, by_path = composed(texts), normal_paths(texts), judged_by_path(suite).tolist()
    return ids if paths is texts else [path if is_path else name for name, path, is_path in zip(ids, paths, by_path, strict=True)]
