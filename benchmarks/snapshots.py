"""Time travel: what a step along history costs, in memory and on disk, against exporting every commit afresh.

Repositories come from SEARCHMARK_BENCH_REPOS (name=path, several separated by colons); without it, this project's own is
taken. Parents of random commits are visited. The peers are what people do instead: a checkout by git into an empty
folder, and `git archive | tar`, which is wrong (it leaves out what .gitattributes says) and stands here for its speed.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from memory import peak_megabytes
from searchmark.formats.corpora.snapshots import HistoryWalk, open_history_walk
from searchmark.git.process import sealed_environment
from searchmark.git.repository import Repository, open_repository, order_along_history

STEPS, FRESH = 1000, 5


def repositories() -> dict[str, Path]:
    named = os.environ.get("SEARCHMARK_BENCH_REPOS", "")
    if not named:
        print("SEARCHMARK_BENCH_REPOS names no repositories (name=path:name=path); taking this project's own")
        return {"searchmark": Path(__file__).parent.parent}
    return {name: Path(path) for name, _, path in (item.partition("=") for item in named.split(":"))}


def random_parents(repository: Repository) -> list[str]:
    """Parents of random commits that have one, in random order."""
    lines = repository.run("rev-list", "--no-merges", "--min-parents=1", "--parents", repository.commit()).decode().splitlines()
    parents = sorted({line.split()[1] for line in lines})
    return random.Random(0).sample(parents, min(STEPS, len(parents)))


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)


def in_memory(journey: HistoryWalk, commit: str) -> None:
    """The step, and the contents that are new: what an index in memory has to do."""
    changes = journey.move_to(commit)
    for _ in changes.corpus.read(changes.written):
        pass


def on_disk(journey: HistoryWalk, commit: str) -> None:
    assert journey.move_to(commit).corpus.folder is not None


def steps(path: Path, commits: Sequence[str], step: Callable[[HistoryWalk, str], None]) -> list[float]:
    """Milliseconds for every commit but the first."""
    with open_history_walk(path) as journey:
        step(journey, commits[0])
        return [timed(lambda: step(journey, commit)) for commit in commits[1:]]  # noqa: B023  # called at once


def checkout(repository: Repository, commit: str) -> float:
    """A fresh folder by git itself: read-tree into a private index, and checkout-index."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as index:
        environment = repository.environment | {"GIT_INDEX_FILE": f"{index}/index", "GIT_WORK_TREE": folder}
        command = ["git", f"--git-dir={repository.borrowed}", "-c", "core.bare=false"]

        def work() -> None:
            subprocess.run([*command, "read-tree", commit], env=environment, cwd=folder, check=True)
            subprocess.run([*command, "checkout-index", "--all"], env=environment, cwd=folder, check=True)

        return timed(work)


def archive(repository: Repository, commit: str) -> float:
    with tempfile.TemporaryDirectory() as folder:

        def work() -> None:
            packer = subprocess.Popen(
                repository.command("archive", commit), env=repository.environment, stdout=subprocess.PIPE, cwd=folder
            )
            subprocess.run(["tar", "x"], stdin=packer.stdout, cwd=folder, check=True, env=sealed_environment())
            assert packer.wait() == 0

        return timed(work)


def distance(path: Path, commits: Sequence[str]) -> float:
    """Files that differ between neighbours, on average."""
    with open_history_walk(path) as walk:
        walk.move_to(commits[0])
        return statistics.mean(len(step.written) + len(step.removed) for step in map(walk.move_to, commits[1:]))


def topological(repository: Repository, commits: Sequence[str]) -> list[str]:
    place = {commit: n for n, commit in enumerate(repository.run("rev-list", "--topo-order", repository.commit()).decode().split())}
    return sorted(commits, key=lambda commit: -place[commit])


def report(name: str, path: Path) -> None:
    with open_repository(path) as repository:
        drawn = random_parents(repository)
        commits = order_along_history(repository, drawn)
        few = random.Random(1).sample(commits, min(FRESH, len(commits)))
        files = sum(1 for _ in repository.tree(commits[-1]))
        orders = {"by date": commits, "by ancestry": topological(repository, commits), "at random": drawn}
        walked = ", ".join(f"{order} {distance(path, sequence):.1f}" for order, sequence in orders.items())
        print(f"\n{name}: {len(commits)} parents, {files:,} files; files that differ from step to step: {walked}")
        measured = {
            "step in memory, new contents read": steps(path, commits, in_memory),
            "step on disk": steps(path, commits, on_disk),
            "fresh, checkout-index": [checkout(repository, commit) for commit in few],
            "fresh, archive | tar": [archive(repository, commit) for commit in few],
        }
    disk = statistics.mean(measured["step on disk"])
    for what, times in measured.items():
        ratio = f"{statistics.mean(times) / disk:>8.1f}x a step on disk"
        print(f"  {what:<36}{statistics.mean(times):>10.1f} ms{statistics.median(times):>10.1f} median {ratio}")


def main() -> None:
    print(f"snapshots: folders are made in {tempfile.gettempdir()}")
    for name, path in repositories().items():
        if path.is_dir():
            report(name, path)
        else:
            print(f"\n{name}: left out, {path} is not there")
    print(f"\npeak memory of this process: {peak_megabytes():.0f} MB")


if __name__ == "__main__":
    main()
