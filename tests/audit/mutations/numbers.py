"""Mutations for findings on numbers."""

from __future__ import annotations

import random
from dataclasses import replace

from searchmark import Answer, Hit
from searchmark.audit.subject import Subject
from tests.audit.clean import DEPTH, Clean
from tests.audit.mutations.mutation import Mutation


def _one_target_each(clean: Clean) -> Subject:
    return clean.with_cases(replace(case, judgments=(case.judgments[0], *case.judgments[6:])) for case in clean.cases).subject()


def _small_corpus(clean: Clean) -> Subject:
    """Only what a case judges, for itself."""
    documents = {each.id: each for each in clean.documents}
    cases = (replace(case, documents=tuple(documents[each.target] for each in case.judgments[:9])) for case in clean.cases)
    return replace(clean, measures=("RR",)).with_cases(cases).subject()


def _as_many_as_the_cutoff(clean: Clean) -> Subject:
    return replace(clean, measures=("P@6", "R@6")).subject()


def _no_more_documents_than_the_cutoff(clean: Clean) -> Subject:
    documents = {each.id: each for each in clean.documents}
    cases = (replace(case, documents=tuple(documents[each.target] for each in case.judgments[4:9])) for case in clean.cases)
    return replace(clean, measures=("nDCG@10", "P@5")).with_cases(cases).subject()


def _shuffled(clean: Clean) -> Subject:
    chance = random.Random(5)
    ids = [each.id for each in clean.documents]
    hits = ([Hit(each, rank) for rank, each in enumerate(chance.sample(ids, DEPTH), 1)] for _ in clean.cases)
    return clean.with_answers(
        "weak", [Answer(case.id, "ok", tuple(some)) for case, some in zip(clean.cases, hits, strict=True)]
    ).subject()


def _judged_elsewhere(clean: Clean) -> Subject:
    """Scores of a run that was held against more documents than the corpus has."""
    found = {case.judgments[0].target for case in clean.cases[:9]}
    smaller = replace(clean, documents=tuple(each for each in clean.documents if each.id not in found))
    return replace(smaller.subject(), scores=clean.subject().scores)


MUTATIONS: dict[str, Mutation] = {
    "above-attainable": _judged_elsewhere,
    "no-better-than-random": _shuffled,
    "random-is-high": _small_corpus,
    "constant-measure": _no_more_documents_than_the_cutoff,
    "low-attainable": _one_target_each,
    "identical-measures": _as_many_as_the_cutoff,
}
