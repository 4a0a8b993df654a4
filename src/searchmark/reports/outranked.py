"""What ranks above the documents that a search should have found: which documents, and by which words of the query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from searchmark.agents.lexical.analyser import NO_STEMMING, Analyser
from searchmark.records.document import Document
from searchmark.reports.cases import CaseSummary, ExpectedTarget, ShownHit
from searchmark.reports.report import AgentSummary

# Reads documents by snapshot, case and id, once it is told which ids will be asked for; None where they cannot be read.
DocumentOf = Callable[[str | None, str, str], Document | None]
ReadDocuments = Callable[[Iterable[str]], DocumentOf]

MOST_CASES = 200  # failed cases of a run that are looked at

WHOLE_DOCUMENTS = ("id", "path")  # targets that are documents, which can be read

TEXT = "text"  # the part of a document that is neither its id, its title nor a field

NEAR = 0.2  # of the way from the first hit to the last one that is shown


@dataclass(frozen=True)
class OutrankedCase:
    """A case with a target that can be named, and the hits above it that are not relevant."""

    id: str
    query: str
    target: str
    hit: ShownHit | None  # the one that met the target, if it is among those that are shown
    above: tuple[ShownHit, ...]
    spread: float | None  # from the score of the first hit to that of the last one that is shown

    @property
    def winner(self) -> ShownHit:
        return self.above[0]

    @property
    def nearness(self) -> float | None:
        """How far the target's score is below that of the first hit, as a share of the spread; None where that is not known."""
        if self.hit is None or self.hit.score is None or self.winner.score is None or not self.spread:
            return None
        return (self.winner.score - self.hit.score) / self.spread


def outranked_cases(cases: Mapping[str, CaseSummary], failed: Iterable[str], rel: int) -> Iterator[OutrankedCase]:
    """Of some failed cases those in which something else ranks above every relevant target."""
    for name in failed:
        case = cases[name]
        relevant = [each for each in case.expected if each.grade >= rel and each.match in WHOLE_DOCUMENTS]
        above = tuple(_above_relevant(case.hits, rel))
        if relevant and above and case.query:
            target = min(relevant, key=_rank)
            hit = next((each for each in case.hits if each.id == target.target), None)
            scores = [each.score for each in case.hits if each.score is not None]
            spread = scores[0] - scores[-1] if len(scores) == len(case.hits) > 1 else None
            yield OutrankedCase(name, case.query, target.target, hit, above, spread)


def _above_relevant(hits: Iterable[ShownHit], rel: int) -> Iterator[ShownHit]:
    for hit in hits:
        if hit.grade is not None and hit.grade >= rel:
            return
        yield hit


def _rank(target: ExpectedTarget) -> float:
    return target.rank or float("inf")


@dataclass(frozen=True)
class SharedWords:
    """Which words of a query a document has, by the part of it that has them."""

    by_field: Mapping[str, frozenset[str]]

    @property
    def all(self) -> frozenset[str]:
        return frozenset().union(*self.by_field.values())

    def in_field(self, name: str) -> frozenset[str]:
        return self.by_field.get(name, frozenset())


@dataclass(frozen=True)
class ReadCase:
    """An outranked case with the words that the winner and the target share with the query."""

    case: OutrankedCase
    winner: SharedWords
    target: SharedWords
    title: str | None  # of the winner
    wanted: Document

    @property
    def deciding_fields(self) -> list[str]:
        """Where the winner has more words of the query than the target has."""
        return [name for name, words in self.winner.by_field.items() if len(words) > len(self.target.in_field(name))]

    def words_ahead(self, field: str) -> frozenset[str]:
        """The words of the query that the winner has there, and the target has not."""
        return self.winner.in_field(field) - self.target.in_field(field)


def read_cases(cases: Sequence[OutrankedCase], agent: AgentSummary, read: ReadDocuments) -> Iterator[ReadCase]:
    """The same with what their documents say, as far as these can be read."""
    document_of, analyser = read({id_ for each in cases for id_ in (each.winner.id, each.target)}), analyser_of(agent)
    for each in cases:
        winner, target = (document_of(agent.snapshot, each.id, id_) for id_ in (each.winner.id, each.target))
        if winner is not None and target is not None:
            words = frozenset(analyser.query_terms(each.query))
            yield ReadCase(each, _shared(winner, words, analyser), _shared(target, words, analyser), winner.title, target)


def analyser_of(agent: AgentSummary) -> Analyser:
    """Words as the agent takes them if it says so, or else English ones by their stems."""
    described = {} if agent.run.agent is None else agent.run.agent.description
    language = described.get("language", "english")
    if described.get("stemmer") is None and "tokenizer" in described:
        language = NO_STEMMING
    return Analyser(str(language), "left out of queries", stemming=language != NO_STEMMING)


def _shared(document: Document, words: frozenset[str], analyser: Analyser) -> SharedWords:
    texts = {"id": document.id, "title": document.title or "", TEXT: document.text}
    texts |= {name: value for name, value in document.fields.items() if isinstance(value, str)}
    return SharedWords({name: words.intersection(analyser.terms(text)) for name, text in texts.items()})
