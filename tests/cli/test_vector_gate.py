"""The preset fashion-vectors on the command line: a real agent over vectors passes it, and an index that finds too little fails it."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from searchmark.cli.main import main

COLOURS = ("red", "black", "navy", "ivory", "olive", "pink")
MATERIALS = ("leather", "cotton", "linen", "wool", "denim")
GARMENTS = ("dress", "boots", "jeans", "hoodie", "parka", "skirt", "sandals", "scarf", "blazer", "socks")
TITLES = [" ".join(words) for words in product(COLOURS, MATERIALS, GARMENTS)]
CONFIG = """
agents:
  - {name: hasty, source: semantic, config: {index: {name: hnsw, m: 2, ef_construction: 2, ef_search: 1}}}
  - {name: other-k, source: semantic, config: {recall_k: 5}}
  - name: both
    source: hybrid
    config: {arms: [{name: one, source: semantic}, {name: two, source: semantic, config: {paths: false}}]}
  - {name: silent, source: semantic, config: {measure_recall: false, index: hnsw}}
"""
EVALUATE = ["evaluate", "--gold-set", "suite.json", "--corpus", "items.jsonl", "--config", "c.yaml", "--num-runs", "2"]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three hundred items, every twelfth of which is looked for by its title."""
    monkeypatch.chdir(tmp_path)
    items = [{"id": f"i{number}", "text": title} for number, title in enumerate(TITLES)]
    cases = [{"id": each["id"], "query": each["text"], "judgments": [{"target": each["id"], "grade": 3}]} for each in items[::12]]
    Path("items.jsonl").write_text("\n".join(map(json.dumps, items)))
    Path("suite.json").write_text(json.dumps({"schema_version": 1, "name": "shop", "cases": cases}))
    Path("c.yaml").write_text(CONFIG)
    return tmp_path


def rules_in(path: str) -> dict[str, dict[str, object]]:
    return {rule["subject"]: rule for rule in json.loads(Path(path).read_text())["gate"]["rules"]}


@pytest.mark.usefixtures("shop")
class TestPreset:
    @pytest.mark.slow
    def test_exact_search_passes_it_and_the_gate_can_fail(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([*EVALUATE, "--agent", "semantic", "--gate", "fashion-vectors", "-o", "r.json", "--save-run", "run.jsonl"]) == 0
        rules = rules_in("r.json")
        assert {name: rule["verdict"] for name, rule in rules.items()} == {
            "nDCG(gain=exp)@10": "passed",
            "ANN recall@10": "passed",
            "latency index_only.p95": "passed",
        }
        assert rules["ANN recall@10"]["actual"] == 1.0
        capsys.readouterr()
        assert main(["gate", "--self-test", "run.jsonl", "--gold-set", "suite.json", "--gate", "fashion-vectors"]) == 0
        assert "relevant hits dropped          caught from" in capsys.readouterr().out

    @pytest.mark.slow
    def test_an_index_that_finds_too_few_neighbours_fails_it_with_its_worst_cases(self) -> None:
        assert main([*EVALUATE, "--agent", "hasty", "--gate", "fashion-vectors", "-o", "r.json"]) == 1
        recall = rules_in("r.json")["ANN recall@10"]
        assert recall["verdict"] == "failed"
        assert recall["cases"]
        (advice,) = [
            each for each in json.loads(Path("r.json").read_text())["recommendations"] if each["code"] == "raise-ann-recall"
        ]
        assert advice["advice"] == (
            "Raise ef_search above the number of hits that are asked for (--depth), "
            "and compare with index: exact, which tells whether relevance is lost."
        )

    @pytest.mark.slow
    def test_recall_at_another_k_is_no_pass_and_says_what_to_set(self) -> None:
        assert main([*EVALUATE, "--agent", "other-k", "--gate", "fashion-vectors", "-o", "r.json"]) == 2
        assert rules_in("r.json")["ANN recall@10"]["message"].endswith(
            "it was measured at k = 5; set recall_k: 10 of the agent, or ask for ann_recall: 5"
        )

    @pytest.mark.slow
    def test_of_two_indexes_there_is_no_single_recall_and_fused_scores_are_no_similarities(self) -> None:
        assert main([*EVALUATE, "--agent", "both", "--gate", "fashion-vectors", "-o", "r.json", "-o", "r.md"]) == 2
        assert rules_in("r.json")["ANN recall@10"]["message"].endswith(
            "several arms have an index (one, two), and of several there is no single number; evaluate one of them alone"
        )
        shown = Path("r.md").read_text()
        assert "norm of vectors of one" in shown
        assert "score of the first" not in shown

    @pytest.mark.slow
    def test_recall_that_is_not_measured_is_no_pass(self) -> None:
        assert main([*EVALUATE, "--agent", "silent", "--gate", "fashion-vectors", "-o", "r.json"]) == 2
        assert rules_in("r.json")["ANN recall@10"]["message"].endswith(
            "the run says nothing about ANN recall; agents over vectors state it unless measure_recall is false"
        )
