"""Two renderers never disagree on a number: what they show is what the JSON holds, rounded in one way."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    Evidence,
    Hit,
    Judgment,
    Report,
    Run,
    Suite,
    build_comparison,
    build_report,
    check_gate,
    compare,
    match_hits,
    parse_threshold,
    render,
    score,
)
from searchmark.measures.catalogue import with_words
from searchmark.records.sentences import three_digits
from searchmark.reports.text import to_text

MEASURES = ["nDCG@10", "RR", "P@5", "Abstain", "Judged@10"]
NAMES = ["alpha", "beta", "gamma"]
WIDE = 1000
QUICK = (Phase.explicit, Phase.reuse, Phase.generate)  # a report is small enough to be read as it is
DASH = "–"


@st.composite
def cases(draw: st.DrawFn) -> list[Case]:
    found = []
    for number in range(draw(st.integers(1, 14))):
        targets = draw(st.lists(st.sampled_from("abcde"), max_size=3, unique=True))
        judgments = tuple(Judgment(target, grade=draw(st.integers(1, 3))) for target in targets)
        category = draw(st.sampled_from(["x", "y"]))
        found.append(Case(f"case{number}", f"query {number}", judgments, category=category, unanswerable=not judgments))
    return found


@st.composite
def searches(draw: st.DrawFn, times: st.SearchStrategy[float]) -> AnswerDetails:
    """How an answer came about, with all that an agent may state of it."""
    return AnswerDetails(
        (draw(times),),
        tuple(draw(st.lists(times, max_size=3))),
        first_hit_ms=draw(st.none() | times),
        tokens=draw(st.none() | st.integers(0, 10**5)),
        tokens_by=draw(st.sampled_from(["gpt", "server"])),
        retries=draw(st.integers(0, 3)),
        waited_ms=draw(st.none() | times),
        start_ms=draw(times),
    )


@st.composite
def runs(draw: st.DrawFn, suite: Suite, name: str) -> Run:
    times = st.floats(0.01, 5000).map(lambda time: round(time, 3))
    timed = draw(st.booleans())
    answers = []
    for case in suite.table.ids:
        hits = draw(st.permutations("abcdefgh"))[: draw(st.integers(0, 8))]
        details = draw(searches(times)) if timed else AnswerDetails()
        answers.append(Answer(case, "ok" if hits else "empty", tuple(Hit(hit, rank) for rank, hit in enumerate(hits, 1)), details))
    return Run.from_answers(name, answers)


class Sample:
    """A report that is shown as its text where it fails a test."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def __repr__(self) -> str:
        return f"\n{to_text(self.report, width=WIDE)}"


@st.composite
def reports(draw: st.DrawFn) -> Sample:
    suite = Suite.from_cases("suite", draw(cases()))
    names = NAMES[: draw(st.integers(1, 3))]
    scores = [score(match_hits(suite, draw(runs(suite, name))), MEASURES) for name in names]
    by = ("category",) if draw(st.booleans()) else ()
    if len(scores) > 1:
        return Sample(build_comparison(scores, compare(scores, by), by))
    bounds = [parse_threshold(f"{name}={draw(st.floats(0, 1)):.3f}") for name in ("RR", "P@5")]
    gate = check_gate(Evidence.of(scores[0]), bounds) if draw(st.booleans()) else None
    return Sample(build_report(scores[0], by, gate))


def rounded(number: float | None, digits: int = 4) -> str:
    return DASH if number is None else f"{number:.{digits}f}"


def interval(summary: dict[str, Any]) -> str:
    return DASH if summary["low"] is None else f"{rounded(summary['low'])} to {rounded(summary['high'])}"


@dataclass(frozen=True)
class Shown:
    """The rows of a rendering, as lists of cells."""

    rows: list[list[str]]

    @classmethod
    def in_text(cls, text: str) -> Shown:
        """Columns are three blanks apart."""
        return cls([re.split(r" {2,}", line.strip()) for line in text.split("\n")])

    @classmethod
    def in_markdown(cls, text: str) -> Shown:
        """The letters of runs that a mean beats are behind it in superscript."""
        plain = re.sub(r"<sup>(.*?)</sup>", r" \1", text.replace("\u200b", "").replace("\\", ""))
        return cls([[cell.strip() for cell in line.strip("| ").split("|")] for line in plain.split("\n")])

    @classmethod
    def in_latex(cls, text: str) -> Shown:
        plain = re.sub(r"\^\{(.*?)\}", lambda found: " " + found[1].replace(",", " "), text).replace("$", "").replace("--", DASH)
        return cls([[cell.strip() for cell in line.removesuffix(r" \\").split("&")] for line in plain.split("\n") if "&" in line])

    def below(self, header: list[str]) -> list[list[str]]:
        """The rows of the tables with these columns."""
        found: list[list[str]] = []
        inside = False
        for row in self.rows:
            if set("".join(row)) in ({"─"}, {"-"}):  # below the header
                continue
            inside = (inside or row == header) and len(row) == len(header)
            found += [row] if inside and row != header else []
        return found


def one_table(report: Report) -> list[list[str]]:
    """What every rendering must show of the means of one run: label, mean, interval, cases."""
    (agent,) = json.loads(render(report, "json"))["agents"].values()
    return [
        [with_words(name), rounded(found["mean"]), interval(found), str(found["cases"])]
        for name, found in agent["measures"].items()
    ]


def standing(report: Report) -> list[list[str]]:
    """What every rendering must show of the means of several runs, without the letters behind them."""
    agents = json.loads(render(report, "json"))["agents"]
    return [[name, *(rounded(found["mean"]) for found in agent["measures"].values())] for name, agent in agents.items()]


def without_letters(rows: list[list[str]]) -> list[list[str]]:
    return [first_words(row) for row in rows]


def letters(rows: list[list[str]]) -> list[list[str]]:
    return [[cell.partition(" ")[2] for cell in row] for row in rows]


def kept(row: list[str], columns: list[int]) -> list[str]:
    return [row[column] for column in columns]


@pytest.mark.slow
@settings(phases=QUICK)
@given(reports())
def test_every_table_shows_the_numbers_of_the_json(sample: Sample) -> None:
    report = sample.report
    if report.pairs:
        assert_standings_agree(report)
    else:
        assert_means_agree(report)


def assert_means_agree(report: Report) -> None:
    expected = one_table(report)
    full = ["measure", "mean", "95 % interval", "median", "std", "cases", "mean if answered"]
    short = ["measure", "mean", "95 % interval", "cases"]
    text, markdown = Shown.in_text(to_text(report, width=WIDE)), Shown.in_markdown(render(report, "markdown"))
    assert [kept(row, [0, 1, 2, 5]) for row in text.below(full)] == expected
    assert markdown.below(full) == text.below(full)
    assert Shown.in_text(render(report, "summary")).below(short) == expected
    latex = Shown.in_latex(render(report, "latex").replace(r"\%", "%"))
    assert latex.below(short) == expected


def assert_standings_agree(report: Report) -> None:
    expected, columns = standing(report), list(next(iter(report.agents.values())).measures)
    text = lettered(Shown.in_text(to_text(report, width=WIDE)), len(columns))
    markdown = lettered(Shown.in_markdown(render(report, "markdown")), len(columns))
    latex = lettered(Shown.in_latex(render(report, "latex")), len(columns))
    assert without_letters(text) == without_letters(markdown) == without_letters(latex) == expected
    assert letters(text) == letters(markdown) == letters(latex)
    side_by_side = Shown.in_text(render(report, "summary")).below(["measure", *report.agents])
    assert [row[1:] for row in side_by_side] == [list(column) for column in zip(*(row[1:] for row in expected), strict=True)]


def lettered(shown: Shown, measures: int) -> list[list[str]]:
    """The rows of the table of means, without the letter of the run."""
    return [row[1:] for row in shown.rows if row[0] in ("a", "b", "c") and len(row) == measures + 2]


@settings(phases=QUICK)
@given(reports())
def test_differences_and_segments_are_those_of_the_json(sample: Sample) -> None:
    report = sample.report
    data = json.loads(render(report, "json"))
    text, markdown = Shown.in_text(to_text(report, width=WIDE)), Shown.in_markdown(render(report, "markdown"))
    header = ["measure", "difference", "95 % interval", "p (Holm)", "wins/ties/losses", "detectable", "verdict"]
    shown = [[row[0], row[1], row[-1]] for row in text.below(header)]
    assert shown == [
        [with_words(each["measure"]), DASH if each["difference"] is None else f"{each['difference']:+.4f}", each["verdict"]]
        for each in data.get("comparisons", [])
    ]
    assert markdown.below(header) == text.below(header)
    for agent in data["agents"].values():
        for by, values in agent.get("segments", {}).items():
            rows = [[row[0], *first_words(row[2:])] for row in markdown.below([by, "cases", *agent["measures"]])]
            assert all([value, *(rounded(found["mean"]) for found in means.values())] in rows for value, means in values.items())


def first_words(cells: list[str]) -> list[str]:
    return [cell.split(" ")[0] for cell in cells]


@pytest.mark.slow
@settings(phases=QUICK)
@given(reports())
def test_both_tables_of_values_hold_the_numbers_of_the_json_in_full(sample: Sample) -> None:
    report = sample.report
    agents = json.loads(render(report, "json"))["agents"]
    cases = {(row["run"], row["test_case_id"]): row for row in csv.DictReader(io.StringIO(render(report, "csv")))}
    means = list(csv.DictReader(io.StringIO(render(report, "summary-csv"))))
    for run, agent in agents.items():
        for case_id, case in agent["cases"].items():
            row = cases[run, case_id]
            assert {name: number(row[name]) for name in case["measures"]} == case["measures"]
            assert number(row["cold_ms"]) == next(iter(case.get("details", {}).get("cold_ms", [])), None)
            assert json.loads(row["retrieved_files"]) == [hit["id"] for hit in case["hits"]]
        whole = {row["measure"]: row for row in means if row["run"] == run and not row["segment"]}
        for name, summary in agent["measures"].items():
            assert {key: number(whole[name][key]) for key in ("mean", "low", "high", "median", "std")} == {
                key: summary[key] for key in ("mean", "low", "high", "median", "std")
            }
        for kind, latency in agent.get("latency_ms", {}).items():
            row = whole[f"latency {kind}"]
            shown = {"p50": row["median"], "p90": row["p90"], "p95": row["p95"], "p99": row["p99"]}
            assert {name: number(value) for name, value in shown.items()} == {name: latency[name] for name in shown}


@settings(phases=QUICK)
@given(reports())
@pytest.mark.slow
def test_what_agents_state_is_the_same_in_every_table(sample: Sample) -> None:
    report = sample.report
    agents = json.loads(render(report, "json"))["agents"]
    named = [([name] if report.pairs else [], row) for name, agent in agents.items() for row in usage_rows(agent.get("usage", {}))]
    header = [*(["run"] if report.pairs else []), "stated or counted", "mean", "p50", "p95", "in all", "above 0", "searches"]
    expected = [[*name, *row] for name, row in named]
    assert Shown.in_text(to_text(report, width=WIDE)).below(header) == expected
    assert Shown.in_markdown(render(report, "markdown")).below(header) == expected
    page = render(report, "html")
    assert [cell for row in expected for cell in row if f">{cell}</td>" not in page] == []


@settings(phases=QUICK)
@given(reports())
@pytest.mark.slow
def test_what_agents_state_is_in_full_in_both_tables_of_values(sample: Sample) -> None:
    report = sample.report
    agents = json.loads(render(report, "json"))["agents"]
    cases = {(row["run"], row["test_case_id"]): row for row in csv.DictReader(io.StringIO(render(report, "csv")))}
    means = list(csv.DictReader(io.StringIO(render(report, "summary-csv"))))
    for run, agent in agents.items():
        for case_id, case in agent["cases"].items():
            row, details = cases[run, case_id], case.get("details", {})
            names = ("first_hit_ms", "tokens", "retries", "waited_ms", "start_ms")
            assert {name: number(row[name]) for name in names} == {name: details.get(name) for name in names}
            assert row["tokens_by"] == details.get("tokens_by", "")
        whole = {row["measure"]: row for row in means if row["run"] == run}
        for name, found in stated(agent.get("usage", {})):
            row = whole[name]
            shown = {"mean": row["mean"], "p50": row["median"], "p95": row["p95"], "total": row["total"], "of": row["searches"]}
            assert {key: number(value) for key, value in shown.items()} == {key: found[key] for key in shown}
        for part, words in (("process_start", "process start"), ("waits", "waits")):
            left = agent.get("usage", {}).get("cold_less", {}).get(part)
            reduced = whole.get(f"latency cold less {words} (as the agent states it)")
            assert (reduced and number(reduced["median"])) == (left and left["p50"])


def stated(usage: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    tokens = [(f"tokens per answer, counted by {name}", found) for name, found in usage.get("tokens", {}).items()]
    names = {
        "retries": "further attempts",
        "waited_ms": "waiting, part of the latency",
        "start_ms": "process start, part of the latency",
    }
    return [*tokens, *((words, usage[name]) for name, words in names.items() if name in usage)]


def usage_rows(usage: dict[str, Any]) -> list[list[str]]:
    return [usage_row(name, found) for name, found in stated(usage)]


def usage_row(name: str, found: dict[str, Any]) -> list[str]:
    unit = " ms" if "latency" in name else ""
    total = f"{found['total']:.0f}" if not unit else f"{three_digits(found['total'])}{unit}"
    numbers = [f"{three_digits(found[key])}{unit}" for key in ("mean", "p50", "p95")]
    return [name, *numbers, total, str(found["positive"]), f"{found['searches']} of {found['of']}"]


def number(cell: str) -> float | None:
    return float(cell) if cell else None


@pytest.mark.slow
@settings(phases=QUICK)
@given(reports())
def test_targets_say_the_same_in_markdown_and_in_the_summary(sample: Sample) -> None:
    report = sample.report
    rows = [
        row for row in Shown.in_markdown(render(report, "markdown")).rows if len(row) == 6 and row[0] in ("✅", "⚠️", "❌", DASH)
    ]
    lines = [f"  {mark} {words} is {value}, asked for {asked}: {state}" for mark, words, value, _, asked, state in rows]
    summary = render(report, "summary").split("\n")
    assert [line for line in summary if ", asked for " in line] == lines
    assert len(lines) == (0 if report.gate is None else len(report.gate.rules))
