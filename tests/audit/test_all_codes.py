"""Every code that there is has a test in which it fires: here the rules of a gate, and that none is left out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import searchmark
from searchmark.audit.check import all_kinds
from searchmark.audit.runs import DROPPED
from searchmark.records.finding import GATE
from tests.audit.mutations import rules, runs
from tests.audit.test_claims import IMPOSSIBLE
from tests.audit.test_every_code import AUDITED, MUTATIONS
from tests.audit.test_plugin_checks import FAILED

RULE_CODES = [kind.code for kind in all_kinds().values() if kind.theme == GATE and kind.code not in AUDITED]


@pytest.mark.parametrize("code", RULE_CODES)
def test_each_code_of_a_rule_fires_on_a_mutation(code: str) -> None:
    assert code in runs.codes(rules.FOUND[code]())


def test_a_rule_that_is_met_by_far_has_none_of_them() -> None:
    assert runs.codes(rules.quiet()).isdisjoint(RULE_CODES)


def test_every_code_there_is_fires_in_one_of_the_enumerations() -> None:
    enumerated = [*runs.FOUND, *MUTATIONS, *IMPOSSIBLE, *rules.FOUND, FAILED]
    assert sorted(enumerated) == sorted(all_kinds())


MADE = re.compile(r'\bfinding\(\s*"([a-z0-9-]+)"')
BESIDE = re.compile(r'\bFindingKind\(\s*"([a-z0-9-]+)"')


def borrowed() -> dict[str, set[str]]:
    """The codes of findings that a module makes and whose kinds stand in another one, by module."""
    root = Path(searchmark.__file__).parent
    codes = {file: {*MADE.findall(text)} - {*BESIDE.findall(text)} for file in root.rglob("*.py") if (text := file.read_text())}
    names = {file: ".".join(("searchmark", *file.relative_to(root).with_suffix("").parts)) for file in codes}
    return {names[file]: each for file, each in codes.items() if each}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "codes"), [*borrowed().items(), ("searchmark.audit.runs", {code for code, _ in DROPPED.values()})]
)
def test_a_module_that_makes_findings_of_another_one_has_loaded_it(module: str, codes: set[str]) -> None:
    statement = f"import {module}; from searchmark.records.finding import FINDING_KINDS; print(*FINDING_KINDS)"
    done = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=True)
    assert codes <= set(done.stdout.split())
