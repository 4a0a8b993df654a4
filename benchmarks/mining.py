"""Mining: a whole history against ``git log`` piped to nowhere, and against GitPython and PyDriller reading the same fields.

Repositories come from SEARCHMARK_BENCH_REPOS: ``name=path`` pairs or plain paths, separated by colons. Without it a synthetic
history of 50,000 commits is built with git fast-import. Every measurement of ours is a fresh process.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from memory import peak_megabytes

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data"
ROUNDS = 3
COMMITS = 50_000
PEER_COMMITS = 1_000  # what the peers read: they would need minutes for all
CASES = 500  # of the second pass


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


def work(task: str, path: str) -> dict[str, float]:
    """One task in this process."""
    from searchmark.config import DatasetConfig
    from searchmark.files.store import collector_paused
    from searchmark.history.repository import open_repository
    from searchmark.history.sources import RepositorySource
    from searchmark.mining.mine import mine
    from searchmark.mining.selection import select

    options = DatasetConfig(max_cases=CASES, sample="spread")
    with open_repository(path) as repository, collector_paused():
        started, busy = time.perf_counter(), time.process_time()
        selection = select(repository, options)
        result = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - busy}
        result |= {"commits": selection.read, "kept": len(selection.selected)}
    if task == "leakage":
        with TemporaryDirectory() as folder, collector_paused():
            started = time.perf_counter()
            result["cases"] = len(mine(RepositorySource(path, "bench"), options, Path(folder)).cases)
            result["seconds"] = time.perf_counter() - started - result["seconds"]
    return {**result, "peak": peak_megabytes()}


def whole(path: str) -> dict[str, float]:
    """Everything, every case, to a file: what memory it takes."""
    from searchmark.history.sources import RepositorySource
    from searchmark.mining.gold_sets import generate_gold_set

    started = time.perf_counter()
    (facts,) = generate_gold_set([RepositorySource(path, "bench")], DATA / "bench_gold_set.json")
    (DATA / "bench_gold_set.json").unlink()
    return {"seconds": time.perf_counter() - started, "cases": facts.cases, "peak": peak_megabytes()}


def measured(task: str, path: str, rounds: int = ROUNDS) -> dict[str, float]:
    runs = []
    for _ in range(rounds):
        done = subprocess.run([sys.executable, __file__, task, path], capture_output=True, text=True, check=True)
        runs.append(json.loads(done.stdout))
    return {**runs[0], "seconds": statistics.median(run["seconds"] for run in runs), "peak": max(run["peak"] for run in runs)}


def git_alone(path: str) -> tuple[float, float]:
    """The very command that mining reads from, piped to nowhere: seconds, and seconds of processor time."""
    from searchmark.history.log import Span, log_arguments, span_of
    from searchmark.history.repository import open_repository

    seconds, busy = [], []
    with open_repository(path) as repository:
        span = Span(span_of(repository, None)[0])
        for _ in range(ROUNDS):
            started, before = time.perf_counter(), os.times()
            command = repository.command(*log_arguments(span, "0123456789abcdef"))
            subprocess.run(command, env=repository.environment, stdout=subprocess.DEVNULL, check=True)
            seconds.append(time.perf_counter() - started)
            after = os.times()
            busy.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return statistics.median(seconds), statistics.median(busy)


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
    from searchmark.history.repository import open_repository

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
    print(f"mining: medians of {ROUNDS} processes")
    for name, path in repositories().items():
        (alone, git_cpu), mining = git_alone(path), measured("mine", path)
        print(f"{name}: {mining['commits']:,} commits, {mining['kept']:,} kept")
        print(f"  {'git log to nowhere':<34}{alone:>9.2f} s")
        print(
            f"  {'mining and filtering':<34}{mining['seconds']:>9.2f} s   {mining['seconds'] / alone:.2f}x git, peak {mining['peak']:.0f} MB"
        )
        print(
            f"  {'the same, processor time':<34}{mining['cpu']:>9.2f} s   of ours, beside {git_cpu:.2f} s of git: on two idle cores the larger one counts"
        )
        leakage = measured("leakage", path, 1)
        print(
            f"  {'later passes (leaks, lines)':<34}{leakage['seconds']:>9.2f} s   {leakage['cases']:.0f} cases, peak {leakage['peak']:.0f} MB"
        )
        everything = measured("whole", path, 1)
        print(
            f"  {'everything, to a file':<34}{everything['seconds']:>9.2f} s   {everything['cases']:,.0f} cases, peak {everything['peak']:.0f} MB"
        )
        compare_with_peers(path, 1000 * mining["seconds"] / mining["commits"])


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(whole(sys.argv[2]) if sys.argv[1] == "whole" else work(*sys.argv[1:])))
    else:
        main()
