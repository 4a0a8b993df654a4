"""Measures of lines: every value is that of a slow and obvious reading, line by line, on thousands of random cases."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from searchmark import Answer, AnswerDetails, Case, Hit, Judgment, Run, Suite, match_hits, score
from searchmark.measures.hits import MOST_LINES, MOST_TOKENS, TOKENIZER, tokens_of_lines
from searchmark.records.answers import CountedText
from searchmark.running.corpus_inspector import count_lines

FILES = ("a.py", "src/b.py", "c.md")
Texts = dict[str, list[int]]


def drawn(rng: random.Random) -> tuple[Case, list[Hit], Texts]:
    """A case, an answer with overlapping ranges and whole files, and the tokens of every line of every file."""
    texts = {path: [rng.randint(1, 9) for _ in range(rng.randint(0, 12))] for path in FILES}
    judgments = {}
    for _ in range(rng.randint(1, 5)):
        first = rng.randint(1, 12)
        target = f"{rng.choice(FILES)}#L{first}-L{first + rng.randint(0, 4)}"
        judgments[target] = Judgment(target, "lines", rng.randint(0, 3))
    judgments["a.py#L1"] = Judgment("a.py#L1", "lines", 1)
    hits = []
    for rank in range(1, rng.randint(0, 7) + 1):
        first = rng.randint(1, 14)
        lines = None if rng.random() < 0.4 else (first, first + rng.randint(0, 6))
        hits.append(Hit(rng.choice((*FILES, "./a.py", "gone.py")), rank, lines=lines))
    return Case("q", "query", tuple(judgments.values())), hits, texts


def by_hand(case: Case, hits: list[Hit], texts: Texts, rel: int, budget: int, *, by_tokens: bool) -> tuple[float, float]:
    """Recall and efficiency, as a person with a pencil finds them."""
    wanted = set()
    for judgment in case.judgments:
        if judgment.grade >= rel:
            path, _, lines = judgment.target.partition("#L")
            first, _, last = lines.partition("-L")
            wanted |= {(path, line) for line in range(int(first), int(last or first) + 1)}
    read: list[tuple[str, int]] = []
    spent = 0
    for hit in hits:
        path = hit.id.removeprefix("./")
        for line, tokens in enumerate(texts.get(path, []), 1):
            if (hit.lines and not hit.lines[0] <= line <= hit.lines[1]) or (path, line) in read:
                continue
            spent += tokens if by_tokens else 1
            if spent > budget:
                break
            read.append((path, line))
        if spent > budget:
            break
    found = len(wanted.intersection(read))
    return found / len(wanted) if wanted else 0.0, found / len(read) if read else 0.0


def answered(hits: list[Hit], texts: Texts, **details: object) -> Answer:
    known = {path: tuple(tokens) for path, tokens in texts.items()}
    ids = [hit.id.removeprefix("./") for hit in hits]
    counted = count_lines(ids, [hit.lines for hit in hits], lambda _: known)
    said = {"line_tokens": counted, "line_tokens_by": TOKENIZER, **details}
    return Answer("q", "ok" if hits else "empty", tuple(hits), AnswerDetails(**said))


def values(case: Case, answer: Answer, *measures: str) -> list[float]:
    scores = score(match_hits(Suite.from_cases("s", [case]), Run.from_answers("agent", [answer])), measures)
    return scores.values[0].tolist()


BUDGETS = [(rel, option, budget) for rel in (1, 2) for option in ("tokens", "lines") for budget in (1, 7, 23, 60)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_a_slow_reading(seed: int) -> None:
    rng = random.Random(seed)
    cases = [(f"q{number}", *drawn(rng)) for number in range(1_000)]
    suite = Suite.from_cases("s", [replace(case, id=name) for name, case, _, _ in cases])
    run = Run.from_answers("agent", [replace(answered(hits, texts), case=name) for name, _, hits, texts in cases])
    names = [f"{measure}(rel={rel},{option}={budget})" for rel, option, budget in BUDGETS for measure in ("LineR", "Efficiency")]
    found = score(match_hits(suite, run), names).values
    for row, (_, case, hits, texts) in enumerate(cases):
        slow = [by_hand(case, hits, texts, rel, budget, by_tokens=option == "tokens") for rel, option, budget in BUDGETS]
        assert found[row].tolist() == [value for both in slow for value in both], (case, hits, texts)


CASE = Case("q", "query", (Judgment("a.py#L2-L3", "lines"), Judgment("b.py#L1", "lines")))


class TestWithoutCounts:
    """What is not known is undefined with a reason, and never 0."""

    def reason(self, case: Case, answer: Answer) -> str | None:
        scores = score(match_hits(Suite.from_cases("s", [case]), Run.from_answers("agent", [answer])), ["LineR(tokens=4000)"])
        assert math.isnan(scores.values[0, 0]) == (scores.reason(0, 0) is not None)
        return scores.reason(0, 0)

    def test_a_run_that_does_not_say_what_lines_cost(self) -> None:
        assert "does not say how long the lines of its hits are" in (self.reason(CASE, Answer("q", "ok", (Hit("a.py", 1),))) or "")

    def test_a_run_that_was_counted_in_another_way(self) -> None:
        answer = answered([Hit("a.py", 1)], {"a.py": [1, 1, 1]}, line_tokens_by="another")
        assert "does not say how long" in (self.reason(CASE, answer) or "")

    def test_a_hit_that_was_never_counted(self) -> None:
        answer = answered([Hit("a.py", 1)], {"a.py": [1, 1, 1]})
        moved = Answer("q", "ok", (Hit("other.py", 1), *answer.hits), answer.details)
        assert "does not say how long" in (self.reason(CASE, moved) or "")

    @pytest.mark.parametrize("target", [Judgment("a.py", "path"), Judgment("a.py", "lines"), Judgment("a*.py", "glob")])
    def test_a_case_that_judges_more_than_ranges_of_lines(self, target: Judgment) -> None:
        case = Case("q", "query", (*CASE.judgments, target))
        assert "does not say which lines are relevant" in (self.reason(case, answered([Hit("a.py", 1)], {"a.py": [1]})) or "")

    def test_an_answer_without_hits_has_found_nothing(self) -> None:
        assert self.reason(CASE, Answer("q", "empty")) is None
        assert values(CASE, Answer("q", "empty"), "LineR(tokens=4000)", "Efficiency(lines=200)") == [0.0, 0.0]


def test_the_last_hit_is_read_up_to_the_budget_in_whole_lines() -> None:
    answer = answered([Hit("a.py", 1)], {"a.py": [4, 4, 4]})
    names = [f"LineR(tokens={budget})" for budget in (3, 4, 7, 8, 11, 12)]
    assert values(CASE, answer, *names) == pytest.approx([0, 0, 0, 1 / 3, 1 / 3, 2 / 3])


def test_one_budget_must_be_said() -> None:
    for name in ("LineR", "Efficiency(tokens=5,lines=5)"):
        with pytest.raises(Exception, match=r"needs one budget; write it like \w+\(tokens=4000\) or \w+\(lines=200\)"):
            values(CASE, Answer("q", "empty"), name)
    for name in (f"LineR(tokens={MOST_TOKENS + 1})", f"LineR(lines={MOST_LINES + 1})", "LineR(lines=0)"):
        with pytest.raises(Exception, match="must be a whole number from 1 to"):
            values(CASE, Answer("q", "empty"), name)


def test_tokens_are_a_quarter_of_the_bytes_with_the_end_of_the_line() -> None:
    assert tokens_of_lines("") == ()
    assert tokens_of_lines("abc\nabcd\n\nä\x0cb\u2028c") == (1, 2, 1, 3)
    assert tokens_of_lines("abc\n") == (1,)


def test_counts_end_behind_the_largest_budgets() -> None:
    known = {"a.py": tuple([10] * 50_000), "b.py": (1,)}
    counted = count_lines(["a.py", "b.py"], None, lambda _: known)
    assert counted == {"a.py": CountedText(50_000, ((1, tuple([10] * max(MOST_LINES, MOST_TOKENS // 10))),))}


def test_every_range_in_a_returned_file_counts_as_seen() -> None:
    case = Case("q", "query", (Judgment("a.py#L1", "lines"), Judgment("a.py#L3", "lines"), Judgment("b.py#L1", "lines")))
    judged = match_hits(
        Suite.from_cases("s", [case]), Run.from_answers("agent", [Answer("q", "ok", (Hit("c.py", 1), Hit("a.py", 2)))])
    )
    assert judged.matches.seen_ranks.tolist() == [2, 2, 0]
    assert judged.matches.of_judgments(judged.matches.rank, 0).tolist() == [2, 0, 0]
