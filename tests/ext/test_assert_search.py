"""assert_search passes for a search that meets its gate, and says everything about one that does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path

import pytest

from searchmark import Answer, Case, GateSettings, Hit, Judgment, Pin, Run, Suite, UsageError, save_run, save_suite
from searchmark.testing import assert_search

Search = Callable[[str, int], list[str]]
SUITE = Suite.from_cases(
    "shop",
    [Case(name, f"where is the {name}", (Judgment(f"{name}.md"),)) for name in ("tea", "milk", "mugs")],
)
DOCUMENTS = '{"id": "tea.md", "text": "tea"}\n{"id": "milk.md", "text": "milk"}\n{"id": "mugs.md", "text": "mugs"}\n'


def perfect(query: str, k: int) -> list[str]:
    return [f"{query.rsplit(maxsplit=1)[-1]}.md"]


def lazy(query: str, k: int) -> list[str]:
    return ["tea.md", "milk.md"][:k]


def broken(query: str, k: int) -> list[str]:
    raise RuntimeError("no connection")


def here(search: Search) -> Search:
    """The same search as a function that only this process has: no worker is started for it, which takes longer than the test."""

    @wraps(search, assigned=["__name__"])
    def searched(query: str, k: int) -> list[str]:
        return search(query, k)

    return searched


@pytest.mark.parametrize(
    "gates",
    [
        {"P@1": 0.85, "RR": 0.9},
        {"thresholds": {"P@1": 0.85}, "pins": [{"case": "tea", "must_be_first": "tea.md"}]},
        GateSettings(each_case={"RR": 1.0}),
    ],
    ids=str,
)
def test_a_search_that_is_good_enough_passes(gates: object) -> None:
    assert_search(here(perfect), SUITE, gates)  # type: ignore[arg-type]  # one of many shapes


def test_everything_that_is_not_met_is_said() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_search(
            here(lazy), SUITE, GateSettings(thresholds={"P@1": 0.85, "R@10": 0.1}, pins=(Pin("milk", must_be_first="milk.md"),))
        )
    assert str(caught.value).splitlines() == [
        "lazy does not meet 2 of 3 rules on the suite 'shop':",
        "- Expected P@1 >= 0.85, but got 0.3333",
        "  case milk 'where is the milk': expected milk.md",
        "  case mugs 'where is the mugs': expected mugs.md",
        "- case milk: expected milk.md to be first, but got tea.md, milk.md",
        "  case milk 'where is the milk': expected milk.md",
    ]


def test_a_result_that_cannot_be_relied_on_says_so_first() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_search(here(broken), SUITE, {"P@1": 0.0})
    said = str(caught.value)
    assert said.startswith("the result of broken on the suite 'shop' cannot be relied on: 1 of 1 rules cannot be checked:\n")
    assert "3 of 3 cases ended in an error or a time-out, more than 5%" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "agent", [lambda query, k: [f"{query.split()[-1]}.md"], perfect, "bm25"], ids=["lambda", "function", "name"]
)
def test_a_suite_may_be_a_file_and_what_is_searched_a_path(tmp_path: Path, agent: object) -> None:
    save_suite(SUITE, tmp_path / "suite.json")
    (tmp_path / "corpus.jsonl").write_text(DOCUMENTS)
    assert_search(agent, tmp_path / "suite.json", {"P@1": 1.0}, corpus=tmp_path / "corpus.jsonl")


def answers(search: object, tmp_path: Path | None = None) -> Run:
    found = {case.id: search(case.query, 10) for case in SUITE.cases}  # type: ignore[operator]  # one of the functions above
    return Run.from_answers(
        "before", [Answer(case, "ok", tuple(Hit(name, rank) for rank, name in enumerate(ids, 1))) for case, ids in found.items()]
    )


@pytest.mark.parametrize("as_file", [False, True])
def test_a_baseline_is_a_run_or_its_file(tmp_path: Path, as_file: bool) -> None:
    run = answers(perfect)
    save_run(run, tmp_path / "before.jsonl")
    gates = {"rules": [{"measure": "RR", "against": "baseline", "policy": "non-inferior"}]}
    with pytest.raises(AssertionError, match="RR against the baseline is unresolvable"):
        assert_search(here(lazy), SUITE, gates, baseline=tmp_path / "before.jsonl" if as_file else run)


def test_a_baseline_that_is_given_is_used() -> None:
    with pytest.raises(AssertionError, match=r"nDCG@10 against the baseline is unresolvable"):
        assert_search(here(perfect), SUITE, {"RR": 0.5}, baseline=answers(perfect))


WIDE = Suite.from_cases(
    "shop", [Case(f"tea{n}", f"where is the tea{n}", (Judgment(f"tea{n}.md"), Judgment("milk.md", grade=0))) for n in range(20)]
)


@pytest.mark.parametrize("gates", [{}, {"RR": 0.0}, {"baseline": "before.json"}], ids=str)
def test_a_baseline_alone_is_a_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gates: dict[str, object]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("before.json").write_text(json.dumps({case.id: perfect(case.query, 10) for case in WIDE.cases}))
    baseline = None if "baseline" in gates else "before.json"
    assert_search(here(perfect), WIDE, gates, baseline=baseline)
    with pytest.raises(AssertionError, match="nDCG@10 against the baseline not to be worse, but it REGRESSED"):
        assert_search(here(lazy), WIDE, gates, baseline=baseline)


@pytest.mark.parametrize("gates", [{"baseline": "nowhere.json"}, {"baseline": "nowhere.json", "thresholds": {"RR": 0.5}}], ids=str)
def test_a_baseline_that_is_named_and_not_there_is_no_pass(gates: dict[str, object]) -> None:
    with pytest.raises(AssertionError, match=r"cannot be held against the baseline: there is no file nowhere\.json"):
        assert_search(here(perfect), WIDE, gates)


def test_looks_are_counted_beside_the_baseline(tmp_path: Path) -> None:
    (tmp_path / "before.json").write_text(json.dumps({case.id: perfect(case.query, 10) for case in WIDE.cases}))
    rule = {"measure": "RR", "against": "baseline", "policy": "sequential"}
    assert_search(here(perfect), WIDE, {"rules": [rule], "baseline": str(tmp_path / "before.json")})
    assert len((tmp_path / "before.looks.jsonl").read_text().splitlines()) == 1


def test_a_baseline_that_is_asked_for_and_not_given_is_no_pass() -> None:
    with pytest.raises(AssertionError, match="cannot be held against the baseline: there is none"):
        assert_search(here(perfect), SUITE, {"rules": [{"measure": "RR", "against": "baseline"}]})


@pytest.mark.parametrize("gates", [{}, GateSettings()])
def test_no_rule_is_no_test(gates: object) -> None:
    with pytest.raises(UsageError, match="there is no rule to check"):
        assert_search(here(perfect), SUITE, gates)  # type: ignore[arg-type]  # as above


def test_a_mistake_in_the_gates_is_named() -> None:
    with pytest.raises(UsageError, match=r"gates, pin: is not a known field"):
        assert_search(here(perfect), SUITE, {"thresholds": {}, "pin": []})
