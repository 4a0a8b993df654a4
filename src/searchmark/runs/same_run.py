"""Whether two runs are parts of one: what must be the same in both, and what is said where it is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from searchmark.errors import Incomparable, UsageError
from searchmark.options.run_options import CHANGE_NO_ANSWER
from searchmark.records import PARENT, AgentIdentity, Provenance, Run, ShardIdentity, display_names
from searchmark.runs.part_places import parts_of

COMPARE_THEM = "to hold them against each other: searchmark compare --gold-set SUITE --run A --run B"
# What agents choose by what they search, and say of themselves: it may be another choice in another repository.
CHOSEN_FOR_CORPUS = frozenset(("analyser", "language", "stemmer", "stop_words", "tokenizer"))


def refuse_different(first: Run, other: Run, files: Sequence[str] = ()) -> None:
    """Refuse two runs that are not parts of one, with what differs; ``files`` are those that they were read from."""
    if first.label != other.label:
        names = ", ".join(display_names([first.label, other.label]))
        raise UsageError(f"these are runs of different agents or snapshots, not parts of one: {names}; {COMPARE_THEM}")
    different = list(_differences(first, other))
    if different:
        where = f" in {' and '.join(files)}" if files else ""
        raise Incomparable(f"the runs of {first.agent!r}{where} are not parts of one: they differ in {', '.join(different)}")


def _differences(first: Run, other: Run) -> Iterator[str]:
    one, two = first.provenance, other.provenance
    if one.version != two.version:
        yield f"version of Searchmark{_values(one.version, two.version)}"
    if different := _of_agents(one.agent, two.agent, elsewhere=_searched_elsewhere(first, other)):
        yield f"agent ({', '.join(different)})"
    if options := _keys_that_differ(_that_matter(one.options), _that_matter(two.options)):
        yield f"options ({', '.join(options)})"
    if one.candidates != two.candidates:
        yield "candidates"
    if _differ(one.corpora, two.corpora) or one.service != two.service:
        yield "corpus"
    # At the parents it does not matter where the head of a repository is meanwhile.
    moved = _differ({each.name: each for each in one.repositories}, {each.name: each for each in two.repositories})
    if moved and first.label.snapshot != PARENT:
        yield "state of the repository"
    yield from _of_suites(one, two, _shard(first), _shard(other))


def _shard(run: Run) -> ShardIdentity | None:
    """The first shard that it is, or is made of: what matters here is the same in all of them."""
    return next((part.provenance.shard for part in parts_of(run)), None)


def _of_suites(one: Provenance, two: Provenance, first: ShardIdentity | None, other: ShardIdentity | None) -> Iterator[str]:
    suites = [None if each.suite is None else each.suite.name for each in (one, two)]
    if suites[0] != suites[1]:
        yield f"suite{_values(*suites)}"
    elif first is not None and other is not None and (first.cases, first.queries) != (other.cases, other.queries):
        yield f"queries of the suite, or which cases were chosen{_values(f'{first.cases} cases', f'{other.cases} cases')}"
    elif first is not None and other is not None and first.judgments != other.judgments:
        yield "judgments of the suite"
    if first is not None and other is not None and first.of != other.of:
        yield f"number of shards{_values(str(first), str(other))}"


def _values(one: str | None, two: str | None) -> str:
    return f" ({one} and {two})" if one != two and one is not None and two is not None else ""


def _differ(one: Mapping[str, object], two: Mapping[str, object]) -> bool:
    """Whether two parts saw something of one name differently; each may have seen what the other has not."""
    return any(one[name] != two[name] for name in one.keys() & two.keys())


def _of_agents(one: AgentIdentity | None, two: AgentIdentity | None, *, elsewhere: bool) -> list[str]:
    """What differs of two agents; one that could not be started has said nothing of itself.

    What an agent chooses by what it searches may be another choice ``elsewhere``.
    """
    if one is None or two is None:
        return [] if one is two else ["known of one alone"]
    different = [each.name for each in fields(AgentIdentity) if getattr(one, each.name) != getattr(two, each.name)]
    same = not (one.description and two.description) or (
        elsewhere and _without_choices(one.description) == _without_choices(two.description)
    )
    return [name for name in different if name != "description" or not same]


def _searched_elsewhere(first: Run, other: Run) -> bool:
    """Whether shards are known to have searched different corpora."""
    one, two = ({part.provenance.suite and part.provenance.suite.corpus for part in parts_of(run)} for run in (first, other))
    return _shard(first) is not None and _shard(other) is not None and (one != two or len(one) > 1)


def _without_choices(described: Any) -> Any:
    """What an agent says of itself without what it has chosen for its corpus; its arms say it of themselves."""
    if not isinstance(described, Mapping):
        return described
    return {name: _without_choices(value) for name, value in described.items() if name not in CHOSEN_FOR_CORPUS}


def _that_matter(options: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if name not in CHANGE_NO_ANSWER}


def _keys_that_differ(one: Mapping[str, object], two: Mapping[str, object]) -> list[str]:
    return [name for name in {**one, **two} if one.get(name) != two.get(name) or (name in one) != (name in two)]
