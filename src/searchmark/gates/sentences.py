"""Numbers against bounds, and what is said of them, in the user's own word for a measure and in ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from searchmark.options.gate_options import POLICIES, NumberBound

# A mean of six times 0.2 is a hair below 0.2, and must not fail a threshold of 0.2.
ROUNDING = 1e-12
SIGNS: dict[NumberBound, str] = {"at_least": ">=", "above": ">", "at_most": "<=", "below": "<"}
_DIGITS = 4
_DIGITS_OF_BOUND = 12
_MOST_DIGITS = 17
_POLICY_WORDS = {"no-evidence-of-harm": "no evidence of harm"}
_SIGN_OF: dict[str, str] = {str(bound): sign for bound, sign in SIGNS.items()}


def rule_name(subject: str, where: Mapping[str, str], bound: str, expected: float | str) -> str:
    """A rule as it was written."""
    return f"{rule_subject(subject, where)} {expected_text(bound, expected)}"


def rule_subject(subject: str, where: Mapping[str, str]) -> str:
    """What a rule is about, and of which cases; a metric of a fixture is named after it."""
    return "".join([subject, *(f" in {by} {value}" for by, value in where.items() if by != "fixture")])


def expected_text(bound: str, expected: float | str) -> str:
    """The bound and its value."""
    number = f"{expected:.{_DIGITS_OF_BOUND}g}" if isinstance(expected, float | int) else expected
    if bound in POLICIES:
        margin = f", margin {number.removeprefix('-')}" if bound == "non-inferior" else ""
        return f"against baseline ({_POLICY_WORDS.get(bound, bound)}{margin})"
    return f"{_SIGN_OF.get(bound, bound.replace('_', ' '))} {number}"


def prefix_for(name: str, names: Sequence[str]) -> str:
    """The run, where there are several that a sentence could be about."""
    return f"{name}: " if len(names) > 1 else ""


def expectation(subject: str, bound: NumberBound, expected: float, actual: float | None, *, met: bool, unit: str = "") -> str:
    """A sentence about one number and its bound."""
    if actual is None:
        return f"Expected {subject} {SIGNS[bound]} {expected:.12g}{unit}, but there is no such number"
    number = told_apart(actual, expected)
    if met:
        return f"{subject} is {number}{unit}, as expected ({SIGNS[bound]} {expected:.12g}{unit})"
    return f"Expected {subject} {SIGNS[bound]} {expected:.12g}{unit}, but got {number}{unit}"


def told_apart(actual: float, expected: float) -> str:
    """A number with as many digits as show on which side of its bound it is; one that is as good as equal reads like it."""
    bound = f"{expected:.{_DIGITS_OF_BOUND}g}"
    if abs(actual - expected) <= ROUNDING:
        return bound
    for digits in range(_DIGITS, _MOST_DIGITS):
        text = f"{actual:.{digits}g}"
        if (float(text) - float(bound)) * (actual - expected) > 0:
            return text
    return repr(actual)


def within(bound: NumberBound, actual: float, expected: float) -> bool:
    """Whether a number is on the right side of a bound, rounding errors aside."""
    gap = actual - expected
    return {"at_least": gap >= -ROUNDING, "above": gap > ROUNDING, "at_most": gap <= ROUNDING, "below": gap < -ROUNDING}[bound]
