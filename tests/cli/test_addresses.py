"""Repositories and corpora by address, on the command line: the same numbers and the same provenance as of a folder or a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from searchmark import SearchScope
from searchmark.cli.main import main
from searchmark.formats.corpora.corpus import local_path
from tests.support.file_server import serving
from tests.support.small_histories import FILE, git, write_history

CORPUS = b'{"id": "cart.py", "text": "items to buy"}\n{"id": "login.py", "text": "tries to log in"}\n'
DIGEST = sha256(CORPUS).hexdigest()
HASTY = ("--num-runs", "1", "-m", "Success@1", "-q")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch) -> tuple[Path, list[str]]:
    """A repository with two commits that make a case each, and a third one, below the working directory; and its commits."""
    write_history(tmp_path / "shop", [{b"cart.py": (FILE, b"items = []\n"), b"login.py": (FILE, b"tries = 0\n")}])
    for number, name in enumerate(("cart.py", "login.py")):
        (tmp_path / "shop" / name).write_text(f"changed = {number}\n")
        git(tmp_path / "shop", "commit", "-qam", f"Remember what a customer wanted in {name}")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "shop", git(tmp_path / "shop", "rev-list", "--reverse", "HEAD").decode().split()


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    case = {"id": "q", "query": "items", "relevant": ["cart.py"]}
    (tmp_path / "suite.jsonl").write_text(json.dumps(case) + "\n")
    return tmp_path / "suite.jsonl"


@dataclass(frozen=True)
class SavedRun:
    """What a run file says of what was searched, and the ids of its answers."""

    suite: dict[str, str]
    corpora: dict[str, str] | None
    repositories: list[dict[str, Any]] | None
    answers: list[list[str]]


def evaluated(gold: str, *more: str) -> SavedRun:
    assert (
        main(["evaluate", "--gold-set", gold, "--agent", "bm25", *HASTY, "-o", "out.json", "--save-run", "run.jsonl", *more]) == 0
    )
    header, *answers = map(json.loads, Path("run.jsonl").read_text().splitlines())
    known = header["provenance"]
    return SavedRun(known["suite"], known.get("corpora"), known.get("repositories"), [answer["ids"] for answer in answers])


def test_mining_starts_at_the_commit_and_the_gold_set_names_the_address(shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    address = f"{folder.as_uri()}@{commits[1]}"
    assert main(["generate", "--repo", address, "-o", "gold.json"]) == 0
    gold = json.loads(Path("gold.json").read_text())
    assert [case["commit_hash"] for case in gold["test_cases"]] == [commits[1]]
    assert gold["test_cases"][0]["repository"] == "shop"
    assert (gold["metadata"]["repositories"]["shop"]["path"], gold["metadata"]["repositories"]["shop"]["commit"]) == (
        address,
        commits[1],
    )
    assert main(["generate", "--repo", address, "--explain", commits[1]]) == 0


def test_an_address_that_only_a_gold_set_names_is_not_fetched(shop: tuple[Path, list[str]], own_cache: Path, capsys) -> None:
    address = f"{shop[0].as_uri()}@{shop[1][2]}"
    assert main(["generate", "--repo", address, "-o", "gold.json"]) == 0
    rmtree(own_cache)
    assert main(["evaluate", "--gold-set", "gold.json", "--agent", "bm25"]) == 4
    sentence = f"the gold set names {address!r}, and nothing is fetched that only a file names; name it with --repo shop=PATH"
    assert sentence in capsys.readouterr().err
    assert not (own_cache / "clones").exists()


@pytest.mark.slow
def test_a_mined_case_gets_the_same_answers_and_provenance_from_an_address(shop: tuple[Path, list[str]], own_cache: Path) -> None:
    folder, commits = shop
    assert main(["generate", "--repo", "shop", "-o", "gold.json"]) == 0
    here = evaluated("gold.json", "--repo", "shop")
    there = evaluated("gold.json", "--repo", f"shop={folder.as_uri()}@{commits[2]}")
    assert (there.answers, there.suite) == (here.answers, here.suite)
    assert there.repositories == [{"name": "shop", "commit": commits[2]}]
    assert here.repositories == [{"name": "shop", "commit": commits[2], "dirty": False}]
    assert str(own_cache) not in Path("run.jsonl").read_text() + Path("out.json").read_text()
    evaluated("gold.json", "--repo", f"{folder.as_uri()}@{commits[2]}", "--offline", "--hit-texts")


@pytest.mark.slow
def test_what_is_no_mined_suite_is_searched_at_the_commit_that_was_named(shop: tuple[Path, list[str]], suite: Path) -> None:
    folder, commits = shop
    evaluated(suite.name, "--repo", f"{folder.as_uri()}@{commits[0]}")
    report = json.loads(Path("out.json").read_text())
    assert commits[0] in Path("run.jsonl").read_text()
    assert report["agents"]["bm25"]["counts"]["ok"] == 1
    assert (
        main(
            [
                "compare",
                "--gold-set",
                suite.name,
                "--agents",
                "bm25",
                "keyword",
                *HASTY,
                "--repo",
                f"{folder.as_uri()}@{commits[1]}",
            ]
        )
        == 0
    )


@pytest.mark.parametrize("more", [["--snapshot", "worktree"], ["--repo", "other=shop"]])
def test_an_address_has_no_work_tree(shop: tuple[Path, list[str]], suite: Path, more: list[str], capsys) -> None:
    folder, commits = shop
    address = f"{folder.as_uri()}@{commits[0]}"
    assert main(["evaluate", "--gold-set", suite.name, "--agent", "bm25", "--repo", address, *more]) == 4
    assert f"{address} has no work tree to search; name a state of it: --snapshot head" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--offline", "--no-exec"])
def test_without_network_a_new_address_is_refused_in_one_sentence(
    shop: tuple[Path, list[str]], suite: Path, option: str, capsys
) -> None:
    folder, commits = shop
    address = f"{folder.as_uri()}@{commits[0]}"
    assert main(["evaluate", "--gold-set", suite.name, "--agent", "bm25", "--repo", address, option]) == 4
    assert f"{folder.as_uri()} has no clone here, and --offline and --no-exec allow no network" in capsys.readouterr().err
    assert main(["generate", "--repo", address, "-o", "gold.json", "--offline"]) == 4
    assert "has no clone here" in capsys.readouterr().err


def test_the_first_clone_is_said_and_a_secret_in_an_address_never_is(shop: tuple[Path, list[str]], capsys) -> None:
    folder, commits = shop
    for said in (True, False):
        assert main(["generate", "--repo", f"{folder.as_uri()}@{commits[1]}", "-o", "gold.json"]) == 0
        assert (f"fetching: {folder.as_uri()}@{commits[1]}" in capsys.readouterr().err) is said
    assert main(["generate", "--repo", f"https://ada:hunter2@host/shop@{commits[1]}", "-o", "gold.json"]) == 4
    assert "hunter2" not in capsys.readouterr().err


@pytest.mark.slow
def test_a_config_that_is_named_may_name_addresses(shop: tuple[Path, list[str]], suite: Path) -> None:
    folder, commits = shop
    Path("conf.json").write_text(json.dumps({"dataset": {"repository_path": f"{folder.as_uri()}@{commits[0]}"}}))
    evaluated(suite.name, "--config", "conf.json")
    assert commits[0] in Path("run.jsonl").read_text()
    assert main(["generate", "--config", "conf.json", "-o", "gold.json"]) == 5  # nothing came before its first commit
    with serving({"/corpus.jsonl": CORPUS}) as server:
        Path("conf.json").write_text(json.dumps({"corpus": {"path": f"{server.address}/corpus.jsonl#sha256={DIGEST}"}}))
        evaluated(suite.name, "--config", "conf.json")
        assert len(server.asked) == 1


@pytest.mark.slow
def test_a_corpus_by_address_has_the_provenance_of_a_file(suite: Path, own_cache: Path, monkeypatch) -> None:
    monkeypatch.chdir(suite.parent)
    Path("corpus.jsonl").write_bytes(CORPUS)
    with serving({"/corpus.jsonl": CORPUS}) as server:
        there = evaluated(suite.name, "--corpus", f"{server.address}/corpus.jsonl#sha256={DIGEST}")
        main(["audit", suite.name, "--corpus", f"{server.address}/corpus.jsonl#sha256={DIGEST}"])
        assert len(server.asked) == 1
    assert str(own_cache) not in Path("run.jsonl").read_text() + Path("out.json").read_text()
    here = evaluated(suite.name, "--corpus", "corpus.jsonl")
    assert there == here
    assert list(there.corpora or ()) == ["corpus.jsonl"]
    evaluated(suite.name, "--corpus", f"{server.address}/corpus.jsonl#sha256={DIGEST}", "--offline")


@pytest.mark.slow
def test_a_corpus_stays_an_address_so_that_other_machines_can_fetch_it(suite: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(suite.parent)
    with serving({"/corpus.jsonl": CORPUS}) as server:
        address = f"{server.address}/corpus.jsonl#sha256={DIGEST}"
        assert main(["evaluate", "--gold-set", suite.name, "--agent", "bm25", "--corpus", address, "--num-runs", "1", "-v"]) == 0
    assert f"searched: {address}" in capsys.readouterr().err
    where = SearchScope(corpus=address)
    assert where.addresses() == {local_path(address, network=False): address}


def test_a_corpus_that_was_not_downloaded_is_refused_without_network(suite: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(suite.parent)
    with serving({"/corpus.jsonl": CORPUS}) as server:
        address = f"{server.address}/corpus.jsonl#sha256={DIGEST}"
        command = ["evaluate", "--gold-set", suite.name, "--agent", "bm25", "--corpus", address, "--offline"]
        assert main([*command, "--by", "target.kind"]) == 4
        assert "was not downloaded here before, and --offline and --no-exec allow no network" in capsys.readouterr().err
        assert not server.asked
