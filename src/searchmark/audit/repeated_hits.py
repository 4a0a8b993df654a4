"""What a run says again and again: the same hit in one answer, the same answer to every case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from searchmark.analysis.controls import is_of_control
from searchmark.analysis.distrust import mostly_right
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import share
from searchmark.judging.judge import Judged

FEWEST_SAME = 5  # answers


def duplicates_told(judged: Judged) -> str:
    """Of how many hits duplicates were dropped, and one of them."""
    matches, run = judged.matches, judged.run
    of = matches.duplicates + int(matches.returned.sum())
    told = f" of {of} ({share(matches.duplicates, of)})"
    for row, case in enumerate(judged.suite.table.ids):
        start, end = run.starts[run.index[case] : run.index[case] + 2].tolist() if case in run.index else (0, 0)
        if end - start > matches.returned[row]:
            name, times = Counter(run.ids[hit] for hit in range(start, end)).most_common(1)[0]
            return told if times == 1 else f"{told}, like {name!r} in case {case!r}"  # once: written in two ways
    return told


def same_answers(judged: Judged) -> Iterator[Finding]:
    """That every case got the same answer, of several documents; one document is a reason not to trust the run."""
    run = judged.run
    rows = [run.index[case] for case in judged.suite.table.ids if case in run.index]
    lengths = np.diff(run.starts)[rows]
    if len(rows) < FEWEST_SAME or is_of_control(run) or lengths[0] < 2 or (lengths != lengths[0]).any():  # noqa: PLR2004  # several
        return
    answers = ([run.ids[hit] for hit in range(*run.starts[row : row + 2].tolist())] for row in rows)
    first = next(answers)
    if len(set(first)) > 1 and not mostly_right(judged) and all(each == first for each in answers):
        yield finding("same-answers", f"all {len(rows)} answers are the same, whatever was asked: they begin with {first[0]!r}")
