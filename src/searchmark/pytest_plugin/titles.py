"""The names of items, known before anything is run and the same in every process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from searchmark.gates.bounds import NumberRule
from searchmark.gates.fixture_baseline import FixtureRule
from searchmark.gates.pins import EachCaseRule, KnownFailureRule, PinRule
from searchmark.gates.relative import RelativeRule
from searchmark.gates.rules import Rule
from searchmark.gates.sentences import SIGNS


def case_title(case: str) -> str:
    """In brackets, as pytest has the ids of parameters: there a name may hold two colons."""
    return f"case[{_printable(case)}]"


def rule_titles(rules: Iterable[Rule]) -> Iterator[str]:
    """A name for every rule, with a number where several have the same."""
    seen: dict[str, int] = {}
    for rule in rules:
        title = _printable(_title(rule))
        seen[title] = seen.get(title, 0) + 1
        yield f"gate[{title}]" if seen[title] == 1 else f"gate[{title} #{seen[title]}]"


def _title(rule: Rule) -> str:  # noqa: PLR0911  # one line per kind of rule
    match rule:
        case NumberRule():
            return f"{rule.quantity.subject(None)}{rule.segment.words} {SIGNS[rule.bound]} {rule.expected:g}"
        case RelativeRule():
            return rule.name
        case EachCaseRule():
            return f"{rule.measure.name} of every case {SIGNS['at_least']} {rule.expected:g}"
        case PinRule():
            return f"{rule.pin.case} {rule.bound} {' '.join(rule.wanted)}"
        case KnownFailureRule():
            return f"{rule.failure.case} known_failure"
        case FixtureRule():
            return f"{rule.fixture.name} {rule.metric} {SIGNS['at_least']} {rule.threshold:g}"
    return type(rule).__name__


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text)
