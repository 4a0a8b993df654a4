"""What is said of a run from its answers alone, so that a run and the shards that it was joined from say the same."""

from __future__ import annotations

from collections.abc import Sequence

from searchmark.records.answers import AnswerDetails
from searchmark.records.provenance import TrustEvent


def not_whole(details: Sequence[AnswerDetails]) -> tuple[TrustEvent, ...]:
    """That cases were not searched, since the repository lacks contents."""
    reasons = [each.failure for each in details if each.not_whole]
    return (TrustEvent("not_whole", f"{len(reasons)} of {len(details)} cases were not searched: {reasons[0]}"),) if reasons else ()
