"""Shards become one run, or are refused with the files and what differs in them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    Hit,
    Incomparable,
    Judgment,
    Provenance,
    Run,
    RunLabel,
    Suite,
    UsageError,
    join_runs,
    load_run,
    save_run,
)
from searchmark.records.digests import digest_of_cases
from searchmark.records.merge import SavedShard, merge_shards, with_missing_cases
from searchmark.records.provenance import (
    AgentIdentity,
    ImportedRun,
    SearchedRepository,
    ShardIdentity,
    SuiteIdentity,
    TrustEvent,
    VectorStatistics,
)
from searchmark.running.journal_files import load_shards
from searchmark.running.plan import shard_identity

SUITE = Suite.from_cases("shop", [Case(f"c{n}", f"query {n}", (Judgment("a"),), fields={"timestamp": -n}) for n in range(6)])
BM25 = AgentIdentity("bm25", {"k1": 1.2}, "code", {"ranking": "bm25"})


def shard(number: int, of: int = 2, cut: Suite = SUITE, **known: Any) -> Run:
    """The run of one shard; every case searches a corpus of its own."""
    identity = shard_identity(cut, f"{number}/{of}")
    cases = [cut.table.ids[place] for place in identity.places]
    answers = [
        Answer(case, "ok", (Hit(f"of {case}", 1, 0.1 + 0.2, True, (1, 2)),), AnswerDetails(cold_ms=(1.5,))) for case in cases
    ]
    identity = replace(identity, searched=digest_of_cases({case: f"corpus of {case}" for case in cases}))
    provenance = Provenance(id=f"run-{number}", version="1.0", suite=SuiteIdentity(cut.name, None, f"{number}"), shard=identity)
    provenance = replace(provenance, agent=BM25, options={"depth": 10, "jobs": number})
    return Run.from_answers("bm25", answers, provenance=replace(provenance, **known), dropped={"beyond_depth": 1})


def files(*runs: Run) -> list[SavedShard]:
    return [SavedShard(f"{number}.jsonl", run) for number, run in enumerate(runs, 1)]


def whole(*runs: Run, **options: Any) -> Run:
    (found,) = merge_shards(files(*runs), **options)
    return found.run


def with_known(run: Run, **known: Any) -> Run:
    return replace(run, provenance=replace(run.provenance, **known))


def test_answers_come_in_the_order_of_the_suite_and_all_is_known_of_it() -> None:
    found = whole(shard(2), shard(1))
    assert found.case_ids == SUITE.table.ids
    assert list(found.answers) == sorted((*shard(1).answers, *shard(2).answers), key=lambda answer: answer.case)
    corpus = digest_of_cases({case: f"corpus of {case}" for case in SUITE.table.ids})
    assert found.provenance.suite == SuiteIdentity("shop", SUITE.hashes["queries"], corpus, SUITE.hashes["judgments"])
    assert found.provenance.shard is None
    assert [each.provenance for each in found.provenance.parts] == [shard(1).provenance, shard(2).provenance]
    assert found.dropped == {"beyond_depth": 2}


def test_one_corpus_for_all_cases_keeps_its_digest() -> None:
    one = SuiteIdentity("shop", None, "corpus")
    found = whole(*(with_known(shard(number), suite=one) for number in (1, 2)))
    assert found.provenance.suite is not None
    assert found.provenance.suite.corpus == "corpus"


def test_more_shards_than_cases_lack_nothing() -> None:
    filled = [number for number in range(1, 8) if shard_identity(SUITE, f"{number}/7").size]
    assert len(filled) == 6
    assert whole(*(shard(number, 7) for number in filled)).case_ids == SUITE.table.ids


DIFFERENT = {
    "version of Searchmark (1.0 and 2.0)": shard(2, version="2.0"),
    "agent (code)": shard(2, agent=replace(BM25, code="changed")),
    "agent (config, description)": shard(2, agent=AgentIdentity("bm25", {"k1": 2.0}, "code", {"ranking": "other"})),
    "options (depth)": shard(2, options={"depth": 20}),
    "number of shards (1/2 and 2/3)": shard(2, 3),
    "suite (shop and bank)": shard(2, cut=replace(SUITE, name="bank")),
    "queries of the suite, or which cases were chosen (6 cases and 5 cases)": shard(2, cut=SUITE.only(set(SUITE.table.ids[1:]))),
    "judgments of the suite": shard(2, cut=Suite.from_cases("shop", [replace(case, judgments=()) for case in SUITE.cases])),
    "corpus": shard(2, corpora={"docs": "half of it"}),
    "state of the repository": shard(2, repositories=(SearchedRepository("docs", "def"),)),
}


@pytest.mark.parametrize("differs", DIFFERENT)
def test_shards_of_another_run_are_refused_with_both_files(differs: str) -> None:
    first = shard(1, corpora={"docs": "all of it"}, repositories=(SearchedRepository("docs", "abc"),))
    with pytest.raises(Incomparable) as error:
        merge_shards(files(first, DIFFERENT[differs]), partial=True)
    assert str(error.value) == f"the runs of 'bm25' in 1.jsonl and 2.jsonl are not parts of one: they differ in {differs}"


def test_what_an_agent_chooses_for_its_corpus_may_be_another_choice_in_another_shard() -> None:
    def said(language: str, ranking: str = "bm25") -> AgentIdentity:
        return replace(BM25, description={"arms": {"text": {"ranking": ranking, "language": language}}})

    assert whole(shard(1, agent=said("none")), shard(2, agent=said("german"))).provenance.agent == said("german")
    with pytest.raises(Incomparable, match=r"agent \(description\)"):
        whole(shard(1, agent=said("none")), shard(2, agent=said("german", "other")))
    one = SuiteIdentity("shop", None, "one corpus for all")
    with pytest.raises(Incomparable, match=r"agent \(description\)"):
        whole(shard(1, agent=said("none"), suite=one), shard(2, agent=said("german"), suite=one))


def test_missing_shards_and_missing_cases_are_told_apart() -> None:
    lacking = shard(1, 3)
    lacking = lacking.with_cases(lacking.case_ids[:1], np.array([0]))
    with pytest.raises(Incomparable) as error:
        merge_shards(files(lacking))
    assert str(error.value) == (
        "shard 1/3 lacks 1 of its 2 cases; shards 2/3, 3/3 are missing: 4 cases; "
        "name every shard once, or take what there is with --partial"
    )


def test_at_most_ten_cases_are_named() -> None:
    many = Suite.from_cases("many", [Case(f"c{n}", "q") for n in range(24)])
    with pytest.raises(Incomparable, match=r"no answer to 'c12', 'c13', .*'c21' and 2 more; name every"):
        merge_shards(files(shard(1, cut=many)), many)
    with pytest.raises(Incomparable, match=r"by 1.jsonl and 2.jsonl: 'c0', .*'c9' and 2 more; shard 2/2 is missing"):
        merge_shards(files(shard(1, cut=many), shard(1, cut=many)))


def test_a_suite_that_the_shards_were_not_cut_from_is_refused_and_a_larger_one_is_not() -> None:
    larger = Suite.from_cases("shop", [*SUITE.cases, Case("more", "q")])
    assert whole(shard(1), shard(2), suite=larger).case_ids == SUITE.table.ids
    other = Suite.from_cases("shop", [replace(case, query="another") for case in SUITE.cases])
    with pytest.raises(Incomparable, match=r"1.jsonl is not a shard of the suite 'shop': it was cut from other queries"):
        merge_shards(files(shard(1), shard(2)), other)


def test_answers_that_contradict_each_other_are_refused_even_if_a_part_is_enough() -> None:
    first = shard(1)
    other = replace(first, scores=first.scores + 1e-9)
    with pytest.raises(Incomparable, match=r"1.jsonl and 2.jsonl answer the case 'c3' differently; leave one of them out"):
        merge_shards(files(first, other, shard(2)), partial=True)


def test_what_spoils_a_shard_spoils_the_whole_and_is_counted_over_all_cases() -> None:
    def lacking(number: int) -> Run:
        run = shard(number)
        details = (AnswerDetails(failure="no blob", not_whole=True), *run.details[1:])  # type: ignore[index]
        trust = (TrustEvent("not_whole", "1 of 3 cases were not searched: no blob"), TrustEvent("corpus_changed", "docs"))
        return with_known(replace(run, details=details), trust=trust)

    changed = TrustEvent("not_started", "no memory")
    found = whole(lacking(1), with_known(lacking(2), trust=(changed,))).provenance.trust
    counted = TrustEvent("not_whole", "2 of 6 cases were not searched: no blob")
    assert found == (changed, counted, TrustEvent("corpus_changed", "docs"))


def test_vectors_are_those_of_the_last_shard_as_a_single_run_has_those_of_its_last_index() -> None:
    vectors = [(VectorStatistics(count=number, dimension=2),) for number in (1, 2)]
    assert whole(shard(2, vectors=vectors[1]), shard(1, vectors=vectors[0])).provenance.vectors == vectors[1]


def test_shards_go_through_files_without_loss(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        save_run(shard(number, 3), tmp_path / f"{number}.jsonl")
    shards = load_shards([str(tmp_path)])
    assert [each.run for each in shards] == [shard(number, 3) for number in (1, 2, 3)]
    (found,) = merge_shards(shards)
    save_run(found.run, tmp_path / "merged.jsonl")
    assert load_run(tmp_path / "merged.jsonl") == found.run == join_runs([each.run for each in shards])


@pytest.mark.parametrize(
    "changed",
    [
        {"rows": [[0, 0]]},
        {"rows": [[5, 1]]},
        {"number": 7},
    ],
)
def test_a_shard_that_is_not_what_it_claims_to_be_is_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    file = tmp_path / "1.jsonl"
    save_run(shard(1), file)
    header, rest = file.read_text().split("\n", 1)
    data = json.loads(header)
    data["provenance"]["shard"] |= changed
    file.write_text(f"{json.dumps(data)}\n{rest}")
    with pytest.raises(UsageError, match="is not what it claims to be: 3 answers of the shard"):
        merge_shards(load_shards([str(file)]))


def test_a_header_that_claims_more_places_than_anybody_can_count_costs_nothing() -> None:
    identity = ShardIdentity(1, 2**62, 2**62, ((0, 2**61),), SUITE.hashes["queries"], SUITE.hashes["judgments"])
    with pytest.raises(Incomparable, match="shard 1/4611686018427387904 lacks"):
        merge_shards(files(with_known(shard(1), shard=identity)))


def test_columns_that_only_one_part_has_are_kept() -> None:
    imported = Provenance(imported=ImportedRun())
    lines = Run.from_answers("a", [Answer("x", "ok", (Hit("d", 1, lines=(3, 4)),))], provenance=imported)
    ranked = Run(RunLabel("a"), ("y",), np.array([0, 2]), ["low", "high"], np.array([1.0, 2.0]), np.zeros(1, np.uint8))
    ranked = replace(ranked, rank=np.array([2, 1], np.int32), queries=("why",), unique=True)
    found = join_runs([lines, ranked])
    assert [[hit.id for hit in answer.hits] for answer in found.answers] == [["d"], ["high", "low"]]
    assert [hit.lines for answer in found.answers for hit in answer.hits] == [(3, 4), None, None]
    assert (found.queries, found.valid, found.unique) == ((None, "why"), None, False)


def test_ids_in_arrow_columns_stay_there() -> None:
    import polars as pl

    one = Run(RunLabel("a"), ("x",), np.array([0, 1]), pl.Series(["d"]), np.array([1.0]), np.zeros(1, np.uint8))
    found = join_runs([one, replace(one, case_ids=("y",))])
    assert isinstance(found.ids, pl.Series)
    assert [answer.hits[0].id for answer in found.answers] == ["d", "d"]
    assert join_runs([one, Run.from_answers("a", [Answer("y", "ok", (Hit("e", 1, 2.0),))])]).ids == ["d", "e"]


def test_a_run_that_lacks_cases_keeps_its_columns_when_they_are_added() -> None:
    run = replace(shard(1), queries=("a", "b", "c"))
    found = with_missing_cases(run, SUITE.table.ids)
    assert found.queries == ("a", "b", "c", None, None, None)
    assert found.valid is not None
    assert [answer.status for answer in found.answers] == ["ok"] * 3 + ["not_run"] * 3
