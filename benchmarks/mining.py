"""Mining: the whole command against ``git log --raw`` in the same minutes, and against GitPython and PyDriller reading the same fields.

Repositories come from SEARCHMARK_BENCH_REPOS: ``name=path`` pairs or plain paths, separated by colons. Without it a synthetic
history of 50,000 commits is built with git fast-import. The bars are for django's whole history on two idle processors.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from searchmark import DatasetSettings
from searchmark.git.log import CommitRange, commit_range, log_arguments
from searchmark.git.mining.selection import select_commits
from searchmark.git.repository import Repository, open_repository
from searchmark.io.store import pause_garbage_collector

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data"
ROUNDS = 3
COMMITS = 50_000
PEER_COMMITS = 1_000  # what the peers read: they would need minutes for all
CASES = 1_000
EVERY_CASE, SOME_CASES = 13.0, 4.0  # times git log --raw


def repositories() -> dict[str, str]:
    given = os.environ.get("SEARCHMARK_BENCH_REPOS", "")
    pairs = [item.partition("=") for item in given.split(":") if item]
    named = {(name if path else Path(name).name): path or name for name, _, path in pairs}
    missing = [path for path in named.values() if not Path(path).is_dir()]
    for path in missing:
        print(f"left out: {path} is not a folder")
    if not given:
        print("SEARCHMARK_BENCH_REPOS names no real repository; a synthetic history is used")
    found = {name: path for name, path in named.items() if path not in missing}
    return found or {f"synthetic, {COMMITS:,} commits": str(synthetic())}


def synthetic() -> Path:
    """A long history, built once."""
    folder = DATA / "long.git"
    if not (folder / "done").exists():
        sys.path.insert(0, str(ROOT))
        from tests.support.histories import long_history

        DATA.mkdir(exist_ok=True)
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder)], check=True)
        process = subprocess.Popen(["git", f"--git-dir={folder}", "fast-import", "--quiet"], stdin=subprocess.PIPE)
        for part in long_history(COMMITS):
            process.stdin.write(part)
        process.stdin.close()
        assert process.wait() == 0
        (folder / "done").touch()
    return folder


class Measured(NamedTuple):
    """What one command took: seconds, seconds of processor time with all that it started, and megabytes of its largest process."""

    seconds: float
    cpu: float
    peak: float


def measured(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Measured:
    """Run a command as a user would, in a fresh process, with its output thrown away."""
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return Measured(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def git_log(repository: Repository) -> Measured:
    """The very ``git log --raw`` that mining reads from, thrown away."""
    span = CommitRange(commit_range(repository, None)[0])
    return measured(repository.command(*log_arguments(span, "0123456789abcdef")), repository.environment)


def generate(path: str, *options: str) -> Measured:
    with TemporaryDirectory() as folder:
        output = f"{folder}/gold_set.json"
        return measured([sys.executable, "-m", "searchmark", "generate", "--repo", f"bench={path}", "--output", output, *options])


def against_git(what: str, path: str, bar: float, *options: str) -> None:
    """The whole command beside ``git log``, which is measured before and after it: other work on the machine slows both."""
    rounds = []
    with open_repository(path) as repository:
        for _ in range(ROUNDS):
            before, ours, after = git_log(repository), generate(path, *options), git_log(repository)
            rounds.append((ours, (before.seconds + after.seconds) / 2, (before.cpu + after.cpu) / 2))
    ratio = statistics.median(ours.seconds / seconds for ours, seconds, _ in rounds)
    busy = statistics.median(ours.cpu / cpu for ours, _, cpu in rounds)
    seconds, git = (statistics.median(values) for values in zip(*((ours.seconds, git) for ours, git, _ in rounds), strict=True))
    peak = max(ours.peak for ours, _, _ in rounds)
    print(
        f"  {what:<34}{seconds:>9.2f} s   {ratio:.1f}x of git log --raw ({git:.2f} s), bar {bar:.0f}x; "
        f"{busy:.1f}x of its processor time; largest process {peak:.0f} MB, what git maps of its packs included"
    )


def reading(path: str) -> dict[str, float]:
    """The first pass alone, in this process: every commit is read, parsed and judged by the rules."""
    with open_repository(path) as repository, pause_garbage_collector():
        started = time.perf_counter()
        selection = select_commits(repository, DatasetSettings())
        return {"seconds": time.perf_counter() - started, "commits": selection.read, "kept": len(selection.selected)}


def gitpython(path: str) -> float:
    """Message, author, date and changed paths of the newest commits."""
    import git

    repository = git.Repo(path)
    started = time.perf_counter()
    for commit in repository.iter_commits("HEAD", max_count=PEER_COMMITS, no_merges=True):
        parent = commit.parents[0] if commit.parents else git.NULL_TREE
        [(diff.a_path, diff.b_path, diff.change_type) for diff in parent.diff(commit)]
        _ = commit.message, commit.author.name, commit.committed_date
    return time.perf_counter() - started


def pydriller(path: str) -> float:
    from itertools import islice

    from pydriller import Repository

    started = time.perf_counter()
    for commit in islice(Repository(path, order="reverse", only_no_merge=True).traverse_commits(), PEER_COMMITS):
        [(file.old_path, file.new_path, file.change_type) for file in commit.modified_files]
        _ = commit.msg, commit.author.name, commit.committer_date
    return time.perf_counter() - started


def compare_with_peers(path: str, ours: float) -> None:
    """Milliseconds per commit: ours over the whole history, filters included, theirs over its newest commits."""
    # Unlike us, the peers refuse a repository that belongs to somebody else, and mistake a bare one without a config.
    with open_repository(path) as repository:
        os.environ.update(GIT_DIR=str(repository.git_dir))
    os.environ.update(GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0="*")
    print(f"  {'one commit, ours':<34}{ours:>9.3f} ms")
    for name, peer in (("GitPython", gitpython), ("PyDriller", pydriller)):
        try:
            theirs = 1000 * peer(path) / PEER_COMMITS
        except ImportError:
            print(f"  {name:<34}not installed; 'make bench' installs it")
        except Exception as error:  # noqa: BLE001  # a peer that fails on a repository is a result as well
            print(f"  {name:<34}failed: {type(error).__name__}: {str(error)[:80]}")
        else:
            print(f"  {f'one commit, {name}':<34}{theirs:>9.3f} ms  {theirs / ours:.0f}x our time")


def main() -> None:
    print(f"mining: medians of {ROUNDS} rounds, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    for name, path in repositories().items():
        # In a process of its own: the peak of a child begins with what its parent had.
        first = json.loads(subprocess.run([sys.executable, __file__, path], capture_output=True, check=True).stdout)
        print(f"{name}: {first['commits']:,.0f} commits, {first['kept']:,.0f} kept")
        against_git("generate, every case", path, EVERY_CASE)
        against_git(f"generate --max-cases {CASES}", path, SOME_CASES, "--max-cases", str(CASES))
        compare_with_peers(path, 1000 * first["seconds"] / first["commits"])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(reading(sys.argv[1])))
    else:
        main()
