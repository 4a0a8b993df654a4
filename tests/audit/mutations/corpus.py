"""Mutations for findings on corpus."""

from __future__ import annotations

from dataclasses import replace

from searchmark import Case, Document, Judgment, Suite
from searchmark.audit.check import Subject
from tests.audit.clean import Clean
from tests.audit.mutations.mutation import Mutation


def _with_documents(clean: Clean, *documents: Document) -> Clean:
    return replace(clean, documents=(*clean.documents, *documents))


def _with_ids(clean: Clean, prefix: str) -> Clean:
    """All documents under other ids, answers included."""
    answers = {name: tuple(replace(answer, hits=()) for answer in given) for name, given in clean.answers.items()}
    return replace(clean, documents=tuple(replace(each, id=prefix + each.id) for each in clean.documents), answers=answers)


def _first_target(clean: Clean) -> Document:
    return next(each for each in clean.documents if each.id == clean.cases[0].judgments[0].target)


def _with_fields(clean: Clean, **fields: object) -> Clean:
    target = _first_target(clean)
    return replace(clean, documents=tuple(replace(each, fields=fields) if each is target else each for each in clean.documents))


def _with_judgments(clean: Clean, *judgments: Judgment, **more: object) -> Clean:
    return clean.with_case(0, judgments=(*clean.cases[0].judgments, *judgments), **more)


def _without_first_target(clean: Clean, *instead: Document) -> Clean:
    target = _first_target(clean)
    return replace(clean, documents=(*(each for each in clean.documents if each is not target), *instead))


def _half_of_the_documents(clean: Clean) -> Subject:
    """And less."""
    return replace(clean, documents=clean.documents[: len(clean.documents) // 3]).subject()


def _renamed(clean: Clean) -> Subject:
    target = _first_target(clean)
    return _without_first_target(clean, replace(target, id=f"archive/{target.id}", text="moved " + target.text)).subject()


def _rotated(clean: Clean, steps: int) -> Subject:
    """Every case with the judgments of another one, so many later; no runs, which would show that as well."""
    judged = [*clean.cases[steps:], *clean.cases[:steps]]
    cases = (replace(case, judgments=other.judgments) for case, other in zip(clean.cases, judged, strict=True))
    return replace(clean.with_cases(cases), answers={}).subject()


def _at_chance(clean: Clean) -> Subject:
    """Even cases have the judgments of cases far behind them, odd ones of cases far before: no shift fits all."""
    half = len(clean.cases) // 2
    places = [(row + half + (7 if row % 2 else -5)) % len(clean.cases) for row in range(len(clean.cases))]
    cases = (replace(case, judgments=clean.cases[place].judgments) for case, place in zip(clean.cases, places, strict=True))
    return replace(clean.with_cases(cases), answers={}).subject()


def _half_joined(clean: Clean) -> Subject:
    subject = clean.with_cases(replace(case, query=None) if row % 2 else case for row, case in enumerate(clean.cases)).subject()
    return replace(subject, suite=replace(subject.suite, dropped={"topics_without_judgments": 30}))


def _not_joined(clean: Clean) -> Subject:
    subject = clean.with_cases(replace(case, query=None) for case in clean.cases).subject()
    return replace(subject, suite=replace(subject.suite, dropped={"topics_without_judgments": 60}))


def _copied(clean: Clean) -> Subject:
    return _with_documents(clean, replace(_first_target(clean), id="another name")).subject()


def _said_twice(clean: Clean) -> Subject:
    return _with_documents(clean, replace(_first_target(clean), text="something else under this id")).subject()


def _listed_queries(clean: Clean) -> Subject:
    queries = Document("bench/questions.txt", "\n".join(case.query or "" for case in clean.cases))
    return _with_documents(clean, queries).subject()


def _symbol_case(clean: Clean) -> Subject:
    case = Case("s", "a symbol", (Judgment("d0001", "symbol", 2), Judgment("x*", "glob")))
    return Subject(Suite.from_cases("symbols", [case]))


def _excluding_without_a_corpus(clean: Clean) -> Subject:
    return Subject(Suite.from_cases("excluding", [replace(clean.cases[0], exclude={"deprecated": True})]))


def _excluding_a_value_that_no_document_has(clean: Clean) -> Subject:
    return _with_fields(clean, status="current").with_case(0, exclude={"status": ("removed",)}).subject()


def mined_at_commits(clean: Clean) -> Clean:
    """Every case is about the state before its own commit."""
    return clean.with_cases(replace(case, fields={"parent_commit": f"{row:040}"}) for row, case in enumerate(clean.cases))


MUTATIONS: dict[str, Mutation] = {
    "all-targets-missing": lambda clean: _with_ids(clean, "docs/").subject(),
    "most-targets-missing": _half_of_the_documents,
    "unreachable-targets": lambda clean: _without_first_target(clean).subject(),
    "corpus-of-another-state": lambda clean: replace(mined_at_commits(clean), answers={}).subject(),
    "renamed-targets": _renamed,
    "duplicated-targets": _copied,
    "ambiguous-targets": _said_twice,
    "deprecated-targets": lambda clean: _with_fields(clean, status="archived").subject(),
    "no-pattern-fits": lambda clean: clean.with_cases(
        replace(case, judgments=(Judgment("nothing*", "glob"),)) for case in clean.cases
    ).subject(),
    "patterns-without-match": lambda clean: _with_judgments(clean, Judgment("nothing*", "glob")).subject(),
    "patterns-in-other-case": lambda clean: _with_judgments(clean, Judgment("D000?", "glob")).subject(),
    "broad-patterns": lambda clean: _with_judgments(clean, Judgment("d0[0-7]*", "glob")).subject(),
    "symbols-outside-patterns": _symbol_case,
    "exclusions-not-applied": _excluding_without_a_corpus,
    "exclusions-without-effect": _excluding_a_value_that_no_document_has,
    "nothing-joined": _not_joined,
    "partial-join": _half_joined,
    "shifted-judgments": lambda clean: _rotated(clean, 1),
    "judgments-at-chance": _at_chance,
    "suite-among-documents": _listed_queries,
    "ignored-folders-among-documents": lambda clean: _with_documents(
        clean, Document("node_modules/x/index.js", "module")
    ).subject(),
}
