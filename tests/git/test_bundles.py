"""Bundles: all that leads to some commits in one file, unpacked once where it is sent, and only if its digest is right."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from searchmark import UsageError, mine_suite
from searchmark.errors import DamagedRepository
from searchmark.formats.corpora.snapshots import SnapshotReader
from searchmark.git.clones import make_bundle
from searchmark.git.repository import open_repository
from searchmark.running.distribution import Parcel
from tests.support.small_histories import FILE, git, random_trees, write_history

NOWHERE = "c0ffee" * 6 + "c0ff"


def tree_at(folder: Path, commit: str) -> dict[str, str]:
    with open_repository(folder) as repository, SnapshotReader(repository) as reader:
        repository.check_objects()
        return {document.id: document.text for document in reader.corpus(reader.at(commit))}


def parcel(file: Path, digest: str) -> Parcel:
    return Parcel("bundle", "shop", digest, file)


def unpacked(file: Path, digest: str) -> Path:
    return parcel(file, digest).unpack(file.read_bytes())


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_what_comes_out_is_what_went_in_and_no_later_commit(tmp_path: Path, kind: str) -> None:
    commits = write_history(tmp_path / "shop", random_trees(3, 6), f"--object-format={kind}")
    digest = make_bundle(tmp_path / "shop", [commits[3], commits[1]], tmp_path / "bundle")
    found = unpacked(tmp_path / "bundle", digest)
    assert [tree_at(found, each) for each in commits[:4]] == [tree_at(tmp_path / "shop", each) for each in commits[:4]]
    with open_repository(found) as repository:
        assert repository.missing(commits) == {*commits[4:]}


def test_mined_cases_can_be_read_from_it(tmp_path: Path) -> None:
    write_history(tmp_path / "shop", [{b"cart.py": (FILE, b"items = []\n"), b"login.py": (FILE, b"tries = 0\n")}])
    for number in range(3):
        (tmp_path / "shop" / "cart.py").write_text(f"items = [{number}]\n")
        git(tmp_path / "shop", "commit", "-qam", f"Remember what customer number {number} wanted to buy")
    parents = [str(case.fields["parent_commit"]) for case in mine_suite([str(tmp_path / "shop")]).cases]
    digest = make_bundle(tmp_path / "shop", parents, tmp_path / "bundle")
    found = unpacked(tmp_path / "bundle", digest)
    assert len(parents) == 3
    assert [tree_at(found, each) for each in parents] == [tree_at(tmp_path / "shop", each) for each in parents]


def test_a_commit_that_no_branch_leads_to_is_bundled_and_nothing_is_written_to_the_repository(tmp_path: Path) -> None:
    commits = write_history(tmp_path / "shop", random_trees(3, 3))
    git(tmp_path / "shop", "reset", "-q", "--hard", commits[0])
    before = names(tmp_path / "shop")
    digest = make_bundle(tmp_path / "shop", [commits[2]], tmp_path / "bundle")
    found = unpacked(tmp_path / "bundle", digest)
    assert tree_at(found, commits[2]) == tree_at(tmp_path / "shop", commits[2])
    assert names(tmp_path / "shop") == before


def test_the_same_commits_give_the_same_digest(tmp_path: Path) -> None:
    commits = write_history(tmp_path / "shop", random_trees(3, 3))
    first = make_bundle(tmp_path / "shop", commits, tmp_path / "one")
    assert first == make_bundle(tmp_path / "shop", reversed(commits), tmp_path / "two")


def test_it_is_unpacked_once_and_then_known_by_its_digest_alone(tmp_path: Path, own_cache: Path) -> None:
    commits = write_history(tmp_path / "shop", random_trees(3, 3))
    digest = make_bundle(tmp_path / "shop", commits, tmp_path / "bundle")
    sent = parcel(tmp_path / "bundle", digest)
    assert sent.found() is None
    assert sent.unpack((tmp_path / "bundle").read_bytes()) == own_cache / "bundles" / digest == sent.found()
    assert sent.unpack(b"") == sent.found()


def test_another_digest_is_refused_with_both_and_nothing_is_kept(tmp_path: Path, own_cache: Path) -> None:
    commits = write_history(tmp_path / "shop", random_trees(3, 3))
    digest = make_bundle(tmp_path / "shop", commits, tmp_path / "bundle")
    with pytest.raises(UsageError, match=f"has the SHA-256 digest {digest}, not {'0' * 64}; send it again"):
        unpacked(tmp_path / "bundle", "0" * 64)
    assert parcel(tmp_path / "bundle", "0" * 64).found() is None
    assert [path.suffix for path in (own_cache / "bundles").iterdir()] == [".lock"]


@pytest.mark.parametrize("content", [b"", b"not a bundle", f"# v2 git bundle\n{NOWHERE} refs/x\n\nPACK".encode()])
def test_what_is_no_whole_bundle_is_refused_in_a_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "bundle").write_bytes(content)
    with pytest.raises(UsageError, match="cannot be unpacked; make it again"):
        unpacked(tmp_path / "bundle", sha256(content).hexdigest())


def test_a_bundle_with_an_object_that_git_would_refuse_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "odd")
    content = b"100644 ..\0" + bytes.fromhex(git(tmp_path / "odd", "hash-object", "-w", "--stdin", data=b"x").decode())
    tree = git(tmp_path / "odd", "hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=content).decode().strip()
    commit = git(tmp_path / "odd", "commit-tree", "-m", "odd", tree).decode().strip()
    digest = make_bundle(tmp_path / "odd", [commit], tmp_path / "bundle")
    with pytest.raises(UsageError, match="hasDotdot"):
        unpacked(tmp_path / "bundle", digest)


@pytest.mark.parametrize("digest", ["", "../x", "A" * 64])
def test_a_digest_that_is_none_names_no_folder(digest: str) -> None:
    with pytest.raises(UsageError, match="is not a SHA-256 digest"):
        parcel(Path("bundle"), digest).found()


def test_a_commit_that_is_not_there_and_a_shallow_clone_are_refused(tmp_path: Path) -> None:
    commits = write_history(tmp_path / "shop", random_trees(3, 3))
    with pytest.raises(DamagedRepository, match=f"lacks the commit {NOWHERE}"):
        make_bundle(tmp_path / "shop", [commits[0], NOWHERE], tmp_path / "bundle")
    git(tmp_path, "clone", "-q", "--depth=1", (tmp_path / "shop").as_uri(), "short")
    with pytest.raises(UsageError, match="is a shallow clone, and cannot be sent elsewhere; fetch the rest with --fetch"):
        make_bundle(tmp_path / "short", commits[2:], tmp_path / "bundle")
    with pytest.raises(UsageError, match="there is no commit to bundle"):
        make_bundle(tmp_path / "shop", [], tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()
