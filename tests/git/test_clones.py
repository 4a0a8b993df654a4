"""Repositories by address: cloned once, at the commit that was named, and never with a secret in the address."""

from __future__ import annotations

import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from searchmark import UsageError
from searchmark.formats.corpora.snapshots import SnapshotReader
from searchmark.git import clones
from searchmark.git.clones import RepositoryAddress, RepositorySource, clone_source, is_cloned, parse_repository, repository_at
from searchmark.git.repository import open_repository
from tests.support.small_histories import FILE, git, write_history

COMMIT = "c0ffee" * 6 + "c0ff"


@pytest.fixture
def shop(tmp_path: Path) -> tuple[Path, list[str]]:
    """A repository of three commits and those commits."""
    trees = [{b"cart.py": (FILE, b"items = %d\n" % number)} for number in range(3)]
    return tmp_path / "shop", write_history(tmp_path / "shop", trees)


def text_at(folder: Path, revision: str) -> str:
    with open_repository(folder) as repository, SnapshotReader(repository) as reader:
        repository.check_objects()
        return next(iter(reader.corpus(reader.at(revision)))).text


class TestParsing:
    def test_an_address_has_a_commit_and_is_called_like_its_last_part(self) -> None:
        source = parse_repository(f"https://host/org/shop.git@{COMMIT}")
        assert source.address == RepositoryAddress("https://host/org/shop.git", COMMIT)
        assert (source.name, source.label, source.reference) == (None, "shop", f"https://host/org/shop.git@{COMMIT}")

    def test_a_name_comes_before_it(self) -> None:
        source = parse_repository(f"org/api=ssh://git@host:22/x=y/shop@{COMMIT}")
        assert (source.label, source.address) == ("org/api", RepositoryAddress("ssh://git@host:22/x=y/shop", COMMIT))
        assert parse_repository(f"https://host/a=b@{COMMIT}").label == "a=b"

    def test_a_source_is_small_plain_data(self) -> None:
        source = parse_repository(f"file:///srv/shop@{COMMIT.upper()}")
        assert pickle.loads(pickle.dumps(source)) == source  # noqa: S301  # our own bytes
        assert source.address is not None
        assert source.address.commit == COMMIT

    @pytest.mark.parametrize("last", ["", "..", "%2e%2e", "%00", ".git"])
    def test_a_part_that_is_no_name_of_a_folder_is_not_taken_for_one(self, last: str) -> None:
        assert RepositoryAddress(f"https://host/org/{last}", COMMIT).name in ("repository", "org")

    @pytest.mark.parametrize("commit", ["main", "v1.0", COMMIT[:12], f"{COMMIT}0", ""])
    def test_anything_but_a_full_commit_is_refused(self, commit: str) -> None:
        with pytest.raises(UsageError, match="is not a full commit, and a run must name what it searched; give all its 40 digits"):
            parse_repository(f"https://host/shop@{commit}")

    @pytest.mark.parametrize("text", ["https://host/shop", "ssh://git@host/shop"])
    def test_an_address_without_a_commit_is_refused(self, text: str) -> None:
        with pytest.raises(UsageError, match="names no commit, and a run must name what it searched; write URL@COMMIT"):
            parse_repository(text)

    @pytest.mark.parametrize("scheme", ["http", "git", "ftp", "ext"])
    def test_other_ways_than_https_ssh_and_file_are_refused(self, scheme: str) -> None:
        with pytest.raises(UsageError, match=f"is fetched by https, ssh or file, not {scheme}"):
            parse_repository(f"shop={scheme}://host/shop@{COMMIT}")

    @pytest.mark.parametrize("url", ["https:///shop", "file://host/shop", "https://[/shop", "https://host/", "https://host/a\nb"])
    def test_what_is_no_whole_address_is_refused(self, url: str) -> None:
        with pytest.raises(UsageError, match="is not the address of a repository; write URL@COMMIT"):
            parse_repository(f"{url}@{COMMIT}")

    @pytest.mark.parametrize("name", ["", "shop="])
    def test_the_short_form_of_ssh_is_refused_with_the_long_one(self, name: str) -> None:
        with pytest.raises(UsageError, match=f"write ssh://git@host/org/shop.git@{COMMIT}$"):
            parse_repository(f"{name}git@host:org/shop.git@{COMMIT}")

    @pytest.mark.parametrize(
        "url",
        ["https://ada:hunter2@host/shop", "https://hunter2@host/shop", "ssh://ada:hunter2@host/shop", "https://h/s?token=hunter2"],
    )
    @pytest.mark.parametrize("rest", [f"@{COMMIT}", "", "@main"])
    def test_an_address_with_credentials_is_refused_and_not_shown(self, url: str, rest: str) -> None:
        with pytest.raises(UsageError, match="holds a user, a password or a token") as caught:
            parse_repository(f"shop={url}{rest}")
        assert "hunter2" not in str(caught.value)


class TestClones:
    def test_its_head_is_the_commit_and_the_history_before_it_is_there(self, shop: tuple[Path, list[str]]) -> None:
        folder, commits = shop
        found = repository_at(folder.as_uri(), commits[1], network=True)
        assert found.name == "shop"
        assert [text_at(found, each) for each in ("HEAD", "HEAD~1", commits[2])] == ["items = 1\n", "items = 0\n", "items = 2\n"]

    def test_commits_of_one_repository_share_a_clone(self, shop: tuple[Path, list[str]], own_cache: Path) -> None:
        folder, commits = shop
        found = [repository_at(folder.as_uri(), commit, network=True) for commit in commits]
        assert [text_at(each, "HEAD") for each in found] == [f"items = {number}\n" for number in range(3)]
        assert len(list(own_cache.glob("clones/*/clone"))) == 1

    def test_a_second_use_needs_neither_network_nor_the_repository(self, shop: tuple[Path, list[str]]) -> None:
        folder, commits = shop
        first = repository_at(folder.as_uri(), commits[2], network=True)
        shutil.rmtree(folder)
        assert repository_at(folder.as_uri(), commits[2], network=False) == first
        assert text_at(repository_at(folder.as_uri(), commits[0], network=False), "HEAD") == "items = 0\n"

    def test_a_commit_that_the_clone_lacks_is_fetched(self, shop: tuple[Path, list[str]]) -> None:
        folder, commits = shop
        repository_at(folder.as_uri(), commits[2], network=True)
        (folder / "cart.py").write_text("items = 3\n")
        git(folder, "commit", "-qam", "More")
        newest = git(folder, "rev-parse", "HEAD").decode().strip()
        with pytest.raises(UsageError, match=f"has a clone here without the commit {newest}, and --offline and --no-exec"):
            repository_at(folder.as_uri(), newest, network=False)
        assert text_at(repository_at(folder.as_uri(), newest, network=True), "HEAD") == "items = 3\n"

    def test_a_commit_that_no_branch_leads_to_is_fetched_by_its_name(self, shop: tuple[Path, list[str]]) -> None:
        folder, commits = shop
        git(folder, "reset", "-q", "--hard", commits[0])
        assert text_at(repository_at(folder.as_uri(), commits[2], network=True), "HEAD") == "items = 2\n"

    def test_what_was_rewritten_since_stays(self, shop: tuple[Path, list[str]]) -> None:
        folder, commits = shop
        repository_at(folder.as_uri(), commits[2], network=True)
        git(folder, "commit", "-q", "--amend", "-m", "Another")
        newest = git(folder, "rev-parse", "HEAD").decode().strip()
        git(folder, "-c", "gc.reflogExpire=now", "-c", "gc.pruneExpire=now", "gc", "-q", "--prune=now")
        assert repository_at(folder.as_uri(), newest, network=True).parent.name == newest
        assert text_at(repository_at(folder.as_uri(), commits[2], network=True), "HEAD") == "items = 2\n"

    def test_a_commit_that_is_nowhere_is_said_with_both(self, shop: tuple[Path, list[str]]) -> None:
        with pytest.raises(UsageError, match=f"{shop[0].as_uri()} does not give the commit {COMMIT}; check both"):
            repository_at(shop[0].as_uri(), COMMIT, network=True)

    def test_without_network_and_without_a_clone_nothing_is_tried(self, shop: tuple[Path, list[str]], own_cache: Path) -> None:
        folder, commits = shop
        with pytest.raises(
            UsageError, match="has no clone here, and --offline and --no-exec allow no network; run it once without"
        ):
            repository_at(folder.as_uri(), commits[0], network=False)
        assert not own_cache.exists()
        assert not is_cloned(RepositoryAddress(folder.as_uri(), commits[0]))

    def test_a_repository_that_is_not_there_leaves_no_clone(self, tmp_path: Path, own_cache: Path) -> None:
        with pytest.raises(UsageError, match="cannot be cloned; check the address and that you may read it"):
            repository_at((tmp_path / "nothing").as_uri(), COMMIT, network=True)
        assert not [path for path in own_cache.glob("clones/*/*") if path.is_dir() or path.suffix != ".lock"]

    def test_many_at_once_make_one_clone(self, shop: tuple[Path, list[str]], own_cache: Path, monkeypatch) -> None:
        folder, commits = shop
        made: list[Path] = []
        clone = clones._clone
        monkeypatch.setattr(clones, "_clone", lambda at, address: (made.append(at), clone(at, address)))
        with ThreadPoolExecutor(4) as pool:
            found = set(pool.map(lambda _: repository_at(folder.as_uri(), commits[1], network=True), range(4)))
        assert (len(found), len(made)) == (1, 1)
        assert not list(own_cache.rglob("*.unfinished"))

    def test_a_clone_whose_head_was_changed_means_its_commit_again(self, shop: tuple[Path, list[str]]) -> None:
        folder, commits = shop
        found = repository_at(folder.as_uri(), commits[1], network=True)
        (found / "HEAD").write_text(f"{commits[2]}\n")
        assert text_at(repository_at(folder.as_uri(), commits[1], network=False), "HEAD") == "items = 1\n"

    def test_hooks_and_settings_of_the_user_run_nothing(self, shop: tuple[Path, list[str]], tmp_path: Path, monkeypatch) -> None:
        folder, commits = shop
        (tmp_path / "template" / "hooks").mkdir(parents=True)
        for name in ("post-checkout", "reference-transaction"):
            (tmp_path / "template" / "hooks" / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
            (tmp_path / "template" / "hooks" / name).chmod(0o755)
        monkeypatch.setenv("GIT_TEMPLATE_DIR", str(tmp_path / "template"))
        monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
        repository_at(folder.as_uri(), commits[1], network=True)
        assert not (tmp_path / "ran").exists()

    def test_a_repository_with_a_history_of_odd_dates_is_cloned(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "-q", "--bare", "odd")
        tree = git(tmp_path / "odd", "mktree", data=b"").decode().strip()
        odd = f"tree {tree}\nauthor A <a@x> 1313584730 +051800\ncommitter A <a@x> 1313584730 +051800\n\nodd\n".encode()
        commit = git(tmp_path / "odd", "hash-object", "-t", "commit", "-w", "--literally", "--stdin", data=odd).decode().strip()
        git(tmp_path / "odd", "update-ref", "refs/heads/main", commit)
        assert repository_at((tmp_path / "odd").as_uri(), commit, network=True).name == "odd"

    def test_a_source_is_resolved_here_and_keeps_what_it_is_called(self, shop: tuple[Path, list[str]]) -> None:
        folder, commits = shop
        source = parse_repository(f"api={folder.as_uri()}@{commits[1]}")
        here = clone_source(source, network=True)
        assert (here.label, here.reference, here.address) == ("api", source.reference, source.address)
        assert text_at(Path(here.path), "HEAD") == "items = 1\n"
        assert clone_source(here, network=False) == here
        assert clone_source(RepositorySource("x"), network=False) == RepositorySource("x")
