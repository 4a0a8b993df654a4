"""The notebook in examples/ runs from beginning to end, in a kernel of its own, and shows what it promises."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

NOTEBOOK = ROOT / "examples" / "notebook" / "search_quality.ipynb"


def test_no_output_is_kept_in_the_notebook() -> None:
    """An output that is shown would have to be one that was printed."""
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel of this very environment, and nothing of the user's own settings."""
    kernel = tmp_path / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    start = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": start, "display_name": "Python 3", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the notebook's own libraries
def test_the_notebook_runs_and_shows_cards(tmp_path: Path, kernels: None) -> None:
    import nbformat
    from nbclient import NotebookClient

    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    notebook = nbformat.read(tmp_path / "examples" / "notebook" / NOTEBOOK.name, as_version=4)
    folder = tmp_path / "examples" / "notebook"

    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()

    shown = [output["data"] for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output]
    texts = [data["text/plain"] for data in shown]
    pages = [data.get("text/html", "") for data in shown]
    assert "Suite('quickstart', 20 cases, 40 judgments)" in texts
    assert "Comparison('semantic' against 'bm25': IMPROVED by nDCG@10)" in texts
    assert "Run('shared_words', 20 answers, 348 hits)" in texts
    assert any("semantic is better than bm25 by nDCG@10: IMPROVED" in page for page in pages)
    assert any("vega" in page for page in pages)
    assert "<!doctype html>" in (folder / "search-quality.html").read_text().lower()
