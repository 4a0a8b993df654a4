"""Each code fires on a mutation of a clean suite, and none of them fires on the suite as it is."""

from __future__ import annotations

import pytest

from searchmark.audit.auditing import CHECKS, full_audit
from searchmark.audit.short_form import short_audit
from searchmark.audit.subject import Subject
from searchmark.findings import (
    FINDING_KINDS,
    agent_kinds,
    chosen_kinds,
    claim_kinds,
    corpus_kinds,
    gate_kinds,
    gold_kinds,
    number_kinds,
)
from tests.audit.clean import clean
from tests.audit.mutations import agents, chosen, corpus, gates, gold, numbers

ROOMS = (corpus, gold, agents, numbers, gates, chosen)
MUTATIONS = {code: mutation for room in ROOMS for code, mutation in room.MUTATIONS.items()}
AUDITED = [kind for room in (corpus_kinds, gold_kinds, agent_kinds, number_kinds, gate_kinds, chosen_kinds) for kind in room.KINDS]


def fires(code: str, subject: Subject) -> bool:
    """Whether the checks that may find this code do so."""
    return any(found.code == code for check in CHECKS if code in check.codes for found in check.look(subject))


def test_the_clean_suite_is_clean() -> None:
    assert full_audit(clean().subject()).findings == ()


@pytest.mark.parametrize("code", [kind.code for kind in AUDITED])
def test_each_code_fires_on_a_mutation(code: str) -> None:
    assert fires(code, MUTATIONS[code](clean()))


def test_every_mutation_has_a_code() -> None:
    assert MUTATIONS.keys() == {kind.code for kind in AUDITED}


def test_every_code_of_a_check_is_known_and_every_known_one_is_of_a_check() -> None:
    assert {code for check in CHECKS for code in check.codes} == {kind.code for kind in AUDITED}


def test_the_short_form_has_no_check_of_its_own() -> None:
    subject = MUTATIONS["duplicate-queries"](clean())
    assert {"duplicate-queries"} <= {found.code for found in short_audit(subject)}
    assert set(short_audit(subject)) <= set(full_audit(subject).findings)


def test_every_kind_says_why_it_matters_and_what_to_do() -> None:
    incomplete = [kind.code for kind in [*AUDITED, *claim_kinds.KINDS] if not kind.why or not kind.fix]
    assert not incomplete


def test_no_code_is_used_twice() -> None:
    rooms = (corpus_kinds, gold_kinds, agent_kinds, number_kinds, gate_kinds, claim_kinds, chosen_kinds)
    listed = [kind.code for room in rooms for kind in room.KINDS]
    assert len(listed) == len(set(listed))
    assert set(listed) <= FINDING_KINDS.keys()
