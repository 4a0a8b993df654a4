"""Random records for round trips."""

from __future__ import annotations

from datetime import UTC

from hypothesis import strategies as st

from searchmark import Answer, AnswerDetails, Case, Defaults, Hit, Judgment, Provenance, Run, RunLabel, Suite
from searchmark.records.answers import STATUSES
from searchmark.records.judgments import MATCHES
from searchmark.records.matching import words_of_text
from searchmark.records.provenance import (
    TRUST_KINDS,
    AgentIdentity,
    CandidateKinds,
    Environment,
    IndexBuild,
    RunPart,
    SearchedRepository,
    ShardIdentity,
    SuiteIdentity,
    TrustEvent,
    join_provenance,
)

# Any text, bytes that were not UTF-8 (lone surrogates U+DC80 to U+DCFF) included.
texts = st.text(st.one_of(st.characters(codec="utf-8"), st.integers(0xDC80, 0xDCFF).map(chr)), min_size=1, max_size=8)
words = texts.filter(str.strip)
plain_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | words, lambda inner: st.lists(inner, max_size=2), max_leaves=3
)
finite = st.floats(allow_nan=False, allow_infinity=False)
ranges = st.tuples(finite, finite).map(lambda pair: (min(pair), max(pair)))


def judgments(highest: int = 3) -> st.SearchStrategy[tuple[Judgment, ...]]:
    one = st.builds(
        Judgment,
        target=words,
        match=st.sampled_from(MATCHES),
        grade=st.integers(-1, highest),
        rank=st.none() | st.integers(1, 9),
        score_range=st.none() | ranges | st.dictionaries(words, ranges, min_size=1, max_size=2),
    )
    one = one.filter(lambda judgment: judgment.match != "text" or bool(words_of_text(judgment.target).strip()))
    return st.lists(one, max_size=4, unique_by=lambda judgment: (judgment.target, judgment.match)).map(tuple)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    unanswerable = draw(st.booleans())
    judged = draw(judgments(0 if unanswerable else 3))
    targets = list(dict.fromkeys(judgment.target for judgment in judged))
    return Case(
        id=draw(words),
        query=draw(st.none() | words),
        judgments=judged,
        other_orders=tuple(draw(st.lists(st.permutations(targets).map(tuple), max_size=2))),
        order_only=draw(st.booleans()),
        category=draw(st.none() | words),
        tags=tuple(draw(st.lists(words, max_size=2))),
        origin=draw(st.none() | words),
        unanswerable=unanswerable,
        fields=draw(st.dictionaries(words, plain_values, max_size=2)),
    )


suites = st.builds(
    Suite.from_cases,
    name=words,
    cases=st.lists(cases(), min_size=1, max_size=4, unique_by=lambda case: case.id),
    defaults=st.builds(Defaults, rel=st.integers(1, 3), gain=st.sampled_from(["linear", "exp"])),
    description=st.none() | words,
    model=st.none() | words,
    metadata=st.dictionaries(words, plain_values, max_size=2),
)


line_ranges = st.none() | st.tuples(st.integers(1, 99), st.integers(1, 99)).map(lambda ends: (min(ends), max(ends)))
times = st.lists(st.floats(0, 1e6), max_size=2).map(tuple)
labels = st.builds(RunLabel, words, st.none() | words, st.integers(1, 3))
details = st.builds(
    AnswerDetails,
    cold_ms=times,
    warm_ms=times,
    first_hit_ms=st.none() | st.floats(0, 1e6),
    cost=st.none() | st.floats(0, 1e6),
    tokens=st.none() | st.integers(0, 10**6),
    tokens_by=st.none() | words,
    retries=st.none() | st.integers(0, 5),
    waited_ms=st.none() | st.floats(0, 1e6),
    start_ms=st.none() | st.floats(0, 1e6),
    failure=st.none() | words,
    repeat_failures=st.integers(0, 2),
    dropped=st.dictionaries(words, st.integers(1, 9), max_size=2),
    unreachable=st.lists(words, max_size=2).map(tuple),
    said=st.none() | st.dictionaries(words, st.integers(), max_size=2),
)
digests = st.none() | words
places = st.integers(0, 8)
moments = st.none() | st.datetimes(timezones=st.just(UTC))
_provenance = st.builds(
    Provenance,
    id=digests,
    started=moments,
    ended=moments,
    version=digests,
    suite=st.none() | st.builds(SuiteIdentity, words, digests, digests, digests),
    shard=st.none()
    | st.builds(
        ShardIdentity,
        places.map(lambda place: place + 1),
        st.just(9),
        places,
        st.lists(st.tuples(places, places), max_size=2).map(tuple),
    ),
    agent=st.none()
    | st.builds(AgentIdentity, words, st.dictionaries(words, plain_values, max_size=2), digests, isolated=st.booleans()),
    options=st.dictionaries(words, plain_values, max_size=2),
    service=digests,
    own_corpus=st.booleans(),
    repositories=st.lists(st.builds(SearchedRepository, words, digests, st.none() | st.booleans()), max_size=2).map(tuple),
    candidates=st.none() | st.builds(CandidateKinds, st.lists(words, max_size=2).map(tuple)),
    environment=st.none() | st.builds(Environment, words, words, st.dictionaries(words, words, max_size=2)),
    index=st.none() | st.builds(IndexBuild, st.none() | st.floats(0, 9), st.integers(0, 3), st.integers(0, 3)),
    trust=st.lists(st.builds(TrustEvent, st.sampled_from(TRUST_KINDS), words), max_size=2).map(tuple),
)
provenances = _provenance | st.lists(
    st.builds(RunPart, st.lists(words, max_size=2).map(tuple), _provenance), min_size=1, max_size=2
).map(join_provenance)


@st.composite
def answers(draw: st.DrawFn, case: str) -> Answer:
    status = draw(st.sampled_from(STATUSES))
    ids = draw(st.lists(words, max_size=4)) if status != "empty" else []
    scores = st.none() | finite.map(lambda score: 0.0 if score == 0 else score)
    return Answer(
        case=case,
        status=status,
        hits=tuple(Hit(hit, rank, draw(scores), lines=draw(line_ranges)) for rank, hit in enumerate(ids, 1)),
        details=draw(details),
    )


@st.composite
def runs(draw: st.DrawFn) -> Run:
    names = draw(st.lists(words, max_size=4, unique=True))
    return Run.from_answers(
        draw(labels),
        [draw(answers(case)) for case in names],
        provenance=draw(provenances),
        dropped=draw(st.dictionaries(words, st.integers(0, 9), max_size=2)),
    )
