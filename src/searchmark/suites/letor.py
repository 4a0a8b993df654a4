"""Lists for learning to rank: ``grade qid:1 [feature:value …] # document query``, as RankLib reads and Quepid writes them."""

from __future__ import annotations

import re

from searchmark.errors import FormatError
from searchmark.records import Case, Judgment, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.gradings import Gradings
from searchmark.suites.source import Entry, Source

QUERY = "qid:"
_NAMED = re.compile(r"#\s*qid:(\S+?):\s+(\S.*)")
_OF_LETOR = re.compile(r"\s*docid\s*=\s*(\S+)")


def is_letor(line: str) -> bool:
    """Whether a line begins like one of these lists."""
    words = line.split("#", 1)[0].split(None, 2)
    return len(words) > 1 and words[1].startswith(QUERY) and len(words[1]) > len(QUERY)


def read_letor(source: Source) -> Suite:
    """The comment behind a line names the document and perhaps the query; features are not read.

    Texts of queries may be in comments of their own, ``# qid:1: running shoes``. Where the words behind the documents of a query
    differ, they are titles.
    """
    gradings = Gradings(source)
    judged: dict[str, dict[str, Judgment]] = {}
    named: dict[str, str] = {}
    behind: dict[str, set[str]] = {}
    for number, line in enumerate(source.text.split("\n"), 1):
        if found := _NAMED.match(line):
            named[found[1]] = found[2].strip()
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        head, _, comment = line.partition("#")
        document, words = _document(comment)
        if not is_letor(head) or not document:
            raise FormatError(
                source.path, f"line {number}", "is not 'grade qid:1 # document query'; the comment names the document"
            )
        grade, case = head.split(None, 2)[:2]
        entry, case = Entry(source.path, f"line {number}", {"grade": grade}), case.removeprefix(QUERY)
        behind.setdefault(case, set()).add(words)
        judgments = judged.setdefault(case, {})
        if document in judgments:
            raise entry.error("document", f"{document!r} is judged a second time for query {case!r}")
        judgments[document] = gradings.judgment(entry, document, "grade")
    gradings.check()
    queries = {case: named.get(case) or (min(words) if len(words) == 1 else "") for case, words in behind.items()}
    cases = [Case(case, queries[case] or None, tuple(judgments.values())) for case, judgments in judged.items()]
    if not cases:
        raise FormatError(source.path, None, "holds no lines of 'grade qid:1 # document query'")
    check_cases(source.path, cases)
    return Suite.from_cases(source.name, cases)


def _document(comment: str) -> tuple[str, str]:
    """The document that a comment names, and what comes behind it; LETOR writes ``docid = GX000 inc = 1 prob = 0.5``."""
    if found := _OF_LETOR.match(comment):
        return found[1], ""
    document, words = [*comment.split(None, 1), "", ""][:2]
    return document, words.strip()
