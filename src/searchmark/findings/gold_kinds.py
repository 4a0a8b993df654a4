"""Kinds of findings about gold that contradicts, repeats or flatters itself."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

KINDS = (
    FindingKind(
        "contradictory-grades", "error", "One document with two grades for one query.",
        "No ranking can be right in both: one of the two judgments is wrong, and what it scores depends on which one is met.",
        "Decide on one grade; where queries are duplicates, keep one case.",
    ),
    FindingKind(
        "duplicate-queries", "warning", "Cases that ask the same query, whatever its case, spaces and Unicode form.",
        "Each gets the same answer, so a repeated query counts several times in every mean; where the targets differ, no answer "
        "is right in all of them.",
        "Merge them into one case with all targets, or tell them apart in the query.",
    ),
    FindingKind(
        "near-duplicate-queries", "note", "Pairs of queries that share nine tenths of their words and have no common origin.",
        "They ask nearly the same and stand or fall together, so they tell less than two queries.",
        "Give them one origin, so that they count as one observation, or drop one of them.",
    ),
    FindingKind(
        "shared-targets", "note", "Cases without an origin that have the same relevant targets as another.",
        "They stand or fall with the same documents, so intervals, tests and gates count them as one observation.",
        "Nothing has to be done; for narrower intervals add cases with other targets. Name an origin for each case to group them "
        "differently.",
    ),
    FindingKind(
        "reading-note", "note", "How the file of the suite was understood: its own metric, several judges, columns left out.",
        "What a file of another tool means is not always written in it; numbers of that tool may differ for this reason.",
        "Nothing has to be done; for other measures name them with -m.",
    ),
    FindingKind(
        "nothing-judged", "error", "No case has a judgment, and none is marked as unanswerable.",
        "Nothing was measured: a score of 0 says nothing of the search.",
        "Judge the cases, or name the judgments that belong to these queries.",
        spoils=True,
    ),
    FindingKind(
        "cases-without-judgments", "warning", "Cases without any judgment that are not marked as unanswerable.",
        "They can only score 0, as if every search failed on them.",
        "Judge them, remove them, or mark them as unanswerable.",
    ),
    FindingKind(
        "cases-without-target", "warning", "Cases that are judged, without any relevant target.",
        "Nothing is right in P, R, RR, Success and other measures with a lowest relevant grade, which lowers their means.",
        "Judge more of their documents, remove them, or mark them as unanswerable.",
    ),
    FindingKind(
        "all-documents-relevant", "warning", "Cases with documents of their own, all of which are relevant.",
        "Any order of them is right: such a case cannot fail, and only raises the mean.",
        "Add documents that should not be found.",
    ),
    FindingKind(
        "near-duplicate-targets", "warning", "Relevant documents with a near copy that is not relevant for the same case.",
        "A search that returns the copy is counted as wrong, although a reader sees the same text.",
        "Give the copy the grade of the document, or remove one of them from the corpus.",
    ),
    FindingKind(
        "grades-outside-scale", "warning", "Grades that do not belong to the scale of the others, or weigh out all of them.",
        "A mistyped grade rules the ideal ranking of its case, and a grade below 0 counts as not judged, not as irrelevant.",
        "Correct the grades; bring ratings to a scale such as 0 to 3.",
    ),
    FindingKind(
        "fractional-gains", "note", "Ratings that are not whole numbers.",
        "nDCG and DCG pay what they say; every other measure looks at the grade, which is the rating rounded up.",
        "Nothing, where everything above 0 is relevant; else give rel, or ratings in whole numbers.",
    ),
    FindingKind(
        "dominant-target", "warning", "One target of a fifth of the cases, and of five or more: always answering it gets 0.1.",
        "An agent that always answers it, without reading the query, gets a score that looks like search.",
        "Add cases with other targets, and compare with the agent popular, which always answers the commonest targets.",
    ),
    FindingKind(
        "dominant-category", "note", "One category, of three or more, with more than half of the cases.",
        "The mean over all cases is mostly the mean of that category, and hides what becomes of the others.",
        "Read the table by category, or add cases to the others.",
    ),
    FindingKind(
        "small-decided-categories", "warning", "Categories of a decision table that are worth fewer than ten independent cases.",
        "They get no interval: a rule that needs one stays undecided, and one that goes by the mean decides by a handful of cases.",
        "Add cases to these categories, or let the table decide by the suite as a whole.",
    ),
    FindingKind(
        "ranges-of-another-model", "warning", "Score ranges of an embedding model that the run did not search with.",
        "Scores of two models are on different scales: InRange is undefined for another one, and says nothing without any.",
        "Give score ranges for the model that is searched with.",
    ),
)  # fmt: skip
