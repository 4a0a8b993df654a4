"""Whether the gold favours an agent: circular gold, uneven pools, models of one family."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import comb
from operator import lt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from searchmark.audit.check import AuditTable, Subject, check, ids_of
from searchmark.measures.common import judged_share as share_judged
from searchmark.measures.common import precision
from searchmark.measures.hits import GradedHits
from searchmark.records.answers import OK
from searchmark.records.columns import Floats, Ints, texts_at
from searchmark.records.finding import AGENTS, Finding, FindingKind, finding
from searchmark.records.judgments import NO_RANK, JudgmentTable
from searchmark.records.provenance import description_of
from searchmark.records.run import Run
from searchmark.records.sentences import quote_name
from searchmark.records.suite import Suite, chosen_rows
from searchmark.scoring.match import MatchedRun
from searchmark.scoring.matches import NOT_MET
from searchmark.scoring.trust import is_control_run

# Orders in which a list of targets may have been written without any agent: by id, by number, or as the corpus has them.

SORTED = 0.9  # share of neighbours that are in such an order, or in its reverse: then the list tells nothing
_NUMBER = re.compile("([0-9]+)")


def is_sorted(one: Sequence[str], two: Sequence[str], subject: Subject) -> bool:
    """Whether ids rise, or fall, from each target (of ``one``) to the next (of ``two``), in any order that is none of an agent."""
    rising = (list(map(lt, map(key, one), map(key, two))) for key in _keys({*one, *two}, subject))
    return any(each and not 1 - SORTED < sum(each) / len(each) < SORTED for each in rising)


def _keys(targets: set[str], subject: Subject) -> Iterator[Callable[[str], Any]]:
    """What lists may be sorted by, the corpus last: it has to be read."""
    yield str
    yield _with_numbers
    positions: Mapping[str, int] = {} if subject.survey is None else subject.survey.positions(targets)
    if targets <= positions.keys():
        yield positions.__getitem__


def _with_numbers(text: str) -> list[tuple[int, str]]:
    """The parts of an id, numbers by their size: d2 comes before d10."""
    return [(len(part.lstrip("0")), part.lstrip("0")) if part.isdigit() else (0, part) for part in _NUMBER.split(text)]


# Whether the gold is what an agent answers: its first hits are the targets, in the order in which the gold lists them.
#
# An honest agent does not get there, however good it is. Two people who judge the same documents agree on 42 to 49 % of what
# one of them calls relevant (Voorhees, 2000), so that not even a second person would return exactly the targets of the first
# in nearly all cases that have several. And equally relevant targets are listed in an order that says nothing of them: an
# agent that knows only what is relevant has half of all neighbours the other way round. An order that the gold declares
# (expected ranks, or grades that are as good as ranks) is what an agent is meant to return: meeting it may be
# right, and is only a warning.

SEVERAL = 3  # targets of a case: with two, both coming first is common
FEWEST_CASES_OF_AGREEMENT = 10  # with several targets each, so that a lucky handful is not reported
FOUND_SHARE = 0.8  # mean share of the targets among as many first hits, together with their order
SAME_SET = 0.9  # share of cases whose first hits are exactly the targets
FAR_BEYOND, OTHERS_SAME_SET = 0.5, 0.1  # the same, where all other runs have next to none
SAME_ORDER, FEWEST_PAIRS = 0.95, 20  # share of neighbours in the listed order, and how many there must be: by chance half of them
MANY_GRADES = 4  # targets of a case, each with a grade of its own: grades that are ranks, as no person gives them
BY_CHANCE = 20  # sets of documents that the targets are one of: with fewer, returning exactly them is easy


@dataclass(frozen=True)
class GoldAgreement:
    """How far the first hits of a run are the gold, over cases with several targets."""

    cases: Ints
    found: float  # mean share of the targets among as many first hits
    same: NDArray[np.bool_]  # per case: all of them
    pairs: int = 0
    in_order: float = 0.0
    declared: bool = False  # the order is one that the gold asks for

    @property
    def same_share(self) -> float:
        return float(self.same.mean()) if len(self.same) else 0.0

    @property
    def has_order_of_gold(self) -> bool:
        return self.found >= FOUND_SHARE and self.pairs >= FEWEST_PAIRS and self.in_order >= SAME_ORDER


@check(FindingKind("circular-gold", "error",
    "An agent returns the relevant targets first, in the very order in which the gold happens to list them.",
    "Gold that was made from an agent's own answers gives that agent nearly 1 and any other agent less, however good it is.",
    "Find out where the targets come from; have people, or a rule that no agent knows, decide which documents are relevant.",
), FindingKind("answers-equal-gold", "warning",
    "An agent returns exactly the relevant targets in nearly all cases, or nearly all in the order that ranks ask for.",
    "Two people who judge the same documents share less than half of their relevant ones. Either the gold was made from "
    "these answers, or a rule decides what is right (such as a date) and the agent knows it, or the suite is too easy.",
    "Find out where targets and ranks come from; if they are independent of the agent, it is right: add harder cases.",
), theme=AGENTS, quick=True)  # fmt: skip
def circularity(subject: Subject) -> Iterator[Finding]:
    agreements = {name: agreement_of(scores.matched, subject) for name, scores in subject.scores.items()}
    for name, agreement in agreements.items():
        if len(agreement.cases) < FEWEST_CASES_OF_AGREEMENT:
            continue
        cases = list(ids_of(subject.scores[name].matched.suite, agreement.cases[agreement.same]))
        best = max((each.same_share for other, each in agreements.items() if other != name), default=None)
        before = f"{name}: " if len(agreements) > 1 else ""
        others = "" if best is None else f", in the other runs in at most {best:.0%} of theirs"
        exactly = f"exactly the targets come first in {len(cases)} of {len(agreement.cases)} cases with {SEVERAL} or more{others}"
        order = f"{agreement.in_order:.0%} of {agreement.pairs} neighbouring targets are in"
        far_beyond = best is not None and agreement.same_share >= FAR_BEYOND and best <= OTHERS_SAME_SET
        if agreement.has_order_of_gold and agreement.declared:
            yield finding("answers-equal-gold", f"{before}{order} the order that the gold asks for, and {exactly}", cases)
        elif agreement.has_order_of_gold:
            listing = "the order in which the gold happens to list them (by chance 50%)"
            yield finding("circular-gold", f"{before}{order} {listing}, and {exactly}", cases)
        elif agreement.same_share >= SAME_SET or far_beyond:
            yield finding("answers-equal-gold", f"{before}{exactly}", cases)


def _targets_found(matched: MatchedRun, times: int) -> tuple[Ints, Ints]:
    """How many targets of each case are among ``times`` as many first hits, and how many it has."""
    suite, matches, rel = matched.suite, matched.matches, matched.suite.defaults.rel
    targets = np.bincount(suite.judgments.case[suite.judgments.grades >= rel], minlength=len(suite))
    first = matches.valid & (matches.grade >= rel) & (matches.rank <= times * targets[matches.case])
    return np.bincount(matches.case[first], minlength=len(suite)), targets


def agreement_of(matched: MatchedRun, subject: Subject) -> GoldAgreement:
    """How far the first hits of a run are the gold."""
    suite = matched.suite
    found, targets = _targets_found(matched, 1)
    usable = (targets >= SEVERAL) & matched.answerable & matched.complete & matched.graded & (matched.status == OK)
    cases = np.flatnonzero(usable)
    cases = cases[_are_choices(targets[cases], _candidates(matched, subject, cases))]
    if not len(cases):
        return GoldAgreement(cases, 0.0, np.zeros(0, bool))
    share = found[cases] / targets[cases]
    agreement = GoldAgreement(cases, float(share.mean()), share >= 1)
    if agreement.found < FOUND_SHARE:
        return agreement
    relevant = suite.judgments.grades >= suite.defaults.rel
    return _with_order(agreement, matched, np.isin(suite.judgments.case, cases) & relevant, subject)


def _are_choices(targets: Ints, candidates: Ints) -> NDArray[np.bool_]:
    """Whether returning exactly the targets takes more than luck: they are one of many sets of candidates."""
    pairs = zip(targets.tolist(), candidates.tolist(), strict=True)
    few = (size < of and (of >= BY_CHANCE or comb(of, size) >= BY_CHANCE) for size, of in pairs)
    return np.fromiter(few, bool, len(targets))


def _candidates(matched: MatchedRun, subject: Subject, cases: Ints) -> Ints:
    """How many documents each case chooses from, as far as that is known: its own, the corpus, or else all that were returned."""
    own, run = matched.suite.table.documents, matched.run
    if subject.ids is not None or run.longest > BY_CHANCE:
        corpus_size = run.longest if subject.ids is None else len(subject.ids)
    else:  # answers are short: all of them
        corpus_size = len(set(run.ids)) if isinstance(run.ids, list) else run.ids.n_unique()
    return np.array([(len(own[row]) if own is not None else 0) or corpus_size for row in cases.tolist()], np.int64)


def _with_order(agreement: GoldAgreement, matched: MatchedRun, relevant: NDArray[np.bool_], subject: Subject) -> GoldAgreement:
    """The agreement with that of the order: of expected ranks, of grades that are as good as ranks, or of a list of equals."""
    judgments, rows = matched.suite.judgments, np.flatnonzero(relevant)
    ranks = np.full(len(judgments), NO_RANK) if judgments.ranks is None else judgments.ranks
    ranked, equals = rows[ranks[rows] != NO_RANK], rows[ranks[rows] == NO_RANK]
    by_rank = ranked[np.lexsort((ranks[ranked], judgments.case[ranked]))]
    for ordering in (by_rank, _by_distinct_grade(judgments, rows), equals):
        in_order = _in_order(matched, ordering, subject, equals=ordering is equals)
        if len(in_order) >= FEWEST_PAIRS:
            return replace(agreement, pairs=len(in_order), in_order=float(in_order.mean()), declared=ordering is not equals)
    return agreement


def _by_distinct_grade(judgments: JudgmentTable, rows: Ints) -> Ints:
    """The targets of cases where all grades differ, and there are more of them than people can tell apart."""
    case, count = judgments.case[rows], len(judgments.starts) - 1
    grades = np.unique(np.stack([case, judgments.grades[rows]]), axis=1)[0]
    targets = np.bincount(case, minlength=count)
    distinct = (np.bincount(grades, minlength=count) == targets) & (targets >= MANY_GRADES)
    distinct_rows = rows[distinct[case]]
    by_grade: Ints = distinct_rows[np.lexsort((-judgments.grades[distinct_rows], judgments.case[distinct_rows]))]
    return by_grade


def _in_order(matched: MatchedRun, ordering: Ints, subject: Subject, *, equals: bool) -> NDArray[np.bool_]:
    """For each two neighbours that were both returned, whether they came in this order; equal scores have none.

    ``equals``: only neighbours of one grade count, since a good agent returns higher grades first.
    """
    matches, judgments = matched.matches, matched.suite.judgments
    one, two = ordering[:-1], ordering[1:]
    comparable = (judgments.case[one] == judgments.case[two]) & (matches.met[one] != NOT_MET) & (matches.met[two] != NOT_MET)
    if equals:
        comparable &= judgments.grades[one] == judgments.grades[two]
    one, two = one[comparable], two[comparable]
    ranks, scores = matches.rank[matches.met], matched.run.scores[matches.row[matches.met]]
    distinct = scores[one] != scores[two]
    in_order: NDArray[np.bool_] = (ranks[one] < ranks[two])[distinct]
    agrees = len(in_order) >= FEWEST_PAIRS and in_order.mean() >= SAME_ORDER
    if agrees and is_sorted(texts_at(judgments.targets, one), texts_at(judgments.targets, two), subject):
        return in_order[:0]
    return in_order


# Gold that lies within the first hits of one run, in whatever order: chosen from them, it could not lie anywhere else.
#
# Of four public data sets with several targets per case no honest run has more than 65 % of the targets among twice as many
# first hits; gold that was chosen from the first six hits of an engine has all of them there. An agent that really finds nine
# of ten targets so early is reported in one of 70 suites with 20 cases of three targets, and one that finds eight of ten next to
# never.

FEWEST_CASES_WITH_SEVERAL = 20
TIMES = 2  # as many first hits as there are targets
WITHIN, OTHERS_WITHIN = 0.98, 0.8  # mean share of the targets, and what another run must stay below: else the suite is easy


@check(FindingKind(
    "gold-within-first-hits", "warning", "Nearly all targets are among the first hits of one run, and far fewer of another's.",
    "Gold that was chosen from what one agent returned looks like this; others lose for what was never shown to a judge.",
    "Find out where the targets came from; judge what the other runs return as well.",
), theme=AGENTS)  # fmt: skip
def gold_within_first_hits(subject: Subject) -> Iterator[Finding]:
    serious = {name: each.matched for name, each in subject.scores.items() if not is_control_run(each.matched.run)}
    shares: dict[str, float] = {}
    for name, matched in serious.items() if len(serious) > 1 else ():
        cases = agreement_of(matched, subject).cases
        if len(cases) >= FEWEST_CASES_WITH_SEVERAL:
            found, targets = _targets_found(matched, TIMES)
            shares[name] = float((found[cases] / targets[cases]).mean())
    within, lowest = [name for name, share in shares.items() if share >= WITHIN], min(shares.values(), default=1.0)
    if not within or lowest > OTHERS_WITHIN or list(circularity(subject)):
        return
    for name in within:
        message = f"{shares[name]:.0%} of the targets are among its first hits, {TIMES} for each target"
        yield finding("gold-within-first-hits", f"{name}: {message}; of another run {lowest:.0%} are")


# Whether the judgments of a suite are those of a pool, so that what is judged tells about what is not.

# Cases with a target that is judged not relevant: below, the gold names what is relevant, and no pool was judged.
POOLED = 0.5


def is_pooled(suite: Suite) -> bool:
    """Whether more was judged than what is relevant, so that a hit without a judgment is one that nobody looked at.

    Judgments that were chosen to settle a comparison do not count.
    """
    judgments, count = suite.judgments, len(suite)
    against = judgments.case[(judgments.grades == 0) & ~chosen_rows(suite)]
    return int(np.count_nonzero(np.bincount(against, minlength=count))) >= POOLED * count


def hits_without_chosen(matched: MatchedRun) -> GradedHits:
    """The hits as if what was chosen were not judged."""
    chosen = np.r_[chosen_rows(matched.suite), False]  # the last one stands for NO_JUDGMENT, which is -1
    unchosen = ~chosen[matched.matches.judgment[matched.matches.valid]]
    hits = matched.hits
    return hits if unchosen.all() else hits.select(unchosen)


# Pool bias: how many of the first hits of each run are judged, and what the others could be worth.

POOL_DEPTH = 10
FEWEST_CASES_OF_POOL = 10
# A gap that could move P@k by a tenth; the upgrade by .096 that was retracted was made of such gaps. It must be beyond chance, too.
GAP, CERTAIN = 0.1, 3.0
FEW_JUDGED = 0.5  # of the first hits, from which on fewer are judged than are not


@dataclass(frozen=True)
class PooledHits:
    """The first hits of one run: the share that is judged per case, P@k, and P@k if the others were like the judged ones."""

    judged: Floats
    precision: float
    likely: float

    @property
    def share(self) -> float:
        return float(self.judged.mean())


@check(FindingKind("judged-unevenly", "warning", "The first hits of one run are judged more often than those of another.",
    "A hit without a judgment counts as not relevant, so the run whose hits were not judged loses, whatever they are worth.",
    "Judge the first hits of all runs together, not knowing which run returned them, before the difference is relied on.",
    table="judged",
), FindingKind("hardly-judged", "warning", "Most of the first hits of all runs have no judgment.",
    "A hit without a judgment counts as not relevant: all means are too low, and differences may be those of the pool.",
    "Judge the first hits of these runs, or compare them by measures that skip what is not judged, such as Bpref.",
    table="judged",
), theme=AGENTS, quick=True)  # fmt: skip
def pool_bias(subject: Subject) -> Iterator[Finding]:
    """Runs whose first hits are judged less often than those of another, or all of them hardly, controls apart."""
    depth, all_pools = _pools(subject)
    pools = {name: each for name, each in all_pools.items() if not is_control_run(subject.scores[name].matched.run)}
    if not pools or len(next(iter(pools.values())).judged) < FEWEST_CASES_OF_POOL:
        return
    most, least = (pick(pools, key=lambda name: pools[name].share) for pick in (max, min))
    high, low = pools[most], pools[least]
    if high.share < FEW_JUDGED:
        highest = sorted(pools, key=lambda name: -pools[name].share)[:3]
        shares = ", ".join(f"{name} {pools[name].share:.0%}" for name in highest)
        yield finding("hardly-judged", f"of the first {depth} hits at most {high.share:.0%} are judged ({shares})")
    difference = high.judged - low.judged
    error = float(difference.std(ddof=1)) / np.sqrt(len(difference))
    if difference.mean() >= GAP and difference.mean() >= CERTAIN * error:
        likely = f"P@{depth} of {least} would be {low.likely:.3f} instead of {low.precision:.3f} if the others were like them"
        shares = f"{high.share:.0%} of {most}, {low.share:.0%} of {least}"
        yield finding("judged-unevenly", f"judged among the first {depth} hits: {shares}; {likely}")


def judged_table(subject: Subject) -> AuditTable | None:
    """How much of the first hits of each run is judged."""
    depth, pools = _pools(subject)
    columns = ("run", f"Judged@{depth}", f"P@{depth}", f"P@{depth} if unjudged hits were like judged ones")
    rows = tuple((name, each.share, each.precision, each.likely) for name, each in pools.items())
    return AuditTable("judged", "Judged among the first hits", columns, rows) if rows else None


def _pools(subject: Subject) -> tuple[int, Mapping[str, PooledHits]]:
    """The first hits of every run on cases that all of them answer, to a depth that all of them reach."""
    of_runs = {name: scores.matched for name, scores in subject.scores.items()}
    if not of_runs or not is_pooled(subject.suite):
        return POOL_DEPTH, {}
    depth = max(1, min(POOL_DEPTH, *(matched.run.longest for matched in of_runs.values())))
    answered = np.logical_and.reduce([matched.answerable & (matched.status == OK) for matched in of_runs.values()])
    return depth, {name: _pool_hits(matched, answered, depth) for name, matched in of_runs.items()} if answered.any() else {}


def _pool_hits(matched: MatchedRun, rows: NDArray[np.bool_], depth: int) -> PooledHits:
    rel = matched.suite.defaults.rel
    (share, relevant), (sampled_share, sampled_precision) = (
        (share_judged(hits, k=depth)[rows], precision(hits, k=depth, rel=rel)[rows])
        for hits in (matched.hits, hits_without_chosen(matched))  # what was chosen is not like the rest
    )
    like_them = float(sampled_precision.mean() / sampled_share.mean()) if sampled_share.any() else 0.0
    precise = float(relevant.mean())
    return PooledHits(share, precise, min(1.0, precise + (1 - float(share.mean())) * like_them))


# Which models have made the gold, as far as the suite says so, and whether an agent has one of the same family.

# Names that tell the family. A program that runs models of others (ollama, llama.cpp) tells none.
FAMILIES: Mapping[str, re.Pattern[str]] = {
    family: re.compile(pattern, re.IGNORECASE)
    for family, pattern in {
        "OpenAI": r"gpt-?\d|\b(?:chat)?gpt\b|openai|text-embedding-(?:3|ada)|\bo[134](?:-mini|-pro|-preview)?\b|davinci",
        "Anthropic": r"claude|anthropic",
        "Llama": r"(?<![a-z]o)(?<!\bo)llama(?![-_. ]?(?:cpp|file|index|parse))",
        "Google": r"gemini|gemma|\bpalm-?2\b|text-bison|embedding-gecko|text-embedding-00\d",
        "Qwen": r"qwen|\bqwq\b",
        "Mistral": r"mistral|mixtral|codestral|ministral",
        "DeepSeek": r"deepseek",
        "Cohere": r"cohere|command-[ra]\b|embed-(?:english|multilingual)",
        "BGE": r"\bbge\b|\bbaai\b",
        "E5": r"\b(?:multilingual-)?e5-",
        "GTE": r"\bgte-",
        "Jina": r"\bjina",
        "Nomic": r"\bnomic",
        "Voyage": r"\bvoyage-",
        "Sentence Transformers": r"minilm|mpnet|sentence-transformers|multi-qa-|msmarco-(?:distilbert|bert)",
        "Phi": r"\bphi-?[2-5]\b",
        "Grok": r"\bgrok\b",
        "BM25": r"\bbm25\b|\bokapi\b",
        "TF-IDF": r"\btf-?idf\b",
        "hashed words": r"\bhash(?:ed|ing)\b|\bfeature[- ]hash",
    }.items()
}

Part = Literal["queries", "labels", "all", "check"]
# What is a second look at a part, so that it should not be that of the same model.
_CHECKED_BY: Mapping[Part, tuple[Part, ...]] = {
    "queries": ("labels", "check"),
    "all": ("labels", "check"),
    "labels": ("check",),
    "check": (),
}
# What a key of the metadata, or of a case, says that its value has made: the first that fits.
_PARTS: tuple[tuple[Part, re.Pattern[str]], ...] = (
    ("check", re.compile(r"verif|valid|review|(?:double|cross)_?check|checked_by|audited")),
    ("labels", re.compile(r"label|judge|judg|annotat|assess|grader|graded|relevance|expected|ground_truth|qrel")),
    ("queries", re.compile(r"quer|question|rewrit|paraphras|prompt")),
    ("all", re.compile(r"generat|written_by|author|creat|synthe|made_by|produced|\bllm\b|(?:^|\.)model$|source_model")),
)

_NO_MAKER = re.compile(r"count|number|date|time|version|seed|path|commit|temperature|hash|id$|approvals")
_OF_CASES = ("generat", "written_by", "label", "judge", "annotat", "verif", "rewrit", "_model", "llm", "author")
_LONGEST = 200  # letters of a value that is a name
_FOLDERS = re.compile(r"(?:^|(?<=[\s:=]))(?:[/~.]|\w+://)\S*/")  # of files and addresses: they are called after people and machines


@dataclass(frozen=True)
class Maker:
    """Something that the suite says it was made with."""

    part: Part  # which part of the suite
    name: str  # by what
    key: str  # where that is said

    @property
    def families(self) -> set[str]:
        return families_of(self.name)


def families_of(name: str) -> set[str]:
    """The families of models that a name points to."""
    return {family for family, pattern in FAMILIES.items() if pattern.search(name)}


@check(FindingKind("same-model-family", "warning", "The gold and an agent are from models of one family.",
    "Models prefer what models of their family write and find, so that the agent scores higher than people would say.",
    "Have people, or a model of another family, judge a random part of the cases, and compare the agents on that part.",
), FindingKind("checked-by-own-author", "warning", "One model has made the cases and has labelled or verified them.",
    "A model repeats its own mistakes when it checks them, so a verification by it adds nothing.",
    "Have people, or a model of another family, verify a random part of the cases.",
), theme=AGENTS, quick=True)  # fmt: skip
def model_families(subject: Subject) -> Iterator[Finding]:
    makers = list(dict.fromkeys(makers_of(subject.suite)))
    for author, again in product(makers, makers):
        common = author.families & again.families
        if common and again.part in _CHECKED_BY[author.part]:
            models = f"{author.key} is {quote_name(author.name)} and {again.key} is {quote_name(again.name)}"
            yield finding("checked-by-own-author", f"{models}: both {min(common)}")
            break
    for run, scores in subject.scores.items() if makers else ():
        for name, maker in product(names_in_run(scores.matched.run), makers):
            if common := families_of(name) & maker.families:
                before = f"{run}: " if len(subject.scores) > 1 else ""
                both = f"the agent has {quote_name(name)}, the gold {quote_name(maker.name)} ({maker.key}): both {min(common)}"
                yield finding("same-model-family", f"{before}{both}")
                break


def makers_of(suite: Suite) -> Iterator[Maker]:
    """All that the metadata and the fields of the cases say of models that made them."""
    yield from _makers_in(suite.metadata, "")
    pairs: set[tuple[str, str]] = set()
    for fields in suite.table.fields or ():
        for key, value in fields.items():
            if isinstance(value, str) and (key, value) not in pairs and any(word in key.lower() for word in _OF_CASES):
                pairs.add((key, value))
                yield from _makers_in({key: value}, "")


def _makers_in(data: Any, key: str) -> Iterator[Maker]:
    if isinstance(data, Mapping):
        for name, value in data.items():
            yield from _makers_in(value, f"{key}.{name}" if key else str(name))
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _makers_in(value, key)
    elif isinstance(data, str) and 0 < len(data) <= _LONGEST and families_of(data):
        snake_key = re.sub(r"(?<=[a-z])(?=[A-Z])|[- ]", "_", key).lower()
        part = next((part for part, pattern in _PARTS if pattern.search(snake_key)), None)
        if part is not None and not _NO_MAKER.search(snake_key):
            yield Maker(part, data, key)


def names_in_run(run: Run) -> Iterator[str]:
    """How a run is called, and every name in what its agent says of itself and in its options; not the folders of files."""
    agent = run.provenance.agent
    descriptions = [run.label.identity, *(() if agent is None else (agent.source, agent.description, agent.config))]
    return (_FOLDERS.sub("", text) for text in _texts(descriptions))


def _texts(data: Any) -> Iterator[str]:
    """Every short text in nested data; what is searched for in documents is left out."""
    if isinstance(data, str):
        yield from (data,) if len(data) <= _LONGEST else ()
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _texts(value)
    else:
        for _, value in description_of(data):
            yield from _texts(value)
