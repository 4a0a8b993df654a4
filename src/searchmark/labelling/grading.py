"""Grades of items for a query, by what both name.

    3  the category and at least two attributes
    2  the category, or two attributes
    1  one attribute, or the brand alone
    0  otherwise

A phrase of the query counts once: as the category if it names that, otherwise as an attribute. A phrase may also name a kind of the
category (a t-shirt, among shirts). If the item is of that kind, the phrase counts as both; if the item is known to be of another
kind (a polo shirt), it does not count at all, and if nothing says of which kind it is, as the category.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from searchmark.labelling.catalogue import ORIGINS, Catalogue, ItemValue, Origin
from searchmark.labelling.compounds import by_role, contradicts, unfolded
from searchmark.labelling.roles import AUDIENCE, BRAND, CATEGORY, TYPE
from searchmark.labelling.words import PhraseSpan, all_phrases, words, written_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENOUGH_ATTRIBUTES = 2
_LARGEST_SIGNATURE = 1 << 62
# Rules by name with the grade of each, the best first.
RULES = {"category and attributes": 3, "category": 2, "two attributes": 2, "one attribute": 1, "brand": 1, "none": 0}


@dataclass(frozen=True)
class PhraseMatch:
    """A phrase of the query that an item meets, by which value of which role, and where that was found."""

    phrase: str
    role: str
    value: str
    origin: Origin
    broader: bool = False  # the value is what the phrase is a kind of


@dataclass(frozen=True)
class RuleVerdict:
    """The grade of items, the rule that gave it, and what was matched."""

    grade: int
    rule: str
    matches: tuple[PhraseMatch, ...]


@dataclass(frozen=True, eq=False)
class Graded:
    """All items with a grade for one query: the verdicts, and for each of these rows of the catalogue which one."""

    verdicts: Sequence[RuleVerdict]
    rows: NDArray[np.int64]
    verdict_of: NDArray[np.int64]


@dataclass(frozen=True)
class Asked:
    """A query, taken apart: the phrases that are known, those that are negated, and the words that are not known."""

    spans: tuple[PhraseSpan, ...]
    texts: tuple[str, ...]
    negated: tuple[str, ...]
    unknown: tuple[str, ...]
    roles: tuple[frozenset[str], ...]

    @property
    def type(self) -> str:
        """What kind of query it is, by the most telling thing that it names."""
        named = frozenset[str]().union(*self.roles)
        attributes = any(roles and not roles & {CATEGORY, BRAND, AUDIENCE} for roles in self.roles)
        kinds = ((BRAND, BRAND in named), (AUDIENCE, AUDIENCE in named), ("attribute", attributes), (CATEGORY, CATEGORY in named))
        return next((kind for kind, given in kinds if given), "other")


def take_apart(text: str, catalogue: Catalogue) -> Asked:
    """The known phrases of a query, and what each of them may be: what no item could have is nothing."""
    found, written, lexicon = words(text), written_words(text), catalogue.lexicon
    phrases = list(all_phrases(found, lexicon))
    spans = tuple(part for span in phrases if span.negated_at is None for part in unfolded(span, found, lexicon))
    negated = tuple(" ".join(written[span.start : span.end]) for span in phrases if span.negated_at is not None)
    covered = {row for span in phrases for row in span.rows}
    unknown = tuple(word for row, word in enumerate(written) if row not in covered)
    roles = tuple(frozenset(lexicon.roles.get(lexicon.name(span.key), ())) for span in spans)
    return Asked(spans, tuple(" ".join(written[span.start : span.end]) for span in spans), negated, unknown, roles)


def grade(asked: Asked, catalogue: Catalogue) -> Graded:
    """The grades of all items that meet any phrase of the query."""
    import numpy as np

    said = by_role((catalogue.lexicon.name(span.key) for span in asked.spans), catalogue.lexicon)
    slots = [slot for row in range(len(asked.spans)) for slot in _slots(asked, row, said, catalogue) if slot.matches]
    codes = np.zeros((len(slots), len(catalogue.items)), np.int32)
    for each, slot in zip(codes, slots, strict=True):
        for code in range(len(slot.matches), 0, -1):  # the best is written last
            each[slot.rows[code - 1]] = code
    rows = np.flatnonzero(codes.any(axis=0))
    firsts, verdict_of = _distinct(codes[:, rows], [len(slot.matches) + 1 for slot in slots])
    verdicts = [
        _verdict([slot.matches[code - 1] for slot, code in zip(slots, codes[:, rows[at]], strict=True) if code]) for at in firsts
    ]
    return Graded(verdicts, rows, verdict_of)


def _distinct(codes: NDArray[np.int32], sizes: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first column of every distinct one, and for each column which of these it is."""
    import numpy as np

    signature, largest = np.zeros(codes.shape[1], np.int64), 1
    for each, size in zip(codes, sizes, strict=True):
        if largest * size >= _LARGEST_SIGNATURE:
            _, signature = np.unique(signature, return_inverse=True)
            largest = codes.shape[1] + 1
        signature, largest = signature * size + each, largest * size
    _, firsts, inverse = np.unique(signature, return_index=True, return_inverse=True)
    return firsts.astype(np.int64), inverse.astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Counted:
    """One way in which a phrase may count: the matches, best first, and the items that meet each."""

    matches: list[PhraseMatch]
    rows: list[NDArray[np.int64]]


def _slots(asked: Asked, row: int, said: Mapping[str, set[str]], catalogue: Catalogue) -> Iterator[_Counted]:
    """A phrase as category, and as anything else."""
    lexicon, text = catalogue.lexicon, asked.texts[row]
    name = lexicon.name(asked.spans[row].key)
    same = [name, *(each for each in sorted(lexicon.narrower(name)) if not contradicts(each, said, lexicon))]
    broader = sorted(lexicon.broader(name))
    other_kinds = _of_other_kinds({*same, *broader}, catalogue)
    as_category = [(CATEGORY, each, each in broader) for each in (*same, *broader)]
    as_other = [(role, each, False) for each in same for role in (*catalogue.roles.attributes, BRAND)]
    for tried in (as_category, as_other):
        slot = _Counted([], [])
        for role, each, is_broader in tried:
            for origin in ORIGINS:
                found = catalogue.postings.get(ItemValue(role, each, origin))
                if found is not None and is_broader:
                    found = found[~other_kinds[found]]
                if found is not None:
                    slot.matches.append(PhraseMatch(text, role, lexicon.shown(each), origin, is_broader))
                    slot.rows.append(found)
        yield slot


def _of_other_kinds(kinds: set[str], catalogue: Catalogue) -> NDArray[np.bool_]:
    """Which items a field or title says to be something else; descriptions mention all kinds of things."""
    import numpy as np

    known = {value: rows for value, rows in catalogue.postings.items() if value.role == TYPE and value.origin != "description"}
    is_other = np.zeros(len(catalogue.items), bool)
    for fits in (False, True):
        for value, rows in known.items():
            if (value.name in kinds) is fits:
                is_other[rows] = not fits
    return is_other


def _verdict(matches: list[PhraseMatch]) -> RuleVerdict:
    category = [match for match in matches if match.role == CATEGORY]
    named = {match.phrase for match in category if not match.broader}
    others = [match for match in matches if match.role != CATEGORY and match.phrase not in named]
    attributes = len({(match.role, match.value) for match in others if match.role != BRAND})
    if category and attributes >= ENOUGH_ATTRIBUTES:
        rule = "category and attributes"
    elif category:
        rule = "category"
    elif attributes >= ENOUGH_ATTRIBUTES:
        rule = "two attributes"
    else:
        rule = "one attribute" if attributes else "brand"
    return RuleVerdict(RULES[rule], rule, tuple(sorted((*category, *others), key=lambda match: match.role != CATEGORY)))
