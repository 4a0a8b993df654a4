"""What runs that were read say, for tests of their readers."""

from __future__ import annotations

from searchmark import Run, load_suite
from searchmark.records.merge import with_suite_case_ids
from tests.conftest import ROOT

FORMATS = ROOT / "examples" / "formats"
ANSWERS = {"shoes": ["s1", "s3"], "coats": ["c2", "c1"], "hats": ["h1"]}
SCORES = {"shoes": {"s1": 7.5, "s3": 6.25}, "coats": {"c2": 4.5, "c1": 4.0}, "hats": {"h1": 3.0}}


def answers_of(run: Run) -> dict[str, list[str]]:
    return {answer.case: [hit.id for hit in answer.hits] for answer in run.answers}


def notes_of(run: Run) -> tuple[str, ...]:
    return () if run.provenance.imported is None else run.provenance.imported.notes


def on_suite(run: Run) -> Run:
    return with_suite_case_ids(load_suite(FORMATS / "run-suite.json"), run)
