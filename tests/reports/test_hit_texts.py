"""The text of a hit comes from what was searched, and from nothing else on the machine."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from searchmark import (
    Answer,
    Case,
    Document,
    Hit,
    Judgment,
    ReportSettings,
    Run,
    RunLabel,
    SearchScope,
    Suite,
    UsageError,
    compare_runs,
)
from searchmark.running.hit_texts import LONGEST_TEXT, load_hit_texts


def suite_of(*documents: Document, **fields: str) -> Suite:
    return Suite.from_cases("s", [Case("c", "q", (Judgment("a"),), documents=documents, fields=fields)])


def run_of(*hits: str, label: str | RunLabel = "agent") -> Run:
    return Run.from_answers(label, [Answer("c", "ok", tuple(Hit(hit, rank) for rank, hit in enumerate(hits, 1)))])


def test_documents_that_a_case_brings_along_are_read() -> None:
    texts = load_hit_texts(suite_of(Document("a", "body", "title")), SearchScope(), [run_of("a", "b")], 10)
    assert texts(None, "c", "a") == "title\n\nbody"
    assert texts(None, "c", "b") is None


def test_a_corpus_in_a_file_is_read_and_cut(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "x" * 5000}, {"id": "b", "text": "never asked for"}]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    texts = load_hit_texts(suite_of(), SearchScope(corpus=str(tmp_path / "docs.jsonl")), [run_of("a")], 10)
    assert texts(None, "c", "a") == "x" * LONGEST_TEXT + "…"
    assert texts(None, "c", "b") is None


def test_a_folder_gives_its_files_and_none_outside(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.txt").write_text("inside")
    (folder / "binary").write_bytes(b"\0\1")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("secret")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "away").symlink_to(tmp_path)
    texts = load_hit_texts(suite_of(), SearchScope(corpus=str(folder)), [run_of("a")], 10)
    assert texts(None, "c", "sub/a.txt") == "inside"
    outside = ["../secret.txt", "sub/../../secret.txt", str(tmp_path / "secret.txt"), "link.txt", "away/secret.txt", ".git/config"]
    assert [texts(None, "c", hit) for hit in [*outside, "binary", "missing", "", "a\0b", "x" * 5000]] == [None] * 11


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    for text in ("before", "after"):
        (folder / "a.txt").write_text(text)
        for command in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", text]):
            subprocess.run(["git", "-C", str(folder), *command], check=True)  # the git of the machine
    return folder


def test_a_case_of_a_gold_set_is_read_at_its_parent_and_at_the_head(repository: Path) -> None:
    ask = ["git", "-C", str(repository), "rev-parse", "HEAD~1", "HEAD"]
    parent, commit = subprocess.run(ask, check=True, capture_output=True, text=True).stdout.split()
    suite = suite_of(parent_commit=parent, commit=commit)
    runs = [run_of("a.txt", label=RunLabel("agent", when)) for when in ("parent", "head")]
    where = SearchScope(repositories=(str(repository),), snapshots=("parent", "head"))
    texts = load_hit_texts(suite, where, runs, 10)
    assert [texts(when, "c", "a.txt") for when in ("parent", "head")] == ["before", "after"]
    assert texts("parent", "c", "b.txt") is None
    report = compare_runs(suite, runs, ["RR"], detail=ReportSettings(hit_texts=True), where=where)
    assert [agent.cases["c"].hits[0].text for agent in report.agents.values()] == ["before", "after"]


def test_what_is_not_known_cannot_be_read() -> None:
    with pytest.raises(UsageError, match="--hit-texts reads what was searched: there is nothing to search"):
        load_hit_texts(suite_of(), SearchScope(), [run_of("a")], 10)


def test_a_service_keeps_its_texts() -> None:
    with pytest.raises(UsageError, match="a service keeps that to itself"):
        load_hit_texts(suite_of(), SearchScope(service="remote"), [run_of("a")], 10)
