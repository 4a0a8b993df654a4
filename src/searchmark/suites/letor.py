"""Lists for learning to rank: ``grade qid:1 [feature:value …] # document query``, as RankLib reads and Quepid writes them."""

from __future__ import annotations

from searchmark.errors import FormatError
from searchmark.records import Case, Judgment, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.gradings import Gradings
from searchmark.suites.source import Entry, Source

QUERY = "qid:"


def is_letor(line: str) -> bool:
    """Whether a line begins like one of these lists."""
    words = line.split("#", 1)[0].split(None, 2)
    return len(words) > 1 and words[1].startswith(QUERY) and len(words[1]) > len(QUERY)


def read_letor(source: Source) -> Suite:
    """The id of a document is the first word of the comment, and the text of the query is the rest of it; features are not read."""
    gradings = Gradings(source)
    judged: dict[str, dict[str, Judgment]] = {}
    queries: dict[str, str | None] = {}
    for number, line in enumerate(source.text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        head, _, comment = line.partition("#")
        document, _, query = comment.strip().partition(" ")
        if not is_letor(head) or not document:
            raise FormatError(
                source.path, f"line {number}", "is not 'grade qid:1 # document query'; the comment names the document"
            )
        grade, case = head.split(None, 2)[:2]
        entry, case = Entry(source.path, f"line {number}", {"grade": grade}), case.removeprefix(QUERY)
        queries.setdefault(case, query.strip() or None)
        judgments = judged.setdefault(case, {})
        if document in judgments:
            raise entry.error("document", f"{document!r} is judged a second time for query {case!r}")
        judgments[document] = gradings.judgment(entry, document, "grade")
    gradings.check()
    cases = [Case(case, queries[case], tuple(judgments.values())) for case, judgments in judged.items()]
    if not cases:
        raise FormatError(source.path, None, "holds no lines of 'grade qid:1 # document query'")
    check_cases(source.path, cases)
    return Suite.from_cases(source.name, cases)
