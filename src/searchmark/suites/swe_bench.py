"""SWE-bench and Loc-Bench: an issue, the commit it was fixed on top of, and the patch, whose files are the targets."""

from __future__ import annotations

import re

from searchmark.errors import FormatError
from searchmark.records import Case, Judgment, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.source import Entry, Source

_OLD_FILE = re.compile(r"^--- (?:\"?a/)?(.+?)\"?(?:\t.*)?$", re.MULTILINE)
_NEW_FILE = re.compile(r"^--- /dev/null.*\n\+\+\+ (?:\"?b/)?(.+?)\"?(?:\t.*)?$", re.MULTILINE)
_READ = ("instance_id", "problem_statement")


def read_swe_bench(source: Source) -> Suite:
    """Files that the patch changes are targets; files that it creates cannot be found and are only listed."""
    cases = [_case(entry) for entry in source.entries("instances")]
    if not cases:
        raise FormatError(source.path, None, "holds no instances")
    check_cases(source.path, cases)
    return Suite.from_cases(source.path.stem, cases)


def _case(entry: Entry) -> Case:
    patch = entry.text("patch")
    changed = [path for path in dict.fromkeys(_OLD_FILE.findall(patch)) if path != "/dev/null"]
    created = list(dict.fromkeys(_NEW_FILE.findall(patch)))
    if not changed and not created:
        raise entry.error("patch", "names no file (a unified diff has lines of '--- a/path')")
    fields = entry.rest(*_READ)
    fields["commit_hash"] = entry.text("base_commit")
    if created:
        fields["created_files"] = created
    return Case(
        id=entry.text("instance_id"),
        query=entry.text("problem_statement"),
        judgments=tuple(Judgment(path, "path") for path in changed),
        category=entry.maybe_text("category", "repo"),
        fields=fields,
    )
