"""A suite with a corpus and two runs that no check has anything to say about; mutations break one thing of it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from searchmark import Answer, Case, Corpus, Document, Hit, Judgment, Run, Suite
from searchmark.audit.check import Subject
from searchmark.experiments.audit import build_subject
from searchmark.gates.rules import Rule

DOCUMENTS, CASES, CATEGORIES, RELEVANT, JUDGED, DEPTH = 1200, 60, 4, 6, 30, 20
MEASURES = ("nDCG@10", "RR", "P@5")
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


@dataclass(frozen=True)
class Clean:
    """Cases, documents and answers that mutations may change before they are audited."""

    cases: tuple[Case, ...]
    documents: tuple[Document, ...]
    answers: dict[str, tuple[Answer, ...]]
    rules: tuple[Rule, ...] = ()
    measures: tuple[str, ...] = MEASURES

    def subject(self, **more: object) -> Subject:
        """What is audited; ``more`` are fields of the subject."""
        corpus = Corpus.of("catalogue", self.documents)
        suite = Suite.from_cases("clean", self.cases)
        runs = [Run.from_answers(name, answers) for name, answers in self.answers.items()]
        return replace(build_subject(suite, corpus, runs, self.measures, rules=self.rules), **more)  # type: ignore[arg-type]  # its fields

    def with_cases(self, cases: Iterable[Case]) -> Clean:
        return replace(self, cases=tuple(cases))

    def with_case(self, row: int, **changes: object) -> Clean:
        """One case changed."""
        changed = replace(self.cases[row], **changes)  # type: ignore[arg-type]  # fields of a case
        return self.with_cases([*self.cases[:row], changed, *self.cases[row + 1 :]])

    def with_answers(self, name: str, answers: Iterable[Answer]) -> Clean:
        return replace(self, answers={**self.answers, name: tuple(answers)})


@cache
def clean() -> Clean:
    """The same one every time."""
    chance = random.Random(7)
    words = _words(chance, 3000)
    documents = tuple(_document(number, words, chance) for number in range(DOCUMENTS))
    free = list(range(DOCUMENTS))
    chance.shuffle(free)
    cases = tuple(_case(row, free, documents, chance) for row in range(CASES))
    answers = {name: tuple(_answer(case, share, chance) for case in cases) for name, share in (("strong", 0.2), ("weak", 0.7))}
    return Clean(cases, documents, answers)


def _words(chance: random.Random, count: int) -> list[str]:
    made: dict[str, None] = {}
    while len(made) < count:
        made["".join(chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(chance.randint(2, 4)))] = None
    return list(made)


def _document(number: int, words: Sequence[str], chance: random.Random) -> Document:
    return Document(f"d{number:04}", " ".join(chance.sample(words, 40)), title=" ".join(chance.sample(words, 3)))


def _case(row: int, free: list[int], documents: Sequence[Document], chance: random.Random) -> Case:
    """A query that shares a word with each of three of its targets, and two words with none."""
    targets = [documents[free.pop()] for _ in range(RELEVANT)]
    others = [each for each in chance.sample(documents, JUDGED) if each not in targets]
    query = " ".join([*(chance.choice(each.text.split()) for each in targets[:3]), *_words(chance, 2)])
    judgments = [Judgment(each.id, "id", 2 if number < RELEVANT // 2 else 1) for number, each in enumerate(targets)]
    judgments += [Judgment(each.id, "id", 0) for each in others]
    return Case(f"c{row:02}", query, tuple(judgments), category=f"category {row % CATEGORIES}")


def _answer(case: Case, share: float, chance: random.Random) -> Answer:
    """A ranking of judged documents, the targets spread over this share of it."""
    relevant = [each.target for each in case.judgments if each.grade]
    others = [each.target for each in case.judgments if not each.grade]
    chance.shuffle(relevant)
    chance.shuffle(others)
    weights = {each: chance.random() * share for each in relevant} | {each: chance.random() for each in others}
    ranked = sorted(weights, key=weights.__getitem__)[:DEPTH]
    return Answer(case.id, "ok", tuple(Hit(each, rank, 1 - rank / 100) for rank, each in enumerate(ranked, 1)))
