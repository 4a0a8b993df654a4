"""Whether a corpus that was named can be what the cases were searched in: one state of a repository is not that of every case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.records import WORK_TREE, Run, Suite


def travels_in_time(suite: Suite, runs: Sequence[Run]) -> bool:
    """Whether what is searched are snapshots of a repository: by the runs, or where there are none by the commits of the cases."""
    return any(map(_travelled, runs)) if runs else len(_commits(suite)) > 1


def _travelled(run: Run) -> bool:
    return run.label.snapshot not in (None, WORK_TREE)


def _commits(suite: Suite) -> set[str]:
    """The states that cases of a mined suite are searched in."""
    return {str(fields["parent_commit"]) for fields in suite.table.fields or () if fields.get("parent_commit")}


def corpus_of_another_state(subject: Subject) -> Iterator[Finding]:
    """That a corpus was named that gold and runs are not about; no check has used it."""
    if subject.set_aside is None:
        return
    told = [f"{name} searched the snapshot {run.label.snapshot}" for name, run in _runs(subject) if _travelled(run)]
    if (count := len(_commits(subject.suite))) > 1:
        told = [f"the cases are about {count} commits", *told]
    yield finding("corpus-of-another-state", f"{'; '.join(told[:3])}: the corpus is of one state, and was not used")


def _runs(subject: Subject) -> Iterator[tuple[str, Run]]:
    return ((name, scores.judged.run) for name, scores in subject.scores.items())
