"""What is found about the rules of a gate, each finding with the rules that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from searchmark.findings import FINDING_KINDS, Finding
from searchmark.gates.rules import Gate, RuleResult
from searchmark.gates.sentences import rule_name
from searchmark.records.shown import listed

MOST_NAMED = 3
MOST_OF_A_CODE = 5


def findings_apart(gate: Gate | None) -> tuple[Gate | None, list[Finding]]:
    """A gate without its findings, and these with the names of their rules."""
    if gate is None:
        return None, []
    found = with_rules((written(each), each.findings) for each in gate.rules)
    return replace(gate, rules=tuple(replace(each, findings=()) for each in gate.rules)), found


def written(result: RuleResult) -> str:
    """The rule of a result as it was written, whichever run it tells of."""
    subject = result.subject.removeprefix(f"{result.run}: ")
    return rule_name(subject, result.where, result.bound, result.expected)


def with_rules(found: Iterable[tuple[str, Iterable[Finding]]]) -> list[Finding]:
    """Findings, given by the name of the rule: what is found of several is said once, and a long list is cut."""
    about: dict[tuple[str, str], list[tuple[str, Finding]]] = {}
    for name, findings in found:
        for each in findings:
            about.setdefault((each.code, each.message), []).append((name, each))
    by_code: dict[str, list[Sequence[tuple[str, Finding]]]] = {}
    for (code, _), same in about.items():
        by_code.setdefault(code, []).append(same)
    return [each for of_code in by_code.values() for each in _shortened(of_code)]


def _shortened(of_code: Sequence[Sequence[tuple[str, Finding]]]) -> list[Finding]:
    """All of one code, or the first ones and how many rules there are beside them."""
    if len(of_code) <= MOST_OF_A_CODE:
        return [_named(same) for same in of_code]
    rest = [each for same in of_code[MOST_OF_A_CODE - 1 :] for each in same]
    said = f"likewise: {FINDING_KINDS[rest[0][1].code].about}"
    likewise = _named([(name, replace(each, message=said)) for name, each in rest])
    return [*map(_named, of_code[: MOST_OF_A_CODE - 1]), likewise]


def _named(same: Sequence[tuple[str, Finding]]) -> Finding:
    names = list(dict.fromkeys(name for name, _ in same))
    cases = dict.fromkeys(case for _, each in same for case in each.cases)
    return replace(same[0][1], message=f"{listed(names, MOST_NAMED)}: {same[0][1].message}", cases=tuple(cases))
