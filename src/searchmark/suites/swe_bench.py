"""SWE-bench and Loc-Bench: an issue, the commit it was fixed on top of, and the patch, whose files are the targets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from searchmark.errors import FormatError
from searchmark.records import Case, Judgment, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.source import Entry, Source

_HUNK = re.compile(r"@@ -\d+(?:,(\d{1,9}))? \+\d+(?:,(\d{1,9}))? @@")
_OCTAL = re.compile(r"\\([0-7]{3})")
_ESCAPES = {"\\t": "\t", "\\n": "\n", '\\"': '"', "\\\\": "\\"}
NOWHERE = "/dev/null"
_READ = ("instance_id", "problem_statement")


def read_swe_bench(source: Source) -> Suite:
    """Files that the patch changes are targets; files that it creates cannot be found and are only listed."""
    cases = [_case(entry) for entry in source.entries()]
    if not cases:
        raise FormatError(source.path, None, "holds no instances")
    check_cases(source.path, cases)
    return Suite.from_cases(source.name, cases)


def _case(entry: Entry) -> Case:
    changed, created = files_of_patch(entry.text("patch"))
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


def files_of_patch(patch: str) -> tuple[list[str], list[str]]:
    """The files that a unified diff changes, deletes or moves away, and those that it creates."""
    changed: dict[str, None] = {}
    created: dict[str, None] = {}
    for old, new in _sections(re.split(r"\r?\n", patch)):
        if old == NOWHERE and new:
            created[new] = None
        elif old:
            changed[old] = None
    return list(changed), list(created)


def _sections(lines: list[str]) -> Iterator[tuple[str | None, str | None]]:
    """Old and new name of every file. Lines of a hunk are counted and passed over: they may look like headers."""
    old = new = None
    left = [0, 0]
    for line in lines:
        if line.startswith("diff --git "):  # no line of a hunk begins so, whatever the hunk counts
            yield old, new
            old = new = _name_in_header(line.removeprefix("diff --git "))
            left = [0, 0]
        elif hunk := _HUNK.match(line):
            left = [int(hunk[1] or 1), int(hunk[2] or 1)]
        elif left[0] > 0 or left[1] > 0:
            left[0] -= line[:1] in ("-", " ", "")
            left[1] -= line[:1] in ("+", " ", "")
        elif line.startswith("new file mode"):
            old = NOWHERE
        elif line.startswith("rename from "):
            old = _unquoted(line.removeprefix("rename from "))
        elif line.startswith("--- "):
            name = _unquoted(line.removeprefix("--- "))
            if old not in (None, name, NOWHERE):
                yield old, new
            old, new = name, None
        elif line.startswith("+++ "):
            new = _unquoted(line.removeprefix("+++ "))
    yield old, new


def _name_in_header(names: str) -> str | None:
    """The name in ``a/x b/x``, which occurs twice; None where it changes, which other lines tell."""
    half = len(names) // 2
    first, second = _unquoted(names[:half]), _unquoted(names[half + 1 :])
    return first if first == second else None


def _unquoted(name: str) -> str:
    """A name without the marks of a diff: a time behind a tab, quotes with escapes, ``a/`` or ``b/`` in front."""
    name = name.split("\t", maxsplit=1)[0]
    if name.startswith('"') and name.endswith('"'):
        for escape, char in _ESCAPES.items():
            name = name.replace(escape, char)
        raw = _OCTAL.sub(lambda found: chr(int(found[1], 8)), name[1:-1])
        name = raw.encode("latin-1", "replace").decode("utf-8", "surrogateescape") if _OCTAL.search(name) else raw
    return name[2:] if name.startswith(("a/", "b/")) else name
