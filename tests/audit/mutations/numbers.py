"""Mutations for findings on numbers."""

from __future__ import annotations

import random
from dataclasses import replace

from searchmark import Answer, Hit
from searchmark.audit.check import Subject
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
    found = {each.target for case in clean.cases[:9] for each in case.judgments}
    smaller = replace(clean, documents=tuple(each for each in clean.documents if each.id not in found))
    return replace(smaller.subject(), scores=clean.subject().scores)


def _nearly_the_same(clean: Clean) -> Subject:
    """A third run that differs from the strong one in two cases."""
    strong = clean.answers["strong"]
    last = [replace(each, hits=each.hits[3:]) for each in strong[-2:]]
    return clean.with_answers("other", [*strong[:-2], *last]).subject()


def _unjudged_first(clean: Clean) -> Subject:
    """A third run that has something unjudged before what the strong one finds, in a few cases."""
    strong = clean.answers["strong"]
    known = [{each.target for each in case.judgments} for case in clean.cases[:5]]
    unjudged = [next(each.id for each in clean.documents if each.id not in some) for some in known]
    first = [replace(each, hits=(Hit(new, 1, 2.0), *each.hits)) for new, each in zip(unjudged, strong, strict=False)]
    return clean.with_answers("other", [*first, *strong[5:]]).subject()


def _coarse_scores(clean: Clean) -> Subject:
    answers = (
        replace(answer, hits=tuple(replace(hit, score=float(hit.rank < 11)) for hit in answer.hits))
        for answer in clean.answers["weak"]
    )
    return clean.with_answers("weak", answers).subject()


def _cut_short(clean: Clean) -> Subject:
    return clean.with_answers("strong", [replace(each, hits=each.hits[:3]) for each in clean.answers["strong"]]).subject()


MUTATIONS: dict[str, Mutation] = {
    "above-attainable": _judged_elsewhere,
    "no-better-than-random": _shuffled,
    "random-is-high": _small_corpus,
    "constant-measure": _no_more_documents_than_the_cutoff,
    "low-attainable": _one_target_each,
    "identical-measures": _as_many_as_the_cutoff,
    "order-could-flip": _unjudged_first,
    "ranks-not-apart": _nearly_the_same,
    "short-answers": _cut_short,
    "ties-decide": _coarse_scores,
}
