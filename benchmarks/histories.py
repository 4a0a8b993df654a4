"""States of real repositories for benchmarks, read with git itself: SEARCHMARK_BENCH_REPOS="name=path name=path"."""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

from searchmark import Changes, Corpus, Document


@dataclass(frozen=True)
class History:
    """A series of states, oldest first: what was asked at each, and which blob was under which path."""

    name: str
    queries: list[str]
    trees: list[dict[str, str]]
    texts: dict[str, str]

    def corpus(self, number: int) -> Corpus:
        tree = self.texts_of(number)
        return Corpus.of(f"{self.name}-{number}", [Document(path, self.texts[blob]) for path, blob in tree.items()], tree)

    def texts_of(self, number: int) -> dict[str, str]:
        return {path: blob for path, blob in self.trees[number].items() if blob in self.texts}

    def changes(self, number: int) -> Changes:
        """The step to this state from the one before."""
        before, after = self.texts_of(number - 1), self.texts_of(number)
        written = tuple(path for path, blob in after.items() if before.get(path) != blob)
        return Changes(self.corpus(number), written, tuple(path for path in before if path not in after))


def git(path: Path, *arguments: str, data: bytes | None = None) -> bytes:
    return subprocess.run(["git", "-C", str(path), *arguments], input=data, capture_output=True, check=True).stdout


def read_history(name: str, path: Path, cases: int, *, recent: bool = False) -> History:
    """Parents of the last commits, or of commits spread over the whole history; the subject of each is the query."""
    commits = git(path, "log", "--first-parent", "--no-merges", "--min-parents=1", "--format=%P%x09%s", "HEAD").decode(
        "utf-8", "replace"
    )
    lines = [line.split("\t", 1) for line in reversed(commits.splitlines())]
    chosen = (lines if recent else lines[len(lines) // 10 :: max(1, len(lines) // cases)])[-cases:]
    trees = [read_tree(path, parent) for parent, _ in chosen]
    blobs = sorted({blob for tree in trees for blob in tree.values()})
    return History(name, [subject for _, subject in chosen], trees, read_texts(path, blobs))


def read_tree(path: Path, commit: str) -> dict[str, str]:
    tree = {}
    for entry in git(path, "ls-tree", "-r", "-z", commit).decode("utf-8", "surrogateescape").split("\0"):
        if entry.startswith("100"):
            facts, name = entry.split("\t", 1)
            tree[name] = facts.split(" ")[2]
    return tree


def read_texts(path: Path, blobs: list[str]) -> dict[str, str]:
    content = git(path, "cat-file", "--batch", data="\n".join(blobs).encode())
    texts, place = {}, 0
    for blob in blobs:
        end = content.index(b"\n", place)
        size = int(content[place:end].split()[2])
        data = content[end + 1 : end + 1 + size]
        place = end + size + 2
        if b"\0" not in data[:8000]:
            texts[blob] = data.decode("utf-8", "surrogateescape")
    return texts


def invented_history(files: int = 400, cases: int = 60, edits: int = 6) -> History:
    """Made-up code, and some functions rewritten at every step: for machines without a repository at hand."""
    chance = random.Random(1)
    words = [
        f"{a}_{b}" for a in ("load", "parse", "check", "merge", "index", "score") for b in ("file", "case", "run", "token", "tree")
    ]

    def function() -> str:
        body = "".join(f"    {chance.choice(words)} = {chance.choice(words)}({chance.randrange(999)})\n" for _ in range(12))
        return f"def {chance.choice(words)}_{chance.randrange(9999)}():\n{body}\n\n"

    state = {f"src/module_{number}.py": [function() for _ in range(12)] for number in range(files)}
    trees, texts = [], {}
    for _ in range(cases):
        for path in chance.sample(sorted(state), edits):
            state[path] = [*state[path]]
            state[path][chance.randrange(12)] = function()
        tree = {}
        for path, functions in state.items():
            text = "".join(functions)
            tree[path] = f"{hash(text):x}"
            texts[tree[path]] = text
        trees.append(tree)
    return History("invented", [chance.choice(words).replace("_", " ") for _ in trees], trees, texts)


def histories(cases: int) -> list[History]:
    """Those that the environment names; if none is there, an invented one, and a word about it."""
    named = [entry.split("=", 1) for entry in os.environ.get("SEARCHMARK_BENCH_REPOS", "").split() if "=" in entry]
    found = []
    for name, place in named:
        if Path(place).exists():
            found.append(read_history(f"{name}, last {cases} commits", Path(place), cases, recent=True))
            found.append(read_history(f"{name}, whole history", Path(place), cases))
        else:
            print(f"{name}: {place} does not exist and is left out")
    if not found:
        print("SEARCHMARK_BENCH_REPOS (name=path ...) names no repository that is there: an invented history is used")
        found.append(invented_history(cases=cases))
    return found
