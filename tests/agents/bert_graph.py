"""The graph of a BERT encoder in ONNX's own text form: ``minilm.onnx`` is made here, and checked by a test.

python -m tests.agents.bert_graph   # writes it again
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from string import Template
from typing import Any

from onnx import TensorProto, parser

from searchmark.agents.vectors.onnx import MINILM_GRAPH

# Operators of version 17, the first with LayerNormalization, in the format that onnxruntime 1.20 reads. What is added to the scores
# of padding makes its share after the softmax exactly 0 in float32.
_BEGINNING = """<ir_version: 8, opset_import: ["" : 17]>
bert (int64[texts, tokens] input_ids, int64[texts, tokens] attention_mask) => (float[texts, tokens, $width] last_hidden_state)
<float one = {1.0}, float half = {0.5}, float root_half = {$root_half}, float root_size = {$root_size}, float padding = {-10000.0},
 int64[1] first = {0}, int64[2] heads_and_queries = {1, 2}, int64[4] apart = {0, 0, $heads, $size},
 int64[3] joined = {0, 0, $width}>
{
    mask = Cast<to = 1>(attention_mask)   absent = Sub(one, mask)   below = Mul(absent, padding)
    bias = Unsqueeze(below, heads_and_queries)
    length = Shape<start = 1, end = 2>(input_ids)   places = Slice(positions, first, length, first)
    named = Gather(words, input_ids)   placed = Add(named, places)
    hidden_0 = LayerNormalization<axis = -1, epsilon = $epsilon>(placed, norm_weight, norm_bias)
"""

# GELU is by the error function, and not by its approximation with tanh, which is a different activation.
_LAYER = """
    q1_$n = MatMul(hidden_$n, attention_self_query_weight_$n)   q2_$n = Add(q1_$n, attention_self_query_bias_$n)
    k1_$n = MatMul(hidden_$n, attention_self_key_weight_$n)     k2_$n = Add(k1_$n, attention_self_key_bias_$n)
    v1_$n = MatMul(hidden_$n, attention_self_value_weight_$n)   v2_$n = Add(v1_$n, attention_self_value_bias_$n)
    q3_$n = Reshape(q2_$n, apart)   query_$n = Transpose<perm = [0, 2, 1, 3]>(q3_$n)
    k3_$n = Reshape(k2_$n, apart)   k4_$n = Transpose<perm = [0, 2, 1, 3]>(k3_$n)   key_$n = Transpose<perm = [0, 1, 3, 2]>(k4_$n)
    v3_$n = Reshape(v2_$n, apart)   value_$n = Transpose<perm = [0, 2, 1, 3]>(v3_$n)
    product_$n = MatMul(query_$n, key_$n)   scores_$n = Mul(product_$n, root_size)   masked_$n = Add(scores_$n, bias)
    shares_$n = Softmax<axis = -1>(masked_$n)   c1_$n = MatMul(shares_$n, value_$n)
    c2_$n = Transpose<perm = [0, 2, 1, 3]>(c1_$n)   context_$n = Reshape(c2_$n, joined)
    a1_$n = MatMul(context_$n, attention_output_dense_weight_$n)   a2_$n = Add(a1_$n, attention_output_dense_bias_$n)
    a3_$n = Add(a2_$n, hidden_$n)
    middle_$n = LayerNormalization<axis = -1, epsilon = $epsilon>(
        a3_$n, attention_output_LayerNorm_weight_$n, attention_output_LayerNorm_bias_$n)
    w1_$n = MatMul(middle_$n, intermediate_dense_weight_$n)   wide_$n = Add(w1_$n, intermediate_dense_bias_$n)
    g1_$n = Mul(wide_$n, root_half)   g2_$n = Erf(g1_$n)   g3_$n = Add(g2_$n, one)
    g4_$n = Mul(wide_$n, g3_$n)   gelu_$n = Mul(g4_$n, half)
    n1_$n = MatMul(gelu_$n, output_dense_weight_$n)   n2_$n = Add(n1_$n, output_dense_bias_$n)
    n3_$n = Add(n2_$n, middle_$n)
    hidden_$next = LayerNormalization<axis = -1, epsilon = $epsilon>(n3_$n, output_LayerNorm_weight_$n, output_LayerNorm_bias_$n)
"""

MINILM = (6, 12, 1e-12)


def build_graph(shapes: Mapping[str, tuple[int, ...]], layers: int, heads: int, epsilon: float) -> Any:
    """Token ids and their mask to one vector per token; every text is one segment. ``shapes``: of the weights, by their names in the graph.

    The weights are handed over when the model is loaded.
    """
    width = shapes["words"][1]
    size = width // heads
    values = {
        "width": width, "heads": heads, "size": size, "root_half": 1 / math.sqrt(2), "root_size": 1 / math.sqrt(size),
        "epsilon": f"{epsilon:.20f}",
    }  # fmt: skip
    parts = [Template(_LAYER).substitute(values, n=layer, next=layer + 1) for layer in range(layers)]
    ending = f"last_hidden_state = Identity(hidden_{layers})\n}}"
    model = parser.parse_model("".join([Template(_BEGINNING).substitute(values), *parts, ending]))
    for name, shape in shapes.items():
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="in memory")
        model.graph.initializer.append(tensor)
    return model


def weight_shapes(words: int, positions: int, width: int, inner: int, layers: int) -> dict[str, tuple[int, ...]]:
    """The weights of an encoder by their names in the graph, matrices as it multiplies with them."""
    shapes: dict[str, tuple[int, ...]] = {"words": (words, width), "positions": (positions, width)}
    shapes |= {f"norm_{part}": (width,) for part in ("weight", "bias")}
    matrices = {f"attention_self_{part}": (width, width) for part in ("query", "key", "value")}
    matrices |= {
        "attention_output_dense": (width, width), "intermediate_dense": (width, inner), "output_dense": (inner, width),
    }  # fmt: skip
    for layer in range(layers):
        for name, shape in matrices.items():
            shapes |= {f"{name}_weight_{layer}": shape, f"{name}_bias_{layer}": shape[1:]}
        for name in ("attention_output_LayerNorm", "output_LayerNorm"):
            shapes |= {f"{name}_weight_{layer}": (width,), f"{name}_bias_{layer}": (width,)}
    return shapes


def minilm_graph() -> bytes:
    """What ``minilm.onnx`` has to hold."""
    layers, heads, epsilon = MINILM
    return bytes(build_graph(weight_shapes(30522, 512, 384, 1536, layers), layers, heads, epsilon).SerializeToString())


if __name__ == "__main__":
    MINILM_GRAPH.write_bytes(minilm_graph())
