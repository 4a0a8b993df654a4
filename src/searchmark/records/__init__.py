"""The records that the pipeline passes along and writes to disk.

Small things (a case, a judgment, a hit) are frozen dataclasses. What comes by the million (the judgments of a suite,
the hits of a run) is kept in columns, and `Case`, `Hit` and `Answer` are views that are built when asked for. Nothing
here reads, checks or computes a measure. A name is imported when it is first used: the process of an agent needs a
document, and not the columns and numpy behind a run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from searchmark.records.answers import (
        EMPTY,
        ERROR,
        NOT_RUN,
        NOTHING_KNOWN,
        OK,
        STATUSES,
        TIMEOUT,
        Answer,
        AnswerDetails,
        CountedText,
        Hit,
        Status,
    )
    from searchmark.records.case_table import (
        CaseTable,
    )
    from searchmark.records.columns import (
        NO_LINE,
        line_columns,
    )
    from searchmark.records.digests import (
        query_digest,
    )
    from searchmark.records.document import (
        Document,
    )
    from searchmark.records.field_values import (
        FieldValues,
        field_texts,
    )
    from searchmark.records.hosts import (
        Environment,
        Host,
        host_names,
    )
    from searchmark.records.joined_provenance import (
        joined_provenance,
    )
    from searchmark.records.judgments import (
        MATCHES,
        NO_RANK,
        Judgment,
        JudgmentTable,
        Match,
        ScoreRange,
    )
    from searchmark.records.line_ranges import (
        is_line_range,
    )
    from searchmark.records.provenance import (
        PARENT,
        WORK_TREE,
        AgentIdentity,
        BaselineRecord,
        CandidateKinds,
        ImportedRun,
        IndexBuild,
        Printed,
        Provenance,
        RunLabel,
        RunPart,
        SearchedRepository,
        SuiteIdentity,
        TrustEvent,
        TrustKind,
        display_names,
    )
    from searchmark.records.run import (
        Run,
        ScoredRun,
    )
    from searchmark.records.shards import (
        ShardIdentity,
    )
    from searchmark.records.suite import (
        Case,
        Defaults,
        Gain,
        Suite,
        SuiteKind,
    )
    from searchmark.records.vectors import (
        VectorStatistics,
    )

__all__ = [
    "EMPTY",
    "ERROR",
    "MATCHES",
    "NOTHING_KNOWN",
    "NOT_RUN",
    "NO_LINE",
    "NO_RANK",
    "OK",
    "PARENT",
    "STATUSES",
    "TIMEOUT",
    "WORK_TREE",
    "AgentIdentity",
    "Answer",
    "AnswerDetails",
    "BaselineRecord",
    "CandidateKinds",
    "Case",
    "CaseTable",
    "CountedText",
    "Defaults",
    "Document",
    "Environment",
    "FieldValues",
    "Gain",
    "Hit",
    "Host",
    "ImportedRun",
    "IndexBuild",
    "Judgment",
    "JudgmentTable",
    "Match",
    "Printed",
    "Provenance",
    "Run",
    "RunLabel",
    "RunPart",
    "ScoreRange",
    "ScoredRun",
    "SearchedRepository",
    "ShardIdentity",
    "Status",
    "Suite",
    "SuiteIdentity",
    "SuiteKind",
    "TrustEvent",
    "TrustKind",
    "VectorStatistics",
    "display_names",
    "field_texts",
    "host_names",
    "is_line_range",
    "joined_provenance",
    "line_columns",
    "query_digest",
]

_HOMES = {
    "answers": (
        "EMPTY",
        "ERROR",
        "NOT_RUN",
        "NOTHING_KNOWN",
        "OK",
        "STATUSES",
        "TIMEOUT",
        "Answer",
        "AnswerDetails",
        "CountedText",
        "Hit",
        "Status",
    ),
    "case_table": ("CaseTable",),
    "columns": ("NO_LINE", "line_columns"),
    "digests": ("query_digest",),
    "document": ("Document",),
    "field_values": ("FieldValues", "field_texts"),
    "hosts": ("Environment", "Host", "host_names"),
    "joined_provenance": ("joined_provenance",),
    "judgments": ("MATCHES", "NO_RANK", "Judgment", "JudgmentTable", "Match", "ScoreRange"),
    "line_ranges": ("is_line_range",),
    "provenance": (
        "PARENT",
        "WORK_TREE",
        "AgentIdentity",
        "BaselineRecord",
        "CandidateKinds",
        "ImportedRun",
        "IndexBuild",
        "Printed",
        "Provenance",
        "RunLabel",
        "RunPart",
        "SearchedRepository",
        "SuiteIdentity",
        "TrustEvent",
        "TrustKind",
        "display_names",
    ),
    "run": ("Run", "ScoredRun"),
    "shards": ("ShardIdentity",),
    "suite": (
        "Case",
        "Defaults",
        "Gain",
        "Suite",
        "SuiteKind",
    ),
    "vectors": ("VectorStatistics",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
