"""Two public MCP servers, each as its project ships it: the reference servers for Git and for files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from searchmark.agents.vectors.chunking import TOKENIZER_NAME
from searchmark.errors import EXIT_UNTRUSTED
from tests.support.commands import searchmark

pytestmark = pytest.mark.servers

FILES = Path(__file__).parent / "node_modules" / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
COMMITS = {"alpha.txt": "Add a parser for dates", "docs/install.md": "Explain how to install on Windows"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    git(folder.parent, "init", "-q", str(folder))
    for name, message in COMMITS.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{message}\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", message)
    return folder


def git(folder: Path, *arguments: str) -> str:
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    return subprocess.run(["git", *author, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def evaluated(folder: Path, cases: dict[str, str], config: dict[str, Any], *arguments: str, code: int = 0) -> dict[str, Any]:
    """What the report says of each case, whose query is the key and whose relevant document the value."""
    listed = [{"id": f"c{n}", "query": query, "judgments": [{"target": target}]} for n, (query, target) in enumerate(cases.items())]
    (folder / "suite.json").write_text(json.dumps({"schema_version": 1, "cases": listed}))
    (folder / "config.yaml").write_text(json.dumps({"agents": [{"name": "tool", "source": "mcp", "config": config}]}))
    what = ("--gold-set", "suite.json", "--config", "config.yaml", "--agent", "tool", "--no-archive", "-o", "out.json")
    done = searchmark("evaluate", *what, *arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads((folder / "out.json").read_text())["agents"]["tool"]["cases"]
    return found


def test_files_are_found_by_the_server_for_file_systems(tmp_path: Path, repository: Path) -> None:
    config = {
        "argv": ["node", str(FILES), "{corpus}"],
        "tool": "search_files",
        "arguments": {"path": "{corpus}", "pattern": "**/*{query}*"},
        "results": {"format": "lines", "nothing": "^No matches found$"},
    }
    cases = evaluated(tmp_path, {"install": "docs/install.md", "zebra": "alpha.txt"}, config, "--corpus", str(repository))
    assert [hit["id"] for hit in cases["c0"]["hits"]] == ["docs/install.md"]
    assert [case["status"] for case in cases.values()] == ["ok", "empty"]
    assert cases["c0"]["details"]["tokens_by"] == TOKENIZER_NAME


def test_paths_are_found_in_the_diffs_of_the_server_for_git(tmp_path: Path, repository: Path) -> None:
    config = {
        "argv": [sys.executable, "-m", "mcp_server_git", "--repository", "{corpus}"],
        "tool": "git_show",
        "arguments": {"repo_path": "{corpus}", "revision": ":/{query}"},
        "results": {"pattern": r"^\+\+\+ (b/)?(?P<id>.+)$"},
    }
    queries = {"Explain how": "docs/install.md", "Add a parser": "alpha.txt", "no such commit": "alpha.txt"}
    cases = evaluated(tmp_path, queries, config, "--corpus", str(repository), code=EXIT_UNTRUSTED)
    assert [[hit["id"] for hit in case["hits"]] for case in cases.values()] == [["docs/install.md"], ["alpha.txt"], []]
    assert cases["c2"]["status"] == "error"
    assert "the tool reports an error" in cases["c2"]["details"]["failure"]
    assert cases["c0"]["details"]["tokens"] > len(COMMITS["docs/install.md"].split())


def test_commits_are_found_in_the_log_of_the_server_for_git(tmp_path: Path, repository: Path) -> None:
    config = {
        "argv": [sys.executable, "-m", "mcp_server_git", "--repository", str(repository)],
        "tool": "git_log",
        "arguments": {"repo_path": str(repository), "max_count": "{k}", "start_timestamp": "{query}"},
        "results": {"pattern": r"^Commit: '?(?P<id>[0-9a-f]{40})"},
    }
    newest = git(repository, "rev-parse", "HEAD")
    cases = evaluated(tmp_path, {"2000-01-01": newest}, config)  # commits are not among its files
    assert len(cases["c0"]["hits"]) == len(COMMITS)
    assert cases["c0"]["hits"][0]["id"] == newest
