"""What the docs show can be used: no command is left untried, every YAML block is one that is read, and the site has every page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from searchmark import load_config, load_suite
from searchmark.experiments.sweep_grid import load_sweep
from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
_FENCED = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*) -->\n)?^(?P<ticks>`{3,})(?P<kind>\w*)\n(?P<text>.*?)^(?P=ticks)$", re.DOTALL | re.MULTILINE
)
_INDENTED = re.compile(r"(?:^<!-- (?P<mark>[^\n]*) -->\n\n)?(?P<text>(?:^ {4}\S.*\n)+)", re.MULTILINE)
_COMMAND = re.compile(r"^(?:    |\$ )?(?:git bisect run )?searchmark [a-z]+ .*", re.MULTILINE)
# Blocks that other tests make or run: help texts and examples (cli, audit, reports), what is printed, workflows of ci.md.
CHECKED_ELSEWHERE = re.compile(r"(printed|output|file|baseline)\b")
GENERATED = {"cli.md", "audit.md", "reports.md"}
MEASURED = "gold-sets"  # a folder of what was read and measured in repositories of others, which are fetched
NEEDS = {
    "audit-demo.md": "repositories that are fetched",
    "ci.md": "a history of one's own",
    "http.md": "a service",
    "mcp.md": "a server that is installed from elsewhere",
    "pgvector.md": "a database",
    "scale.md": "a cluster",
    "suites.md": "a full clone",
    "suites/fashion.md": "a minute",
    "suites/own-history.md": "a full clone",
    "suites/semantic-fixtures.md": "a model that is installed apart",
    "sweep.md": "minutes",
}


def blocks(page: Path) -> Iterator[re.Match[str]]:
    return _FENCED.finditer(page.read_text("utf-8"))


def commands_that_no_test_runs(text: str) -> list[tuple[str, str]]:
    """Commands outside of console blocks, each with the mark above its block."""
    found = [(match["text"], match["mark"] or "") for match in _FENCED.finditer(text) if match["kind"] not in ("console", "yaml")]
    found += [(match["text"], match["mark"] or "") for match in _INDENTED.finditer(_FENCED.sub("", text))]
    return [(command, mark) for block, mark in found for command in _COMMAND.findall(block) if not CHECKED_ELSEWHERE.match(mark)]


def test_every_command_is_run_or_its_page_says_why_not() -> None:
    untried = {
        page.relative_to(DOCS).as_posix(): commands_that_no_test_runs(page.read_text("utf-8"))
        for page in PAGES
        if page.name not in GENERATED and page.parent.name != MEASURED
    }
    silent = [
        (page, command) for page, commands in untried.items() for command, mark in commands if not mark.startswith("not run: ")
    ]
    assert silent == []
    assert {page for page, commands in untried.items() if commands} == set(NEEDS)


@pytest.mark.parametrize(
    "text",
    [
        "```sh\nsearchmark evaluate --run x\n```\n",
        "```text\n$ searchmark evaluate --run x\n```\n",
        "So:\n\n    searchmark evaluate --run x\n\n",
    ],
)
def test_a_command_that_is_not_run_is_seen(text: str) -> None:
    assert [mark for _, mark in commands_that_no_test_runs(text)] == [""]


def yaml_blocks() -> list[object]:
    return [
        pytest.param(block["text"], block["mark"] or "", id=f"{page.relative_to(DOCS)}-{number}")
        for page in PAGES
        for number, block in enumerate(blocks(page), 1)
        if block["kind"] == "yaml"
    ]


@pytest.mark.parametrize(("text", "mark"), yaml_blocks())
def test_a_yaml_block_is_read(text: str, mark: str, tmp_path: Path) -> None:
    """As a config, a suite, a sweep or a workflow; a mark says of what it is a part."""
    content = YAML(typ="safe").load(text)
    whole = _whole(content, mark.removeprefix("part of ")) if mark.startswith("part of ") else content
    file = tmp_path / "block.yaml"
    YAML().dump(whole, file)
    if "grid" in whole:
        load_sweep(file)
    elif "cases" in whole or "schema_version" in whole:
        load_suite(file)
    elif _jobs(whole):
        assert all(
            ("run" in step) != ("uses" in step) for job in _jobs(whole) for step in job.get("steps", [{"run": job.get("script")}])
        )
    else:
        load_config(file)


def _whole(content: Any, of: str) -> dict[str, Any]:
    case = {"id": "a", "query": "words", "judgments": [{"target": "x"}]}
    wholes = {
        "agents": lambda: {"agents": content},
        "an agent": lambda: {"agents": [{"name": "mine", "source": "semantic", "config": content}]},
        "a case": lambda: {"schema_version": 1, "cases": [case | content]},
        "a suite": lambda: {"schema_version": 1, **content, "cases": [case]},
    }
    return wholes[of]()


def _jobs(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Those of GitHub or GitLab."""
    jobs = content.get("jobs", content)
    return [job for job in jobs.values() if isinstance(job, dict) and ("steps" in job or "script" in job)]


def test_the_site_has_every_page_once() -> None:
    site = YAML(typ="safe").load((ROOT / "mkdocs.yml").read_text("utf-8"))
    pages = list(_pages(site["nav"]))
    beside = {"index.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "THIRD_PARTY_NOTICES.md"}
    assert set(pages) == {page.relative_to(DOCS).as_posix() for page in PAGES} | beside
    assert len(pages) == len(set(pages))
    sections = [name for section in site["nav"] for name in section]
    assert sections == ["Start", "Tutorial", "How-to", "Suites", "Reference", "Explanation", "Project"]


def _pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    for each in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from _pages(each)
