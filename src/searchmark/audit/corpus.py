"""Checks of targets and patterns against the ids of the corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from searchmark.audit.check import Subject, check, ids_of
from searchmark.formats.corpora.case_locations import excluded_fields
from searchmark.records.columns import distinct
from searchmark.records.document import field_texts
from searchmark.records.finding import CORPUS, Finding, FindingKind, finding
from searchmark.records.judgments import MATCHES, Judgment
from searchmark.records.matching import is_pattern, judgment_fits, path_of_lines
from searchmark.records.provenance import WORK_TREE
from searchmark.records.run import Run
from searchmark.records.sentences import plain_count, share_text
from searchmark.records.suite import Suite
from searchmark.scoring.targets import DescribedIds, ExistingIds, NearIds, Remedy, describe_unjoined

# Targets that are not in the corpus.

SHOWN = 3
FEWEST_ALIKE = 3
MOST = 0.5  # of the relevant targets: the mean then tells more of what is missing than of the search
LINES = MATCHES.index("lines")


@dataclass(frozen=True, eq=False)
class MissingTargets:
    """Relevant targets that are not in the corpus, and what is near to them."""

    targets: tuple[str, ...]
    cases: tuple[str, ...]
    of: int
    near: NearIds

    @property
    def is_all(self) -> bool:
        return len(self.targets) == self.of

    @property
    def code(self) -> str:
        return missing_code(len(self.targets), self.of)

    @cached_property
    def remedy(self) -> Remedy | None:
        """One change that makes them fit; of some targets among others that fit as they are, few can be alike by accident."""
        return self.near.remedy(1 if self.is_all else FEWEST_ALIKE)

    @classmethod
    def of_subject(cls, subject: Subject) -> MissingTargets | None:
        """None where nothing is missing, or that is not known."""
        match = subject.suite.judgments.match
        has_lines = match is not None and bool((match == LINES).any())
        # Judging a run has shown already that no target is missing, but for targets with lines.
        none_missing = any(each.matched.dropped.get("unreachable_targets") == 0 for each in subject.scores.values())
        if subject.survey is None or (none_missing and not has_lines):
            return None
        suite = _expand_as_judged(subject)
        judgments = suite.judgments
        relevant = judgments.grades > 0
        about_lines = np.zeros(len(judgments), bool) if judgments.match is None else (judgments.match == LINES) & relevant
        existing = ExistingIds(subject.survey.ids, subject.survey.folder)
        rows, targets = list[int](), list[str]()
        for row in np.flatnonzero(judgments.named | about_lines).tolist():
            target = judgments.targets[row]
            name = path_of_lines(target) if about_lines[row] else target
            if not existing.has_target(name):
                rows.append(row)
                targets.append(name)
        cases = tuple(ids_of(suite, judgments.case[rows].tolist())) if rows else ()
        return cls(tuple(targets), cases, int(relevant.sum()), NearIds(subject.survey.ids, targets)) if rows else None


def _expand_as_judged(subject: Subject) -> Suite:
    """As runs on this corpus were judged by it, if there are any: expanding takes time."""
    judged = next((each.matched.suite for each in subject.scores.values()), None)
    if judged is None or judged.table.ids != subject.suite.table.ids or judged.judgments.described.any():
        return subject.expanded
    return judged


# Findings on missing targets: all of them, most, or some.


@check(FindingKind("all-targets-missing", "error", "None of the relevant targets is in the corpus.",
    "Nothing could be found, whatever the search: a score of 0 says nothing of it.",
    "Name the corpus that the suite was made for, or write its targets as the corpus has them.",
    spoils=True,
), FindingKind("most-targets-missing", "error", "More than half of the relevant targets are not in the corpus.",
    "No search can find them: every mean says more about what is missing than about the search.",
    "Name the corpus that the suite was made for, or write its targets as the corpus has them.",
), FindingKind("unreachable-targets", "warning", "Relevant targets that are not in the corpus, up to half of all.",
    "No search can find them, so that the best possible value is below 1.",
    "Correct these targets or remove them, or name the corpus that the suite was made for.",
), theme=CORPUS, quick=True)  # fmt: skip
def missing_targets(subject: Subject) -> Iterator[Finding]:
    """If all targets are missing, nothing was measured at all. Targets with a new name have another check."""
    missing = MissingTargets.of_subject(subject)
    if missing is None:
        return
    new_names, of, others = new_names_of(subject, missing), missing.of, ""
    pairs = list(zip(missing.targets, missing.cases, strict=True))
    if missing.code == "unreachable-targets" and new_names:
        pairs = [each for each in pairs if each[0] not in new_names]
        others = f" (beside {len(new_names)} that seem to be renamed)"
    if not pairs:
        return
    what = f"{len(pairs)} of {of} relevant targets ({share_text(len(pairs), of)}) are not in the corpus{others}"
    if missing.is_all:
        what = f"none of the {of} relevant targets is in the corpus" if of > 1 else "its target is not there"
    examples = _examples(missing, [target for target, _ in pairs], new_names)
    yield finding(missing.code, f"{what}: {examples}", dict.fromkeys(case for _, case in pairs))


def missing_code(missing: int, of: int) -> str:
    """The code of so many missing targets."""
    if missing == of:
        return "all-targets-missing"
    return "most-targets-missing" if missing > MOST * of else "unreachable-targets"


def _examples(missing: MissingTargets, targets: Sequence[str], new_names: Mapping[str, str]) -> str:
    """Examples of missing targets with what is near to them, and the change that would make them fit."""
    distinct, remedy = list(dict.fromkeys(targets)), missing.remedy
    if remedy is not None:
        return remedy.example(targets)
    text = missing.near.examples(*distinct[:SHOWN], both_sides=missing.is_all, known=new_names)
    return text if len(distinct) <= SHOWN else f"{text} and {len(distinct) - SHOWN} others"


# Documents that a suite wants to exclude by a field, and whether that can be done.


@check(FindingKind("exclusions-not-applied", "warning", "Documents were to be excluded by a field, and could not be.",
    "They count as relevant although the suite says that they are not.",
    "Name the corpus with --corpus, as a JSON, JSONL or CSV file whose documents have the field.",
), FindingKind("exclusions-without-effect", "warning", "No document has the value of a field that a suite excludes.",
    "Nothing is excluded by it, so that documents may count as relevant although the suite says that they are not.",
    "Compare it with the values that the corpus has.",
), theme=CORPUS, quick=True)  # fmt: skip
def exclusion_findings(subject: Subject) -> Iterator[Finding]:
    cases_of = dict[tuple[str, str], dict[int, None]]()
    for case, exclude in enumerate(subject.suite.table.excludes or ()):
        for name, values in exclude.items():
            for value in field_texts(values):
                cases_of.setdefault((name, value), {})[case] = None
    if not cases_of:
        return
    table = excluded_fields(subject.suite, subject.survey)
    unknown = dict.fromkeys(name for name, _ in cases_of if table is None or name not in table.ids)
    if unknown:
        why = "the corpus is not known" if table is None else "no document of the corpus has such a field"
        message = f"documents were to be excluded by {', '.join(unknown)} and were not: {why}"
        cases = sorted({case for each, of in cases_of.items() if each[0] in unknown for case in of})
        yield finding("exclusions-not-applied", message, ids_of(subject.suite, cases))
    idle = [each for each in cases_of if table is not None and each[0] in table.ids and not table.having(each[0], each[1:])]
    if idle:
        values_text = ", ".join(f"{name}: {value}" for name, value in idle)
        cases = sorted({case for each in idle for case in cases_of[each]})
        message = f"no document has a value that is excluded: {values_text}"
        yield finding("exclusions-without-effect", message, ids_of(subject.suite, cases))


# Queries and judgments that were joined by id: whether the join covers both sides.

TOLERATED = 0.05  # share of judged cases without a query where all queries are judged
UNJUDGED = ("topics_without_judgments", "queries_without_judgments")


@check(FindingKind("nothing-joined", "error", "No judged case has a query, and no query that was read is judged.",
    "No agent can be asked these cases, and a run on these queries was judged by none of them.",
    "Write the ids of queries and judgments alike, or name the queries that belong to these judgments.",
), FindingKind("partial-join", "warning", "Judged cases without a query, while other cases have one.",
    "Only a part of the judgments is joined with queries: cases without one cannot be asked.",
    "Check that queries and judgments are of one collection and write their ids alike.",
), theme=CORPUS, quick=True)  # fmt: skip
def partial_join(subject: Subject) -> Iterator[Finding]:
    """Judged cases without a query, if other cases have one or queries were read that fit no case.

    Queries without judgments alone are usual: a file of queries often serves several splits. Both sides incomplete at once
    means that ids are written differently.
    """
    queries = subject.suite.table.queries
    unjudged = sum(subject.suite.dropped.get(key, 0) for key in UNJUDGED)
    if queries is None and not unjudged:
        return
    ids = subject.suite.table.ids
    without = [case for case, query in zip(ids, queries or (None,) * len(ids), strict=True) if query is None]
    with_query = len(ids) - len(without)
    if not without or not (with_query or unjudged) or (not unjudged and len(without) <= TOLERATED * len(ids)):
        return
    if not with_query:
        message = f"none of {len(ids)} judged cases has a query, and none of {unjudged} queries is judged"
        yield finding("nothing-joined", f"{message}: {describe_unjoined(subject.suite, without)}", without)
        return
    other = f", and {unjudged} of {with_query + unjudged} queries have no judgments" if unjudged else ""
    names = describe_unjoined(subject.suite, without) if subject.suite.unjudged else f"like {without[0]!r}"
    message = f"{len(without)} of {len(ids)} judged cases ({share_text(len(without), len(ids))}) have no query{other}: {names}"
    yield finding("partial-join", message, without)


# Globs and symbols checked against the ids of the corpus, and against each other.

BROAD = 0.5  # share of all documents: a random ranking then has this precision
FEWEST_DOCUMENTS = 10  # of which half is more than a handful


@dataclass(frozen=True)
class DescribedTarget:
    """A glob or symbol as a target of a case."""

    case: str
    judgment: Judgment

    @property
    def name(self) -> tuple[str, str]:
        return self.judgment.match, self.judgment.target


@check(FindingKind("no-pattern-fits", "error", "All relevant targets are globs and symbols, and no document fits any of them.",
    "Whatever is returned scores 0, which says nothing of the search.",
    "Correct them; see how ids of the corpus are written, or name the corpus that they are about.",
    spoils=True,
), FindingKind("patterns-without-match", "warning", "Globs and symbols of relevant targets that no document fits.",
    "They add nothing to find, and a case that has only such ones can only score 0.",
    "Correct them or remove them; see how ids of the corpus are written.",
), FindingKind("patterns-in-other-case", "warning", "Globs and symbols that documents fit only if case is ignored.",
    "What they mean is there and counts as not relevant.",
    "Write them as the corpus does, or set ignore_case: true in the suite's defaults.",
), FindingKind("broad-patterns", "warning", "Globs and symbols that half of all documents fit, or more.",
    "Any ranking finds them: a random one then has a precision of one half or more.",
    "Narrow them, or name the targets.",
), theme=CORPUS, quick=True)  # fmt: skip
def pattern_findings(subject: Subject) -> Iterator[Finding]:
    """Descriptions of relevant targets that fit nothing, or only if case is ignored, or half of the corpus.

    Beside a report only those of cases that have no target for it: looking all of them up again would take too long.
    """
    patterns = _described_targets(subject)
    if subject.ids is None or not patterns:
        return
    ignoring = subject.suite.defaults.ignore_case
    ids = DescribedIds(subject.ids, ignore_case=ignoring)
    idle = [each for each in patterns if not ids.meant_by(each.judgment)]
    any_case = DescribedIds(subject.ids, ignore_case=True)
    other_case = [] if ignoring else [each for each in idle if any_case.meant_by(each.judgment)]
    in_other_case = {each.name for each in other_case}
    nothing = [each for each in idle if each.name not in in_other_case]
    most = BROAD * len(subject.ids)
    broad = [each for each in patterns if len(subject.ids) >= FEWEST_DOCUMENTS and len(ids.meant_by(each.judgment)) >= most]
    of = len({each.name for each in patterns})
    # Where nothing else is relevant, whatever is returned scores 0.
    is_all = len(nothing) == int((subject.suite.judgments.grades > 0).sum())
    code = "no-pattern-fits" if is_all else "patterns-without-match"
    yield from _about(nothing, of, code, "fit no document", lambda judgment: repr(judgment.target))
    yield from _about(
        other_case, of, "patterns-in-other-case", "fit documents only if case is ignored",
        lambda judgment: f"{judgment.target!r} ({any_case.meant_by(judgment)[0]!r} is there)",
    )  # fmt: skip
    yield from _about(
        broad, of, "broad-patterns", f"fit {BROAD:.0%} of the documents or more",
        lambda judgment: f"{judgment.target!r} ({len(ids.meant_by(judgment))} of {len(subject.ids or ())})",
    )  # fmt: skip


@check(FindingKind("symbols-outside-patterns", "note", "Symbols that no pattern of their own case fits.",
    "Patterns and symbols of a case should describe the same targets: one of both may be mistyped or too narrow.",
    "Check the patterns of these cases; nothing has to be done where they are meant to add other targets.",
), theme=CORPUS, after="deprecated-targets")  # fmt: skip
def symbols_outside_patterns(subject: Subject) -> Iterator[Finding]:
    """Symbols of cases that have patterns too, none of which fits them: neither as it is written nor in the corpus."""
    suite, ignoring = subject.suite, subject.suite.defaults.ignore_case
    if not suite.judgments.described.any():
        return
    ids = None if subject.ids is None else DescribedIds(subject.ids, ignore_case=ignoring)
    outside, symbols, by_case_alone = list[DescribedTarget](), 0, 0
    for case in suite.cases:
        globs = [each for each in case.judgments if each.match == "glob" and each.grade > 0]
        for symbol in (each for each in case.judgments if each.match == "symbol" and each.grade > 0 and globs):
            symbols += 1
            names = [symbol.target] if ids is None else [symbol.target, *ids.meant_by(symbol)]
            if not _any_fits(globs, names, ignore_case=ignoring):
                outside.append(DescribedTarget(case.id, symbol))
                by_case_alone += _any_fits(globs, names, ignore_case=True)
    if outside:
        examples = ", ".join(repr(each.judgment.target) for each in outside[:SHOWN])
        why = f"; {by_case_alone} of them only because of upper and lower case" if by_case_alone else ""
        message = f"{len(outside)} of {plain_count(symbols, 'symbol')} fit no pattern of their own case: {examples}{why}"
        yield finding("symbols-outside-patterns", message, dict.fromkeys(each.case for each in outside))


def _any_fits(globs: Sequence[Judgment], names: Sequence[str], *, ignore_case: bool) -> bool:
    return any(judgment_fits(glob, name, ignore_case=ignore_case) for glob in globs for name in names)


def _described_targets(subject: Subject) -> list[DescribedTarget]:
    """Of all cases, or without documents only of those that have nothing relevant once their patterns are looked up.

    That has been done where runs were judged.
    """
    suite, judged = subject.suite, next((each.matched.suite for each in subject.scores.values()), None)
    hollow: set[str] = set()
    if subject.corpus is None and judged is not None and subject.ids is not None:
        relevant = np.bincount(judged.judgments.case[judged.judgments.grades > 0], minlength=len(judged))
        hollow = set(ids_of(judged, relevant == 0))
    if not suite.judgments.described.any() or (subject.corpus is None and not hollow):
        return []
    cases = (case for case in suite.cases if subject.corpus is not None or case.id in hollow)
    return [DescribedTarget(case.id, each) for case in cases for each in case.judgments if is_pattern(each) and each.grade > 0]


def _about(
    targets: Sequence[DescribedTarget], of: int, code: str, words: str, example: Callable[[Judgment], str]
) -> Iterator[Finding]:
    if targets:
        distinct = {each.name: each.judgment for each in targets}
        examples = ", ".join(map(example, list(distinct.values())[:SHOWN]))
        message = f"{len(distinct)} of {plain_count(of, 'glob or symbol', 'globs and symbols')} {words}: {examples}"
        yield finding(code, message, dict.fromkeys(each.case for each in targets))


# Whether a corpus that was named can be what the cases were searched in: one state of a repository is not that of every case.


def is_about_snapshots(suite: Suite, runs: Sequence[Run]) -> bool:
    """Whether what is searched are snapshots of a repository: by the runs, or where there are none by the commits of the cases."""
    return any(map(_is_snapshot_run, runs)) if runs else len(_commits(suite)) > 1


def _is_snapshot_run(run: Run) -> bool:
    return run.label.snapshot not in (None, WORK_TREE)


def _commits(suite: Suite) -> set[str]:
    """The states that cases of a mined suite are searched in."""
    return {str(fields["parent_commit"]) for fields in suite.table.fields or () if fields.get("parent_commit")}


@check(FindingKind("corpus-of-another-state", "warning", "A corpus of one state, beside cases or runs that are about snapshots.",
    "Every case was searched before its own commit: that files have moved or gone since does not make the suite wrong.",
    "Leave out --corpus.",
), theme=CORPUS)  # fmt: skip
def corpus_of_another_state(subject: Subject) -> Iterator[Finding]:
    """That a corpus was named that gold and runs are not about; no check has used it."""
    if subject.set_aside is None:
        return
    runs = {name: scores.matched.run for name, scores in subject.scores.items()}
    reasons = [f"{name} searched the snapshot {run.label.snapshot}" for name, run in runs.items() if _is_snapshot_run(run)]
    if (count := len(_commits(subject.suite))) > 1:
        reasons = [f"the cases are about {count} commits", *reasons]
    yield finding("corpus-of-another-state", f"{'; '.join(reasons[:3])}: the corpus is of one state, and was not used")


# Missing targets that the corpus has under another name, and targets that it says were replaced.


@check(FindingKind("renamed-targets", "warning", "Targets that the corpus has under another name now.",
    "Who finds the document under its new name gets nothing for it.",
    "Write the new names into the suite.",
), theme=CORPUS)  # fmt: skip
def renamed_targets(subject: Subject) -> Iterator[Finding]:
    """By a field that says so, or by a last part that one document near it alone has.

    Where most targets are missing, another check reports that instead.
    """
    missing = MissingTargets.of_subject(subject)
    new_names = _by_field(subject)
    if missing is not None and missing.code != "unreachable-targets":
        new_names = {old: new for old, new in new_names.items() if old not in missing.targets}
    elif missing is not None:
        new_names |= new_names_of(subject, missing)
    if new_names:
        judgments = subject.expanded.judgments
        targets = {row: judgments.targets[row] for row in np.flatnonzero(judgments.named).tolist()}
        cases = distinct(judgments.case[[row for row, target in targets.items() if target in new_names]]).tolist()
        examples = ", ".join(f"{old!r} is now {new!r}" for old, new in list(new_names.items())[:SHOWN])
        message = f"{len(new_names)} of {len({*targets.values()})} targets seem to be renamed: {examples}"
        yield finding("renamed-targets", message, ids_of(subject.suite, cases))


def new_names_of(subject: Subject, missing: MissingTargets) -> dict[str, str]:
    """What missing targets are called now; only a full audit, which has the documents, looks for it.

    Where one and the same change would make most targets fit, they were not renamed one by one.
    """
    if subject.corpus is None:
        return {}
    alike = {} if missing.remedy is None else missing.remedy.found
    by_name = {each: missing.near.renamed(each) for each in dict.fromkeys(missing.targets) if each not in alike}
    by_field = {old: new for old, new in _by_field(subject).items() if old in by_name}
    return by_field | {old: new for old, new in by_name.items() if new is not None}


def _by_field(subject: Subject) -> dict[str, str]:
    from searchmark.audit.documents import document_facts  # a report's short audit reads no documents

    facts = document_facts(subject)
    return {} if facts is None else dict(facts.renamed)
