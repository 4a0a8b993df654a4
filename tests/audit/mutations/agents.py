"""Mutations for findings on agents."""

from __future__ import annotations

from dataclasses import replace

from searchmark import Answer, Case, Document, Hit, Judgment
from searchmark.audit.check import Subject
from tests.audit.clean import Clean
from tests.audit.mutations.mutation import Mutation


def answer_of(case: Case, ids: list[str]) -> Answer:
    """An answer with these hits."""
    return Answer(case.id, "ok", tuple(Hit(each, rank, 1 - rank / 100) for rank, each in enumerate(ids, 1)))


def targets_of(case: Case) -> list[str]:
    return [each.target for each in case.judgments if each.grade]


def others_of(case: Case) -> list[str]:
    return [each.target for each in case.judgments if not each.grade]


def circular_gold(clean: Clean) -> Subject:
    """Targets as an agent returns them, first those of the higher grade; the gold lists them in no order of their ids."""
    return clean.with_answers("strong", [answer_of(case, targets_of(case) + others_of(case)) for case in clean.cases]).subject()


def answers_equal_gold(clean: Clean) -> Subject:
    """The targets come first, in an order of their own."""
    return clean.with_answers(
        "strong", [answer_of(case, sorted(targets_of(case)) + others_of(case)) for case in clean.cases]
    ).subject()


def judged_unevenly(clean: Clean) -> Subject:
    """Every second hit of one run was not judged."""
    first = {case.id: answer for case, answer in zip(clean.cases, clean.answers["weak"], strict=True)}
    hits = {case: {hit.id for hit in answer.hits[1::2]} - {*targets} for case, answer, targets in _with_targets(clean, first)}
    cases = (
        replace(case, judgments=tuple(each for each in case.judgments if each.target not in hits[case.id])) for case in clean.cases
    )
    return clean.with_cases(cases).with_answers("strong", _judged_only(clean, hits)).subject()


def _with_targets(clean: Clean, answers: dict[str, Answer]) -> list[tuple[str, Answer, list[str]]]:
    return [(case.id, answers[case.id], targets_of(case)) for case in clean.cases]


def _judged_only(clean: Clean, unjudged: dict[str, set[str]]) -> list[Answer]:
    answers = zip(clean.cases, clean.answers["strong"], strict=True)
    return [answer_of(case, [hit.id for hit in answer.hits if hit.id not in unjudged[case.id]]) for case, answer in answers]


def hardly_judged(clean: Clean) -> Subject:
    """Two documents per case are judged, one of them relevant."""
    return clean.with_cases(
        replace(case, judgments=(Judgment(targets_of(case)[0]), Judgment(others_of(case)[0], grade=0))) for case in clean.cases
    ).subject()


def gold_by_words(clean: Clean) -> Subject:
    """Every query is two words of its only target."""
    texts = {document.id: document.text.split() for document in clean.documents}
    cases = (
        replace(case, query=" ".join(texts[targets_of(case)[0]][:2]), judgments=(Judgment(targets_of(case)[0]),))
        for case in clean.cases
    )
    return clean.with_cases(cases).subject()


def queries_name_targets(clean: Clean) -> Subject:
    """Operations that are asked for by their names, in several words and in the plural."""
    things = ["IssueType", "Worklog", "CustomField", "Screen", "Workflow", "Property"]
    names = {document.id: f"get{things[row % 6]}{row}x" for row, document in enumerate(clean.documents)}
    cases = (
        replace(case, query=f"how to {_spoken(names[targets_of(case)[0]])}", judgments=_renamed(case, names))
        for case in clean.cases
    )
    documents = tuple(replace(document, id=names[document.id]) for document in clean.documents)
    return replace(clean, documents=documents, answers={}).with_cases(cases).subject()


def _spoken(name: str) -> str:
    return name.replace("get", "get ").replace("IssueType", "issue type")


def _renamed(case: Case, names: dict[str, str]) -> tuple[Judgment, ...]:
    return tuple(replace(each, target=names[each.target]) for each in case.judgments[:1])


def query_copied_from_target(clean: Clean) -> Subject:
    """Queries that are the titles of targets."""
    return _with_titles(clean, {targets_of(case)[0]: f"How do I {case.query}?" for case in clean.cases}).subject()


def query_source_not_relevant(clean: Clean) -> Subject:
    """A question with an answer in another document that was not judged."""
    asked = f"How do I {clean.cases[0].query}?"
    more = clean.with_case(0, query=asked)
    return replace(more, documents=(*more.documents, Document("source", "Somewhere else.", title=asked.lower()))).subject()


def _with_titles(clean: Clean, titles: dict[str, str]) -> Clean:
    documents = tuple(replace(each, title=titles.get(each.id, each.title)) for each in clean.documents)
    cases = (replace(case, query=f"how do i {case.query}") for case in clean.cases)
    return replace(clean, documents=documents).with_cases(cases)


def same_model_family(clean: Clean) -> Subject:
    """Labels by a model that an agent is called after."""
    named = replace(clean, answers={"claude-rerank": clean.answers["strong"], "weak": clean.answers["weak"]})
    return _with_metadata(named, {"labelled_by": "claude-sonnet-4.6"})


def checked_by_own_author(clean: Clean) -> Subject:
    """Queries and labels by one model, which has verified them."""
    return _with_metadata(clean, {"queries": {"model": "gpt-4o"}, "verified_by": "gpt-4o-mini"})


def _with_metadata(clean: Clean, metadata: dict[str, object]) -> Subject:
    subject = clean.subject()
    return replace(subject, suite=replace(subject.suite, metadata=metadata))


def gold_from_first_hits(clean: Clean) -> Subject:
    """All targets are among the first hits, in no order, after something that is not one."""
    answers = [answer_of(case, [others_of(case)[0], *sorted(targets_of(case)), *others_of(case)[1:]]) for case in clean.cases]
    return clean.with_answers("strong", answers).subject()


def shifted_run(clean: Clean) -> Subject:
    """Every answer under the id of the case after its own."""
    strong = clean.answers["strong"]
    return clean.with_answers(
        "strong", [replace(each, case=case.id) for case, each in zip(clean.cases[1:], strong, strict=False)]
    ).subject()


MUTATIONS: dict[str, Mutation] = {
    "circular-gold": circular_gold,
    "answers-equal-gold": answers_equal_gold,
    "judged-unevenly": judged_unevenly,
    "hardly-judged": hardly_judged,
    "gold-by-words": gold_by_words,
    "queries-name-targets": queries_name_targets,
    "query-copied-from-target": query_copied_from_target,
    "query-source-not-relevant": query_source_not_relevant,
    "gold-within-first-hits": gold_from_first_hits,
    "shifted-run": shifted_run,
    "same-model-family": same_model_family,
    "checked-by-own-author": checked_by_own_author,
}
