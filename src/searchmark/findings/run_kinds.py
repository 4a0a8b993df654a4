"""Kinds of findings about runs: how they went, what was left out of their scores, what cannot be compared."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

KINDS = (
    FindingKind(
        "cases-not-run", "error", "Cases that were not run.",
        "A mean over the cases that happened to run is the mean of another suite.",
        "Continue with --resume, evaluate all shards together, or compare on the common cases with --intersect.",
        spoils=True,
    ),
    FindingKind(
        "not-started", "error", "The agent could not be started.",
        "Nothing was measured; this is not a score of 0.",
        "Fix what the message names; 'searchmark doctor' checks the environment.",
        spoils=True,
    ),
    FindingKind(
        "not-whole", "error", "Contents of a repository are missing or damaged, so cases were not searched.",
        "They score 0, and that says nothing of the search.",
        "Fetch or repair what the message names, then ask these cases again with --retry-errors.",
        spoils=True,
    ),
    FindingKind(
        "corpus-changed", "error", "What was searched changed during the run.",
        "Cases were asked about different contents and cannot be averaged.",
        "Run it again while the files are left alone, or search a commit with --snapshot.",
        spoils=True,
    ),
    FindingKind(
        "interrupted", "error", "The run did not come to its end; what it had answered was taken from its journal.",
        "Whether what was searched stayed the same is checked when a run ends.",
        "Resume it with --resume, which asks only what is left, and merge it then.",
        spoils=True,
    ),
    FindingKind(
        "failed", "error", "The agent could not be asked to the end.",
        "Something unexpected happened to this agent alone; what it did not answer was not run.",
        "Ask the rest with --resume; if it happens again, report it with the message.",
        spoils=True,
    ),
    FindingKind(
        "journal-changed", "error", "The journal was changed by another process during the run.",
        "An agent runs with your rights and can write into the files of others; who does that may have done more.",
        "Find out which agent did it; use --sandbox to keep agents away from journals.",
        spoils=True,
    ),
    FindingKind(
        "cache-changed", "error", "Cached vectors were changed by another process during the run.",
        "Who searches with changed vectors finds something else. What was changed has been removed from the cache.",
        "Find out which agent did it, then run it again; use --sandbox to keep agents away from the cache.",
        spoils=True,
    ),
    FindingKind(
        "times-doubtful", "error", "The agent's process reported much shorter times than passed on the runner's clock.",
        "These times are left out of the latencies, so the latencies say little.",
        "Look for code in the agent that changes clocks or works after it has answered.",
        spoils=True,
    ),
    FindingKind(
        "too-many-failures", "error", "More than 5 % of the cases ended in an error or a time-out.",
        "They score 0, so the mean tells more of the failures than of the search.",
        "Fix the failures, then ask the failed cases again with --retry-errors.",
        spoils=True,
    ),
    FindingKind(
        "not-comparable", "error", "Two runs that differ in more than their agents.",
        "A difference between them says nothing of the agents; its verdict is INVALID.",
        spoils=True,
    ),
    FindingKind(
        "all-hits-invalid", "error", "None of the hits of a run exists in the corpus.",
        "The run names documents differently or searched something else: a score of 0 says nothing of the search.",
        "Write the ids of hits as the corpus has them, or name the corpus that was searched.",
        spoils=True,
    ),
    FindingKind(
        "hits-in-other-spelling", "error", "No hit of a run is judged, and one change of all ids makes several of them fit.",
        "The run and the suite name documents differently: a score of 0 says nothing of the search.",
        "Write the ids of the run as the suite has them, or those of the suite as the run has them.",
        spoils=True,
    ),
    FindingKind(
        "no-hit-judged", "error", "No hit of a run is judged, not even as irrelevant, and no corpus tells whether they exist.",
        "Either the run found nothing that was judged, or it names documents differently; both score 0.",
        "Compare a few ids of both; name the corpus with --corpus, so that ids are checked.",
        spoils=True,
    ),
    FindingKind(
        "nothing-relevant", "error", "No judgment of the suite has a grade above 0.",
        "Whatever is returned scores 0, which says nothing of the search.",
        "Read the grades: they may be in another column or of another scale. Mark cases without an answer as unanswerable.",
        spoils=True,
    ),
    FindingKind(
        "some-hits-in-other-spelling", "warning", "No hit of some cases is judged, and one change of ids makes some fit.",
        "They count as not relevant, so that the mean tells of spelling as well as of search.",
        "Make the change that the sentence names, in the run or in the suite.",
    ),
    FindingKind(
        "all-answers-empty", "error", "The agent returned no hit for any case.",
        "A search that is set up wrongly often finds nothing without an error: a score of 0 says nothing of the search.",
        "Ask the agent for something that it must find, and check its corpus, its query and how its hits are read.",
        spoils=True,
    ),
    FindingKind(
        "only-duplicates", "error", "Nearly all hits of a run are dropped as duplicates, so that answers have one or two left.",
        "Hits that are read wrongly often have one id: what is left of the answers says little of the search.",
        "Look at the ids that the agent returns, and return every id once.",
        spoils=True,
    ),
    FindingKind(
        "one-document", "error", "Every answer is the same single document, and it is a target of fewer than half of the cases.",
        "An agent that does not read the query, or whose hits are read wrongly, answers like this.",
        "Look at what the agent does with the query, and at how its hits become ids.",
        spoils=True,
    ),
    FindingKind(
        "same-answers", "warning", "Every case got the same answer, hit by hit.",
        "An agent that does not read the query answers like this; so does one that returns what is most popular.",
        "Unless that is meant, look at what the agent does with the query.",
    ),
    FindingKind(
        "run-not-scored", "error", "A run, or the baseline, that cannot be scored on the suite; the rest is audited without it.",
        "It was made for another suite, or for other queries, so its scores here would mean nothing.",
        "Name a run of this suite, or the suite that the run was made for.",
    ),
    FindingKind(
        "failures", "warning", "Cases that failed, and the commonest kind of failure.",
        "A case that failed scores 0.",
        "Fix the reason, then ask the failed cases again with --retry-errors.",
    ),
    FindingKind(
        "repeat-failures", "warning", "Cases answered first and failing on a repeat.",
        "The answer counts. The failed repeat is in the latency with the time that it took, a time-out with its deadline.",
    ),
    FindingKind(
        "unstable-answers", "warning", "Cases that were answered differently when asked again.",
        "The first answer is scored; a second run may give another value.",
        "Fix the seeds of the agent, or measure the noise floor with --repeat-agent.",
    ),
    FindingKind(
        "worker-restarts", "warning", "The process of the agent was lost and started again.",
        "What the agent kept in memory was lost each time.",
    ),
    FindingKind(
        "not-isolated", "warning", "The agent ran inside the process of the runner.",
        "No deadline can be enforced there.",
    ),
    FindingKind(
        "run-as-read", "note", "How a run that others have written was read.",
        "Its file names cases differently, has its hits in another order, or holds what is not a hit.",
        "Read the sentence; write the run with the ids of the suite's cases and its hits in order.",
    ),
    FindingKind(
        "parallel-workers", "note", "Several workers of the agent ran at the same time.",
        "They compete for the processor, so searches take longer than with one worker.",
        "Measure latency with --jobs 1.",
    ),
    FindingKind(
        "several-hosts", "note", "A run that was measured on several hosts.",
        "A percentile over different machines tells more of who answered what than of the search; quality does not depend on it.",
        "See the latencies of each host; measure latency on one.",
    ),
    FindingKind(
        "latencies-not-compared", "note", "Runs whose latencies were measured on different hosts.",
        "Another machine explains any difference in time; quality is compared as always.",
        "Measure them again, all on one host.",
    ),
    FindingKind(
        "retried-searches", "note", "Searches that were tried again after a failed attempt, as the agent states it.",
        "Further attempts and the waits between them are part of the latency.",
    ),
    FindingKind(
        "process-start", "note", "Starting a process is most of the latency, as the agent states it.",
        "The latency then tells more of the start than of the search.",
        "See the row without it, or let the process stay up.",
    ),
    FindingKind(
        "partly-stated", "note", "A part of the latency that is not stated for all searches.",
        "There is no latency without it: that of some searches would not be that of all.",
    ),
    FindingKind(
        "several-token-counters", "warning", "Tokens that were counted by several counters.",
        "Counters cut text differently; each has its own numbers, and none of them is of all answers.",
        "Count all answers by one.",
    ),
    FindingKind(
        "own-corpus", "note", "An agent that searches its own corpus.",
        "Hits that do not exist and targets that cannot be found are not seen, and whether others searched the same is not known.",
        "If its corpus is at hand, name it with --corpus.",
    ),
    FindingKind(
        "limited-candidates", "note", "Only some files of a commit were searched, as in the gold set or as was asked for.",
        "Fewer files to confuse with make a search easier.",
        "--candidates all searches every file that --include, --exclude, --kinds and --ignore leave in.",
    ),
    FindingKind(
        "different-snapshots", "note", "Different agents in different snapshots.",
        "Whether the agent or the snapshot makes the difference cannot be told; the verdict is INVALID.",
    ),
    FindingKind(
        "cut-answers", "note", "Answers that end at the depth that was asked for.",
        "A measure without a cutoff would have another value on longer answers.",
        "Ask for more hits with --depth, or name a cutoff.",
    ),
    FindingKind(
        "noise-floor", "note", "How much two runs of one agent differ.",
        "A difference between agents that is no larger is noise.",
    ),
    FindingKind(
        "earlier-runs-differ", "note", "Earlier runs in the archive that say nothing about this one.",
        "No drift is told where queries differ or results cannot be trusted, and none of latencies where hosts differ.",
    ),
    FindingKind(
        "cases-missing", "warning", "Cases that an imported run does not mention.",
        "They count as empty answers and score 0, as in trec_eval -c.",
        "If these cases were never asked, compare with --intersect.",
    ),
    FindingKind(
        "empty-answers", "warning", "Nearly all answers are empty; in a comparison, most of the answers of a run.",
        "A search that is set up wrongly often finds nothing without an error, and scores 0 like one that searches badly.",
        "Ask the agent for something that it must find, and check its corpus, its query and how its hits are read.",
    ),
    FindingKind(
        "undefined-values", "note", "Cases for which a measure is undefined.",
        "They are not in its mean; the reason is with each case in the JSON report.",
    ),
    FindingKind(
        "cases-not-in-one-segment", "note", "Cases that are in several segments of a split, or in none.",
        "The means of the segments are of overlapping cases, or not of all, and do not add up to the mean of all.",
    ),
    FindingKind("formula", "note", "What a formula with a name is made of."),
    FindingKind(
        "duplicate-hits", "warning", "Duplicate hits in an answer.",
        "Each id keeps its first rank; trec_eval refuses such a run.",
        "Return every id once.",
    ),
    FindingKind(
        "invalid-hits", "warning", "Hits that do not exist in the corpus.",
        "They keep their rank and count as not relevant.",
        "Check that agent and corpus name documents alike.",
    ),
    FindingKind(
        "other-corpus", "warning", "Hits that are checked against another corpus than the one that was searched.",
        "What the other one lacks counts as not relevant.",
        "Give the corpus that was searched with --corpus, or none.",
    ),
    FindingKind(
        "cases-not-in-suite", "warning", "Cases of the run that are not in the suite.",
        "They are left out; the run may have been made for another suite.",
    ),
    FindingKind(
        "scores-out-of-order", "warning", "Hits that score higher than the one before them.",
        "The order of the run was kept; tools that sort by score see another ranking.",
    ),
    FindingKind("topics-without-judgments", "note", "Topics without judgments, left out."),
    FindingKind("queries-without-judgments", "note", "Queries without judgments, left out."),
    FindingKind("unrated-hits", "note", "Lines of the suite without a rating, left out."),
    FindingKind(
        "cases-not-in-all-runs", "warning", "Cases of the suite that not all runs answer, left out.",
        "The comparison holds for the common cases only.",
    ),
    FindingKind("cases-filtered-out", "note", "Cases of the suite that were not asked for, left out."),
    FindingKind("hits-below-same-depth", "note", "Hits below the smallest depth of all runs, left out as asked."),
    FindingKind("hits-beyond-depth", "note", "Hits beyond the depth that was asked for, left out."),
    FindingKind("merged-chunks", "note", "Chunks of a file that an earlier hit is in already, merged with it."),
    FindingKind(
        "not-chunks", "warning", "Hits whose ids do not fit chunk_of, taken as they are.",
        "They are ids of documents, or the rule is wrong.",
        "Compare chunk_of of the agent with its ids.",
    ),
    FindingKind(
        "unusable-lines", "warning", "Lines of hits that are not a first and a last line, left out.",
        "Such a hit means the whole document.", "Give [first, last], counted from 1.",
    ),
    FindingKind("unusable-scores", "warning", "Scores that are not finite numbers, left out.", "The order of the run was kept."),
    FindingKind(
        "impossible-times", "warning", "Stated times that are longer than the search that they are part of, left out.",
        "Whatever else the agent states may be as wrong.",
        "Let it state milliseconds of this one search.",
    ),
    FindingKind("left-out", "note", "Anything else that was counted and left out."),
    FindingKind(
        "duplicate-documents", "warning", "Documents of the corpus with a duplicate id, left out.",
        "The first document with an id counts; the contents of the others cannot be found.",
        "Give every document an id of its own.",
    ),
    FindingKind("empty-documents", "note", "Documents of the corpus without any text."),
    FindingKind("skipped-files", "note", "Files of the corpus that hold no text or none of its documents, left out."),
    FindingKind(
        "left-out-files", "note", "Files and folders below the searched folder that are left out of the corpus.",
        "The suite, reports and runs would tell the answers; packages, outputs and files that Git ignores are rarely meant.",
        "Change what is searched with --include, --exclude, --kinds and --no-ignore, or the section 'corpus' of the config.",
    ),
    FindingKind(
        "ignored-files-unknown", "warning", "Files that Git ignores are searched, since Git could not be asked.",
        "Outputs and packages may be among the hits.", "Install git, or leave them out with --exclude.",
    ),
)  # fmt: skip
