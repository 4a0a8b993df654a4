"""Shards become the run that one machine would have made; what is missing, doubled or of another run is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from searchmark.errors import Incomparable, UsageError
from searchmark.records import Hit, Run, RunLabel, ShardIdentity, Suite, display_names
from searchmark.records.shown import counted
from searchmark.runs.join import filled_up, put_together
from searchmark.runs.part_places import only, parts_of, without_fillers
from searchmark.runs.same_run import refuse_different

NAMED = 10  # cases, files or shards that are named; of more it is said how many there are


@dataclass(frozen=True, eq=False)
class SavedShard:
    """The run of a shard, or of several that were merged before, and the file that it was read from."""

    file: str
    run: Run


@dataclass(frozen=True, eq=False)
class Merged:
    """One run from all its shards; ``notes`` say what was missing or doubled, a sentence each."""

    run: Run
    notes: tuple[str, ...] = ()


def merged(shards: Sequence[SavedShard], suite: Suite | None = None, *, partial: bool = False) -> list[Merged]:
    """One run for each label. ``suite`` is the one that they were cut from: with it cases that are missing have names.

    What is missing or answered twice is refused, unless a ``partial`` run is wanted. Then answers that are the same count once,
    and cases that nobody has were not run.
    """
    groups: dict[RunLabel, list[SavedShard]] = {}
    for shard in shards:
        _refuse_others(shard)
        groups.setdefault(shard.run.label, []).append(replace(shard, run=without_fillers(shard.run)))
    names = display_names(list(groups))
    found = [_Group(name if len(groups) > 1 else "", group, suite) for name, group in zip(names, groups.values(), strict=True)]
    notes = [note for each in found for note in each.notes]
    if notes and not partial:
        raise Incomparable(f"{'; '.join(notes)}; name every shard once, or take what there is with --partial")
    return [each.merged() for each in found]


def _refuse_others(shard: SavedShard) -> None:
    for part in parts_of(shard.run):
        identity = part.provenance.shard
        if identity is None:
            raise UsageError(
                f"{shard.file} is not a shard: it was not saved by a run with --shard I/N; any runs are scored together by "
                "searchmark evaluate --run A B"
            )
        if len(part.cases) > identity.size or identity.number > identity.of:
            raise UsageError(f"{shard.file} is not what it claims to be: {len(part.cases)} answers of the shard {identity}")


class _Group:
    """All shards of one run."""

    def __init__(self, name: str, shards: Sequence[SavedShard], suite: Suite | None) -> None:
        for other in shards[1:]:
            refuse_different(shards[0].run, other.run, (shards[0].file, other.file))
        self._before = f"{name}: " if name else ""
        self._shards = shards
        self._identity = next(identity for identity, _ in _identities(shards))
        self._answered = {case for shard in shards for case in shard.run.case_ids}
        self._cases = None if suite is None else _cases_of(suite, self._identity, shards[0].file, self._answered)
        self.notes = [f"{self._before}{note}" for note in (*_doubled(shards), *self._missing())]

    def merged(self) -> Merged:
        run = put_together(_each_once(self._shards))
        whole = run if self._cases is None or len(run) == self._identity.cases else filled_up(run, self._cases)
        return Merged(whole, tuple(self.notes))

    def _missing(self) -> Iterator[str]:
        missing = self._identity.cases - len(self._answered)
        for lacking, sentence in _lacking(self._shards):
            missing -= lacking
            yield sentence
        if missing > 0:
            absent = _absent(self._identity.of, {identity.number for identity, _ in _identities(self._shards)})
            yield f"{absent} missing: {counted(missing, 'case')}"
        if self._cases is not None and len(self._answered) < len(self._cases):
            yield f"no answer to {_listed([case for case in self._cases if case not in self._answered])}"


def _identities(shards: Sequence[SavedShard]) -> Iterator[tuple[ShardIdentity, tuple[str, ...]]]:
    """The shards that these runs are made of, each with the cases that it answers."""
    for shard in shards:
        for part in parts_of(shard.run):
            if part.provenance.shard is not None:
                yield part.provenance.shard, part.cases


def _lacking(shards: Sequence[SavedShard]) -> Iterator[tuple[int, str]]:
    """How many cases a shard lacks that is there, and a sentence about it."""
    answered: dict[int, set[str]] = {}
    sizes: dict[int, ShardIdentity] = {}
    for identity, cases in _identities(shards):
        answered.setdefault(identity.number, set()).update(cases)
        sizes[identity.number] = identity
    for number, identity in sorted(sizes.items()):
        lacking = identity.size - len(answered[number])
        if lacking > 0:
            yield lacking, f"shard {identity} lacks {lacking} of its {counted(identity.size, 'case')}"


def _absent(of: int, present: set[int]) -> str:
    """The shards that are not there, with the verb that fits."""
    named = [f"{number}/{of}" for number in islice((each for each in range(1, of + 1) if each not in present), NAMED)]
    more = of - len(present) - len(named)
    listed = ", ".join(named) + (f" and {more} more" if more else "")
    return f"shard {listed} is" if len(named) == 1 else f"shards {listed} are"


def _listed(cases: Sequence[str]) -> str:
    more = len(cases) - NAMED
    return ", ".join(map(repr, cases[:NAMED])) + (f" and {more} more" if more > 0 else "")


def _doubled(shards: Sequence[SavedShard]) -> Iterator[str]:
    """A sentence for the files that answer the same cases."""
    counts = Counter(case for shard in shards for case in shard.run.case_ids)
    together: dict[str, list[str]] = {}
    for case in (case for case, count in counts.items() if count > 1):
        files = " and ".join(shard.file for shard in shards if case in shard.run.index)
        together.setdefault(files, []).append(case)
    for files, cases in together.items():
        yield f"answered more than once, by {files}: {_listed(cases)}"


def _each_once(shards: Sequence[SavedShard]) -> list[Run]:
    """The runs with every case once; two different answers to one case cannot both be right."""
    taken: dict[str, SavedShard] = {}
    kept: list[Run] = []
    for shard in shards:
        for case in filter(taken.__contains__, shard.run.case_ids):
            _refuse_contradiction(case, taken[case], shard)
        new = only(shard.run, shard.run.index.keys() - taken.keys())
        taken |= dict.fromkeys(new.case_ids, shard)
        kept += [new] if len(new) else []
    return kept


def _refuse_contradiction(case: str, one: SavedShard, other: SavedShard) -> None:
    if _answer(one.run, case) != _answer(other.run, case):
        raise Incomparable(f"{one.file} and {other.file} answer the case {case!r} differently; leave one of them out")


def _answer(run: Run, case: str) -> tuple[str, list[Hit]]:
    answer = run.answer(run.index[case])
    return answer.status, [replace(hit, valid=None) for hit in answer.hits]


def _cases_of(suite: Suite, shard: ShardIdentity, file: str, answered: set[str]) -> tuple[str, ...] | None:
    """The cases that were cut into shards, if that is the whole suite; None if some were chosen before."""
    if suite.hashes["queries"] == shard.queries:
        return suite.table.ids
    if len(suite) <= shard.cases or not answered <= suite.table.index.keys():
        raise Incomparable(f"{file} is not a shard of the suite {suite.name!r}: it was cut from other queries")
    return None
