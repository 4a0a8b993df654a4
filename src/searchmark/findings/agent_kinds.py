"""Kinds of findings about gold that fits one agent better than others."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

KINDS: tuple[FindingKind, ...] = (
    FindingKind(
        "circular-gold", "error",
        "An agent returns the relevant targets first, in the very order in which the gold happens to list them.",
        "Gold that was made from an agent's own answers gives that agent nearly 1 and any other agent less, however good it is.",
        "Find out where the targets come from; have people, or a rule that no agent knows, decide which documents are relevant.",
    ),
    FindingKind(
        "answers-equal-gold", "warning",
        "An agent returns exactly the relevant targets in nearly all cases, or nearly all in the order that ranks ask for.",
        "Two people who judge the same documents share less than half of their relevant ones. Either the gold was made from these "
        "answers, or a rule decides what is right (such as a date) and the agent knows it, or the suite is too easy.",
        "Find out where targets and ranks come from; if they are independent of the agent, it is right: add harder cases.",
    ),
    FindingKind(
        "judged-unevenly", "warning", "The first hits of one run are judged more often than those of another.",
        "A hit without a judgment counts as not relevant, so the run whose hits were not judged loses, whatever they are worth.",
        "Judge the first hits of all runs together, not knowing which run returned them, before the difference is relied on.",
    ),
    FindingKind(
        "hardly-judged", "warning", "Most of the first hits of all runs have no judgment.",
        "A hit without a judgment counts as not relevant: all means are too low, and differences may be those of the pool.",
        "Judge the first hits of these runs, or compare them by measures that skip what is not judged, such as Bpref.",
    ),
    FindingKind(
        "gold-by-words", "warning", "In nearly all cases every relevant document has all the words of the query.",
        "Elsewhere a query word is missing from 30 to 40 % of the relevant documents. Where none is, gold was chosen by its words: "
        "agents that match words are favoured, and what others find beyond them cannot be seen.",
        "Add queries in other words than the documents have, and judge what agents find that do not go by words.",
    ),
    FindingKind(
        "queries-name-targets", "warning", "At least half of the queries name a target: its id, path or symbol.",
        "A search for names finds these, so the mean says little about the other cases.",
        "Report both groups of cases apart, as the table of the audit does, and add queries that describe what they look for.",
    ),
    FindingKind(
        "query-copied-from-target", "warning", "Queries that are, nearly word for word, the title or text of a relevant document.",
        "Any search finds a text by its own words, so that these cases flatter all agents and hide how they differ.",
        "Ask these questions in other words, or leave the copied field out of what is searched.",
    ),
    FindingKind(
        "query-source-not-relevant", "warning", "Documents that are not relevant and say the query nearly word for word.",
        "Most searches return them first, and are charged for a wrong hit that a user would not mind.",
        "If a query was taken from this document, remove the document from what is searched for it; if it answers the query, "
        "judge it as relevant.",
    ),
    FindingKind(
        "same-model-family", "warning", "The gold and an agent are from models of one family.",
        "Models prefer what models of their family write and find, so that the agent scores higher than people would say.",
        "Have people, or a model of another family, judge a random part of the cases, and compare the agents on that part.",
    ),
    FindingKind(
        "checked-by-own-author", "warning", "One model has made the cases and has labelled or verified them.",
        "A model repeats its own mistakes when it checks them, so a verification by it adds nothing.",
        "Have people, or a model of another family, verify a random part of the cases.",
    ),
    FindingKind(
        "gold-within-first-hits", "warning", "Nearly all targets are among the first hits of one run, and far fewer of another's.",
        "Gold that was chosen from what one agent returned looks like this; others lose for what was never shown to a judge.",
        "Find out where the targets came from; judge what the other runs return as well.",
    ),
    FindingKind(
        "shifted-run", "error", "A run whose answers fit the judgments of neighbouring cases, and not those of their own.",
        "Answers were written beside the wrong cases: its score says nothing of the agent.",
        "Join answers with cases by their ids, not by their position, and score the run again.",
    ),
)  # fmt: skip
