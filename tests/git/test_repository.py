"""Reading Git: any kind of repository, nobody's settings, and no error that looks like a short answer."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from searchmark import UsageError
from searchmark.errors import DamagedRepository
from searchmark.git.process import sealed_environment
from searchmark.git.repository import GITLINK, SYMLINK, ObjectReader, open_repository, path_bytes, path_text

IDENTITY = {
    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@x", "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@x", "GIT_COMMITTER_DATE": "1700000000 +0000",
}  # fmt: skip


def git(folder: Path, *arguments: str) -> str:
    environment = sealed_environment(**IDENTITY, GIT_ALLOW_PROTOCOL="file")
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], env=environment, capture_output=True, text=True, check=True
    ).stdout


def commit_file(folder: Path, name: str, content: str) -> str:
    (folder / name).write_text(content)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", f"write {name}")
    return git(folder, "rev-parse", "HEAD").strip()


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """Two commits: one.txt, then two.txt."""
    folder = tmp_path / "plain"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit_file(folder, "one.txt", "one\n")
    commit_file(folder, "two.txt", "two\n")
    return folder


def paths_of(folder: Path, revision: str = "HEAD") -> list[bytes]:
    with open_repository(folder) as repository:
        return [entry.path for entry in repository.tree(repository.commit(revision))]


class TestOpening:
    def test_a_work_tree_and_its_git_directory(self, plain: Path) -> None:
        assert paths_of(plain) == paths_of(plain / ".git") == [b"one.txt", b"two.txt"]

    def test_a_bare_repository(self, plain: Path, tmp_path: Path) -> None:
        git(tmp_path, "clone", "-q", "--bare", str(plain), "bare.git")
        assert paths_of(tmp_path / "bare.git") == [b"one.txt", b"two.txt"]

    def test_a_worktree_has_its_own_head(self, plain: Path, tmp_path: Path) -> None:
        git(plain, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"), "HEAD~1")
        assert paths_of(tmp_path / "tree") == [b"one.txt"]

    def test_a_repository_with_the_longer_hashes(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "-q", "--object-format=sha256", "new")
        commit = commit_file(tmp_path / "new", "a.txt", "a\n")
        with open_repository(tmp_path / "new") as repository:
            assert len(commit) == 64
            assert repository.commit() == commit
            (entry,) = repository.tree(commit)
            with repository.objects_reader() as reader:
                assert reader.read(entry.blob) == b"a\n"

    def test_a_shallow_clone_knows_where_it_ends(self, plain: Path, tmp_path: Path) -> None:
        git(tmp_path, "clone", "-q", "--depth=1", plain.as_uri(), "shallow")
        with open_repository(tmp_path / "shallow") as repository:
            assert repository.shallow == {repository.commit()}
            assert repository.run("rev-list", "--count", repository.commit()) == b"1\n"

    @pytest.mark.parametrize("name", ["plain/sub", "nowhere", "empty"])
    def test_anything_else_is_refused(self, plain: Path, tmp_path: Path, name: str) -> None:
        (plain / "sub").mkdir()
        (tmp_path / "empty").mkdir()
        with pytest.raises(UsageError, match="is not a Git repository"), open_repository(tmp_path / name):
            pass

    def test_without_git_the_sentence_says_so(self, plain: Path, monkeypatch) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(UsageError, match="git is not on the PATH"), open_repository(plain):
            pass


class TestRevisions:
    def test_a_repository_without_commits(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "-q", "new")
        with open_repository(tmp_path / "new") as repository, pytest.raises(UsageError, match="has no commits"):
            repository.commit()

    @pytest.mark.parametrize("revision", ["nonsense", "--all", "HEAD:one.txt", "HEAD~9", ""])
    def test_what_is_not_a_commit_is_refused(self, plain: Path, revision: str) -> None:
        with open_repository(plain) as repository, pytest.raises(UsageError, match="is not a"):
            repository.commit(revision)


class TestSeal:
    def test_the_environment_of_the_caller_does_not_matter(self, plain: Path, tmp_path: Path, monkeypatch) -> None:
        git(tmp_path, "init", "-q", "other")
        monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
        monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
        monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.repositoryformatversion")
        monkeypatch.setenv("GIT_CONFIG_VALUE_0", "99")
        assert paths_of(plain) == [b"one.txt", b"two.txt"]

    def test_the_config_of_the_repository_does_not_matter(self, plain: Path) -> None:
        git(plain, "config", "log.showSignature", "true")
        git(plain, "config", "diff.renames", "copies")
        git(plain, "mv", "one.txt", "moved.txt")
        git(plain, "commit", "-q", "-m", "move")
        with open_repository(plain) as repository:
            raw = repository.run("log", "-1", "--no-renames", "--name-status", "--format=", repository.commit())
        assert raw == b"A\tmoved.txt\nD\tone.txt\n"

    def test_replaced_objects_are_not_believed(self, plain: Path) -> None:
        tip = git(plain, "rev-parse", "HEAD").strip()
        git(plain, "replace", tip, git(plain, "commit-tree", "HEAD~1^{tree}", "-m", "false").strip())
        assert paths_of(plain) == [b"one.txt", b"two.txt"]

    def test_nothing_is_written_and_nothing_is_left(self, plain: Path) -> None:
        before = sorted((path, path.stat().st_mtime_ns) for path in plain.rglob("*"))
        with open_repository(plain) as repository:
            repository.run("log", "--raw", repository.commit())
            borrowed = repository.borrowing_dir
        assert sorted((path, path.stat().st_mtime_ns) for path in plain.rglob("*")) == before
        assert not borrowed.exists()


class TestStreams:
    def test_a_command_that_fails_is_an_error_with_its_reason(self, plain: Path) -> None:
        with open_repository(plain) as repository, pytest.raises(UsageError, match="git log failed: fatal: bad object 1111"):
            repository.run("log", "1" * 40)

    def test_a_history_that_breaks_off_is_an_error_and_not_a_short_history(self, plain: Path) -> None:
        first = git(plain, "rev-parse", "HEAD~1").strip()
        (plain / ".git" / "objects" / first[:2] / first[2:]).unlink()
        with open_repository(plain) as repository, pytest.raises(UsageError, match="git log failed"):
            repository.run("log", "--format=%H", repository.commit())

    def test_leaving_early_is_fine_and_ends_the_process(self, plain: Path) -> None:
        with open_repository(plain) as repository, repository.stream("cat-file", "--batch-all-objects", "--batch") as output:
            assert output.read(1)
        assert output.closed

    def test_an_exception_ends_the_process(self, plain: Path) -> None:
        with open_repository(plain) as repository:
            with pytest.raises(ZeroDivisionError), repository.stream("log", repository.commit()) as output:
                raise ZeroDivisionError
            assert output.closed

    def test_input_reaches_the_command(self, plain: Path) -> None:
        with open_repository(plain) as repository:
            assert repository.run("hash-object", "--stdin", input=b"one\n").strip() == b"5626abf0f72e58d7a153368ba57db4c673c0e171"


class TestObjects:
    @pytest.mark.parametrize("said", [b"ab blob 10\nshort", b"ab blob 3\nabc", b"ab bl", b""])
    def test_half_an_answer_is_no_answer(self, plain: Path, said: bytes) -> None:
        """A process that dies while it hands out an object must not leave a shorter one."""
        with pytest.raises(DamagedRepository, match="plain is damaged, or git was stopped: git cat-file ended early"):
            ObjectReader(str(plain), "sha1", io.BytesIO(), io.BytesIO(said)).read("ab")

    def test_links_and_odd_names_in_a_tree(self, plain: Path) -> None:
        names = [b"caf\xe9.py", b'quo"te.py', b"line\nbreak.py", b"tab\there.py"]
        for name in names:
            (plain / path_text(name)).write_text("x")
        (plain / "link").symlink_to("one.txt")
        git(plain, "add", "-A")
        git(plain, "update-index", "--add", "--cacheinfo", f"160000,{git(plain, 'rev-parse', 'HEAD').strip()},module")
        git(plain, "commit", "-q", "-m", "odd")
        with open_repository(plain) as repository:
            entries = {entry.path: entry for entry in repository.tree(repository.commit())}
        assert set(names) <= set(entries)
        assert entries[b"link"].mode == SYMLINK
        assert entries[b"module"].mode == GITLINK
        assert [name for name, entry in entries.items() if not entry.is_file] == [b"link", b"module"]

    def test_paths_survive_as_text(self) -> None:
        assert path_bytes(path_text(b"caf\xe9 \xc3\xa9")) == b"caf\xe9 \xc3\xa9"

    def test_more_objects_than_fit_into_a_pipe(self, plain: Path) -> None:
        contents = [f"{number}\n" * 20_000 for number in range(150)]
        for number, content in enumerate(contents):
            (plain / f"big{number:03}").write_text(content)
        git(plain, "add", "-A")
        git(plain, "commit", "-q", "-m", "big")
        with open_repository(plain) as repository, repository.objects_reader() as reader:
            blobs = [entry.blob for entry in repository.tree(repository.commit()) if entry.path.startswith(b"big")]
            assert [content.decode() for content in reader.read_all(blobs) if content] == contents

    def test_an_object_that_a_partial_clone_lacks_is_missing_and_not_fetched(self, plain: Path, tmp_path: Path) -> None:
        git(plain, "config", "uploadpack.allowFilter", "true")
        git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", plain.as_uri(), "partial")
        with open_repository(tmp_path / "partial") as repository, repository.objects_reader() as reader:
            blobs = [entry.blob for entry in repository.tree(repository.commit())]
            assert list(reader.read_all(blobs)) == [None, None]
            assert reader.read(repository.commit()) is not None
            assert reader.read("no such name") is None


def test_an_interrupt_leaves_no_process_behind(plain: Path) -> None:
    code = (
        "import sys, os, signal\n"
        "from searchmark.git.repository import open_repository\n"
        "with open_repository(sys.argv[1]) as repository:\n"
        "    with repository.objects_reader() as reader:\n"
        "        children = open(f'/proc/{os.getpid()}/task/{os.getpid()}/children').read().split()\n"
        "        print(*children, flush=True)\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
    )
    if not Path("/proc/self/task").exists():
        pytest.skip("needs /proc to list the children of a process")
    done = subprocess.run([sys.executable, "-c", code, str(plain)], capture_output=True, text=True, check=False)
    (child,) = done.stdout.split()
    assert done.returncode != 0
    assert not Path(f"/proc/{child}").exists()
