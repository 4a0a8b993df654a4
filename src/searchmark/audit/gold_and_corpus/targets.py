"""What documents say of the targets of a suite: copies, duplicate ids, marks of deprecation, files of the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from searchmark.audit.gold_and_corpus.documents import DocumentFacts, document_facts, relevant_targets
from searchmark.audit.gold_and_corpus.own_files import ITSELF
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted

SHOWN = 3


def deprecated_targets(subject: Subject) -> Iterator[Finding]:
    """Relevant targets that should not be used any more, as their fields or first lines say."""
    yield from _about(subject, "deprecated-targets", "are marked as deprecated, removed or internal", _deprecated)


def ambiguous_targets(subject: Subject) -> Iterator[Finding]:
    """Relevant targets whose id several contents have; cases with documents of their own may use one name for several."""
    if subject.suite.table.documents is not None:
        return
    yield from _about(subject, "ambiguous-targets", "are ids of several documents with different contents", _ambiguous)


def duplicated_targets(subject: Subject) -> Iterator[Finding]:
    """Relevant targets that are in the corpus a second time, where the copy is not relevant to the case."""
    facts = document_facts(subject)
    if facts is None or not facts.twins:
        return
    relevant: dict[int, set[str]] = {}
    for case, target in relevant_targets(subject):
        relevant.setdefault(case, set()).add(target)
    copies: dict[str, str] = {}
    cases: dict[int, None] = {}
    for case, targets in relevant.items():
        for target in sorted(targets & facts.twins.keys()):
            unjudged = [each for each in facts.twins[target] if each not in targets]
            if unjudged:
                copies.setdefault(target, unjudged[0])
                cases[case] = None
    if copies:
        of = len(set().union(*relevant.values()))
        shown = ", ".join(f"{target!r} is also {other!r}" for target, other in list(copies.items())[:SHOWN])
        message = f"{len(copies)} of {counted(of, 'target')} have a copy under another id that is not judged relevant: {shown}"
        yield finding("duplicated-targets", message, (subject.suite.table.ids[case] for case in sorted(cases)))


def suite_among_documents(subject: Subject) -> Iterator[Finding]:
    """The suite's own file, and documents that hold its queries or are other files of this program."""
    facts = document_facts(subject)
    if facts is not None and facts.own_files:
        shown = ", ".join(
            f"{each!r} ({why})" for each, why in sorted(facts.own_files.items(), key=lambda each: each[1] != ITSELF)[:SHOWN]
        )
        message = f"documents of the corpus that belong to a benchmark: {len(facts.own_files)}, {shown}"
        yield finding("suite-among-documents", message)


def _deprecated(facts: DocumentFacts) -> Mapping[str, str]:
    return facts.deprecated


def _ambiguous(facts: DocumentFacts) -> Mapping[str, str]:
    return {each: f"{count} contents" for each, count in facts.ambiguous.items()}


def _about(subject: Subject, code: str, words: str, reasons: Callable[[DocumentFacts], Mapping[str, str]]) -> Iterator[Finding]:
    facts = document_facts(subject)
    found = {} if facts is None else reasons(facts)
    if found:
        shown = ", ".join(f"{each!r} ({why})" for each, why in list(found.items())[:SHOWN])
        of = len({target for _, target in relevant_targets(subject)})
        yield finding(code, f"{len(found)} of {counted(of, 'target')} {words}: {shown}", _cases(subject, found))


def _cases(subject: Subject, targets: Collection[str]) -> list[str]:
    rows = sorted({case for case, target in relevant_targets(subject) if target in targets})
    return [subject.suite.table.ids[row] for row in rows]
