"""Kinds of findings about judgments that were chosen."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

KINDS: tuple[FindingKind, ...] = (
    FindingKind(
        "judgments-not-random",
        "note",
        "Judgments were chosen by `searchmark audit --next` to settle a comparison, and not drawn at random.",
        why="They favour documents on which two runs differ, which shows in Judged@k, Bpref and means over judged documents.",
        fix="Compare the two runs that they were chosen for, and judge a common pool before others are compared with them.",
    ),
)
