"""What the documents that a case looks for say of the case."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from searchmark import Case, Corpus, Defaults, Document, Judgment, Suite, UsageError
from searchmark.formats.corpora.case_locations import with_target_fields

SHOP = Corpus.of(
    "shop",
    [
        Document("boot", "a boot", "Boot", {"category": "shoes", "colours": ["red", "brown"]}),
        Document("sandal", "a sandal", "Sandal", {"category": " shoes "}),
        Document("scarf", "a scarf", "Scarf", {"category": "accessories", "colours": [], "price": 3}),
    ],
)


def suite_of(*cases: Case, rel: int = 1) -> Suite:
    return Suite.from_cases("queries", cases, defaults=Defaults(rel=rel))


def fields_of(suite: Suite) -> list[dict[str, object]]:
    return [dict(case.fields) for case in suite.cases]


def test_a_case_has_the_value_that_most_of_its_relevant_targets_have_or_else_the_first() -> None:
    suite = suite_of(
        Case("a", "boots", (Judgment("scarf"), Judgment("boot"), Judgment("sandal"))),
        Case("b", "warm", (Judgment("scarf"), Judgment("boot"))),
    )
    found = with_target_fields(suite, ["target.category", "target.colours", "category"], SHOP)
    assert fields_of(found) == [
        {"target.category": "shoes", "target.colours": "red"},
        {"target.category": "accessories", "target.colours": "red"},
    ]


def test_spellings_and_synonyms_of_a_category_are_one_segment_under_the_usual_name(tmp_path: Path) -> None:
    written = {"a": "T-Shirts", "b": "t-shirt", "c": "Tees", "d": "T-Shirts", "e": "Accessories"}
    corpus, suite = tmp_path / "corpus.jsonl", tmp_path / "suite.json"
    corpus.write_text("".join(json.dumps({"id": id_, "text": id_, "category": name}) + "\n" for id_, name in written.items()))
    suite.write_text(json.dumps([{"query": id_, "expectedIds": [id_]} for id_ in written]))
    command = ["evaluate", "--gold-set", str(suite), "--corpus", str(corpus), "--agent", "bm25", "--by", "target.category"]
    report = subprocess.run(
        [sys.executable, "-m", "searchmark", *command, "--no-config", "--no-archive", "-o", "-"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    segments = json.loads(report.stdout)["agents"]["bm25"]["segments"]["target.category"]
    sizes = {name: next(iter(measures.values()))["cases"] for name, measures in segments.items()}
    assert sizes == {"T-Shirts": 4, "Accessories": 1}


def test_targets_below_the_grade_that_counts_say_nothing() -> None:
    suite = suite_of(Case("a", "boots", (Judgment("boot", grade=3), Judgment("scarf", grade=1))), rel=2)
    assert fields_of(with_target_fields(suite, ["target.category"], SHOP)) == [{"target.category": "shoes"}]


def test_fields_of_cases_and_digests_stay() -> None:
    suite = suite_of(Case("a", "boots", (Judgment("boot"), Judgment("gone")), fields={"type": "brand"}))
    found = with_target_fields(suite, ["target.title"], SHOP)
    assert fields_of(found) == [{"type": "brand", "target.title": "Boot"}]
    assert found.hashes == suite.hashes


def test_nothing_is_read_where_no_field_of_targets_is_asked_for() -> None:
    suite = suite_of(Case("a", "boots", (Judgment("boot"),)))
    assert with_target_fields(suite, ["category", "type"], None) is suite


def test_documents_that_a_case_brings_along_are_looked_at() -> None:
    suite = suite_of(Case("a", "boots", (Judgment("x"),), documents=(Document("x", "text", fields={"brand": "Acme"}),)))
    assert fields_of(with_target_fields(suite, ["target.brand"], None)) == [{"target.brand": "Acme"}]


def test_a_field_that_no_document_has_is_refused_with_those_that_there_are() -> None:
    suite = suite_of(Case("a", "boots", (Judgment("boot"),)))
    with pytest.raises(UsageError, match=r"no document of 'shop' has a field 'brand'; there are: category, colours, price"):
        with_target_fields(suite, ["target.brand"], SHOP)


def test_without_a_corpus_the_sentence_says_what_to_name() -> None:
    suite = suite_of(Case("a", "boots", (Judgment("boot"),)))
    with pytest.raises(UsageError, match=r"target.brand is a field of the documents .* --corpus"):
        with_target_fields(suite, ["target.brand"], None)


def test_a_corpus_with_other_fields_has_another_digest() -> None:
    def digest(category: str) -> str:
        return Corpus.of("shop", [Document("boot", "a boot", None, {"category": category})]).survey.digest

    assert digest("shoes") != digest("boots")


@pytest.mark.slow
def test_evaluate_and_a_gate_split_by_what_is_looked_for(tmp_path: Path) -> None:
    corpus = tmp_path / "shop.jsonl"
    corpus.write_text("".join(json.dumps({"id": each.id, "text": each.text, **each.fields}) + "\n" for each in SHOP))
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        "schema_version: 1\nname: shop\ncases:\n"
        "- {id: a, query: a boot, judgments: [{target: boot}]}\n"
        "- {id: b, query: a scarf, judgments: [{target: scarf}, {target: sandal}]}\n"
    )
    config = tmp_path / "gates.yaml"
    config.write_text("gates: {rules: [{measure: P@1, where: {target.category: accessories}, at_least: 0.5}]}\n")
    report = tmp_path / "out.json"
    shared = ["--gold-set", suite, "--corpus", corpus, "--agent", "bm25", "--num-runs", "1", "-m", "P@1", "--config", config]
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "searchmark",
            "evaluate",
            *map(str, shared),
            "--no-archive",
            "--by",
            "target.category",
            "-o",
            str(report),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert ran.returncode == 0, ran.stderr
    read = json.loads(report.read_text())
    segments = read["agents"]["bm25"]["segments"]["target.category"]
    assert {value: segment["P@1"]["cases"] for value, segment in segments.items()} == {"accessories": 1, "shoes": 1}
    assert read["gate"]["rules"][0]["where"] == {"target.category": "accessories"}
