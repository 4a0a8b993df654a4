"""Every code that there is has a test in which it fires: here the rules of a gate, and that none is left out."""

from __future__ import annotations

import pytest

from searchmark.findings import FINDING_KINDS, rule_kinds
from tests.audit.mutations import rules, runs
from tests.audit.test_claims import IMPOSSIBLE
from tests.audit.test_every_code import MUTATIONS

RULE_CODES = [kind.code for kind in rule_kinds.KINDS]


@pytest.mark.parametrize("code", RULE_CODES)
def test_each_code_of_a_rule_fires_on_a_mutation(code: str) -> None:
    assert code in runs.codes(rules.FOUND[code]())


def test_a_rule_that_is_met_by_far_has_none_of_them() -> None:
    assert runs.codes(rules.quiet()).isdisjoint(RULE_CODES)


def test_every_code_there_is_fires_in_one_of_the_enumerations() -> None:
    enumerated = [*runs.FOUND, *MUTATIONS, *IMPOSSIBLE, *rules.FOUND]
    assert sorted(enumerated) == sorted(FINDING_KINDS)
