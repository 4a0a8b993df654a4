"""What comes out of asking agents. It loads nothing of the runner, since saved runs are scored in the same form."""

from __future__ import annotations

from dataclasses import dataclass

from searchmark.formats.corpora.corpus import Survey
from searchmark.records.run import Run
from searchmark.records.suite import Suite


@dataclass(frozen=True, eq=False)
class RunResult:
    """What came out: one run per agent, and what was seen of the corpus, if there was one for all cases."""

    suite: Suite
    runs: tuple[Run, ...]
    survey: Survey | None
