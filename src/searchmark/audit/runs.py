"""Findings on scores: why they are untrusted, what was left out of them, and which cases say little."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

import numpy as np

from searchmark.analysis.controls import is_of_control
from searchmark.analysis.scores import Scores, Summary, distrust, segment_rows
from searchmark.audit.left_out import left_out_findings
from searchmark.audit.repeated_hits import duplicates_told, same_answers
from searchmark.corpora.corpus import Survey
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import share
from searchmark.judging.judge import Judged
from searchmark.records import EMPTY, NOT_RUN, Suite

NEARLY_ALL, FEWEST_NEARLY = 0.9, 10
MOST = 0.5  # of the targets; of the answers of a run that others are compared with: who beats it beats a search that was none

# What a count of something dropped is called: the code of its note and the sentence before the number.
DROPPED = {
    "duplicate": ("duplicate-hits", "duplicate hits dropped"),
    "cases_not_in_suite": ("cases-not-in-suite", "cases of the run that are not in the suite, left out"),
    "scores_out_of_order": ("scores-out-of-order", "hits that score higher than the one before them"),
    "topics_without_judgments": ("topics-without-judgments", "topics without judgments, left out"),
    "queries_without_judgments": ("queries-without-judgments", "queries without judgments, left out"),
    "hits_without_rating": ("unrated-hits", "lines without a rating, left out"),
    "cases_not_in_all_runs": ("cases-not-in-all-runs", "cases of the suite that not all runs answer, left out"),
    "unreachable_targets": ("unreachable-targets", "relevant targets that are not in the corpus"),
    "cases_filtered_out": ("cases-filtered-out", "cases of the suite that were not asked for, left out"),
    "below_same_depth": ("hits-below-same-depth", "hits below the smallest depth of all runs, left out"),
    "beyond_depth": ("hits-beyond-depth", "hits beyond the depth that was asked for, left out"),
    "merged_chunks": ("merged-chunks", "chunks of a file that an earlier hit is in already, merged with it"),
    "not_chunks": ("not-chunks", "hits whose ids do not fit chunk_of, taken as they are"),
    "scores_unusable": ("unusable-scores", "scores that are not finite numbers, left out"),
    "lines_unusable": ("unusable-lines", "lines of hits that are not [first, last], left out"),
    "impossible_times": ("impossible-times", "times that the agent states as part of a search but that are longer, left out"),
}


def score_findings(
    scores: Scores, dropped: Iterable[tuple[str, int | None]], measures: Iterable[tuple[str, Summary]], *, compared: bool = False
) -> Iterator[Finding]:
    """All that must be said about the scores of one run besides its numbers."""
    for key, count in dropped:
        if count and key != "invalid":  # which has more to be said of it
            code, sentence = DROPPED.get(key, ("left-out", f"{key.replace('_', ' ')}, left out"))
            if code == "unreachable-targets":
                code = _missing_code(count, int((scores.judged.suite.judgments.grades > 0).sum()))
            told = f"{count}{duplicates_told(scores.judged) if key == 'duplicate' else ''}"
            yield finding(code, f"{sentence}: {told}", _cases_behind(key, scores.judged))
    yield from _own_corpus(scores.judged)
    yield from _case_findings(scores.judged, compared)
    for name, summary in measures:
        if summary.definition:
            yield finding("formula", f"{name} is {summary.definition}")
        if summary.undefined:
            told = f"cases for which {name} is undefined, not in its mean: {summary.undefined}"
            yield finding("undefined-values", f"{told}{_why_undefined(scores, name)}")


def _why_undefined(scores: Scores, name: str) -> str:
    """The reason, where it is one for all of these cases."""
    if name not in scores.names:
        return ""
    reasons = set(filter(None, scores.reasons(scores.names.index(name))))
    return f" ({reasons.pop()})" if len(reasons) == 1 else ""


def _missing_code(missing: int, of: int) -> str:
    if missing == of:
        return "all-targets-missing"
    return "most-targets-missing" if missing > MOST * of else "unreachable-targets"


# Reasons that another finding tells with what is near in the corpus.
_TOLD_WITH_CORPUS = ("all_targets_missing", "all_hits_invalid")


def trust_findings(scores: Scores) -> Iterator[Finding]:
    """Why the scores are untrusted."""
    for reason in distrust(scores):
        if reason.kind not in _TOLD_WITH_CORPUS:
            yield finding(reason.kind.replace("_", "-"), f"untrusted: {reason.message}", reason.cases)


def _own_corpus(judged: Judged) -> Iterator[Finding]:
    """What cannot be known of a service, unless its hits are checked against a corpus that was named."""
    ran = (judged.status != NOT_RUN).any()
    if judged.run.provenance.service is not None and judged.valid is None and ran:
        unknown = "invalid hits, unreachable targets and the index are not known"
        yield finding("own-corpus", f"{unknown} (the agent searches its own corpus)")


def _case_findings(judged: Judged, compared: bool) -> Iterator[Finding]:
    ids = judged.suite.table.ids
    missing = [case for case in ids if case not in judged.run.index]
    if missing:
        yield finding("cases-missing", f"cases missing from the run: {len(missing)} of {len(ids)}", missing)
    yield from _empty_findings(judged, set(missing), compared)
    yield from same_answers(judged)


def _empty_findings(judged: Judged, missing: Set[str], compared: bool) -> Iterator[Finding]:
    """That a run found next to nothing, or in a comparison nothing for most cases; empty is right where nothing is to be found.

    Cases that the run does not mention are said elsewhere.
    """
    mentioned = np.array([case not in missing for case in judged.suite.table.ids], bool) if missing else True
    asked = judged.answerable & (judged.status != NOT_RUN) & mentioned
    empty, of = np.flatnonzero(asked & (judged.status == EMPTY)), int(asked.sum())
    rarely = compared and not is_of_control(judged.run)  # a control says on purpose what knowing nothing is worth
    most = len(empty) > MOST * of if rarely else len(empty) >= NEARLY_ALL * of
    if FEWEST_NEARLY <= of != len(empty) and most:  # all of them are a reason not to trust the run
        cases = [judged.suite.table.ids[row] for row in empty]
        meaning = "; this run has hardly searched, and a difference to it says little" if compared else ""
        told = f"{len(empty)} of {of} ({share(len(empty), of)}), like case {cases[0]!r}"
        yield finding("empty-answers", f"answers without any hit: {told}{meaning}", cases)


def _cases_behind(key: str, judged: Judged) -> Iterator[str]:
    """The cases in which something was dropped, where the run says so, in the order of the suite."""
    run, known = judged.run, judged.suite.table
    if key == "cases_not_in_suite":
        yield from sorted(run.index.keys() - known.index.keys())
    for case in known.ids if run.details is not None else ():
        details = run.details_of(run.index[case]) if case in run.index else None
        if details and (details.dropped.get(key) or (key == "unreachable_targets" and details.unreachable)):
            yield case


def corpus_findings(corpus: Survey | None) -> Iterator[Finding]:
    """What is odd about what was searched."""
    if corpus is None:
        return
    counts = (
        ("duplicate-documents", "documents of the corpus with a duplicate id, left out", corpus.duplicates),
        ("empty-documents", "documents of the corpus without any text", corpus.empty),
        ("skipped-files", "files of the corpus that hold no text or none of its documents, left out", corpus.skipped),
    )
    yield from (finding(code, f"{what}: {count}") for code, what, count in counts if count)
    if corpus.files is not None:
        yield from left_out_findings(corpus.files)


def segment_findings(suite: Suite, by: Iterable[str]) -> Iterator[Finding]:
    """What cannot be seen in a table of segments: that cases are in several of them, or in none."""
    for name in by:
        segments = np.bincount(np.concatenate(list(segment_rows(suite, name).values())), minlength=len(suite))
        several, none = (int(np.count_nonzero(each)) for each in (segments > 1, segments == 0))
        parts = [f"{count} of {len(suite)} in {where}" for count, where in ((several, "several"), (none, "none")) if count]
        if parts:
            yield finding("cases-not-in-one-segment", f"cases by {name}: {', '.join(parts)} of the segments")
