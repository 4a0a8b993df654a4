"""Gold against the agents: what must be told, and near misses that must not."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import pytest

from searchmark import Answer, Case, Corpus, Document, Finding, Hit, Judgment, Provenance, Run, Suite, audit_suite
from searchmark.audit.agents import circularity, families_of, judged_table, model_families, pool_bias
from searchmark.audit.check import Subject
from searchmark.audit.words import copied_queries, naming_of, naming_table, query_words, words_in_gold, words_table
from searchmark.experiments.audit import build_subject
from searchmark.records.provenance import AgentIdentity
from tests.audit.clean import clean
from tests.audit.mutations.agents import answer_of, targets_of

CHANCE = random.Random(3)
DOCUMENTS = [f"d{number}" for number in CHANCE.sample(range(1000, 9999), 400)]


@pytest.fixture(autouse=True)
def same_chance() -> None:
    """Every test draws the same, whichever ran before."""
    CHANCE.seed(3)


def codes(found: Iterable[Finding]) -> list[str]:
    return [each.code for each in found]


def listed_cases(count: int = 20, targets: int = 5, **more: object) -> list[Case]:
    """Cases whose targets are listed in an order of no meaning."""
    chosen = [CHANCE.sample(DOCUMENTS, targets) for _ in range(count)]
    return [Case(f"c{row}", f"query {row}", tuple(Judgment(each) for each in ids), **more) for row, ids in enumerate(chosen)]  # type: ignore[arg-type]  # fields of a case


def subject_of(cases: list[Case], **rankings: list[list[str]]) -> Subject:
    """Runs with these rankings, case by case."""
    runs = [
        Run.from_answers(name, [answer_of(case, ids) for case, ids in zip(cases, of_run, strict=True)])
        for name, of_run in rankings.items()
    ]
    return build_subject(Suite.from_cases("suite", cases), None, runs, ["nDCG@10"])


def fillers(count: int = 10) -> list[str]:
    return CHANCE.sample(DOCUMENTS, count)


def test_the_gold_in_the_order_of_one_run_is_circular() -> None:
    cases = listed_cases()
    found = list(circularity(subject_of(cases, engine=[targets_of(case) + ["x", "y"] for case in cases])))
    assert codes(found) == ["circular-gold"]
    assert found[0].severity == "error"
    assert found[0].cases == tuple(case.id for case in cases)
    assert "exactly the targets come first in 20 of 20 cases" in found[0].message


def test_gold_of_an_earlier_corpus_is_circular_still() -> None:
    """One of five targets has another document before it, in half of the cases."""
    cases = listed_cases()
    rankings = [[*targets_of(case)[:4], *(["new"] if row % 2 else []), targets_of(case)[4]] for row, case in enumerate(cases)]
    assert codes(circularity(subject_of(cases, engine=rankings))) == ["circular-gold"]


def test_grades_that_are_ranks_tell_an_order() -> None:
    graded = [
        replace(case, judgments=tuple(Judgment(each.target, grade=5 - rank) for rank, each in enumerate(case.judgments)))
        for case in listed_cases()
    ]
    found = list(circularity(subject_of(graded, engine=[targets_of(case) + ["x"] for case in graded])))
    assert codes(found) == ["answers-equal-gold"]
    assert found[0].message.startswith("100% of 80 neighbouring targets are in the order that the gold asks for, and exactly")


def test_an_agent_that_meets_declared_ranks_is_not_called_circular() -> None:
    """Who sorts by date finds the newest in the order in which they are asked for; gold made from a run looks the same."""
    ranked = [
        replace(case, judgments=tuple(Judgment(each.target, rank=rank) for rank, each in enumerate(case.judgments, 1)))
        for case in listed_cases()
    ]
    half = [targets_of(case)[:4] + ["new", targets_of(case)[4]] for case in ranked]
    for rankings in ([targets_of(case) + ["x"] for case in ranked], half):
        found = list(circularity(subject_of(ranked, by_date=rankings)))
        assert [(each.code, each.severity) for each in found] == [("answers-equal-gold", "warning")]
        assert "in the order that the gold asks for" in found[0].message


def test_a_perfect_agent_that_orders_targets_in_its_own_way_is_not_called_circular() -> None:
    cases = listed_cases()
    rankings = [CHANCE.sample(targets_of(case), 5) + fillers() for case in cases]
    assert codes(circularity(subject_of(cases, agent=rankings))) == ["answers-equal-gold"]


def test_an_excellent_agent_is_not_told() -> None:
    """Four of five targets first, in an order of its own, where others find nothing."""
    cases = listed_cases()
    rankings = [[*CHANCE.sample(targets_of(case), 4), *fillers()] for case in cases]
    assert codes(circularity(subject_of(cases, agent=rankings, other=[fillers() for _ in cases]))) == []


def test_half_of_the_sets_are_enough_where_other_runs_have_none_of_them() -> None:
    cases = listed_cases()
    rankings = [CHANCE.sample(targets_of(case), 5) if row % 5 < 3 else fillers() for row, case in enumerate(cases)]
    others = [fillers() for _ in cases]
    assert codes(circularity(subject_of(cases, agent=rankings, other=others))) == ["answers-equal-gold"]
    assert codes(circularity(subject_of(cases, agent=rankings))) == []


def test_targets_that_are_listed_by_id_have_no_order_to_tell() -> None:
    cases = [replace(case, judgments=tuple(sorted(case.judgments, key=lambda each: each.target))) for case in listed_cases()]
    assert codes(circularity(subject_of(cases, sorting=[targets_of(case) for case in cases]))) == ["answers-equal-gold"]


def test_targets_that_are_listed_by_number_have_no_order_to_tell() -> None:
    chosen = [sorted(CHANCE.sample(range(1, 2000), 5)) for _ in range(20)]
    cases = [Case(f"c{row}", "q", tuple(Judgment(f"d{each}") for each in numbers)) for row, numbers in enumerate(chosen)]
    assert codes(circularity(subject_of(cases, filter=[targets_of(case) for case in cases]))) == ["answers-equal-gold"]


def test_targets_in_the_order_of_the_corpus_have_no_order_to_tell() -> None:
    cases = [
        replace(case, judgments=tuple(sorted(case.judgments, key=lambda each: DOCUMENTS.index(each.target))))
        for case in listed_cases()
    ]
    run = Run.from_answers("filter", [answer_of(case, targets_of(case)) for case in cases])
    suite = Suite.from_cases("suite", cases)
    in_file, reversed_file, shuffled = (
        Corpus.of("c", [Document(each, each) for each in ids]) for ids in (DOCUMENTS, DOCUMENTS[::-1], sorted(DOCUMENTS))
    )
    assert codes(circularity(build_subject(suite, in_file, [run], ["P@5"]))) == ["answers-equal-gold"]
    assert codes(circularity(build_subject(suite, reversed_file, [run], ["P@5"]))) == ["answers-equal-gold"]
    assert codes(circularity(build_subject(suite, shuffled, [run], ["P@5"]))) == ["circular-gold"]


def test_equal_scores_have_no_order_to_tell() -> None:
    cases = listed_cases()
    answers = [
        Answer(case.id, "ok", tuple(Hit(each, rank, 1.0) for rank, each in enumerate(targets_of(case), 1))) for case in cases
    ]
    subject = build_subject(Suite.from_cases("suite", cases), None, [Run.from_answers("ties", answers)], ["P@5"])
    assert codes(circularity(subject)) == ["answers-equal-gold"]


@pytest.mark.parametrize(("count", "targets"), [(9, 5), (20, 2)])
def test_few_cases_or_few_targets_tell_nothing(count: int, targets: int) -> None:
    cases = listed_cases(count, targets)
    assert codes(circularity(subject_of(cases, engine=[targets_of(case) for case in cases]))) == []


def test_cases_that_choose_from_little_more_than_their_targets_tell_nothing() -> None:
    own = [Document(each, each) for each in ("a", "b", "c", "d")]
    cases = [
        Case(f"c{row}", "q", tuple(map(Judgment, CHANCE.sample(["a", "b", "c", "d"], 3))), documents=tuple(own))
        for row in range(20)
    ]
    assert codes(circularity(subject_of(cases, engine=[targets_of(case) for case in cases]))) == []


@pytest.mark.slow
def test_honest_agents_are_not_called_circular_in_a_thousand_simulated_suites() -> None:
    """They find nine of ten targets first, in an order that has nothing to do with that of the gold."""
    for _ in range(1000):
        cases = listed_cases(12, 3)
        rankings = [CHANCE.sample([*targets_of(case)], 3) if CHANCE.random() < 0.9 else fillers() for case in cases]
        assert "circular-gold" not in codes(circularity(subject_of(cases, agent=rankings)))


def test_a_gold_without_anything_judged_not_relevant_has_no_pool() -> None:
    cases = listed_cases()
    subject = subject_of(cases, one=[targets_of(case) for case in cases], two=[fillers() for _ in cases])
    assert codes(pool_bias(subject)) == []
    assert judged_table(subject) is None


def test_the_table_of_judged_hits_says_what_the_others_could_be_worth() -> None:
    cases = [
        replace(case, judgments=(*case.judgments[:1], *(replace(each, grade=0) for each in case.judgments[1:])))
        for case in listed_cases()
    ]
    subject = subject_of(cases, half=[[*(each.target for each in case.judgments), *"abcde"] for case in cases])
    table = judged_table(subject)
    assert table is not None
    assert table.columns[:3] == ("run", "Judged@10", "P@10")
    assert table.rows[0][1:] == pytest.approx((0.5, 0.1, 0.2))


def test_the_run_that_is_judged_most_is_named_where_hardly_anything_is() -> None:
    cases = [replace(case, judgments=(*case.judgments[:4], Judgment("against", grade=0))) for case in listed_cases()]
    judged = {f"r{count}": [[*targets_of(case)[:count], *"abcdefghij"][:10] for case in cases] for count in (0, 1, 2, 4)}
    message = next(each.message for each in pool_bias(subject_of(cases, **judged)) if each.code == "hardly-judged")
    assert message == "of the first 10 hits at most 40% are judged (r4 40%, r2 20%, r1 10%)"


def test_a_gap_that_varies_from_case_to_case_is_not_told() -> None:
    """A tenth less is judged on the mean, all of it in two of twenty cases."""
    cases = [replace(case, judgments=(*case.judgments, Judgment("against", grade=0))) for case in listed_cases()]
    judged = [[each.target for each in case.judgments] for case in cases]
    subject = subject_of(cases, all=judged, most=[list("uvwxyz") if row < 2 else ids for row, ids in enumerate(judged)])
    assert codes(pool_bias(subject)) == []


@pytest.mark.parametrize(
    ("query", "target", "naming"),
    [
        ("read src/a/b.py", "src/a/b.py", "the id"),
        ("get issue types", "getIssueType", "the name"),
        ("list issuetypes", "issue_type", "the name"),
        ("an issue type that is gone", "api/issuetype.py", "the name"),
        ("user property", "userProperties", "the name"),
        ("warnings in LRUCache", "lib/lru_cache.py", "the name"),
        ("session expires", "src/flask/sessions.py", "the name"),
        ("create an issue", "issue.create", "all words of the name"),
        ("issue types", "getIssuetype", "half of the words"),
        ("create it", "issue.create", "half of the words"),
        ("subtypes", "type", "nothing of it"),
        ("the java file", "Main.java", "nothing of it"),
    ],
)
def test_names_are_seen_in_the_plural_and_as_one_word(query: str, target: str, naming: str) -> None:
    assert naming_of(query, [target]) == naming


@pytest.mark.parametrize("target", ["d0012", "doc-12", "42", "6579c22f-be2b-444c-a52b-0116dd82df6c"])
def test_a_number_is_not_a_name(target: str) -> None:
    assert naming_of(f"find {target}", [target]) is None


def test_one_of_many_targets_gives_little_away() -> None:
    assert naming_of("create cookie", ["x/cookie.go", "x/session.go", "x/header.go"]) == "nothing of it"


def test_the_table_of_names_has_the_mean_of_each_run_in_each_group() -> None:
    cases = [Case("a", "get issue", (Judgment("getIssue"),)), Case("b", "see a ticket", (Judgment("showReport"),))]
    table = naming_table(subject_of(cases, one=[["getIssue"], ["other"]]))
    assert table is not None
    assert table.columns == ("the query names", "cases", "share", "run", "nDCG@10")
    assert table.rows == (("the name", 1, 0.5, "one", 1.0), ("nothing of it", 1, 0.5, "one", 0.0))


def with_documents(cases: list[Case], documents: list[Document]) -> Subject:
    return build_subject(Suite.from_cases("suite", cases), Corpus.of("corpus", documents))


FAQ = [
    Document(f"faq{row}", f"Open the page {row} and follow it.", title=f"How do I change the colour of part {row}?")
    for row in range(20)
]


def test_words_are_counted_in_relevant_documents_and_in_others() -> None:
    documents = [Document("a", "red shoes"), Document("b", "red hat"), Document("c", "blue")]
    table = words_table(with_documents([Case("1", "red shoes", (Judgment("b"),))], documents))
    assert table is not None
    assert table.rows == (("relevant", 1, 0.5, 0.0), ("others", 2, 0.5, 0.5))


def test_gold_with_one_other_word_in_a_fifth_of_the_cases_is_not_called_chosen_by_words() -> None:
    documents = [Document(f"d{row}", f"alpha{row} beta{row} gamma") for row in range(20)]
    cases = [Case(f"c{row}", f"alpha{row} {'delta' if row % 5 == 0 else 'beta'}{row}", (Judgment(f"d{row}"),)) for row in range(20)]
    assert codes(words_in_gold(with_documents(cases, documents))) == []


def test_a_question_that_is_the_title_of_its_answer_is_told() -> None:
    cases = [Case(f"c{row}", f"how do I change the color of part {row}", (Judgment(f"faq{row}"),)) for row in range(20)]
    documents = [replace(each, title=(each.title or "").replace("colour", "color")) for each in FAQ]
    found = list(copied_queries(with_documents(cases, documents)))
    assert codes(found) == ["query-copied-from-target"]
    assert found[0].message.startswith("20 queries of 20 nearly word for word in a relevant document")


def test_the_source_of_a_question_that_is_not_its_answer_is_told_with_its_rank() -> None:
    cases = [Case("c", "How do I change the colour of part 3?", (Judgment("faq4"),))]
    run = Run.from_answers("engine", [Answer("c", "ok", (Hit("faq3", 1, 1.0),))])
    subject = build_subject(Suite.from_cases("suite", cases), Corpus.of("corpus", FAQ), [run], ["RR"])
    (found,) = copied_queries(subject)
    assert (found.code, found.cases) == ("query-source-not-relevant", ("c",))
    assert found.message.endswith("such as 'faq3'; first hit in so many of these cases: engine 1")


@pytest.mark.parametrize("query", ["change colour", "part 3 colour: how do I change the", "What colour has part 3 in other shops?"])
def test_short_queries_other_orders_and_other_words_are_not_copies(query: str) -> None:
    assert codes(copied_queries(with_documents([Case("c", query, (Judgment("faq4"),))], FAQ))) == []


def test_a_corpus_without_texts_tells_nothing() -> None:
    subject = with_documents([Case("c", "colour", (Judgment("faq4"),))], [replace(each, text="", title=None) for each in FAQ])
    assert query_words(subject) is None
    assert words_table(subject) is None


def test_texts_are_read_once_for_all_checks() -> None:
    subject = with_documents([Case("c", "colour", (Judgment("faq4"),))], FAQ)
    assert query_words(subject) is query_words(subject)


def test_of_a_large_suite_a_part_is_looked_at_and_the_finding_says_so() -> None:
    cases = [Case(f"c{row}", "page follow", (Judgment(f"faq{row % 20}"),)) for row in range(1200)]
    (found,) = words_in_gold(with_documents(cases, FAQ))
    assert "(looked at: 1000 of 1200 cases)" in found.message


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-4o-mini", "OpenAI"),
        ("text-embedding-3-small", "OpenAI"),
        ("Claude Sonnet 4.6", "Anthropic"),
        ("meta-llama/Llama-3.1-8B", "Llama"),
        ("codellama", "Llama"),
        ("gemini-2.5-flash", "Google"),
        ("Qwen3-Embedding-0.6B", "Qwen"),
        ("intfloat/e5-mistral-7b", "Mistral"),
        ("all-MiniLM-L6-v2", "Sentence Transformers"),
        ("BM25, top 5", "BM25"),
    ],
)
def test_a_name_tells_its_family(name: str, family: str) -> None:
    assert family in families_of(name)


@pytest.mark.parametrize("name", ["ollama", "llama.cpp", "llama-index", "three people", "o3zone"])
def test_other_names_tell_none(name: str) -> None:
    assert families_of(name) == set()


def with_metadata(metadata: dict[str, object], agent: str = "bm25", **described: object) -> Subject:
    suite = Suite.from_cases("suite", [Case("c", "q", (Judgment("a"),))], metadata=metadata)
    provenance = Provenance(agent=AgentIdentity("my:Agent", description=described))
    run = Run.from_answers(agent, [Answer("c", "ok", (Hit("a", 1, 1.0),))], provenance=provenance)
    return build_subject(suite, None, [run], ["RR"])


def test_a_model_inside_the_agent_is_held_against_the_one_that_labelled() -> None:
    subject = with_metadata({"labels": {"judge": "gpt-4.1"}}, embedder={"name": "openai", "model": "text-embedding-3-large"})
    (found,) = model_families(subject)
    assert (found.code, found.message.endswith("(labels.judge): both OpenAI")) == ("same-model-family", True)


def test_the_engine_that_made_the_expected_ids_is_named() -> None:
    assert codes(model_families(with_metadata({"generated_by": "BM25 over titles"}))) == ["same-model-family"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"labelled_by": "gpt-4o"},
        {"title": "questions about claude"},
        {"query_count": "bm25"},
        {"queries_by": "claude-haiku", "labelled_by": "gpt-4o", "verified_by": "two people"},
    ],
)
def test_other_metadata_says_nothing(metadata: dict[str, object]) -> None:
    assert codes(model_families(with_metadata(metadata))) == []


def test_the_folder_of_a_file_is_not_a_model() -> None:
    subject = with_metadata({"labelled_by": "claude-haiku"}, index="/home/claude/vectors.bin", argv=["rg --file=/home/claude/a"])
    assert codes(model_families(subject)) == []


def test_what_cases_say_of_their_authors_counts() -> None:
    cases = [Case("c", "q", (Judgment("a"),), fields={"query_model": "claude-opus", "judged_by": "claude-haiku"})]
    assert codes(model_families(Subject(Suite.from_cases("suite", cases)))) == ["checked-by-own-author"]


def empty_answers(share: float, runs: int, name: str = "hardly") -> list[Finding]:
    """What is said of empty answers where one run has this share of them."""
    few = [Answer(case.id, "ok", answer.hits if row >= share * 60 else ()) for row, (case, answer) in enumerate(_strong())]
    made = [Run.from_answers(name, few), Run.from_answers("strong", clean().answers["strong"])][:runs]
    found = audit_suite(Suite.from_cases("suite", clean().cases), None, made, ["RR"]).findings
    return [each for each in found if each.code == "empty-answers"]


def _strong() -> list[tuple[Case, Answer]]:
    return list(zip(clean().cases, clean().answers["strong"], strict=True))


def test_a_run_that_is_empty_for_most_cases_is_told_in_a_comparison() -> None:
    (found,) = empty_answers(0.6, runs=2)
    assert found.message.startswith(
        "hardly: answers without any hit: 36 of 60 (60 %), like case 'c00'; this run has hardly searched"
    )
    assert len(found.cases) == 36


def test_a_control_may_find_nothing_for_most_cases() -> None:
    assert empty_answers(0.6, runs=2, name="path-match") == []


@pytest.mark.parametrize(("share", "runs"), [(0.5, 2), (0.6, 1)])
def test_half_of_the_answers_or_a_single_run_is_not_told(share: float, runs: int) -> None:
    assert empty_answers(share, runs) == []


def test_the_clean_answers_are_judged_alike() -> None:
    table = judged_table(clean().subject())
    assert table is not None
    assert [row[1] for row in table.rows] == [1.0, 1.0]
