"""A corpus of one state is not held against cases and runs that are about snapshots."""

from __future__ import annotations

from dataclasses import replace

from searchmark import Corpus, Document, Run, Suite, audit_suite
from searchmark.experiments.audit import build_subject
from searchmark.records.provenance import PARENT, WORK_TREE
from tests.audit.clean import clean
from tests.audit.mutations.corpus import mined_at_commits

LATER = Corpus.of("later", [Document("d0000", "all that is left")])


def _mined() -> Suite:
    return Suite.from_cases("mined", mined_at_commits(clean()).cases)


def _run(snapshot: str | None) -> Run:
    run = Run.from_answers("strong", clean().answers["strong"])
    return replace(run, label=replace(run.label, snapshot=snapshot))


def test_cases_at_commits_are_not_held_against_a_later_state() -> None:
    found = audit_suite(_mined(), LATER, [_run(PARENT)]).findings
    assert [each.code for each in found if each.severity != "note"] == ["corpus-of-another-state"]
    assert "the cases are about 60 commits; strong searched the snapshot parent" in found[0].message


def test_a_run_at_snapshots_scores_as_without_the_corpus() -> None:
    (beside,), (alone,) = (build_subject(_mined(), each, [_run(PARENT)]).scores.values() for each in (LATER, None))
    assert beside.means() == alone.means()


def test_a_run_on_the_work_tree_is_held_against_the_corpus() -> None:
    codes = {each.code for each in audit_suite(_mined(), LATER, [_run(WORK_TREE)]).findings}
    assert "corpus-of-another-state" not in codes
    assert codes & {"unreachable-targets", "most-targets-missing", "all-targets-missing"}


def test_cases_that_share_one_commit_are_held_against_the_corpus() -> None:
    cases = [replace(case, fields={"parent_commit": "0" * 40}) for case in clean().cases]
    assert build_subject(Suite.from_cases("one state", cases), LATER).survey is not None
