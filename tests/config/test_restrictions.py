"""What a config that was only found may not set, field by field; one that the user names may."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from searchmark import FormatError, load_config

URL = "http://127.0.0.1:9/v1"


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "sub").mkdir()
    (folder / "out").symlink_to(tmp_path)
    monkeypatch.chdir(folder)
    return folder


def agent(name: str, **config: Any) -> dict[str, Any]:
    return {"agents": [{"name": name, "config": config}]}


def semantic(**embedder: Any) -> dict[str, Any]:
    return agent("semantic", embedder=embedder)


def dataset(**section: Any) -> dict[str, Any]:
    return {"dataset": section}


def rewriter(**section: Any) -> dict[str, Any]:
    return dataset(rewriter={"model": "m", **section})


def nested(arm: dict[str, Any]) -> dict[str, Any]:
    """An arm of an arm of hybrid."""
    return agent("hybrid", arms=["bm25", {"name": "x", "source": "rerank", "config": {"arm": {"name": "semantic", "config": arm}}}])


DEEP = "agents.0.config.arms.1.config.arm.config"
SENSITIVE = [
    (semantic(name="openai", model="m", url=URL), "agents.0.config.embedder.url", "is an address"),
    (semantic(name="ollama", model="m", url=URL), "agents.0.config.embedder.url", "is an address"),
    (semantic(name="openai", model="m", key_variable="K"), "agents.0.config.embedder.key_variable", "names a variable with a key"),
    (agent("rerank", reranker={"name": "http", "url": URL}), "agents.0.config.reranker.url", "is an address"),
    (agent("mine", source="rerank"), "agents.0.config", "options of an agent that is not built in"),
    (nested({"embedder": {"name": "openai", "model": "m", "url": URL}}), f"{DEEP}.embedder.url", "is an address"),
    (nested({"index_file": "/x.npz"}), f"{DEEP}.index_file", "is outside of the project"),
    (rewriter(base_url=URL), "dataset.rewriter.base_url", "is an address"),
    (dataset(repository_path=f"https://host/shop@{'0' * 40}"), "dataset.repository_path", "is an address"),
    (dataset(repository_path=[".", f"shop=file:///shop@{'0' * 40}"]), "dataset.repository_path.1", "is an address"),
    ({"corpus": {"path": f"https://host/corpus.jsonl#sha256={'0' * 64}"}}, "corpus.path", "is an address"),
    (rewriter(key_variable="AWS_SECRET_ACCESS_KEY"), "dataset.rewriter.key_variable", "names a variable with a key"),
    (rewriter(cache="/var/x"), "dataset.rewriter.cache", "is outside of the project"),
    ({"output": {"directory": "../outside"}}, "output.directory", "is outside of the project"),
    ({"output": {"directory": "out/side"}}, "output.directory", "is outside of the project"),
    ({"output": {"directory": "~"}}, "output.directory", "is outside of the project"),
    ({"output": {"directory": "a\0b"}}, "output.directory", "is outside of the project"),
    ({"output": {"directory": ".git/hooks"}}, "output.directory", "is inside of a .git folder"),
    ({"agents": [{"name": "bm25", "source": "semantic"}]}, "agents.0.name", "gives the name of the built-in agent 'bm25'"),
    (dataset(repository_path="/etc"), "dataset.repository_path", "is outside of the project"),
    (dataset(repository_path="x=/etc"), "dataset.repository_path", "is outside of the project"),
    (dataset(repository_path=["sub", "x=out"]), "dataset.repository_path.1", "is outside of the project"),
    (agent("semantic", index_file="../x.npz"), "agents.0.config.index_file", "is outside of the project"),
    (agent("semantic", model="/models/x"), "agents.0.config.model", "is outside of the project"),
    (agent("semantic", model="sub"), "agents.0.config.model", "is a folder with a model, which may hold code"),
    (semantic(name="transformer", model="sub"), "agents.0.config.embedder.model", "which may hold code"),
    (agent("rerank", reranker={"name": "cross-encoder", "model": "./sub"}), "agents.0.config.reranker.model", "may hold code"),
    (semantic(name="precomputed", vectors="/x.npy"), "agents.0.config.embedder.vectors", "is outside of the project"),
    (semantic(name="precomputed", vectors="x.npy", ids="/x"), "agents.0.config.embedder.ids", "is outside of the project"),
    (semantic(name="precomputed", vectors="x.npy", queries="/x"), "agents.0.config.embedder.queries", "is outside of the project"),
    (
        semantic(name="precomputed", vectors="x.npy", query_embedder={"name": "openai", "model": "m", "url": URL}),
        "agents.0.config.embedder.query_embedder.url",
        "is an address",
    ),
]


@pytest.mark.parametrize(("content", "field", "reason"), SENSITIVE)
def test_what_reaches_out_of_the_project_is_refused_unless_the_file_is_named(
    project: Path, content: dict[str, Any], field: str, reason: str
) -> None:
    file = project / "searchmark.yaml"
    file.write_text(json.dumps(content))
    with pytest.raises(FormatError) as caught:
        load_config()
    assert (caught.value.path, caught.value.place) == (str(file), field)
    assert reason in str(caught.value)
    assert f"--config {file}" in str(caught.value)
    load_config(file)


@pytest.mark.parametrize(
    "content",
    [
        {"output": {"directory": "results"}},
        {"output": {"directory": "./sub"}},
        dataset(repository_path="."),
        dataset(repository_path=["x=sub", "sub"]),
        rewriter(cache="sub/cache", max_requests=5),
        rewriter(key_variable=""),
        semantic(name="openai", model="text-embedding-3-small"),
        semantic(name="precomputed", vectors="sub/x.npy"),
        agent("semantic", model="sentence-transformers/all-MiniLM-L6-v2", index_file="sub/x.npz"),
        agent("bm25", k1=2.0),
        agent("rerank", reranker="proximity", arm="fts5"),
        {"agents": ["bm25", {"name": "mine"}]},
    ],
)
def test_what_stays_in_the_project_is_taken(project: Path, content: dict[str, Any]) -> None:
    (project / "searchmark.yaml").write_text(json.dumps(content))
    load_config()


@pytest.mark.parametrize(
    "text",
    [
        "dataset: {repository_path: !!set {/etc: null}}",
        "output: {directory: !!binary L2V0Yw==}",
        "agents: [{name: semantic, config: {embedder: {name: openai, model: m, url: !!binary aHR0cDovL3g=}}}]",
        "agents: [{name: a, class: semantic, config: &c {index_file: /x}}, {name: b, class: semantic, config: {<<: *c}}]",
    ],
)
def test_no_odd_spelling_gets_through(project: Path, text: str) -> None:
    (project / "searchmark.yaml").write_text(text)
    with pytest.raises(FormatError):
        load_config()


def test_a_folder_that_is_written_to_holds_no_link_out_of_the_project(project: Path) -> None:
    (project / "searchmark.yaml").write_text("output: {directory: sub}")
    (project / "sub" / "report.json").symlink_to("../real.json")
    assert load_config().output.directory == "sub"
    (project / "sub" / "report.md").symlink_to("../../x.md")
    with pytest.raises(FormatError, match=r"output\.directory: is outside of the project"):
        load_config()


def test_the_table_of_a_project_file_is_held_to_the_same(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.searchmark.output]\ndirectory = "/tmp/x"')
    with pytest.raises(FormatError, match=r"pyproject\.toml, output\.directory: is outside"):
        load_config()


@pytest.mark.parametrize("depth", [160, 400])
def test_arms_without_end_are_refused(project: Path, depth: int) -> None:
    arms = '{"name": "x", "source": "hybrid", "config": {"arms": [' * depth + '"bm25"' + "]}}" * depth
    (project / "searchmark.toml").write_text(f"agents = [{arms.replace(': ', ' = ')}]")
    with pytest.raises(FormatError, match="is nested more than 100 levels deep"):
        load_config()


def test_a_path_is_judged_from_the_working_directory(project: Path, monkeypatch) -> None:
    (project / "searchmark.yaml").write_text("output: {directory: ../results}")
    monkeypatch.chdir(project / "sub")
    assert load_config().output.directory == os.path.join("..", "results")  # noqa: PTH118  # as it is written
