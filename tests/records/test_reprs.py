"""Every public record says who it is in one line of less than 200 characters, however much it holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import searchmark
from searchmark import (
    AgentSpec,
    Answer,
    Case,
    Corpus,
    Document,
    Evidence,
    Experiment,
    Finding,
    Hit,
    Judgment,
    Provenance,
    RetrievalResult,
    Run,
    RunSettings,
    SearchScope,
    Suite,
    check_gate,
    compare,
    evaluate_run,
    match_hits,
    parse_threshold,
    score,
)

LONG = "a name that is very long and has a \x1b control " * 50
MANY = 300


@pytest.fixture(scope="module")
def records() -> list[Any]:
    judgments = tuple(Judgment(f"{LONG}{n}", grade=n % 3) for n in range(MANY))
    case = Case(LONG, LONG, judgments, LONG, (LONG,) * MANY, LONG, fields={LONG + str(n): LONG for n in range(MANY)})
    suite = Suite.from_cases(LONG, [case, *(Case(f"{LONG}{n}", LONG, judgments[:2]) for n in range(20))])
    hits = tuple(Hit(each.target, rank, 0.1 * rank) for rank, each in enumerate(judgments, 1))
    runs = [Run.from_answers(f"{LONG}{n}", [Answer(each.id, "ok", hits[n:]) for each in suite.cases]) for n in range(3)]
    judged = match_hits(suite, runs[0])
    scores = [score(match_hits(suite, run), ["nDCG@10", "RR"]) for run in runs]
    gate = check_gate(Evidence({LONG: scores[0]}), [parse_threshold("RR=0.99")])
    report = evaluate_run(suite, runs[:1])
    corpus = Corpus.of(LONG, [Document(LONG, LONG, LONG, case.fields)] * MANY)
    details = searchmark.AnswerDetails(
        warm_ms=(1.0,) * MANY, failure=LONG, traceback=LONG, dropped=dict.fromkeys(map(str, range(MANY)), 1)
    )
    return [
        case, judgments[0], suite, hits[0], Answer(LONG, "error", hits, details), details, runs[0], judged, judged.matches,
        scores[0], compare(scores), gate, report, corpus, next(iter(corpus)), Finding("x", "note", LONG, (LONG,) * MANY, LONG, LONG),
        SearchScope(LONG, repositories=(LONG,) * MANY, documents=corpus), AgentSpec(LONG, None, config=dict(case.fields)),
        RetrievalResult([LONG] * MANY, np.arange(MANY).tolist()), Provenance(id=LONG, options=dict(case.fields)),
        RunSettings(), Evidence({LONG: scores[0]}), Experiment(suite, ["bm25"], SearchScope(LONG)), suite.defaults, runs[0].label,
    ]  # fmt: skip


def test_it_is_short_printable_and_names_its_class(records: list[Any]) -> None:
    for record in records:
        shown = repr(record)
        assert len(shown) < 200, shown
        assert shown.isprintable()
        assert shown.startswith(type(record).__name__)


def test_no_public_record_has_the_unbounded_line_that_dataclasses_generate() -> None:
    public = [getattr(searchmark, name) for name in searchmark.__all__]
    generated = [each.__name__ for each in public if dataclasses.is_dataclass(each) and hasattr(each.__repr__, "__wrapped__")]
    assert generated == []


def test_it_says_what_differs_from_the_defaults() -> None:
    assert repr(Judgment("a")) == "Judgment(target='a')"
    assert (
        repr(Case("1", "tea", (Judgment("a", grade=2),))) == "Case(id='1', query='tea', judgments=(Judgment(target='a', grade=2),))"
    )
    assert repr(RunSettings(depth=7)) == "RunSettings(depth=7)"
    assert repr(SearchScope(corpus="docs")) == "SearchScope(corpus='docs')"


def test_what_is_digested_is_not_the_short_line() -> None:
    """Two long documents that differ in their middles alone have the same line, and are two."""
    from searchmark.formats.corpora.locations import Documents

    documents = [Document("1", f"{LONG}{middle}{LONG}") for middle in "ab"]
    assert repr(documents[0]) == repr(documents[1])
    assert Documents.of("x", (documents[0],)).digest != Documents.of("x", (documents[1],)).digest
    fields: Mapping[str, Any] = {"path": Path("x")}
    assert Documents.of("x", (Document("1", "t", fields=fields),)).digest != Documents.of("x", (Document("1", "t"),)).digest
