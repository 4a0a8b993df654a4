"""Findings on runs and their scores: trust, ids of hits, depth, what was left out, what cannot be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from searchmark.agents.answers import LONGEST_TEXT
from searchmark.audit.check import Subject, ids_of
from searchmark.audit.conditions import run_findings
from searchmark.audit.corpus import missing_code
from searchmark.config.gates import CompareSettings
from searchmark.formats.corpora.corpus import Survey
from searchmark.formats.corpora.folder import SKIP_REASONS
from searchmark.formats.corpora.source import FolderListing
from searchmark.records.answers import EMPTY, NOT_RUN
from searchmark.records.columns import distinct
from searchmark.records.finding import RUNS, Finding, FindingKind, finding, register
from searchmark.records.sentences import plain_count, share_text
from searchmark.records.suite import Suite
from searchmark.scoring.comparability import depth_reached
from searchmark.scoring.comparison import Pair, compare
from searchmark.scoring.match import MatchedRun
from searchmark.scoring.scores import Scores, Summary, segment_rows
from searchmark.scoring.targets import NearIds, with_nearest_id
from searchmark.scoring.trust import FEWEST_ALIKE, has_only_unknown_hits, is_control_run, is_mostly_right, other_spelling

# Findings on files of a searched folder that are no documents.


register(RUNS, FindingKind("left-out-files", "note", "Files and folders below the searched folder that are left out of the corpus.",
    "The suite, reports and runs would tell the answers; packages, outputs and files that Git ignores are rarely meant.",
    "Change what is searched with --include, --exclude, --kinds and --no-ignore, or the section 'corpus' of the config.",
), FindingKind("ignored-files-unknown", "warning", "Files that Git ignores are searched, since Git could not be asked.",
    "Outputs and packages may be among the hits.",
    "Install git, or leave them out with --exclude.",
))  # fmt: skip


def left_out_findings(files: FolderListing) -> Iterator[Finding]:
    """How many files and folders were left out, for which reason, with examples; and what could not be found out."""
    parts = []
    for each in files.left_out:
        examples = ", ".join([*map(repr, each.examples), *(["..."] if each.count > len(each.examples) else [])])
        parts.append(f"{each.count} {SKIP_REASONS[each.reason]}, like {examples}")
    if parts:
        back = {each.reason for each in files.left_out} & {"ignored", "tools"}
        how = " (--no-ignore searches what Git ignores and what belongs to tools, too)" if back else ""
        yield finding("left-out-files", f"files and folders that are left out of the corpus: {'; '.join(parts)}{how}")
    for problem in files.problems:
        yield finding("ignored-files-unknown", f"files that Git ignores are searched like others: {problem}")


def left_out_hits(files: FolderListing | None, hits: Sequence[str]) -> str:
    """Of hits that do not exist: how many are files that were left out; empty if none is."""
    reasons = {} if files is None else {at: reason for at, hit in enumerate(hits) if (reason := files.reason(hit)) is not None}
    for at, reason in reasons.items():
        left_out = f"{plain_count(len(reasons), 'hit')} in files that are left out of the corpus"
        return f"; {left_out}, like {hits[at]!r} ({SKIP_REASONS[reason]})"
    return ""


# Findings on the ids of hits: whether the corpus has them, and what it has instead.


register(RUNS, FindingKind("invalid-hits", "warning", "Hits that do not exist in the corpus.",
    "They keep their rank and count as not relevant.",
    "Check that agent and corpus name documents alike.",
), FindingKind("some-hits-in-other-spelling", "warning", "No hit of some cases is judged, and one change of ids makes some fit.",
    "They count as not relevant, so that the mean tells of spelling as well as of search.",
    "Make the change that the sentence names, in the run or in the suite.",
))  # fmt: skip


def hit_findings(matched: MatchedRun, corpus: Survey | None) -> Iterator[Finding]:
    """Hits that do not exist, where that is known: all of them is another thing than some."""
    run, valid = matched.run, matched.valid
    if valid is None and (remedy := other_spelling(matched)) is not None:
        like = with_nearest_id(*next(iter(remedy.found.items())), "the suite")
        message = f"hits that are not judged for their spelling: {len(remedy.found)}, like {like}"
        yield finding("some-hits-in-other-spelling", f"{message}; {remedy.words}, they would be")
    rows = [] if valid is None else np.flatnonzero(~valid).tolist()
    if not rows:
        return
    hits = [run.ids[row] for row in rows]
    is_all = len(hits) == len(run.ids)
    near = NearIds(() if corpus is None else corpus.ids, hits)
    remedy = near.remedy(1 if is_all else FEWEST_ALIKE)
    names = {run.case_ids[case] for case in distinct(np.searchsorted(run.starts, rows, "right") - 1).tolist()}
    cases = [case for case in matched.suite.table.ids if case in names]
    examples = near.examples(hits[0], both_sides=is_all) if remedy is None else remedy.example(hits)
    examples += left_out_hits(None if corpus is None else corpus.files, hits)
    if is_all and (remedy is not None or has_only_unknown_hits(matched)):
        yield finding("all-hits-invalid", f"none of {len(hits)} hits is in the corpus: {examples}", cases)
    else:
        message = f"hits that do not exist in the corpus: {len(hits)} of {len(run.ids)} ({share_text(len(hits), len(run.ids))})"
        yield finding("invalid-hits", f"{message}, like {examples}", cases)


# Depth, another corpus, and pairs that cannot be compared.

register(RUNS, FindingKind("cut-answers", "note", "Answers that end at the depth that was asked for.",
    "A measure without a cutoff would have another value on longer answers.",
    "Ask for more hits with --depth, or name a cutoff.",
), FindingKind("other-corpus", "warning", "Hits that are checked against another corpus than the one that was searched.",
    "What the other one lacks counts as not relevant.",
    "Give the corpus that was searched with --corpus, or none.",
))  # fmt: skip


def depth_findings(scores: Scores) -> Iterator[Finding]:
    """Which measures are cut by the depth that was asked for, and which see less than they would."""
    parts = {part.name: part for each in scores.measures for part in each.parts if part.by_depth}
    depth = next((part.cutoff or 0 for part in parts.values()), 0)
    if 0 < depth <= scores.matched.run.longest:  # a run that ends earlier was cut by something else
        new_names = ", ".join(f"{part.requested.name} is reported as {name}" for name, part in parts.items())
        yield finding("cut-answers", f"answers end after {depth} hits: {new_names}")
    run_depth = depth_reached(scores.matched.run)
    blind = [each.name for each in scores.measures if run_depth is not None and each.looks_below(run_depth)]
    if blind:
        yield finding("cut-answers", f"answers end after {run_depth} hits: none below is seen by {', '.join(blind)}")


register(RUNS, FindingKind("not-comparable", "error", "Two runs that differ in more than their agents.",
    "A difference between them says nothing of the agents; its verdict is INVALID.",
    spoils=True,
), FindingKind("different-snapshots", "note", "Different agents in different snapshots.",
    "Whether the agent or the snapshot makes the difference cannot be told; the verdict is INVALID.",
))  # fmt: skip


def comparability_findings(pairs: Sequence[Pair]) -> Iterator[Finding]:
    """Which pairs are INVALID since the runs differ in more than their agents.

    Where several agents were asked about several snapshots, only pairs that cross both are left without a verdict.
    """
    comparable = {name for each in pairs if not each.mismatches for name in (each.baseline, each.candidate)}
    for pair in pairs:
        for mismatch in pair.mismatches:
            crossing = mismatch.kind == "snapshot" and {pair.baseline, pair.candidate} <= comparable
            invalid = [each.measure for each in pair.differences if mismatch.sentence in each.reason]
            which = "" if len(invalid) in (0, len(pair.differences)) else f" for {', '.join(invalid)}"
            message = f"{pair.candidate} against {pair.baseline} is INVALID{which}: {mismatch.sentence} ({mismatch.fix})"
            yield replace(finding("different-snapshots" if crossing else "not-comparable", message), fix=mismatch.fix)


# Repetition: the same hit in one answer, the same answer to every case.

FEWEST_SAME = 5  # answers


register(RUNS, FindingKind("same-answers", "warning", "Every case got the same answer, hit by hit.",
    "An agent that does not read the query answers like this; so does one that returns what is most popular.",
    "Unless that is meant, look at what the agent does with the query.",
))  # fmt: skip


def duplicates_sentence(matched: MatchedRun) -> str:
    """Of how many hits duplicates were dropped, and one of them."""
    matches, run = matched.matches, matched.run
    of = matches.duplicates + int(matches.returned.sum())
    share = f" of {of} ({share_text(matches.duplicates, of)})"
    for row, case in enumerate(matched.suite.table.ids):
        start, end = run.starts[run.index[case] : run.index[case] + 2].tolist() if case in run.index else (0, 0)
        if end - start > matches.returned[row]:
            name, times = Counter(run.ids[hit] for hit in range(start, end)).most_common(1)[0]
            return share if times == 1 else f"{share}, like {name!r} in case {case!r}"  # once: written in two ways
    return share


def same_answers(matched: MatchedRun) -> Iterator[Finding]:
    """That every case got the same answer, of several documents; one document is a reason not to trust the run."""
    run = matched.run
    rows = [run.index[case] for case in matched.suite.table.ids if case in run.index]
    lengths = np.diff(run.starts)[rows]
    if len(rows) < FEWEST_SAME or is_control_run(run) or lengths[0] < 2 or (lengths != lengths[0]).any():  # noqa: PLR2004  # several
        return
    answers = ([run.ids[hit] for hit in range(*run.starts[row : row + 2].tolist())] for row in rows)
    first = next(answers)
    if len(set(first)) > 1 and not is_mostly_right(matched) and all(each == first for each in answers):
        yield finding("same-answers", f"all {len(rows)} answers are the same, whatever was asked: they begin with {first[0]!r}")


# Findings on scores: why they are untrusted, what was left out of them, and which cases say little.

NEARLY_ALL, FEWEST_NEARLY = 0.9, 10
MOST = 0.5  # of the targets; of the answers of a run that others are compared with: who beats it beats a search that was none
# For each count of something dropped: the code of its finding, and the sentence before the number.
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
    "texts_cut": ("texts-cut", f"texts of hits with more than {LONGEST_TEXT} characters, of which the rest was left out"),
    "impossible_times": ("impossible-times", "times that the agent states as part of a search but that are longer, left out"),
}


register(RUNS, FindingKind("duplicate-hits", "warning", "Duplicate hits in an answer.",
    "Each id keeps its first rank; trec_eval refuses such a run.",
    "Return every id once.",
), FindingKind("cases-not-in-suite", "warning", "Cases of the run that are not in the suite.",
    "They are left out; the run may have been made for another suite.",
), FindingKind("scores-out-of-order", "warning", "Hits that score higher than the one before them.",
    "The order of the run was kept; tools that sort by score see another ranking.",
), FindingKind("cases-not-in-all-runs", "warning", "Cases of the suite that not all runs answer, left out.",
    "The comparison holds for the common cases only.",
), FindingKind("not-chunks", "warning", "Hits whose ids do not fit chunk_of, taken as they are.",
    "They are ids of documents, or the rule is wrong.",
    "Compare chunk_of of the agent with its ids.",
), FindingKind("unusable-scores", "warning", "Scores that are not finite numbers, left out.",
    "The order of the run was kept.",
), FindingKind("unusable-lines", "warning", "Lines of hits that are not a first and a last line, left out.",
    "Such a hit means the whole document.",
    "Give [first, last], counted from 1.",
), FindingKind("texts-cut", "warning", "Texts of hits that are too long to be kept: the rest was left out.",
    "An expected passage in the rest is not found.",
    "Return chunks, or judge documents and not passages.",
), FindingKind("impossible-times", "warning", "Stated times that are longer than the search that they are part of, left out.",
    "Whatever else the agent states may be as wrong.",
    "Let it state milliseconds of this one search.",
), FindingKind("undefined-values", "note", "Cases for which a measure is undefined.",
    "They are not in its mean; the reason is with each case in the JSON report.",
))  # fmt: skip

register(
    RUNS,
    FindingKind("topics-without-judgments", "note", "Topics without judgments, left out."),
    FindingKind("queries-without-judgments", "note", "Queries without judgments, left out."),
    FindingKind("unrated-hits", "note", "Lines of the suite without a rating, left out."),
    FindingKind("cases-filtered-out", "note", "Cases of the suite that were not asked for, left out."),
    FindingKind("hits-below-same-depth", "note", "Hits below the smallest depth of all runs, left out as asked."),
    FindingKind("hits-beyond-depth", "note", "Hits beyond the depth that was asked for, left out."),
    FindingKind("merged-chunks", "note", "Chunks of a file that an earlier hit is in already, merged with it."),
    FindingKind("left-out", "note", "Anything else that was counted and left out."),
    FindingKind("formula", "note", "What a formula with a name is made of."),
)


def score_findings(
    scores: Scores, counts: Iterable[tuple[str, int | None]], measures: Iterable[tuple[str, Summary]], *, compared: bool = False
) -> Iterator[Finding]:
    """Findings on the scores of one run."""
    matched = scores.matched
    for key, count in counts:
        if count and key != "invalid":  # which has a finding of its own
            code, sentence = DROPPED.get(key, ("left-out", f"{key.replace('_', ' ')}, left out"))
            if code == "unreachable-targets":
                code = missing_code(count, int((matched.suite.judgments.grades > 0).sum()))
            number = f"{count}{duplicates_sentence(matched) if key == 'duplicate' else ''}"
            yield finding(code, f"{sentence}: {number}", _cases_behind(key, matched))
    # What cannot be known of a service, unless its hits are checked against a corpus that was named.
    if matched.run.provenance.service is not None and matched.valid is None and (matched.status != NOT_RUN).any():
        unknown = "invalid hits, unreachable targets and the index are not known"
        yield finding("own-corpus", f"{unknown} (the agent searches its own corpus)")
    yield from _case_findings(matched, compared)
    for name, summary in measures:
        if summary.definition:
            yield finding("formula", f"{name} is {summary.definition}")
        if summary.undefined:
            reasons = set(filter(None, scores.reasons(scores.names.index(name)))) if name in scores.names else set()
            why = f" ({reasons.pop()})" if len(reasons) == 1 else ""  # where it is one for all of these cases
            number = f"cases for which {name} is undefined, not in its mean: {summary.undefined}"
            yield finding("undefined-values", f"{number}{why}")


register(RUNS, FindingKind("not-started", "error", "The agent could not be started.",
    "Nothing was measured; this is not a score of 0.",
    "Fix what the message names; 'searchmark doctor' checks the environment.",
    spoils=True,
), FindingKind("not-whole", "error", "Contents of a repository are missing or damaged, so cases were not searched.",
    "They score 0, and that says nothing of the search.",
    "Fetch or repair what the message names, then ask these cases again with --retry-errors.",
    spoils=True,
), FindingKind("corpus-changed", "error", "What was searched changed during the run.",
    "Cases were asked about different contents and cannot be averaged.",
    "Run it again while the files are left alone, or search a commit with --snapshot.",
    spoils=True,
), FindingKind("interrupted", "error", "The run did not come to its end; what it had answered was taken from its journal.",
    "Whether what was searched stayed the same is checked when a run ends.",
    "Resume it with --resume, which asks only what is left, and merge it then.",
    spoils=True,
), FindingKind("failed", "error", "The agent could not be asked to the end.",
    "Something unexpected happened to this agent alone; what it did not answer was not run.",
    "Ask the rest with --resume; if it happens again, report it with the message.",
    spoils=True,
), FindingKind("journal-changed", "error", "The journal was changed by another process during the run.",
    "An agent runs with your rights and can write into the files of others; who does that may have done more.",
    "Find out which agent did it; use --sandbox to keep agents away from journals.",
    spoils=True,
), FindingKind("cache-changed", "error", "Cached vectors were changed by another process during the run.",
    "Who searches with changed vectors finds something else. What was changed has been removed from the cache.",
    "Find out which agent did it, then run it again; use --sandbox to keep agents away from the cache.",
    spoils=True,
), FindingKind("times-doubtful", "error", "The agent's process reported much shorter times than passed on the runner's clock.",
    "These times are left out of the latencies, so the latencies say little.",
    "Look for code in the agent that changes clocks or works after it has answered.",
    spoils=True,
))  # fmt: skip


# Reasons that another finding reports, with what is near in the corpus.
_STATED_WITH_CORPUS = ("all-targets-missing", "all-hits-invalid")


register(RUNS, FindingKind("own-corpus", "note", "An agent that searches its own corpus.",
    "Hits that do not exist and targets that cannot be found are not seen, and whether others searched the same is not known.",
    "If its corpus is at hand, name it with --corpus.",
), FindingKind("cases-missing", "warning", "Cases that an imported run does not mention.",
    "They count as empty answers and score 0, as in trec_eval -c.",
    "If they are empty answers, say --missing zero; if they were never asked, compare with --intersect.",
), FindingKind("empty-answers", "warning", "Nearly all answers are empty; in a comparison, most of the answers of a run.",
    "A search that is set up wrongly often finds nothing without an error, and scores 0 like one that searches badly.",
    "Ask the agent for something that it must find, and check its corpus, its query and how its hits are read.",
))  # fmt: skip


def _case_findings(matched: MatchedRun, compared: bool) -> Iterator[Finding]:
    """Cases that the run does not mention, or found nothing for, or answered all alike.

    That a run found next to nothing, or in a comparison nothing for most cases; empty is right where nothing is to be found.
    """
    ids = matched.suite.table.ids
    missing = list(ids_of(matched.suite, ~matched.mentioned))
    if missing and len(missing) <= MOST * len(ids):  # more are a reason not to trust the run
        yield finding("cases-missing", f"{len(missing)} of {len(ids)} cases are missing from the run", missing)
    searched = matched.answerable & (matched.status != NOT_RUN) & matched.mentioned
    empty, of = np.flatnonzero(searched & (matched.status == EMPTY)), int(searched.sum())
    rarely = compared and not is_control_run(matched.run)  # a control says on purpose what knowing nothing is worth
    most = len(empty) > MOST * of if rarely else len(empty) >= NEARLY_ALL * of
    if FEWEST_NEARLY <= of != len(empty) and most:  # all of them are a reason not to trust the run
        cases = [ids[row] for row in empty]
        meaning = "; this run has hardly searched, and a difference to it says little" if compared else ""
        message = f"{len(empty)} of {of} ({share_text(len(empty), of)}), like case {cases[0]!r}"
        yield finding("empty-answers", f"answers without any hit: {message}{meaning}", cases)
    yield from same_answers(matched)


def _cases_behind(key: str, matched: MatchedRun) -> Iterator[str]:
    """The cases in which something was dropped, where the run says so, in the order of the suite."""
    run, table = matched.run, matched.suite.table
    if key == "cases_not_in_suite":
        yield from sorted(run.index.keys() - table.index.keys())
    for case in table.ids if run.details is not None else ():
        details = run.details_of(run.index[case]) if case in run.index else None
        if details and (details.dropped.get(key) or (key == "unreachable_targets" and details.unreachable)):
            yield case


register(RUNS, FindingKind("duplicate-documents", "warning", "Documents of the corpus with a duplicate id, left out.",
    "The first document with an id counts; the contents of the others cannot be found.",
    "Give every document an id of its own.",
))  # fmt: skip

register(
    RUNS,
    FindingKind("empty-documents", "note", "Documents of the corpus without any text."),
    FindingKind("skipped-files", "note", "Files of the corpus that hold no text or none of its documents, left out."),
)


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


register(RUNS, FindingKind("cases-not-in-one-segment", "note", "Cases that are in several segments of a split, or in none.",
    "The means of the segments are of overlapping cases, or not of all, and do not add up to the mean of all.",
))  # fmt: skip


def segment_findings(suite: Suite, by: Iterable[str]) -> Iterator[Finding]:
    """What cannot be seen in a table of segments: that cases are in several of them, or in none."""
    for name in by:
        segments = np.bincount(np.concatenate(list(segment_rows(suite, name).values())), minlength=len(suite))
        several, none = (int(np.count_nonzero(each)) for each in (segments > 1, segments == 0))
        parts = [f"{count} of {len(suite)} in {where}" for count, where in ((several, "several"), (none, "none")) if count]
        if parts:
            yield finding("cases-not-in-one-segment", f"cases by {name}: {', '.join(parts)} of the segments")


# All findings on a run; of several runs, which findings are about which.


def findings_on_run(
    scores: Scores,
    corpus: Survey | None,
    drop_counts: Mapping[str, int | None],
    measures: Mapping[str, Summary],
    *,
    compared: bool = False,
) -> Iterator[Finding]:
    """All about one run: whether it can be trusted, how it went, what was left out of its scores.

    ``compared``: others are compared with it, so that it matters whether it has searched at all.
    """
    matched, run = scores.matched, scores.matched.run
    for reason in scores.distrust:
        if reason.code not in _STATED_WITH_CORPUS:
            yield finding(reason.code, f"untrusted: {reason.message}", reason.cases)
    yield from run_findings(run, matched.suite.table.index)
    yield from depth_findings(scores)
    digests = set(run.provenance.corpora.values())
    if corpus is not None and run.label.snapshot is None and len(digests) == 1 and corpus.digest not in digests:
        name = next(iter(run.provenance.corpora))
        yield finding("other-corpus", f"hits are checked against another corpus than {name}, which was searched")
    yield from hit_findings(matched, corpus)
    yield from score_findings(scores, drop_counts.items(), measures.items(), compared=compared)


# Findings on runs, and those on their suite that say the same and more.
_MADE_REDUNDANT_BY = {
    "unreachable-targets": {"unreachable-targets", "renamed-targets", "most-targets-missing", "all-targets-missing"},
    "most-targets-missing": {"most-targets-missing", "all-targets-missing"},
    "all-targets-missing": {"all-targets-missing"},
    "nothing-to-find": {"nothing-judged", "no-pattern-fits"},
    "topics-without-judgments": {"partial-join", "nothing-joined"},
    "queries-without-judgments": {"partial-join", "nothing-joined"},
}
# Findings on a suite, and those on single runs that say the same and more.
_NO_HIT_FITS = {"all-hits-invalid", "hits-in-other-spelling"}

_STATED_OF_RUNS = {
    "hardly-judged": {"no-hit-judged", *_NO_HIT_FITS},
    "no-better-than-random": _NO_HIT_FITS,
    "short-answers": _NO_HIT_FITS,
}


def without_redundant(of_runs: Iterable[Finding], of_suite: Collection[Finding]) -> list[Finding]:
    """Findings on runs, then those on their suite, each without those that one of the others makes unnecessary."""
    codes = {each.code for each in of_suite}
    rest = [each for each in of_runs if not _MADE_REDUNDANT_BY.get(each.code, set()) & codes]
    codes_left = {each.code for each in rest}
    return [*rest, *(each for each in of_suite if not _STATED_OF_RUNS.get(each.code, set()) & codes_left)]


def findings_with_run_names(findings: Mapping[str, Sequence[Finding]]) -> list[Finding]:
    """Every finding once, with the names of its runs; those of all runs come last."""
    names: dict[Finding, list[str]] = {}
    for name, of_run in findings.items():
        for each in dict.fromkeys(of_run):
            names.setdefault(each, []).append(name)
    is_shared = {each: len(runs) == len(findings) for each, runs in names.items()}
    return [
        replace(each, message=f"{'all runs' if is_shared[each] else ', '.join(names[each])}: {each.message}")
        for each in sorted(names, key=is_shared.__getitem__)
    ]


register(RUNS, FindingKind(
    "run-not-scored", "error", "A run, or the baseline, that cannot be scored on the suite; the rest is audited without it.",
    "It was made for another suite, or for other queries, so its scores here would mean nothing.",
    "Name a run of this suite, or the suite that the run was made for.",
))  # fmt: skip


def findings_on_runs(subject: Subject, options: CompareSettings) -> Iterator[Finding]:
    """What every report says of runs; in an audit it stands beside what the checks find."""
    corpus, scores = subject.survey, subject.scores
    for name, why in subject.unfit.items():
        yield finding("run-not-scored", why if repr(name) in why else f"{name}: {why}")
    if subject.suite.table.documents is None:  # cases with documents of their own may use one name for several
        yield from corpus_findings(corpus)
    if not scores:
        return
    of_each = {
        name: list(findings_on_run(each, corpus, each.matched.dropped, each.summaries(), compared=len(scores) > 1))
        for name, each in scores.items()
    }
    if len(scores) == 1:
        yield from next(iter(of_each.values()))
        return
    yield from comparability_findings(compare(list(scores.values()), (), options))
    yield from findings_with_run_names(of_each)
