"""Each code fires on a mutation of a clean suite, and none of them fires on the suite as it is."""

from __future__ import annotations

import pytest

from searchmark.audit.check import Subject, all_kinds
from searchmark.audit.full import CHECKS, full_audit
from searchmark.audit.quick import short_audit
from searchmark.records.finding import CLAIMS
from tests.audit.clean import clean
from tests.audit.mutations import agents, chosen, corpus, gates, gold, numbers

ROOMS = (corpus, gold, agents, numbers, gates, chosen)
MUTATIONS = {code: mutation for room in ROOMS for code, mutation in room.MUTATIONS.items()}
AUDITED = list(dict.fromkeys(code for check in CHECKS for code in check.codes))


def fires(code: str, subject: Subject) -> bool:
    """Whether the checks that may find this code do so."""
    return any(found.code == code for check in CHECKS if code in check.codes for found in check.look(subject))


def test_the_clean_suite_is_clean() -> None:
    assert full_audit(clean().subject()).findings == ()


@pytest.mark.parametrize("code", AUDITED)
def test_each_code_fires_on_a_mutation(code: str) -> None:
    assert fires(code, MUTATIONS[code](clean()))


def test_every_mutation_has_a_code() -> None:
    assert MUTATIONS.keys() == set(AUDITED)


def test_the_short_form_has_no_check_of_its_own() -> None:
    subject = MUTATIONS["duplicate-queries"](clean())
    assert {"duplicate-queries"} <= {found.code for found in short_audit(subject)}
    assert set(short_audit(subject)) <= set(full_audit(subject).findings)


def test_every_kind_says_why_it_matters_and_what_to_do() -> None:
    kinds = [kind for kind in all_kinds().values() if kind.code in AUDITED or kind.theme == CLAIMS]
    assert len(kinds) > len(AUDITED)
    assert [kind.code for kind in kinds if not kind.why or not kind.fix] == []
