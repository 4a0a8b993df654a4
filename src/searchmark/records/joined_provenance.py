"""What is known of runs together that each answered some of the cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from searchmark.records.digests import added
from searchmark.records.hosts import Environment
from searchmark.records.provenance import (
    TRUST_KINDS,
    AgentIdentity,
    ImportedRun,
    IndexBuild,
    Provenance,
    RunPart,
    SuiteIdentity,
    TrustEvent,
)
from searchmark.records.shards import ShardIdentity


def joined_provenance(parts: Sequence[RunPart]) -> Provenance:
    """What is true of runs together that each answered some cases of one suite. Nothing of a part is lost.

    Shards come in the order of their numbers, so that the last one is where a single run would have ended.
    """
    known = [part.provenance for part in parts]
    first, each_part = known[0], tuple(_flat(parts))
    on_one_host = len(Provenance(parts=each_part).hosts) <= 1
    return Provenance(
        id="+".join(each.id for each in known if each.id) or None,
        started=min((each.started for each in known if each.started), default=None),
        ended=max((each.ended for each in known if each.ended), default=None),
        version=first.version,
        suite=_suite(first.suite, each_part),
        agent=_agent([each.agent for each in known]),
        options=first.options,
        corpora=dict(sorted((name, digest) for each in known for name, digest in each.corpora.items())),
        service=next((each.service for each in known if each.service), None),
        repositories=tuple(sorted(_distinct(found for each in known for found in each.repositories), key=lambda each: each.name)),
        candidates=first.candidates,
        own_corpus=any(each.own_corpus for each in known),
        environment=_environment(known) if on_one_host else None,
        index=_together([each.index for each in known if each.index is not None], timed=on_one_host),
        vectors=_vectors(known),
        start_seconds=tuple(seconds for each in known for seconds in each.start_seconds) if on_one_host else (),
        memory_bytes=max((each.memory_bytes for each in known if each.memory_bytes is not None), default=None),
        restarts=sum(each.restarts for each in known),
        workers=max(each.workers for each in known),
        resumed=sum(each.resumed for each in known),
        printed=tuple(printed for each in known for printed in each.printed),
        trust=tuple(sorted(_distinct(event for each in known for event in each.trust), key=_order_of_events)),
        tag=first.tag,
        parts=each_part,
        imported=_imported([each.imported for each in known if each.imported is not None]),
    )


def shards_of(parts: Iterable[RunPart]) -> list[ShardIdentity] | None:
    """The shards that parts are; None where one of them is none."""
    shards = [part.provenance.shard for part in parts]
    return None if None in shards else [shard for shard in shards if shard is not None]


def _suite(named: SuiteIdentity | None, parts: Sequence[RunPart]) -> SuiteIdentity | None:
    """What was asked and searched: all of it is known where all shards are there, and else only what the suite is called."""
    shards = shards_of(parts)
    if named is None or not shards or sum(len(part.cases) for part in parts) != shards[0].cases:
        return named and SuiteIdentity(named.name)
    return SuiteIdentity(named.name, shards[0].queries, _searched(parts, shards), shards[0].judgments)


def _searched(parts: Sequence[RunPart], shards: Sequence[ShardIdentity]) -> str | None:
    """The digest of one corpus, if all cases search the same, and else the sum over the shards, each of which counts once."""
    corpora = {None if part.provenance.suite is None else part.provenance.suite.corpus for part in parts}
    return corpora.pop() if len(corpora) == 1 else added({shard.number: shard.searched for shard in shards}.values())


def _agent(agents: Sequence[AgentIdentity | None]) -> AgentIdentity | None:
    """The agent with what it last said of itself; one that could not be started has said nothing."""
    return next((each for each in reversed(agents) if each is not None and each.description), agents[0])


def _vectors(known: Sequence[Provenance]) -> tuple[Any, ...]:
    """Those of the last shard that has any, as a single run has those of its last index; otherwise those of all parts."""
    if all(each.shard is not None for each in known):
        return next((each.vectors for each in reversed(known) if each.vectors), ())
    return _distinct(vectors for each in known for vectors in each.vectors)


def _order_of_events(event: TrustEvent) -> int:
    return TRUST_KINDS.index(event.kind)


def _flat(parts: Iterable[RunPart]) -> Iterator[RunPart]:
    """A part that was joined itself counts as its own parts; a shard is one part, however many hosts have asked it."""
    for part in parts:
        yield from (part.provenance.parts if part.provenance.shard is None else ()) or (part,)


def _imported(parts: Sequence[ImportedRun]) -> ImportedRun | None:
    notes = _distinct(note for part in parts for note in part.notes)
    return ImportedRun(notes, any(part.by_position for part in parts)) if parts else None


def _distinct(items: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(items))


def _environment(known: Sequence[Provenance]) -> Environment | None:
    """That of the first part, or rather of the first that knows its host."""
    environments = [each.environment for each in known if each.environment is not None]
    return next((each for each in environments if each.host), known[0].environment)


def _together(builds: Sequence[IndexBuild], *, timed: bool) -> IndexBuild | None:
    """Builds of one host together; those of several hosts are not ``timed`` together."""
    if not builds:
        return None
    seconds = [build.seconds for build in builds if build.seconds is not None]
    return IndexBuild(
        seconds=sum(seconds) if seconds and timed else None,
        full_builds=sum(build.full_builds for build in builds),
        updates=sum(build.updates for build in builds),
        bytes=max((build.bytes for build in builds if build.bytes is not None), default=None),
    )
