"""One target or one category that rules the mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from searchmark.analysis.scores import score
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.judging.judge import judge
from searchmark.judging.names import PATH
from searchmark.measures.grammar import AnyMeasure
from searchmark.records import Answer, Hit, Run, Suite
from searchmark.records.id_columns import Texts, texts_at
from searchmark.records.repository_states import repository_of
from searchmark.records.shown import quoted

# A fifth of the cases, and a tenth of the measure: what one constant answer gets is then what weak searches get. Where each case
# has many targets, one of them pays little, however common it is. Five cases: two of ten may well be chance.
LARGEST_SHARE, HIGHEST_MEAN, FEWEST_CASES = 0.2, 0.1, 5
FEWEST_CATEGORIES, MAJORITY = 3, 0.5


def dominant_targets(subject: Subject) -> Iterator[Finding]:
    """The commonest target, if many cases share it, with the score of an agent that always answers it."""
    suite = subject.expanded
    rows = _relevant_rows(suite)
    cases = int((np.diff(np.searchsorted(rows, suite.judgments.starts)) > 0).sum())
    fewest = max(FEWEST_CASES, LARGEST_SHARE * cases)
    if len(rows) < fewest or _most_often(suite.judgments.targets, rows) < fewest:
        return
    repositories = _repositories(suite)
    judged = list(zip(_at(repositories, suite.judgments.case[rows]), texts_at(suite.judgments.targets, rows), strict=True))
    (repository, target), times = Counter(judged).most_common(1)[0]
    if times < fewest:
        return
    of_target = np.unique(
        [suite.judgments.case[row] for row, named in zip(rows.tolist(), judged, strict=True) if named == (repository, target)]
    )
    if subject.primary is None:
        return
    measure = subject.primary.asked
    asked = [case for case, named in zip(suite.table.ids, repositories, strict=True) if named == repository]
    mean = _always(target, asked, suite, measure)
    if not mean >= HIGHEST_MEAN:  # nor where it is undefined
        return
    of = "" if len(asked) == len(suite) else f" of {quoted(str(repository))}"
    share = f"{quoted(target)}{of} is relevant in {len(of_target)} of {cases} cases ({len(of_target) / cases:.0%})"
    message = f"{share}: an agent that answers nothing else, whatever the query, gets {measure.name} {mean:.4f}"
    yield finding("dominant-target", message, (suite.table.ids[row] for row in of_target.tolist()))


def _most_often(targets: Texts, rows: NDArray[np.int64]) -> int:
    """How often the commonest target is there; a column is counted without making texts of it."""
    if isinstance(targets, list):
        return max(Counter(texts_at(targets, rows)).values())
    counts = targets[rows].value_counts()["count"].to_numpy()
    return int(counts.max())


def _relevant_rows(suite: Suite) -> NDArray[np.int64]:
    """The judgments that name something relevant by itself; a case with documents of its own shares none with others."""
    judgments = suite.judgments
    relevant = judgments.grades >= suite.defaults.rel
    if judgments.match is not None:
        relevant &= judgments.match <= PATH
    if suite.table.documents is not None:
        own = np.array([bool(documents) for documents in suite.table.documents], bool)
        relevant &= ~own[judgments.case]
    return np.flatnonzero(relevant)


def _repositories(suite: Suite) -> list[str | None]:
    """The repository of each case: a path of the same name in another one is another target."""
    return [None] * len(suite) if suite.table.fields is None else list(map(repository_of, suite.table.fields))


def _at(repositories: list[str | None], cases: NDArray[np.int64]) -> list[str | None]:
    return [repositories[case] for case in cases.tolist()]


def _always(target: str, asked: Iterable[str], suite: Suite, measure: AnyMeasure) -> float:
    """The mean over all cases of an agent that answers one target to every query of its repository."""
    answers = [Answer(case, "ok", (Hit(target, 1),)) for case in asked]
    (mean,) = score(judge(suite, Run.from_answers("always", answers)), [measure]).means().values()
    return mean


def dominant_categories(subject: Subject) -> Iterator[Finding]:
    """The largest category, if it has more cases than all others together."""
    categories = subject.suite.table.categories or ()
    counts = Counter(category for category in categories if category)
    if len(counts) < FEWEST_CATEGORIES:
        return
    (name, count), *_ = counts.most_common(1)
    if count > MAJORITY * counts.total():
        others = counted(len(counts) - 1, "other category", "other categories")
        message = (
            f"{quoted(name)} has {count} of {counts.total()} cases ({count / counts.total():.0%}), more than the {others} together"
        )
        ids = subject.suite.table.ids
        yield finding("dominant-category", message, (case for case, each in zip(ids, categories, strict=True) if each == name))
