"""Mutations for findings on gold."""

from __future__ import annotations

from dataclasses import replace

from searchmark import Case, Document, Judgment, Provenance, Run
from searchmark.audit.check import Subject
from searchmark.config.gates import DecisionRule, DecisionTable
from searchmark.experiments.audit import build_subject
from searchmark.records.provenance import AgentIdentity
from tests.audit.clean import Clean
from tests.audit.mutations.mutation import Mutation


def _query_twice(clean: Clean) -> Subject:
    return clean.with_case(1, query=f" {str(clean.cases[0].query).upper()} ").subject()


def _query_nearly_twice(clean: Clean) -> Subject:
    words = " ".join(["what", "is", "the", "best", "way", "to", *str(clean.cases[0].query).split()])
    return clean.with_case(0, query=words).with_case(1, query=f"{words} today").subject()


def _gold_twice(clean: Clean) -> Subject:
    return clean.with_case(1, judgments=clean.cases[0].judgments).subject()


def _two_grades(clean: Clean) -> Subject:
    first = clean.cases[0]
    other = replace(first.judgments[0], grade=0)
    return clean.with_case(1, query=first.query, judgments=(other, *clean.cases[1].judgments)).subject()


def _no_judgments(clean: Clean) -> Subject:
    return clean.with_case(0, judgments=()).subject()


def _nothing_relevant(clean: Clean) -> Subject:
    return clean.with_case(0, judgments=tuple(replace(each, grade=0) for each in clean.cases[0].judgments)).subject()


def _only_relevant_documents(clean: Clean) -> Subject:
    documents = (Document("bread", "a loaf"), Document("cake", "a tart"))
    judgments = (Judgment("bread"), Judgment("cake"))
    return clean.with_case(0, judgments=judgments, documents=documents).subject()


def _copied_target(clean: Clean) -> Subject:
    target = clean.cases[0].judgments[0].target
    text = next(each for each in clean.documents if each.id == target)
    return replace(clean, documents=(*clean.documents, replace(text, id="copy", text=f"{text.text} once"))).subject()


def _mistyped_grade(clean: Clean) -> Subject:
    first, *rest = clean.cases[0].judgments
    return clean.with_case(0, judgments=(replace(first, grade=22), *rest)).subject()


def _half_a_grade(clean: Clean) -> Subject:
    first, *rest = clean.cases[0].judgments
    return clean.with_case(0, judgments=(replace(first, gain=first.grade - 0.5), *rest)).subject()


def _one_target_for_many(clean: Clean) -> Subject:
    common = Judgment("d0000", "id", 2)
    changed = [_with(case, common) if row % 2 == 0 else case for row, case in enumerate(clean.cases)]
    return clean.with_cases(changed).subject()


def _with(case: Case, judgment: Judgment) -> Case:
    return replace(case, judgments=(judgment, *(each for each in case.judgments if each.target != judgment.target)))


def _one_large_category(clean: Clean) -> Subject:
    return clean.with_cases(replace(case, category="most") if row > 20 else case for row, case in enumerate(clean.cases)).subject()


def _decided_by_few(clean: Clean) -> Subject:
    table = DecisionTable("strong", "weak", (DecisionRule("keep", above=0.1, categories=("few",)),))
    few = clean.with_cases(replace(case, category="few") if row < 9 else case for row, case in enumerate(clean.cases))
    return few.subject(decisions=(table,))


def _other_model(clean: Clean) -> Subject:
    first, *rest = clean.cases[0].judgments
    ranged = clean.with_case(0, judgments=(replace(first, score_range={"bge-small-en-v1.5": (0.5, 0.9)}), *rest))
    subject = ranged.subject()
    known = Provenance(agent=AgentIdentity("strong", description={"embedder": {"model": "all-MiniLM-L6-v2"}}))
    run = Run.from_answers("strong", ranged.answers["strong"], provenance=known)
    return build_subject(subject.suite, subject.corpus, [run], ranged.measures)


MUTATIONS: dict[str, Mutation] = {
    "contradictory-grades": _two_grades,
    "duplicate-queries": _query_twice,
    "near-duplicate-queries": _query_nearly_twice,
    "shared-targets": _gold_twice,
    "nothing-judged": lambda clean: clean.with_cases(replace(case, judgments=()) for case in clean.cases).subject(),
    "cases-without-judgments": _no_judgments,
    "cases-without-target": _nothing_relevant,
    "all-documents-relevant": _only_relevant_documents,
    "near-duplicate-targets": _copied_target,
    "grades-outside-scale": _mistyped_grade,
    "fractional-gains": _half_a_grade,
    "reading-note": lambda clean: build_subject(
        replace(clean.subject().suite, notes=("ratings of several judges: 2",)), clean.subject().corpus, [], clean.measures
    ),
    "dominant-target": _one_target_for_many,
    "dominant-category": _one_large_category,
    "small-decided-categories": _decided_by_few,
    "ranges-of-another-model": _other_model,
}
