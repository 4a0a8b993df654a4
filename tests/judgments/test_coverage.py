"""What the interval of kappa covers, by simulation: people who agree badly, well, and nearly always."""

from __future__ import annotations

import numpy as np
import pytest

from searchmark.judgments import review

RULES = np.array([0, 0, 1, 2, 3])
PEOPLE = {
    "badly": [[0.8, 0.1, 0.05, 0.05], [0.6, 0.2, 0.1, 0.1], [0.5, 0.2, 0.2, 0.1], [0.3, 0.3, 0.2, 0.2], [0.2, 0.2, 0.3, 0.3]],
    "well": [[0.97, 0.03, 0, 0], [0.8, 0.15, 0.05, 0], [0.4, 0.4, 0.15, 0.05], [0.05, 0.25, 0.5, 0.2], [0, 0.05, 0.25, 0.7]],
    "nearly always": [[0.99, 0.01, 0, 0], [0.95, 0.05, 0, 0], [0.1, 0.85, 0.05, 0], [0, 0.08, 0.87, 0.05], [0, 0, 0.1, 0.9]],
}
IN_SAMPLE = np.full(5, 0.2)
OF_ALL = np.array([30_000, 1_000, 4_500, 2_600, 140]) / 38_240


@pytest.mark.slow
@pytest.mark.parametrize("people", list(PEOPLE))
@pytest.mark.parametrize("each", [12, 40])
@pytest.mark.parametrize("shares", [IN_SAMPLE, OF_ALL], ids=["sample", "all pairs"])
def test_intervals_cover_what_they_claim(monkeypatch: pytest.MonkeyPatch, people: str, each: int, shares: np.ndarray) -> None:
    monkeypatch.setattr(review, "DRAWS", 800)
    chances, random = np.array(PEOPLE[people]), np.random.default_rng(7)
    true = review.kappa(chances * 1e9, RULES, shares).value
    assert true is not None
    samples = [np.array([random.multinomial(each, chance) for chance in chances], float) for _ in range(400)]
    found = [review.kappa(sample, RULES, shares) for sample in samples]
    covered = np.mean([interval.low <= true <= interval.high for interval in found])
    assert covered >= 0.93  # 0.95 less two standard errors of 400 samples
