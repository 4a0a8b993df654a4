"""Variants are linked to their originals, judged like them, and one observation with them; what is left out is counted."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from searchmark import Case, Document, Judgment, NothingEvaluated, Run, Suite, UsageError, load_suite, match_hits, score
from searchmark.audit.gold import repeated_cases
from searchmark.judgments.perturb import ChosenKinds, SuiteWithVariants, WordFiles, choose_kinds, perturb
from searchmark.records.suite import variant_links
from searchmark.scoring.statistics import observations
from tests.conftest import ROOT

QUICKSTART = ROOT / "examples/quickstart/suite.yaml"


def kinds(*named: str) -> ChosenKinds:
    return choose_kinds(named, WordFiles(), "english")


def suite_of(*cases: Case, **rest: object) -> Suite:
    return Suite.from_cases("s", cases, **rest)


def case(name: str, query: str | None, target: str = "d", **rest: object) -> Case:
    return Case(name, query, (Judgment(target, grade=2),), **rest)  # type: ignore[arg-type]


def variants_in(found: SuiteWithVariants) -> list[Case]:
    return [each for each in found.suite.cases if "perturbed_from" in each.fields]


def test_a_variant_has_all_that_its_original_has_but_the_query() -> None:
    original = Case(
        "a", "create an issue", (Judgment("x", grade=3), Judgment("src/**", "glob", 1), Judgment("y", grade=0, rank=None)),
        category="crud", tags=("own",), documents=(Document("x", "text"),), order_only=False, exclude={"old": True},
        other_orders=(("x", "y"),), fields={"k": 3},
    )  # fmt: skip
    found = perturb(suite_of(original), kinds("typo"), per_case=2)
    first, second = variants_in(found)
    assert (first.id, second.id) == ("a~typo-1", "a~typo-2")
    assert first.query != second.query != original.query
    assert replace(first, id="a", query=original.query, tags=("own",), fields={"k": 3}, origin=None) == original
    assert first.tags == ("own", "perturbed-typo")
    assert first.fields == {"k": 3, "perturbation": "typo", "perturbed_from": "a"}


def test_unanswerable_cases_stay_so() -> None:
    found = perturb(suite_of(Case("a", "sell chainsaws", unanswerable=True)), kinds("typo", "case"))
    assert [each.unanswerable for each in found.suite.cases] == [True] * 3


def test_originals_and_variants_are_as_many_observations_as_the_originals_were() -> None:
    """Two cases share an origin, two share their targets, one is alone, one cannot be answered."""
    suite = suite_of(
        case("a", "create an issue", "t1", origin="o"),
        case("b", "open an issue", "t2", origin="o"),
        case("c", "delete the board", "t3"),
        case("d", "remove the board", "t3"),
        case("e", "list users", "t4"),
        Case("f", "sell chainsaws", unanswerable=True),
    )
    assert suite.clusters is not None
    found = perturb(suite, kinds(), per_case=3)
    clusters = found.suite.clusters
    assert clusters is not None
    assert len(set(clusters.tolist())) == len(set(suite.clusters.tolist())) == 4
    rows = found.suite.table.index
    for link in variant_links(found.suite.table):
        assert link.original is not None
        assert clusters[link.row] == clusters[link.original]
    assert clusters[rows["c"]] == clusters[rows["d"]]
    scores = score(match_hits(found.suite, Run.from_scores({"a": {"t1": 1.0}})), ["RR"])
    assert len(observations(scores.values, clusters)) == 4


def test_a_variant_that_is_there_already_is_left_out_and_counted() -> None:
    found = perturb(suite_of(case("a", "ISSUE"), case("b", "issue", "e")), kinds("case"), per_case=20)
    (counts,) = found.kinds
    assert {each.query for each in variants_in(found)} == {"Issue"}
    # Of either case, two of four spellings are left after its own and that of the other, and those two are the same.
    assert counts.left_out == {"equal to the query": 2, "the query of another case": 2, "equal to another variant": 2}
    assert (counts.variants, counts.cases, counts.unchanged) == (2, 2, 0)


def test_kinds_do_not_repeat_each_other() -> None:
    found = perturb(load_suite(QUICKSTART), kinds(), per_case=5)
    queries: dict[object, list[str | None]] = {}
    for each in found.suite.cases:
        queries.setdefault(each.fields.get("perturbed_from", each.id), []).append(each.query)
    assert all(len(set(texts)) == len(texts) for texts in queries.values())
    assert sum(each.variants for each in found.kinds) == len(found.suite) - found.originals


def test_what_cannot_be_varied_is_counted() -> None:
    found = perturb(
        suite_of(case("a", "issue"), case("b", None), case("c", "issue tracker", request={"q": 1}), case("d", "it")),
        kinds("typo", "accents"),
    )
    assert found.skipped == {
        "without a query": 1, "with a request of their own, which agents send in place of the query": 1,
    }  # fmt: skip
    assert [each.unchanged for each in found.kinds] == [1, 2]


def test_cases_in_another_language_keep_their_function_words_and_nouns() -> None:
    cases = [
        case("a", "the tents", "1", fields={"language": "en-GB"}),
        case("b", "la tienda", "2", fields={"language": "es"}),
        case("c", "a tent", "3", fields={"lang": "English"}),
    ]
    found = perturb(suite_of(*cases), kinds("plural", "stop-words-removed"))
    assert [each.left_out for each in found.kinds] == [{"cases in another language": 1}] * 2
    assert {each.fields["perturbed_from"] for each in variants_in(found)} == {"a", "c"}


def test_a_translation_says_no_language(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("tent = tienda\n")
    chosen = choose_kinds(["translation"], WordFiles(glossary=path), "english")
    (variant,) = variants_in(perturb(suite_of(case("a", "tent", fields={"language": "en", "k": 3})), chosen))
    assert variant.fields == {"k": 3, "perturbation": "translation", "perturbed_from": "a"}


def test_ids_that_are_taken_are_not_taken_again() -> None:
    found = perturb(suite_of(case("a", "create issue"), case("a~typo-1", "x y", "e")), kinds("typo"))
    assert found.suite.table.ids == ("a", "a~typo-1~", "a~typo-1")


def test_variants_are_not_varied_again() -> None:
    once = perturb(suite_of(case("a", "create issue")), kinds("typo"))
    with pytest.raises(UsageError, match="holds 1 variant already"):
        perturb(once.suite, kinds("case"))


def test_a_suite_without_any_variant_is_not_written() -> None:
    with pytest.raises(NothingEvaluated, match="can be varied by accents"):
        perturb(suite_of(case("a", "issue")), kinds("accents"))


def test_what_one_case_gets_depends_on_no_other_case_and_no_other_kind() -> None:
    suite = load_suite(QUICKSTART)
    alone = perturb(suite.only({"crud-delete"}), kinds("typo"), per_case=3)
    together = perturb(suite, kinds("dropped-letter", "typo"), per_case=3)
    texts = [[each.query for each in variants_in(found) if each.id.startswith("crud-delete~typo")] for found in (alone, together)]
    assert texts[0] == texts[1] != []


def test_another_seed_chooses_others() -> None:
    suite = load_suite(QUICKSTART)
    first, second = ([each.query for each in variants_in(perturb(suite, kinds("typo"), seed=seed))] for seed in (0, 1))
    assert sum(one != two for one, two in zip(first, second, strict=True)) > len(first) // 2


def test_a_variant_in_other_letters_is_no_repeated_query() -> None:
    suite = suite_of(case("a", "issue"), case("b", "board", "e"))
    assert repeated_cases(perturb(suite, kinds("case"), per_case=3).suite) == []
    again = suite_of(case("a", "issue"), case("b", "ISSUE", "e"))
    assert repeated_cases(perturb(again, kinds("typo")).suite) == [[0, 2]]


@pytest.mark.slow
def test_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    digests = set()
    for seed in ("1", "2"):
        path = tmp_path / f"{seed}.jsonl"
        command = [sys.executable, "-m", "searchmark", "perturb", str(QUICKSTART), "--per-case", "3", "-o", str(path)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True)
        digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(digests) == 1


def test_the_same_variants_on_every_machine() -> None:
    """Pinned: a change here is another file for everybody who has made one."""
    found = perturb(suite_of(case("a", "the café of getUser")), kinds())
    assert {str(each.fields["perturbation"]): each.query for each in variants_in(found)} == {
        "typo": "the café of gwtUser",
        "transposition": "the café of getUesr",
        "dropped-letter": "the cfé of getUser",
        "case": "The Café Of Getuser",
        "word-order": "of the getUser café",
        "identifier-split": "the café of get user",
        "identifier-join": "the café of get_user",
        "accents": "the cafe of getUser",
        "stop-words-removed": "café getUser",
        "truncation": "the café of getUs",
    }
