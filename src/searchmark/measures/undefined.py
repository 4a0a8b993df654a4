"""Why a case has no value of a measure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from searchmark.errors import UsageError
from searchmark.measures.definition import Definition
from searchmark.measures.grammar import UNANSWERABLE, AnyMeasure, Measure


@dataclass(frozen=True)
class CaseTraits:
    """What of a case decides whether it can have a value of a measure.

    ``complete``: all its targets are known by id. ``answerable``: it is not marked otherwise. ``credited``: some targets
    are paths. ``graded``: its judgments say what is relevant, and not only in which order it should come.
    ``about_lines``: all that is relevant are ranges of lines. ``lines_counted``: it is known what the lines of its hits cost.
    """

    complete: bool
    answerable: bool
    credited: bool
    graded: bool
    about_lines: bool
    lines_counted: bool


def undefined_reason(measure: AnyMeasure, case: CaseTraits) -> str | None:
    """Why a case cannot have a value of this measure at all; None if it can."""
    return next((reason for part in measure.parts for reason in _reasons(part, case)), None)


def _reasons(part: Measure, case: CaseTraits) -> Iterator[str]:
    definition = part.definition
    if definition.over_cases:
        yield f"{definition.name} is one number for all cases; a case has {definition.over_cases}"
    if definition.unanswerable and case.answerable:
        yield f"{definition.name} is defined for cases marked unanswerable only"
    if not definition.unanswerable and not case.answerable:
        yield UNANSWERABLE
    if "rel" in definition.parameters and not case.graded:
        yield "the case says in which order documents should come, and not which of them are relevant"
    if part.options.get("credit") == "dir" and not case.credited:
        yield "credit=dir needs judgments that match by path"
    if definition.needs_lines:
        yield from _reasons_of_lines(case)
    if definition.needs_targets and not case.complete:
        yield "glob and symbol judgments name no targets until they are expanded against a corpus"


def _reasons_of_lines(case: CaseTraits) -> Iterator[str]:
    if not case.about_lines:
        yield "the case does not say which lines are relevant; gold sets do with 'searchmark generate --granularity lines'"
    if not case.lines_counted:
        yield (
            "the run does not say how long the lines of its hits are: that is counted while searchmark runs an agent "
            "on a suite that judges lines, in documents that it can read"
        )


def no_verdict_because(measure: AnyMeasure) -> str:
    """Why differences of a measure that does not decide are never a verdict."""
    for part in measure.parts:
        if part.definition.over_cases:
            return f"{part.name} is one number for all cases: there is no difference case by case that could be tested"
        if part.definition.tells:
            return f"{measure.name} tells {part.definition.tells}, not how good it is"
    raise ValueError(measure.name)


def refuse_over_cases(measure: AnyMeasure, use: str) -> None:
    """Refuse a measure that no case has a value of, where cases are looked at."""
    for part in measure.parts:
        if part.definition.over_cases:
            known = part.definition.over_cases
            raise UsageError(f"{part.name} is one number for all cases and cannot be {use}; {known} can")


def computed_nan_reason(measure: AnyMeasure) -> str:
    """What it means when a formula itself came out undefined: the most specific reason of its parts."""
    usual = Definition.undefined
    return next((part.definition.undefined for part in measure.parts if part.definition.undefined != usual), usual)
