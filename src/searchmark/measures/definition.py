"""What is known of a measure, and the options that measures take."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from math import inf
from typing import Any, Literal, TypeAlias

from searchmark.errors import UnknownMeasure, UsageError
from searchmark.io.plugins import load_code
from searchmark.measures.hits import BYTES_PER_TOKEN, MOST_LINES, MOST_TOKENS, TOKENIZER, PoolView, Value
from searchmark.records.columns import Floats
from searchmark.records.sentences import fit_line
from searchmark.records.suite import Suite

# The options of measures: which values they take, how they are read, and how they are written.

HIGHEST_ERR_GRADE = 60

_PAIR = re.compile(r"\s*(?P<grade>\d{1,9})\s*:\s*(?P<pay>\d{1,15}(?:\.\d{1,15})?)\s*")

_YES_AND_NO = {"true": True, "false": False}


@dataclass(frozen=True, repr=False)
class MeasureParameter:
    """One option of a measure: its default, which values it takes, and what it does.

    The formula gets it by its name; ``wanted`` says in words what it accepts.
    """

    name: str
    default: Value
    accepts: Callable[[Value], bool]
    wanted: str
    summary: str
    example: str = ""  # a value, as it is written

    def __repr__(self) -> str:
        return fit_line(f"{type(self).__name__}({self.name}: {self.summary})")


_Accepts: TypeAlias = tuple[Callable[[Value], bool], str]  # what is accepted, also in words


def _whole(low: int, high: int | None = None) -> _Accepts:
    words = f"a whole number from {low}" if high is None else f"a whole number from {low} to {high}"
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= (high or inf), words


def _is_number(value: Value, low: float, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _one_of(*values: str) -> _Accepts:
    return values.__contains__, " or ".join(values)


_SHARE: _Accepts = (lambda value: _is_number(value, 0, 1), "a number from 0 to 1")
_PART: _Accepts = (lambda value: _is_number(value, 0, 1) and value not in (0, 1), "a number between 0 and 1")
_FACTOR: _Accepts = (lambda value: _is_number(value, 0, 1e6), "a number from 0")
_YES_OR_NO: _Accepts = (lambda value: isinstance(value, bool), "true or false")
_TABLE: _Accepts = (lambda value: isinstance(value, str) and ":" in value, "grades and what they pay, like 0:0,1:1,2:10")

_TOKENS = f"budget of tokens, counted by {TOKENIZER} (bytes of a line with its end, over {BYTES_PER_TOKEN}, rounded up)"

PARAMETERS = {
    parameter.name: parameter
    for parameter in (
        MeasureParameter("rel", 1, *_whole(1), "lowest relevant grade"),
        MeasureParameter("gain", "linear", *_one_of("linear", "exp"), "what a grade g pays: g, or 2^g - 1"),
        MeasureParameter("gains", "", *_TABLE, "what each grade pays"),
        MeasureParameter("p", 0.8, *_PART, "persistence of the reader"),
        MeasureParameter("max", 4, *_whole(1, HIGHEST_ERR_GRADE), "highest grade of the scale"),
        MeasureParameter("credit", "exact", *_one_of("exact", "dir"), "dir: a directory of a target pays half"),
        MeasureParameter("judged_only", False, *_YES_OR_NO, "true: hits without a judgment are removed first"),
        MeasureParameter("recall", 0.0, *_SHARE, "share of the relevant targets", example="0.1"),
        MeasureParameter("beta", 1, *_FACTOR, "weight of R beside P"),
        MeasureParameter("tokens", 0, *_whole(1, MOST_TOKENS), _TOKENS, example="4000"),
        MeasureParameter("lines", 0, *_whole(1, MOST_LINES), "budget of lines", example="200"),
        MeasureParameter("alpha", 0.5, *_SHARE, "what a repeated aspect pays less"),
    )
}


def parse_value(key: str, raw: str) -> Value:
    """The value of an option as it was written; one that makes no sense is returned as it is, for others to refuse."""
    if key == "gains":
        return _parse_gains(raw)
    if raw.lower() in _YES_AND_NO:
        return _YES_AND_NO[raw.lower()]
    for number in (int, float):
        try:
            return number(raw)
        except ValueError:
            continue
    return raw


def _parse_gains(raw: str) -> str:
    """Grades and what they pay, by grade; empty where they cannot be read or a grade comes twice."""
    pairs = [_PAIR.fullmatch(pair) for pair in raw.strip("{}").split(",")]
    gains = {int(pair["grade"]): float(pair["pay"]) for pair in pairs if pair}
    return ",".join(f"{grade}:{_format_gain(pay)}" for grade, pay in sorted(gains.items())) if len(gains) == len(pairs) else ""


def _format_gain(pay: float) -> str:
    """All digits of a gain, without an exponent, so that the printed name of a measure means the same when it is read."""
    return f"{Decimal(repr(pay)):f}".removesuffix(".0")


def format_value(value: Value) -> str:
    """A value as it is written in the name of a measure."""
    return str(value).lower() if isinstance(value, bool) else str(value).removesuffix(".0")


def separate_options(text: str) -> list[str]:
    """The options of ``rel=2,gains=0:0,1:1``: a piece without a name continues the one before it."""
    items: list[str] = []
    for piece in text.split(","):
        if items and "=" not in piece and ":" in piece:
            items[-1] += f",{piece}"
        else:
            items.append(piece)
    return [item for item in items if item.strip()]


# What is known of a measure.

RANKED = "the run's order decides; equal scores in TREC files are ordered by id, descending"

NO_ORDER = "the order has no effect"

NOT_FOUND = "a target that was not returned is not found; no relevant target: 0, as in trec_eval"

PAYS_NOTHING = "only what was returned pays"

_OWN_NAME = re.compile(r"[A-Za-z]\w*")


@dataclass(frozen=True, repr=False)
class MeasureDefinition:
    """A measure: its name, its formula, and everything else that is known of it. Every field beyond the first four may be left out.

    An installed package adds a measure of its own with an entry point in the group ``searchmark.measures``, which has the name
    of the measure::

        # mypackage.py
        import numpy as np
        from searchmark import MeasureDefinition

        def log_rank(hits, *, k=None, rel=1):
            mask = hits.relevant(rel, k)
            return hits.per_case(mask, 1 / np.log2(hits.rank[mask] + 1))

        LogRank = MeasureDefinition(
            "LogRank", log_rank, "relevant hits, each over log2 of its rank + 1", missing="only what was returned pays",
            parameters=("rel",), high=float("inf"),
        )

        # pyproject.toml
        [project.entry-points."searchmark.measures"]
        LogRank = "mypackage:LogRank"

    From then on ``LogRank`` is a measure like any other: ``-m LogRank(rel=2)@10``, ``score(matched, ["LogRank@10"])``,
    ``searchmark measures LogRank``.

    The formula gets the judged hits of all cases (``hits.case``, ``hits.rank``, ``hits.grade``, and what there was to find in
    ``hits.target_case`` and ``hits.target_grade``) and the options by their names, ``k`` for the cutoff and ``max_grade`` for
    ``max``. It returns an array of floats with a value for each of ``hits.cases``, NaN where it is undefined. What is not said of
    a measure is not known: its chance level is then estimated from random rankings, and there is no highest value and nothing
    on what labels could change. A plug-in never replaces a measure of ours.
    """

    name: str
    compute: Callable[..., Floats]  # the formula
    summary: str
    missing: str  # what it makes of targets that were not returned
    parameters: tuple[str, ...] = ()
    own_parameters: tuple[MeasureParameter, ...] = ()  # those that no other measure has, or that have another default here
    cutoff: bool = True
    at: str = "cutoff"  # the option that follows @
    needs_at: bool = False  # whether it must be given
    budgets: tuple[str, ...] = ()  # options of which one must be given
    by_default: str = ""  # the measure that it is, and is called, where its further options have their defaults
    ties: str = RANKED
    empty: str = "0"
    low: float = 0.0
    high: float = 1.0
    undefined: str = "a grade is too high for exponential gain"  # why the formula itself can come out undefined

    # Names: the common word for it, what others call it, and a name of trec_eval that a number follows, as in ``map_cut_10``.
    word: str = ""
    aliases: tuple[str, ...] = ()
    numbered: str = ""

    # What it looks at, and what it tells.
    needs_targets: bool = True  # meaningless unless every target is known by id
    needs_lines: bool = False  # meaningless unless lines are judged and the cost of the lines of hits is known
    unanswerable: bool = False  # looks at the cases without an answer, and only at those
    sees_hits: bool = True  # whether hits can change it
    by_scores: bool = False  # the scores of hits decide on it, and not their order
    tells: str = ""  # what it measures where that is not how good answers are, so that it cannot be the reason of a verdict
    asked_by: Callable[[Suite], bool] | None = None  # suites that are measured by it where nobody says by what
    over_cases: str = ""  # for one number over all cases: the measure that each has, of which it is the geometric mean

    # What it is without a cutoff.
    of_sets: bool = False  # looks at an answer as a set, so that a cutoff makes another measure of it
    grows: bool = False  # a random answer has as much of it as it is long
    diluted: bool = False  # anything else that is returned lowers it

    # What it can be: the ideal list is that of all targets, the highest grade first. Of the "answer" with nothing else no other
    # has a higher value; of a "ranking", two neighbours have more the better one first, and the reverse of the ideal has least.
    ideal: Literal["", "answer", "ranking"] = ""
    highest: Callable[[PoolView], Floats] | None = None  # where another answer is best, or there is a shorter way
    lowest_grade: int = 1  # that it gains from, where no option says so
    chance: Callable[[PoolView], Floats | None] | None = None  # the expectation of a random ranking of all documents

    # What labels of unjudged hits make of it: they "decide" on it, alone, or "add up" as well, as each hit pays for itself.
    labels: Literal["", "decide", "add up"] = ""

    # What holds for every ranking. Measures of the same shape in all cases are one number: see `PoolView.shape`.
    shape: Callable[[PoolView], Floats | None] | None = None
    binary: bool = False  # a case has 0 or 1
    first_hit: bool = False  # at a cutoff of 1 it says whether the first hit is relevant
    never_falls: bool = False  # as its cutoff grows
    at_most: tuple[str, ...] = ()  # measures that it is never above in any case, at the same cutoff or a larger one

    package: str = ""  # what added it; empty for ours

    def __post_init__(self) -> None:
        options = {each.name for each in self.own_parameters} | set(PARAMETERS)
        unknown = {*self.parameters, *self.budgets, *({self.at} - {"cutoff"})} - options
        wrong = (
            "its name must be a word" if not _OWN_NAME.fullmatch(self.name) else
            "its formula cannot be called" if not callable(self.compute) else
            f"there is no option {min(unknown)!r}" if unknown else
            "aliases and at_most must be tuples" if not isinstance(self.aliases, tuple) or not isinstance(self.at_most, tuple) else
            "low must be below high" if not self.low < self.high else
            None
        )  # fmt: skip
        if wrong:
            raise UsageError(f"the measure {self.name!r} cannot be defined: {wrong}")

    def __repr__(self) -> str:
        return fit_line(f"{type(self).__name__}({self.name}: {self.summary})")

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process it is the one that is defined there: its functions may have no name."""
        return _defined, (self.name,)

    @property
    def tells_quality(self) -> bool:
        return not self.tells

    @property
    def ordered(self) -> bool:
        """Whether the order of a whole answer has an effect; that of whether there is anything, or everything, has none."""
        return not (self.of_sets or self.binary or self.ties == NO_ORDER)

    @property
    def names(self) -> tuple[str, ...]:
        """All names that are read as this measure, in lower case."""
        return tuple(each.lower() for each in (self.name, self.word, self.numbered, *self.aliases) if each)

    def parameter(self, option: str) -> MeasureParameter:
        """What an option of this measure takes, and what it is where none is given."""
        return next((each for each in self.own_parameters if each.name == option), None) or PARAMETERS[option]


def _defined(name: str) -> MeasureDefinition:
    definition: MeasureDefinition | None = load_code("searchmark.measures.catalogue:definition_named")(name)
    if definition is None:
        raise UnknownMeasure(f"the measure {name!r} is not defined here: the package that adds it is not installed")
    return definition
