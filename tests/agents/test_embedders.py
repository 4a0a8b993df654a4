"""What every embedder promises: rows of length one, prefixes, truncation, a fingerprint; and what WordLlama gives."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest

from searchmark import Incomparable, UsageError
from searchmark.agents.vectors import EMBEDDERS, load_embedder, models
from searchmark.agents.vectors.embedder import Embedder, EmbedderSettings, EmbeddingModel, Fingerprint, normalize_rows

TEXTS = ["a search engine", "", "\0\ud800", "x" * 5000, "def f():\n    return 1\n", "Größe 大小 🙂"]


@pytest.fixture(scope="module")
def word_llama() -> models.WordLlamaModel:
    return models.WordLlamaModel()


@pytest.mark.parametrize("name", ["wordllama", "hashing"])
def test_documents_and_queries_have_length_one_or_zero(name: str) -> None:
    embedder = load_embedder(name)
    rows = np.vstack([embedder.embed_documents(TEXTS), *(embedder.embed_query(text)[np.newaxis] for text in TEXTS)])
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    assert rows.dtype == np.float32
    assert rows.shape == (12, embedder.dimension)
    assert all(length == 0 or abs(length - 1) < 1e-6 for length in lengths)
    assert lengths[0] > 0


def test_a_query_is_embedded_as_a_document_is() -> None:
    embedder = load_embedder("hashing")
    assert np.array_equal(embedder.embed_query("red sky"), embedder.embed_documents(["red sky"])[0])


def test_no_texts_are_no_rows() -> None:
    assert load_embedder("hashing").embed_documents([]).shape == (0, 256)


def test_prefixes_are_put_before_what_they_are_for() -> None:
    plain = load_embedder("hashing")
    embedder = load_embedder({"name": "hashing", "query_prefix": "query: ", "document_prefix": "passage: "})
    assert np.array_equal(embedder.embed_query("sky"), plain.embed_query("query: sky"))
    assert np.array_equal(embedder.embed_documents(["sky"]), plain.embed_documents(["passage: sky"]))


def test_truncated_vectors_are_normalised_after_they_were_cut() -> None:
    whole = load_embedder({"name": "hashing", "normalize": False}).embed_query("red sky at night, shepherds delight")
    short = load_embedder({"name": "hashing", "dimension": 100}).embed_query("red sky at night, shepherds delight")
    assert short == pytest.approx(whole[:100] / np.linalg.norm(whole[:100]))


@pytest.mark.parametrize("dimension", [0, -1, 257])
def test_a_dimension_that_the_model_does_not_have_is_refused(dimension: int) -> None:
    with pytest.raises(UsageError, match=f"hashing gives 256 numbers; dimension cannot be {dimension}"):
        load_embedder({"name": "hashing", "dimension": dimension})


@pytest.mark.parametrize(
    ("choice", "complaint"),
    [
        ("nonsense", "there is no embedder 'nonsense'; available: wordllama"),
        ("fastembed", "there is no embedder .fastembed.; available: .*; .onnx. runs the same models without torch"),
        ({"model": "x"}, "there is no embedder None"),
        ({"name": "hashing", "sise": 3}, "embedder hashing, sise: is not a known field"),
        ({"name": "openai"}, "embedder openai, model: is missing"),
        ({"name": "hashing", "size": "many"}, "embedder hashing, size: input should be a valid integer"),
    ],
)
def test_options_are_checked_before_anything_is_loaded(choice: object, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        load_embedder(choice)


def test_normalising_again_changes_no_bit() -> None:
    once = normalize_rows(np.random.default_rng(1).normal(size=(500, 384)).astype(np.float32))
    assert np.array_equal(normalize_rows(once), once)


class Broken(EmbeddingModel):
    name, revision, dimension = "broken", "1", 2

    def __init__(self, rows: list[list[float]]) -> None:
        self.rows = rows

    def encode(self, texts):
        return np.array(self.rows, dtype=np.float32)


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [([[1, 2, 3]], "of shape"), ([[1, 2], [3, 4]], "of shape"), ([[np.nan, 1]], "not finite"), ([[np.inf, 1]], "not finite")],
)
def test_what_a_model_gives_is_looked_at(rows: list[list[float]], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        Embedder(Broken(rows), EmbedderSettings()).embed_documents(["a"])


@pytest.mark.slow
def test_wordllama_gives_what_its_own_library_gives(word_llama) -> None:
    from pathlib import Path

    import wordllama as library

    own = library.WordLlama.load(cache_dir=Path(library.__file__).parent, disable_download=True)
    texts = ["a search engine", "", "x" * 3000, "def f():\n    return 1\n", "Größe 大小 🙂"]
    assert np.array_equal(models.WordLlamaModel(fold_case=False).encode(texts), own.embed(texts))
    assert np.array_equal(word_llama.encode(texts), own.embed([text.lower() for text in texts]))


def test_a_query_in_capitals_is_the_same_query_to_wordllama() -> None:
    embedder = load_embedder({"name": "wordllama", "cache": False})
    assert np.array_equal(
        embedder.embed_query("DIELECTRIC Constant of liquids"), embedder.embed_query("dielectric constant of liquids")
    )
    assert np.array_equal(*embedder.embed_documents(["Microwave TECHNIQUES", "microwave techniques"]))


def test_vectors_of_folded_and_of_kept_case_are_told_apart_in_fingerprint_and_cache() -> None:
    folded, kept = (load_embedder({"name": "wordllama", "fold_case": fold}) for fold in (True, False))
    assert (folded.fingerprint().case, kept.fingerprint().case) == ("folded", "kept")
    with pytest.raises(Incomparable, match="case is 'kept' and not 'folded'"):
        folded.fingerprint().check(kept.fingerprint(), "x.npz")
    first, second = folded.embed_documents(["LIQUIDS"]), kept.embed_documents(["LIQUIDS"])
    assert (folded.texts_encoded, kept.texts_encoded) == (1, 1)
    assert not np.array_equal(first, second)


def test_wordllama_does_not_depend_on_what_else_is_in_the_batch(word_llama) -> None:
    assert np.array_equal(word_llama.encode(["a b"])[0], word_llama.encode(["x " * 900, "a b"])[1])


@pytest.mark.slow
def test_wordllama_needs_little_memory_for_one_very_long_text(word_llama) -> None:
    import tracemalloc

    tracemalloc.start()
    try:
        word_llama.encode(["word " * 200_000] + ["short"] * 63)
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()


def test_importing_wordllama_leaves_the_root_logger_alone() -> None:
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    models.WordLlamaModel()
    assert (logging.getLogger().handlers, logging.getLogger().level) == (handlers, level)


def test_a_missing_wordllama_is_one_sentence(monkeypatch) -> None:
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="wordllama is not installed; install it: pip install"):
        load_embedder("wordllama")


def test_everything_that_changes_vectors_is_in_the_fingerprint() -> None:
    options = [{}, {"size": 64}, {"dimension": 9}, {"normalize": False}, {"query_prefix": "q"}, {"document_prefix": "d"}]
    assert len({load_embedder({"name": "hashing", **option}).fingerprint() for option in options}) == 6


def test_the_fingerprint_of_wordllama_is_that_of_its_weights(word_llama) -> None:
    assert len(word_llama.revision) == 64
    assert load_embedder("wordllama").fingerprint().revision == word_llama.revision


WHOLE = Fingerprint("m", "r", "folded", 3, True, "q", "d", "c", "corpus")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": "n"}, "model is 'n' and not 'm'"),
        ({"revision": "s"}, "revision is 's' and not 'r'"),
        ({"case": "kept"}, "case is 'kept' and not 'folded'"),
        ({"dimension": 4}, "dimension is 4 and not 3"),
        ({"normalize": False}, "normalize is False and not True"),
        ({"query_prefix": ""}, "query_prefix is '' and not 'q'"),
        ({"document_prefix": "e"}, "document_prefix is 'e' and not 'd'"),
        ({"chunking": "f"}, "chunking is 'f' and not 'c'"),
        ({"corpus": "other"}, "corpus is 'other' and not 'corpus'"),
    ],
)
def test_another_fingerprint_is_refused_with_what_is_different(change: dict, sentence: str) -> None:
    WHOLE.check(replace(WHOLE, **dict.fromkeys(change)), "x")
    with pytest.raises(Incomparable, match=sentence):
        WHOLE.check(replace(WHOLE, **change), "x.npz")


def test_every_embedder_can_be_imported() -> None:

    assert all(issubclass(each.settings_class(), EmbedderSettings) for each in EMBEDDERS.parts.values())
