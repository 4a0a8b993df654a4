"""Kinds of findings about gold that does not fit its corpus."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

KINDS: tuple[FindingKind, ...] = (
    FindingKind(
        "all-targets-missing", "error", "None of the relevant targets is in the corpus.",
        "Nothing could be found, whatever the search: a score of 0 says nothing of it.",
        "Name the corpus that the suite was made for, or write its targets as the corpus has them.",
        spoils=True,
    ),
    FindingKind(
        "most-targets-missing", "error", "More than half of the relevant targets are not in the corpus.",
        "No search can find them: every mean says more about what is missing than about the search.",
        "Name the corpus that the suite was made for, or write its targets as the corpus has them.",
    ),
    FindingKind(
        "unreachable-targets", "warning", "Relevant targets that are not in the corpus, up to half of all.",
        "No search can find them, so that the best possible value is below 1.",
        "Correct these targets or remove them, or name the corpus that the suite was made for.",
    ),
    FindingKind(
        "renamed-targets", "warning", "Targets that the corpus has under another name now.",
        "Who finds the document under its new name gets nothing for it.",
        "Write the new names into the suite.",
    ),
    FindingKind(
        "duplicated-targets", "warning", "Targets whose content another document has too, which is not judged relevant.",
        "A search that returns the other one is as right and gets nothing for it.",
        "Judge both, or keep one of the documents in the corpus.",
    ),
    FindingKind(
        "ambiguous-targets", "warning", "Targets whose id several documents with different contents have.",
        "Only the first document counts, and the judgment may be about another one.",
        "Give every document an id of its own.",
    ),
    FindingKind(
        "deprecated-targets", "warning", "Relevant targets that the corpus marks as deprecated, archived, removed or internal.",
        "A search is rewarded for what should not be used any more, and punished for what replaced it.",
        "Judge what replaced them: in qrels with grades of their own and 0 for these; a symbol suite can leave them out with "
        "exclude, as in exclude: {deprecated: true}.",
    ),
    FindingKind(
        "no-pattern-fits", "error", "All relevant targets are globs and symbols, and no document fits any of them.",
        "Whatever is returned scores 0, which says nothing of the search.",
        "Correct them; see how ids of the corpus are written, or name the corpus that they are about.",
        spoils=True,
    ),
    FindingKind(
        "patterns-without-match", "warning", "Globs and symbols of relevant targets that no document fits.",
        "They add nothing to find, and a case that has only such ones can only score 0.",
        "Correct them or remove them; see how ids of the corpus are written.",
    ),
    FindingKind(
        "patterns-in-other-case", "warning", "Globs and symbols that documents fit only if case is ignored.",
        "What they mean is there and counts as not relevant.",
        "Write them as the corpus does, or set ignore_case: true in the suite's defaults.",
    ),
    FindingKind(
        "broad-patterns", "warning", "Globs and symbols that half of all documents fit, or more.",
        "Any ranking finds them: a random one then has a precision of one half or more.",
        "Narrow them, or name the targets.",
    ),
    FindingKind(
        "symbols-outside-patterns", "note", "Symbols that no pattern of their own case fits.",
        "Patterns and symbols of a case should describe the same targets: one of both may be mistyped or too narrow.",
        "Check the patterns of these cases; nothing has to be done where they are meant to add other targets.",
    ),
    FindingKind(
        "exclusions-not-applied", "warning", "Documents were to be excluded by a field, and could not be.",
        "They count as relevant although the suite says that they are not.",
        "Name the corpus with --corpus, as a JSON, JSONL or CSV file whose documents have the field.",
    ),
    FindingKind(
        "exclusions-without-effect", "warning", "No document has the value of a field that a suite excludes.",
        "Nothing is excluded by it, so that documents may count as relevant although the suite says that they are not.",
        "Compare it with the values that the corpus has.",
    ),
    FindingKind(
        "nothing-joined", "error", "No judged case has a query, and no query that was read is judged.",
        "No agent can be asked these cases, and a run on these queries was judged by none of them.",
        "Write the ids of queries and judgments alike, or name the queries that belong to these judgments.",
    ),
    FindingKind(
        "partial-join", "warning", "Judged cases without a query, while other cases have one.",
        "Only a part of the judgments is joined with queries: cases without one cannot be asked.",
        "Check that queries and judgments are of one collection and write their ids alike.",
    ),
    FindingKind(
        "shifted-judgments", "error", "Judgments that fit the queries of neighbouring cases, and not those of their own.",
        "Every score is about the wrong query: the ids of queries and judgments are shifted against each other.",
        "Number queries and judgments alike (often one of both counts from 0 and the other from 1).",
    ),
    FindingKind(
        "judgments-at-chance", "warning", "Judgments that fit their own queries no better than those of other cases.",
        "Ids of queries and judgments may not belong together; every score is then noise. Or queries say in other words, or in "
        "another language, what their targets are about: that looks the same.",
        "Read a few cases with their targets; if they do not belong together, join queries and judgments again.",
    ),
    FindingKind(
        "suite-among-documents", "warning", "The suite, a report or a run is among the documents that are searched.",
        "It holds the queries word for word, so that it takes the first ranks, and an agent that reads it knows the answers.",
        "Keep these files outside of what is searched, or exclude them.",
    ),
    FindingKind(
        "ignored-folders-among-documents", "warning", "Installed packages, build outputs or folders of tools among the documents.",
        "Copies of other projects and generated files take ranks from what is really searched.",
        "Leave these folders out of the corpus.",
    ),
    FindingKind(
        "corpus-of-another-state", "warning", "A corpus of one state, beside cases or runs that are about snapshots.",
        "Every case was searched before its own commit: that files have moved or gone since does not make the suite wrong.",
        "Leave out --corpus.",
    ),
)  # fmt: skip
