"""Findings on files of a searched folder that are no documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from searchmark.corpora.folder_files import LEFT_OUT, FolderFiles, LeftOut
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted


def left_out_findings(files: FolderFiles) -> Iterator[Finding]:
    """How many files and folders were left out, for which reason, with examples; and what could not be found out."""
    if files.left_out:
        parts = "; ".join(map(_told, files.left_out))
        back = {each.reason for each in files.left_out} & {"ignored", "tools"}
        how = " (--no-ignore searches what Git ignores and what belongs to tools, too)" if back else ""
        yield finding("left-out-files", f"files and folders that are left out of the corpus: {parts}{how}")
    for problem in files.problems:
        yield finding("ignored-files-unknown", f"files that Git ignores are searched like others: {problem}")


def left_out_hits(files: FolderFiles | None, hits: Sequence[str]) -> str:
    """Of hits that do not exist: how many are files that were left out; empty if none is."""
    reasons = [] if files is None else [(hit, files.reason(hit)) for hit in hits]
    found = [(hit, reason) for hit, reason in reasons if reason is not None]
    if not found:
        return ""
    hit, reason = found[0]
    return f"; {counted(len(found), 'hit')} in files that are left out of the corpus, like {hit!r} ({LEFT_OUT[reason]})"


def _told(left_out: LeftOut) -> str:
    more = ", ..." if left_out.count > len(left_out.examples) else ""
    return f"{left_out.count} {LEFT_OUT[left_out.reason]}, like {', '.join(map(repr, left_out.examples))}{more}"
