"""The workflow that `init` writes installs what wrote it, or says what is missing: commands in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytestmark = pytest.mark.slow  # commands in processes of their own

COMMIT = "1a2b3c4d" * 5
WORKFLOW = ".github/workflows/search-quality.yml"


def init(folder: Path, installed_from: dict[str, Any] | None, *words: str) -> subprocess.CompletedProcess[str]:
    """`searchmark init` of a copy that says that it came from there."""
    metadata = folder.parent / "site" / "searchmark-0.0.0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: searchmark\nVersion: 0.0.0\n")
    (metadata / "direct_url.json").unlink(missing_ok=True)
    if installed_from is not None:
        (metadata / "direct_url.json").write_text(json.dumps(installed_from))
    command = [sys.executable, "-m", "searchmark", "init", "--yes", "--force", "--corpus", "docs", "--suite", "draft", *words]
    variables = os.environ | {"PYTHONPATH": str(metadata.parent)}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=120)


def installed(folder: Path, installed_from: dict[str, Any] | None) -> tuple[str, str]:
    done = init(folder, installed_from, "--no-measure")
    assert done.returncode == 0, done.stderr
    return (folder / WORKFLOW).read_text(), done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / "docs").mkdir(parents=True)
    for number, word in enumerate(("green tea", "black coffee", "white milk", "red wine")):
        (tmp_path / "project" / "docs" / f"d{number}.md").write_text(f"# About {word}\n\n{word} is served here.\n")
    return tmp_path / "project"


def from_git(url: str) -> dict[str, Any]:
    return {"url": url, "vcs_info": {"vcs": "git", "commit_id": COMMIT}}


def test_it_installs_from_the_repository_and_commit_that_this_copy_came_from(project: Path) -> None:
    workflow, said = installed(project, from_git("https://git.example/team/searchmark.git"))
    requirement = f"searchmark @ git+https://git.example/team/searchmark.git@{COMMIT}"
    assert f"run: python -m pip install '{requirement}'" in workflow
    assert f"installs {requirement}" in said


def test_an_editable_copy_names_the_remote_and_the_commit_of_its_checkout(project: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    git = ["git", "-C", str(checkout), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    editable = {"url": checkout.as_uri(), "dir_info": {"editable": True}}
    assert "exit 1" in installed(project, editable)[0]
    subprocess.run([*git, "remote", "add", "origin", "git@git.example:team/searchmark.git"], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert f"git+https://git.example/team/searchmark.git@{commit}" in installed(project, editable)[0]


@pytest.mark.parametrize("origin", [None, from_git("https://me:secret@git.example/searchmark.git")], ids=["unknown", "secret"])
def test_where_the_origin_cannot_be_written_down_the_workflow_fails_and_says_what_to_fill_in(
    origin: dict[str, Any] | None, project: Path
) -> None:
    workflow, said = installed(project, origin)
    assert "::error::say here where Searchmark is installed from" in workflow
    assert "exit 1" in workflow
    assert "pip install searchmark\n" not in workflow
    assert "secret@" not in workflow
    assert "fails until you say here where Searchmark is installed from" in said


def test_a_wheel_in_the_repository_is_what_is_installed(project: Path) -> None:
    (project / "wheels").mkdir()
    (project / "wheels" / "searchmark-0.1.0-py3-none-any.whl").write_bytes(b"")
    assert "pip install ./wheels/searchmark-0.1.0-py3-none-any.whl" in installed(project, None)[0]


class NotImplementedHere(BaseHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


def test_a_preset_is_known_and_a_service_that_implements_nothing_is_said_to_be_one(project: Path) -> None:
    done = init(project, None, "--agent", "opensearch")
    assert done.returncode == 4
    assert "--agent 'opensearch:http://HOST:PORT/INDEX'" in done.stderr
    with ThreadingHTTPServer(("127.0.0.1", 0), NotImplementedHere) as server:  # which answers 501 to every method
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        done = init(project, None, "--agent", f"shop=opensearch:{address}/products")
        server.shutdown()
    assert done.returncode == 0, done.stderr
    config = (project / "searchmark.yaml").read_text()
    assert '"preset": "opensearch"' in config
    assert '"index": "products"' in config
    assert "501, it does not implement this request" in done.stdout
    assert "attempt" not in done.stdout
