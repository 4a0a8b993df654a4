"""How many more independent cases a gate needs to see a loss of a wanted size with 80 % power."""

from __future__ import annotations

from math import isfinite

from searchmark.analysis.foresight import MOST_ORIGINS, GateQuestion, LosableColumn, detectable_loss, ties_for_margin
from searchmark.analysis.power import fewest_more


def more_cases_to_see(column: LosableColumn, question: GateQuestion, wanted: float) -> int | None:
    """So many more independent cases, like these; None if no number that is tried would do.

    A gate that is non-inferior is asked with the wanted loss as its margin.
    """
    here = len(column.values)
    if not here or not isfinite(column.span) or wanted <= 0:
        return None
    if question.policy == "non-inferior":
        return max(0, ties_for_margin(wanted, column.span) - here)
    if wanted <= question.min_effect:
        return None  # a true loss as large as what counts is missed half of the time, however many cases there are

    def sees(origins: int) -> bool:
        found = detectable_loss(column.of_size(origins), question)
        return found is not None and found <= wanted

    return fewest_more(sees, here, MOST_ORIGINS)
