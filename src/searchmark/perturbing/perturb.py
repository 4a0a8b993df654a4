"""A suite with variants of its queries: each is a case of its own, judged as its original is, and one observation with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from searchmark.errors import NothingEvaluated, UsageError
from searchmark.perturbing.draws import Draws
from searchmark.perturbing.kinds import TRANSLATION, ChosenKinds
from searchmark.records import Case, Suite
from searchmark.records.shown import counted
from searchmark.records.variants import LANGUAGE_FIELDS, PERTURBATION, PERTURBED_FROM, is_variant

TAG = "perturbed-"  # and the kind: a suite may have tags of its own that are named like a kind
MOST_TRIED = 100  # variants of one kind and case, of which some may be there already

# Why a variant was left out.
SAME_AS_QUERY, SAME_AS_VARIANT, SAME_AS_CASE = "equal to the query", "equal to another variant", "the query of another case"
OTHER_LANGUAGE = "cases in another language"
# Why a case has no variant at all.
NO_QUERY, OWN_REQUEST = "without a query", "with a request of their own, which agents send in place of the query"


@dataclass(frozen=True)
class KindCounts:
    """What became of one kind: variants, the cases that have them, what was left out by reason, cases with nothing to change."""

    kind: str
    variants: int
    cases: int
    left_out: Mapping[str, int]
    unchanged: int


@dataclass(frozen=True)
class Perturbed:
    """Originals and variants in one suite, and what was counted on the way; ``skipped`` are originals by reason."""

    suite: Suite
    originals: int
    kinds: tuple[KindCounts, ...]
    skipped: Mapping[str, int]


def perturb(suite: Suite, kinds: ChosenKinds, *, per_case: int = 1, seed: int = 0) -> Perturbed:
    """The suite with up to ``per_case`` variants of every kind behind each of its cases."""
    varied = sum(map(is_variant, suite.table.fields or ()))
    if varied:
        raise UsageError(
            f"the suite {suite.name!r} holds {counted(varied, 'variant')} already; perturb the suite they were made of"
        )
    making = _Making(suite, kinds, per_case, seed)
    cases = list(making.cases())
    if len(cases) == len(suite):
        raise NothingEvaluated(f"no query of {suite.name!r} can be varied by {', '.join(kinds.edits)}; nothing was written")
    about = {"of": suite.name, "kinds": list(kinds.edits), "per_case": per_case, "seed": seed}
    perturbed = Suite.from_cases(
        f"{suite.name}-perturbed",
        cases,
        defaults=suite.defaults,
        description=suite.description,
        model=suite.model,
        metadata={**suite.metadata, "perturbed": about},
        kind=suite.kind,
    )
    return Perturbed(perturbed, len(suite), tuple(map(making.counts_of, kinds.edits)), dict(making.skipped))


class _Making:
    """Makes variants case by case, and counts."""

    def __init__(self, suite: Suite, kinds: ChosenKinds, per_case: int, seed: int) -> None:
        self._suite, self._kinds, self._per_case, self._seed = suite, kinds, per_case, seed
        self._queries = {case.query for case in suite.cases}
        self._ids = set(suite.table.ids)
        self._variants, self._cases, self._unchanged = Counter[str](), Counter[str](), Counter[str]()
        self._left_out = {kind: Counter[str]() for kind in kinds.edits}
        self.skipped = Counter[str]()

    def counts_of(self, kind: str) -> KindCounts:
        return KindCounts(kind, self._variants[kind], self._cases[kind], dict(self._left_out[kind]), self._unchanged[kind])

    def cases(self) -> Iterator[Case]:
        """Every original, and its variants behind it."""
        for case, origin in zip(self._suite.cases, origins_of(self._suite), strict=True):
            original = replace(case, origin=origin)
            yield original
            if case.query is None or not case.query.strip():
                self.skipped[NO_QUERY] += 1
            elif case.request is not None:
                self.skipped[OWN_REQUEST] += 1
            else:
                yield from self._variants_of(original, case.query)

    def _variants_of(self, original: Case, query: str) -> Iterator[Case]:
        known = {query}
        language = next((str(original.fields[name]) for name in LANGUAGE_FIELDS if name in original.fields), None)
        for kind, edit in self._kinds.edits.items():
            if not self._kinds.suits(kind, language):
                self._left_out[kind][OTHER_LANGUAGE] += 1
                continue
            found = list(self._texts(kind, edit(query, Draws(self._seed, original.id, kind)), query, known))
            self._variants[kind] += len(found)
            self._cases[kind] += bool(found)
            yield from (self._variant(original, kind, number, text) for number, text in enumerate(found, 1))

    def _texts(self, kind: str, texts: Iterable[str], query: str, known: set[str]) -> Iterator[str]:
        """As many new texts as are wanted; what was there before is counted."""
        wanted, seen = self._per_case, False
        for text in islice(texts, MOST_TRIED):
            seen = True
            reason = self._why_not(text, query, known)
            if reason is not None:
                self._left_out[kind][reason] += 1
                continue
            known.add(text)
            yield text
            wanted -= 1
            if not wanted:
                return
        self._unchanged[kind] += not seen

    def _why_not(self, text: str, query: str, known: set[str]) -> str | None:
        if not text.strip() or text == query:
            return SAME_AS_QUERY
        if text in known:
            return SAME_AS_VARIANT
        return SAME_AS_CASE if text in self._queries else None

    def _variant(self, original: Case, kind: str, number: int, text: str) -> Case:
        kept = {
            name: value for name, value in original.fields.items() if kind != TRANSLATION or name not in LANGUAGE_FIELDS
        }  # which language it is in now, the glossary does not say
        return replace(
            original,
            id=self._new_id(f"{original.id}~{kind}-{number}"),
            query=text,
            tags=(*original.tags, f"{TAG}{kind}"),
            fields={**kept, PERTURBATION: kind, PERTURBED_FROM: original.id},
        )

    def _new_id(self, wanted: str) -> str:
        while wanted in self._ids:
            wanted += "~"
        self._ids.add(wanted)
        return wanted


def origins_of(suite: Suite) -> list[str]:
    """The origin of every case: its own, or else the first of the cases that it is one observation with.

    Variants share their original's targets, so without an origin cases that were apart would be joined, or joined ones parted.
    """
    clusters = range(len(suite)) if suite.clusters is None else suite.clusters.tolist()
    first: dict[int, str] = {}
    own = suite.table.origins or (None,) * len(suite)
    return [first.setdefault(cluster, origin or case) for cluster, origin, case in zip(clusters, own, suite.table.ids, strict=True)]
