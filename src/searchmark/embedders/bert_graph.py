"""The graph of a BERT encoder, made from its weights: standard operators only, which the runtime fuses as it sees fit.

The graph names its weights and does not hold them; they are handed to the runtime beside it, so that 90 MB are not copied into a
message and out again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import UsageError

Weights = Mapping[str, NDArray[Any]]

VERSION = 1  # of what the graph computes: vectors of different ones are kept apart
OPSET, IR_VERSION = 17, 8  # the first with LayerNormalization; what onnxruntime 1.20 reads
INPUTS = ("input_ids", "attention_mask")
OUTPUT = "last_hidden_state"
_MASKED = -10_000.0  # added to the scores of padding: its share after the softmax is exactly 0 in float32


@dataclass(frozen=True)
class BertShape:
    """What the weights do not say themselves."""

    layers: int
    heads: int
    epsilon: float

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> BertShape:
        """From the ``config.json`` of a model."""
        wanted = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
        for name, value in wanted.items():
            if config.get(name, value) != value:
                raise UsageError(f"the graph is built for {name} {value!r}, and the model has {config[name]!r}")
        return cls(int(config["num_hidden_layers"]), int(config["num_attention_heads"]), float(config["layer_norm_eps"]))


@dataclass(frozen=True)
class BertGraph:
    """A serialised model without its weights, and these by name."""

    model: bytes
    weights: Weights


def build_bert(weights: Weights, shape: BertShape) -> BertGraph:
    """Token ids and their mask to one vector per token; every text is one segment."""
    return _Builder(weights, shape).build()


@dataclass
class _Builder:
    source: Weights
    shape: BertShape
    nodes: list[Any] = field(default_factory=list)
    kept: dict[str, NDArray[Any]] = field(default_factory=dict)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)  # part of the graph: the runtime looks at them when it fuses

    def build(self) -> BertGraph:
        bias = self._mask_bias()
        hidden = self._embeddings()
        for layer in range(self.shape.layers):
            hidden = self._layer(f"encoder.layer.{layer}.", hidden, bias)
        self._add("Identity", [hidden], output=OUTPUT)
        return BertGraph(self._serialised(), self.kept)

    @property
    def _width(self) -> int:
        return int(self.source["embeddings.word_embeddings.weight"].shape[1])

    def _add(self, operator: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        from onnx import helper

        name = output or f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def _keep(self, name: str, values: NDArray[Any]) -> str:
        self.kept[name] = np.ascontiguousarray(values)
        return name

    def _number(self, value: float) -> str:
        return self._constant(f"number {value}", np.array(value, dtype=np.float32))

    def _integers(self, *values: int) -> str:
        return self._constant(f"integers {values}", np.array(values, dtype=np.int64))

    def _constant(self, name: str, values: NDArray[Any]) -> str:
        self.constants[name] = values
        return name

    def _mask_bias(self) -> str:
        """Zero for a token and far below for padding, in a shape that fits heads and queries."""
        mask = self._add("Cast", ["attention_mask"], to=1)  # 1 is float32
        absent = self._add("Sub", [self._number(1.0), mask])
        return self._add("Unsqueeze", [self._add("Mul", [absent, self._number(_MASKED)]), self._integers(1, 2)])

    def _embeddings(self) -> str:
        words = self._keep("words", self.source["embeddings.word_embeddings.weight"])
        first_segment = self.source["embeddings.token_type_embeddings.weight"][0]
        table = self._keep("positions", self.source["embeddings.position_embeddings.weight"] + first_segment)
        length = self._add("Shape", ["input_ids"], start=1, end=2)
        positions = self._add("Slice", [table, self._integers(0), length, self._integers(0)])
        return self._norm("embeddings.LayerNorm", self._add("Add", [self._add("Gather", [words, "input_ids"]), positions]))

    def _layer(self, prefix: str, hidden: str, bias: str) -> str:
        attended = self._dense(f"{prefix}attention.output.dense", self._attention(f"{prefix}attention.self.", hidden, bias))
        middle = self._norm(f"{prefix}attention.output.LayerNorm", self._add("Add", [attended, hidden]))
        wide = self._gelu(self._dense(f"{prefix}intermediate.dense", middle))
        narrow = self._dense(f"{prefix}output.dense", wide)
        return self._norm(f"{prefix}output.LayerNorm", self._add("Add", [narrow, middle]))

    def _attention(self, prefix: str, hidden: str, bias: str) -> str:
        size = self._width // self.shape.heads
        query, key, value = (self._heads(self._dense(f"{prefix}{part}", hidden), size) for part in ("query", "key", "value"))
        flipped = self._add("Transpose", [key], perm=[0, 1, 3, 2])
        scores = self._add("Mul", [self._add("MatMul", [query, flipped]), self._number(1 / math.sqrt(size))])
        shares = self._add("Softmax", [self._add("Add", [scores, bias])], axis=-1)
        together = self._add("Transpose", [self._add("MatMul", [shares, value])], perm=[0, 2, 1, 3])
        return self._add("Reshape", [together, self._integers(0, 0, self._width)])

    def _heads(self, values: str, size: int) -> str:
        apart = self._add("Reshape", [values, self._integers(0, 0, self.shape.heads, size)])
        return self._add("Transpose", [apart], perm=[0, 2, 1, 3])

    def _dense(self, name: str, values: str) -> str:
        weight = self._keep(f"{name}.weight", self.source[f"{name}.weight"].T)
        bias = self._keep(f"{name}.bias", self.source[f"{name}.bias"])
        return self._add("Add", [self._add("MatMul", [values, weight]), bias])

    def _norm(self, name: str, values: str) -> str:
        scale, bias = (self._keep(f"{name}.{part}", self.source[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self._add("LayerNormalization", [values, scale, bias], axis=-1, epsilon=self.shape.epsilon)

    def _gelu(self, values: str) -> str:
        """By the error function, and not by its approximation with tanh, which is a different activation."""
        curve = self._add("Erf", [self._add("Mul", [values, self._number(1 / math.sqrt(2))])])
        return self._add("Mul", [self._add("Mul", [values, self._add("Add", [curve, self._number(1.0)])]), self._number(0.5)])

    def _serialised(self) -> bytes:
        from onnx import TensorProto, helper, numpy_helper

        axes = ["texts", "tokens"]
        named = [_named_only(name, values) for name, values in self.kept.items()]
        graph = helper.make_graph(
            self.nodes,
            "bert",
            [helper.make_tensor_value_info(name, TensorProto.INT64, axes) for name in INPUTS],
            [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, [*axes, self._width])],
            [*named, *(numpy_helper.from_array(values, name) for name, values in self.constants.items())],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        return bytes(model.SerializeToString())


def _named_only(name: str, values: NDArray[Any]) -> Any:
    """A tensor whose content is handed over when the model is loaded."""
    from onnx import TensorProto

    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=values.shape, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="in memory")
    return tensor
