"""Transformers through onnxruntime, an extra: from a folder as optimum or sentence-transformers export it, without torch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from searchmark.embedders.embedder import EmbedderOptions, Model, Vectors
from searchmark.embedders.model_folder import ModelFolder, Recipe
from searchmark.embedders.onnx_external import external_files
from searchmark.embedders.onnx_runtime import TEXT_OUTPUT, TextEncoder, open_session, output_of
from searchmark.errors import UsageError
from searchmark.files.store import open_stored
from searchmark.options.sensitive import ModelName

PACKAGES = ("onnxruntime", "tokenizers")
INSTALL = "pip install 'searchmark[onnx]'"
MOST_THREADS = 256


def problem() -> str | None:
    """Why it cannot be used here, and what to do about it; None if it can."""
    return missing_packages(PACKAGES, INSTALL)


def missing_packages(wanted: Iterable[str], install: str) -> str | None:
    """One sentence about packages that are not installed; None if all are."""
    missing = [name for name in wanted if find_spec(name) is None]
    return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed; install: {install}" if missing else None


@dataclass(frozen=True, kw_only=True)
class OnnxOptions(EmbedderOptions):
    """Options of ``onnx``.

    ``model``: the folder with model.onnx or onnx/model.onnx, tokenizer.json and the settings of sentence-transformers.
    ``file``: which graph, if there are several. ``threads``: how many to use; all cores unless told otherwise.
    """

    model: ModelName
    file: str | None = None
    threads: int | None = None

    def load_model(self) -> Model:
        reason = problem()
        if reason is not None:
            raise UsageError(reason)
        check_threads(self.threads)
        return OnnxModel(self)


def check_threads(threads: int | None) -> None:
    """Refuse a number of threads that nothing can run with."""
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise UsageError(f"threads must be 1 to {MOST_THREADS}, and not {threads}")


class OnnxModel(Model):
    """What the graph gives, pooled as the folder says, on the CPU."""

    def __init__(self, options: OnnxOptions) -> None:
        folder = ModelFolder(Path(options.model).expanduser())
        file = folder.model_file(options.file)
        weights = (file, *external_files(file))
        session = open_session(file, str(file), options.threads)
        recipe = folder.recipe(pooled_in_graph=output_of(session, str(file)) == TEXT_OUTPUT)
        self._encoder = TextEncoder(session, read_tokenizer(folder.tokenizer_file()), recipe, str(file))
        self.name = f"onnx/{folder.path.resolve().name}" + (f"/{options.file}" if options.file else "")
        self.revision = revision_of((*weights, folder.tokenizer_file()), recipe)
        self.dimension = self._encoder.dimension()
        _check_width(folder, recipe, self.dimension)

    def encode(self, texts: Sequence[str]) -> Vectors:
        return self._encoder.encode(texts)


def _check_width(folder: ModelFolder, recipe: Recipe, dimension: int) -> None:
    """Hold what the graph gives against what the folder says of it: with another graph than it is about, all else is wrong too."""
    for path, width in folder.widths() if recipe.pooling else ():
        if dimension != width * len(recipe.pooling):
            given = dimension // len(recipe.pooling)
            raise UsageError(f"{path} says {width} numbers per token, and the graph gives {given}; export the model again")


def read_tokenizer(path: Path) -> Any:
    """A tokenizer from its file."""
    from tokenizers import Tokenizer  # type: ignore[import-not-found,unused-ignore]  # an extra

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more exact
        raise UsageError(f"{path} cannot be read as a tokenizer: {error}") from error


def revision_of(files: Iterable[Path], recipe: Recipe, *more: object) -> str:
    """A hash of everything that vectors come from: weights, tokenizer, and what is done with them."""
    digest = hashlib.sha256(repr((recipe, *more)).encode())
    for path in files:
        with open_stored(path) as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
