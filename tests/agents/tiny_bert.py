"""A BERT of a few hundred numbers, as a folder that an exporter could have written, and what it computes, in plain numpy."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from searchmark.agents.vectors.onnx import graph_weights
from tests.agents.bert_graph import build_graph

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "sky", "at", "night", "##s", "engine", "search", "a"]
WIDTH, HEADS, LAYERS, INNER, POSITIONS = 8, 2, 2, 16, 32
EPSILON = 1e-12
SHAPE = (LAYERS, HEADS, EPSILON)
CONFIG = {
    "model_type": "bert", "hidden_act": "gelu", "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
    "layer_norm_eps": EPSILON, "max_position_embeddings": POSITIONS,
}  # fmt: skip


def random_weights(seed: int = 1) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (POSITIONS, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        **_norm("embeddings.LayerNorm"),
    }
    for layer in (f"encoder.layer.{number}." for number in range(LAYERS)):
        for part in ("query", "key", "value"):
            shapes |= _dense(f"{layer}attention.self.{part}", WIDTH, WIDTH)
        shapes |= _dense(f"{layer}attention.output.dense", WIDTH, WIDTH) | _norm(f"{layer}attention.output.LayerNorm")
        shapes |= _dense(f"{layer}intermediate.dense", INNER, WIDTH) | _dense(f"{layer}output.dense", WIDTH, INNER)
        shapes |= _norm(f"{layer}output.LayerNorm")
    return {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def _dense(name: str, outputs: int, inputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _norm(name: str) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (WIDTH,), f"{name}.bias": (WIDTH,)}


def forward(weights: dict[str, np.ndarray], ids: list[int]) -> np.ndarray:
    """One vector per token of one text, after Devlin et al. (2019), in float64."""
    w = {name: values.astype(np.float64) for name, values in weights.items()}

    def dense(name: str, x: np.ndarray) -> np.ndarray:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(name: str, x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / np.sqrt(x.var(axis=-1, keepdims=True) + EPSILON) * w[f"{name}.weight"] + w[f"{name}.bias"]

    def attention(name: str, x: np.ndarray) -> np.ndarray:
        size = WIDTH // HEADS
        query, key, value = (dense(f"{name}.{part}", x) for part in ("query", "key", "value"))
        found = []
        for head in (slice(start, start + size) for start in range(0, WIDTH, size)):
            scores = np.exp(query[:, head] @ key[:, head].T / math.sqrt(size))
            found.append(scores / scores.sum(axis=1, keepdims=True) @ value[:, head])
        return np.hstack(found)

    gelu = np.vectorize(lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))))
    embedded = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm("embeddings.LayerNorm", embedded + w["embeddings.token_type_embeddings.weight"][0])
    for layer in (f"encoder.layer.{number}." for number in range(LAYERS)):
        x = norm(
            f"{layer}attention.output.LayerNorm",
            x + dense(f"{layer}attention.output.dense", attention(f"{layer}attention.self", x)),
        )
        x = norm(f"{layer}output.LayerNorm", x + dense(f"{layer}output.dense", gelu(dense(f"{layer}intermediate.dense", x))))
    return x


def weightless_model(weights: dict[str, np.ndarray], shape: tuple[int, int, float] = SHAPE) -> Any:
    """The graph alone, as minilm has it."""
    return build_graph({name: values.shape for name, values in graph_weights(weights).items()}, *shape)


def whole_model(weights: dict[str, np.ndarray], shape: tuple[int, int, float] = SHAPE) -> Any:
    """The graph with its weights inside, as an exporter writes it."""
    from onnx import numpy_helper

    model, named = weightless_model(weights, shape), graph_weights(weights)
    for tensor in model.graph.initializer:
        if tensor.name in named:
            tensor.CopyFrom(numpy_helper.from_array(named[tensor.name], tensor.name))
    return model


def write_json(path: Path, said: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(said))


def write_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing

    tokenizer = Tokenizer(WordPiece({word: number for number, word in enumerate(WORDS)}, unk_token=WORDS[1]))
    tokenizer.normalizer = BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.enable_padding(length=20)  # as the file of all-MiniLM-L6-v2 has it, which must not be heeded
    tokenizer.enable_truncation(4)
    tokenizer.save(str(folder / "tokenizer.json"))


def modules(*kinds: str) -> list[dict[str, Any]]:
    return [
        {
            "idx": number,
            "name": str(number),
            "path": f"{number}_{kind}" if number else "",
            "type": f"sentence_transformers.models.{kind}",
        }
        for number, kind in enumerate(kinds)
    ]


def write_folder(folder: Path, *, pooling: dict[str, Any] | None = None, model: Any = None) -> Path:
    """Everything that a model of sentence-transformers has."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes((model or whole_model(random_weights())).SerializeToString())
    write_tokenizer(folder)
    write_json(folder / "config.json", CONFIG)
    write_json(folder / "modules.json", modules("Transformer", "Pooling"))
    write_json(folder / "1_Pooling" / "config.json", pooling or {"pooling_mode_mean_tokens": True})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 12, "do_lower_case": False})
    return folder
