"""Secrets that are planted in the environment are in no file, log or report, whoever repeats them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from searchmark.reports.render import suffixes
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

PLANTED = {
    "PLANTED_HEADER": "tQ7-long-header-secret-4711-Zx",
    "PLANTED_PASSWORD": "p@ss/w0rd+with=odd&signs%",
    "PLANTED_BODY": 'b0dy "quoted" \\ and ünïcode',
    "PLANTED_PIN": "9Kq!z",
    "PLANTED_API_KEY": "sk-planted-0123456789abcdef",
}
QUERIES = ("hits", "refused", "page", "broken", "headers", "elsewhere")


@pytest.fixture(scope="module")
def echo() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.support.echo"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.terminate()


def services(echo: str) -> list[dict[str, Any]]:
    asked = {"q": "{query}"}
    headers = {"X-Api-Key": "${PLANTED_HEADER}", "X-Pin": "${PLANTED_PIN}"}
    body = {"q": "{query}", "secret": "${PLANTED_BODY}", "pin": "${PLANTED_PIN}"}
    results = {"hits": "hits", "cost": "cost"}
    return [
        {"name": "header", "source": "http", "config": {"url": f"{echo}/", "parameters": asked, "headers": headers}},
        {
            "name": "body",
            "source": "http",
            "config": {"url": f"{echo}/?q={{query}}", "body": body, "results": results, "retries": 0},
        },
        {"name": "address", "source": "http", "config": {"url": f"{echo}/${{PLANTED_PASSWORD}}/x?q={{query}}", "results": results}},
        {
            "name": "user",
            "source": "http",
            "config": {"url": echo.replace("://", "://me:${PLANTED_PASSWORD}@") + "/?q={query}", "results": results},
        },
        {"name": "parameter", "source": "http", "config": {"url": f"{echo}/", "parameters": asked | {"key": "${PLANTED_PIN}"}}},
        {"name": "server", "source": "mcp", "config": {"url": f"{echo}/mcp", "headers": headers, "tool": "search"}},
    ]


def programs() -> list[dict[str, Any]]:
    telltale = str(ROOT / "tests" / "support" / "telltale.py")
    return [
        {"name": "program", "source": "command", "config": {"argv": [sys.executable, telltale, "{query}"]}, "env": list(PLANTED)},
        {
            "name": "started",
            "source": "mcp",
            "config": {"argv": [sys.executable, telltale, "--serve"], "tool": "search"},
            "env": list(PLANTED),
        },
    ]


def forms(secret: str) -> set[str]:
    """As it is, and as texts of several kinds would have it."""
    texts = {secret, quote(secret, safe=""), quote(secret), quote_plus(secret), json.dumps(secret)[1:-1]}
    return texts | {b64encode(secret.encode()).decode().rstrip("=")[:-1], b64encode(f"me:{secret}".encode()).decode()}


def found_in(folder: Path, said: str, secrets: dict[str, str]) -> list[str]:
    contents = {"said": said.encode()} | {str(path.relative_to(folder)): path.read_bytes() for path in files(folder)}
    names = {"names": "\n".join(contents).encode()}
    return [
        f"{name} in {where}"
        for where, content in (contents | names).items()
        for name, secret in secrets.items()
        if any(form.encode() in content for form in forms(secret))
    ]


def files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def searchmark(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    home = {"HOME": str(folder / "home"), "SEARCHMARK_CACHE": str(folder / "cache"), "SEARCHMARK_DEBUG": "1"}
    command = [sys.executable, "-m", "searchmark", *arguments]
    return subprocess.run(
        command, cwd=folder / "work", env={**os.environ, **PLANTED, **home}, capture_output=True, text=True, check=False
    )


def project(folder: Path, agents: list[dict[str, Any]]) -> list[str]:
    work = folder / "work"
    work.mkdir()
    cases = [{"id": query, "query": query, "judgments": [{"target": "d"}]} for query in QUERIES]
    (work / "suite.json").write_text(json.dumps({"schema_version": 1, "name": "s", "cases": cases}))
    (work / "agents.json").write_text(json.dumps({"agents": agents}))
    every = [part for suffix in suffixes() for part in ("-o", f"out{suffix}")]
    named = [part for agent in agents for part in ("--agent", agent["name"])]
    return ["compare", "--gold-set", "suite.json", "--config", "agents.json", *named, *every, "--num-runs", "2", "--archive"]


def test_a_hostile_service_repeats_keys_and_nothing_tells_them(tmp_path: Path, echo: str) -> None:
    arguments = project(tmp_path, services(echo))
    ran = searchmark(tmp_path, *arguments, "--save-run", "runs/", "--max-failures", "99")
    assert ran.returncode == 2, ran.stderr
    assert "(removed)" in (tmp_path / "work" / "out.json").read_text()
    assert found_in(tmp_path, ran.stdout + ran.stderr, PLANTED) == []
    assert len(list(files(tmp_path / "work" / "runs"))) == len(services(echo))


def test_programs_print_keys_and_nothing_tells_them(tmp_path: Path) -> None:
    ran = searchmark(tmp_path, *project(tmp_path, programs()), "--save-run", "runs/", "--max-failures", "99")
    long = {name: secret for name, secret in PLANTED.items() if name != "PLANTED_PIN"}  # which is in no config
    assert ran.returncode == 2, ran.stderr
    assert "(removed)" in (tmp_path / "work" / "out.json").read_text()
    assert found_in(tmp_path, ran.stdout + ran.stderr, long) == []


@pytest.mark.parametrize("agent", ["header", "server"])
def test_an_agent_that_fails_alone_tells_no_key(agent: str, tmp_path: Path, echo: str) -> None:
    chosen = [each for each in services(echo) if each["name"] == agent]
    arguments = ["evaluate", *project(tmp_path, chosen)[1:]]
    ran = searchmark(tmp_path, *arguments, "--max-failures", "1")
    assert ran.returncode in (2, 5), ran.stderr
    assert found_in(tmp_path, ran.stdout + ran.stderr, PLANTED) == []


def test_the_tools_of_a_server_are_shown_without_its_key(tmp_path: Path, echo: str) -> None:
    project(tmp_path, services(echo))
    ran = searchmark(tmp_path, "agents", "--probe", "--config", "agents.json")
    assert found_in(tmp_path, ran.stdout + ran.stderr, PLANTED) == []


def test_what_is_planted_would_be_found(tmp_path: Path) -> None:
    """The check itself can fail, in each form."""
    (tmp_path / "work").mkdir()
    for name, secret in PLANTED.items():
        for number, form in enumerate(sorted(forms(secret))):
            file = tmp_path / "work" / f"file{number}"
            file.write_text(f"x{form}y")
            assert name in "".join(found_in(tmp_path, "", PLANTED))
            file.unlink()
