"""How many more independent cases a gate needs to see a loss of a wanted size with 80 % power."""

from __future__ import annotations

from math import isfinite

from searchmark.analysis.foresight import MOST_ORIGINS, GateQuestion, LosableColumn, cases_for_margin, detectable_loss
from searchmark.analysis.power import fewest_more


def more_cases_to_see(column: LosableColumn, question: GateQuestion, wanted: float) -> int | None:
    """So many more independent cases, like these; None if no number that is tried would do.

    A gate that is non-inferior is asked with its own margin, or with the wanted loss where that is smaller.
    """
    here = len(column.values)
    if not here or not isfinite(column.span) or wanted <= 0:
        return None
    if question.policy == "non-inferior":
        return cases_for_margin(column, min(wanted, question.margin) if question.margin > 0 else wanted)
    if wanted <= question.min_effect:
        return None  # a true loss as large as what counts is missed half of the time, however many cases there are

    def sees(origins: int) -> bool:
        found = detectable_loss(column.of_size(origins), question)
        return found is not None and found <= wanted

    return fewest_more(sees, here, MOST_ORIGINS)
