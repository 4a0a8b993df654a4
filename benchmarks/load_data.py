"""Large suites and corpora, the same ones every time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

WORDS, WORDS_PER_DOCUMENT = 300_000, 60
AT_ONCE = 10_000
FILES = 1000
_LETTERS = "etaoinshrdlcumwfgypb"

AGENT = """\
from searchmark.agents.protocol import RetrievalAgent, RetrievalResult


class NoOp(RetrievalAgent):
    def initialize(self, corpus):
        pass

    def retrieve(self, query, k):
        return RetrievalResult(["src/file7.py"])
"""


def write_agent(folder: Path) -> str:
    """An agent that does nothing, and what it is called on the command line."""
    (folder / "no_op_agent.py").write_text(AGENT)
    return "no_op_agent:NoOp"


def write_files(folder: Path) -> Path:
    """A folder of small files."""
    corpus = folder / "corpus"
    (corpus / "src").mkdir(parents=True)
    for number in range(FILES):
        (corpus / "src" / f"file{number}.py").write_text(f"value = {number}\n")
    return corpus


def write_gold_set(path: Path, cases: int) -> Path:
    """Cases as a mined gold set has them: two targets each, a category, and a commit that two of them share."""
    with path.open("w") as file:
        file.write('{"test_cases": [')
        for case in range(cases):
            row = {
                "id": f"case-{case:06}",
                "query": f"where is thing number {case} handled",
                "ground_truth_files": [f"src/file{case % FILES}.py", f"src/file{(7 * case + 1) % (FILES + 100)}.py"],
                "category": ("bug", "feature", "docs")[case % 3],
                "commit_hash": f"{case // 2:040x}",
            }
            file.write(f"{', ' if case else ''}{json.dumps(row)}")
        file.write("]}")
    return path


class ZipfWords:
    """Words of a made-up language: the n-th most frequent one is n times as rare as the first."""

    def __init__(self, seed: int = 0) -> None:
        self._generator = np.random.default_rng(seed)
        shares = 1 / np.arange(1, WORDS + 1)
        self._upper = np.cumsum(shares / shares.sum())
        self._words = [_word(number) for number in range(WORDS)]

    def texts(self, count: int, length: int) -> Iterator[str]:
        for begin in range(0, count, AT_ONCE):
            drawn = self._generator.random((min(AT_ONCE, count - begin), length))
            for row in np.minimum(np.searchsorted(self._upper, drawn), WORDS - 1).tolist():
                yield " ".join([self._words[number] for number in row])


def write_documents(path: Path, count: int) -> Path:
    with path.open("w") as file:
        for number, text in enumerate(ZipfWords().texts(count, WORDS_PER_DOCUMENT)):
            file.write(f'{{"id": "doc-{number:07}", "text": "{text}"}}\n')
    return path


def write_questions(path: Path, count: int) -> Path:
    """Three words each; the right answers are made up, since only time and memory are looked at."""
    questions = ZipfWords(seed=1).texts(count, 3)
    cases = [{"id": f"q{n}", "query": text, "ground_truth_files": [f"doc-{n:07}"]} for n, text in enumerate(questions)]
    path.write_text(json.dumps({"test_cases": cases}))
    return path


def _word(number: int) -> str:
    """Letters that no stemmer or language is known for."""
    letters = ""
    while True:
        letters += _LETTERS[number % len(_LETTERS)]
        number //= len(_LETTERS)
        if not number:
            return letters + "z"
