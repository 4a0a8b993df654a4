"""Hostile Git repositories: whatever they hold, no command of theirs runs, nothing is written outside, and no number is wrong."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from searchmark.git.process import sealed_environment
from tests.formats.test_snapshots import hand_made_tree
from tests.support.forgery import flip, forge_graph, overwrite
from tests.support.histories import NOUNS, PERSON, START, VERBS
from tests.support.small_histories import FILE, git, write_history

pytestmark = pytest.mark.hostile

DOCUMENTED = {0, 2, 4, 5}
SECONDS = 60
COMMAND_SETTINGS = (
    "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy", "diff.external",
    "diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "gpg.program",
    "credential.helper", "alias.log", "alias.cat-file", "alias.rev-parse", "uploadpack.packObjectsHook",
    "merge.evil.driver", "core.alternateRefsCommand", "sequence.editor", "remote.origin.vcs",
)  # fmt: skip


@dataclass(frozen=True)
class Arena:
    """A sound repository, what it gives, and a folder in which copies of it are made worse."""

    folder: Path
    sound: Path
    cases: list[dict[str, Any]]
    scores: Mapping[str, Any]

    def copy(self, name: str) -> Path:
        return Path(shutil.copytree(self.sound, self.folder / name, symlinks=True))

    def searchmark(self, *arguments: str | Path, cache: str = "cache", **environment: str) -> subprocess.CompletedProcess[str]:
        """The command in a process of its own, with folders of its own; its exit code is a documented one."""
        own = {"HOME": "home", "TMPDIR": "tmp", "SEARCHMARK_CACHE": cache}
        for name in own.values():
            (self.folder / name).mkdir(exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-m", "searchmark", *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, **{key: str(self.folder / name) for key, name in own.items()}, **environment},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode in DOCUMENTED, done.stderr
        assert "Traceback" not in done.stderr
        return done

    def generated(self, repository: Path, **environment: str) -> tuple[int, str, list[dict[str, Any]] | None]:
        gold = self.folder / f"{repository.name}.json"
        gold.unlink(missing_ok=True)
        done = self.searchmark("generate", "--repo", f"shop={repository}", "-o", gold, **environment)
        return done.returncode, done.stderr, json.loads(gold.read_text())["test_cases"] if gold.exists() else None

    def evaluated(self, repository: Path, agent: str, **environment: str) -> tuple[int, str, dict[str, Any] | None]:
        """The command, and the scores and statuses in its report."""
        report = self.folder / f"{repository.name}.{agent}.report.json"
        report.unlink(missing_ok=True)
        command = ["evaluate", "--gold-set", "gold.json", "--repo", f"shop={repository}", "--agent", agent, "--num-runs", "1"]
        done = self.searchmark(*command, "--journal", f"journal-{repository.name}", "-m", "nDCG@10", "-o", report, **environment)
        return done.returncode, done.stdout + done.stderr, scores_in(report)


def scores_in(report: Path) -> dict[str, Any] | None:
    if not report.exists():
        return None
    (agent,) = json.loads(report.read_text())["agents"].values()
    return {case: (data["status"], data["measures"]["nDCG@10"]) for case, data in agent["cases"].items()}


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    folder = tmp_path_factory.mktemp("arena")
    sound = folder / "sound"
    git(folder, "init", "-q", "--bare", "-b", "main", str(sound))
    git(sound, "fast-import", "--quiet", data=b"".join(wordy_history(40)))
    git(sound, "repack", "-q", "-a", "-d", "-f", "--depth=20")
    empty = Arena(folder, sound, [], {})
    code, said, cases = empty.generated(sound)
    assert (code, bool(cases)) == (0, True), said
    (folder / "sound.json").rename(folder / "gold.json")
    found = {agent: empty.evaluated(sound, agent) for agent in ("bm25", "keyword")}
    assert {code for code, _, _ in found.values()} == {0}
    return Arena(folder, sound, cases or [], {agent: scores for agent, (_, _, scores) in found.items()})


def wordy_history(commits: int) -> Iterator[bytes]:
    """Every commit is about words that the file holds which it changes, and so does not find it by chance alone."""
    chance = random.Random(5)
    files = {f"src/{noun}.py": [f"{chance.choice(VERBS)} = {chance.choice(NOUNS)}" for _ in range(40)] for noun in NOUNS}
    for number in range(commits):
        noun, verb = chance.choice(NOUNS), chance.choice(VERBS)
        message = f"{verb} each {noun} before the {chance.choice(NOUNS)} number {number} arrives"
        files[f"src/{noun}.py"][chance.randrange(40)] = f"{verb} = {number}"
        changed = files if number == 0 else {f"src/{noun}.py": files[f"src/{noun}.py"]}
        yield f"commit refs/heads/main\ncommitter {PERSON} {START + 60 * number} +0000\ndata {len(message)}\n{message}\n".encode()
        for path, lines in changed.items():
            content = "\n".join(lines) + "\n"
            yield f"M 100644 inline {path}\ndata {len(content)}\n{content}\n".encode()


def packs(repository: Path, ending: str) -> Path:
    (file,) = (repository / "objects/pack").glob(f"*.{ending}")
    return file


@pytest.mark.parametrize("seed", range(14))
def test_random_damage_never_gives_another_gold_set(arena: Arena, seed: int) -> None:
    chance = random.Random(seed)
    repository = arena.copy(f"damaged{seed}")
    file = packs(repository, chance.choice(["pack", "idx"]))
    content = bytearray(file.read_bytes())
    start = chance.randrange(len(content) - 16)
    match chance.choice(["flip", "zero", "cut", "noise"]):
        case "flip":
            content[start] ^= 1 << chance.randrange(8)
        case "zero":
            content[start : start + 16] = bytes(16)
        case "cut":
            del content[start:]
        case "noise":
            content[start : start + 16] = chance.randbytes(16)
    overwrite(file, content)
    code, said, cases = arena.generated(repository)
    assert (code, cases) in [(4, None), (0, arena.cases)]
    assert code == 0 or "is damaged" in said


@pytest.mark.parametrize("seed", range(5))
def test_a_damaged_blob_is_an_error_of_the_cases_that_need_it(arena: Arena, seed: int) -> None:
    repository = arena.copy(f"blob{seed}")
    listed = git(repository, "verify-pack", "-v", str(packs(repository, "idx"))).split(b"\n")
    blobs = sorted(int(line.split()[4]) for line in listed if b" blob " in line)
    flip(packs(repository, "pack"), random.Random(seed).choice(blobs) + 6)
    code, said, scores = arena.evaluated(repository, "bm25", cache=f"cache{seed}")
    sound = arena.scores["bm25"]
    lost = {case for case, (status, _) in (scores or {}).items() if status == "error"}
    assert scores is not None
    assert {case: found for case, found in scores.items() if case not in lost} == {
        case: found for case, found in sound.items() if case not in lost
    }
    assert (code, "is damaged" in said) == ((2, True) if lost else (0, False))


@pytest.mark.parametrize("agent", ["bm25", "keyword"])
def test_a_partial_clone_gets_errors_and_no_lower_scores(arena: Arena, agent: str) -> None:
    git(arena.sound, "config", "uploadpack.allowFilter", "true")
    repository = arena.folder / f"partial-{agent}"
    environment = sealed_environment(GIT_ALLOW_PROTOCOL="file", GIT_NO_LAZY_FETCH="0")
    clone = ["git", "clone", "-q", "--filter=blob:none", "--no-checkout", arena.sound.as_uri(), str(repository)]
    subprocess.run(clone, env=environment, check=True)
    earliest = min(arena.cases, key=lambda case: str(case["timestamp"]))["parent_commit"]
    subprocess.run(["git", "-C", str(repository), "checkout", "-q", earliest], env=environment, check=True)
    code, said, scores = arena.evaluated(repository, agent)
    assert code == 2
    assert "it is a partial clone: fetch the contents first" in " ".join(said.split())
    assert scores is not None
    assert {found for case, found in scores.items() if found != arena.scores[agent][case]} == {("error", 0.0)}


def test_commands_in_the_config_are_not_run(arena: Arena) -> None:
    repository, owned = arena.copy("config"), arena.folder / "owned"
    script = arena.folder / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {owned}\n")
    script.chmod(0o755)
    for setting in COMMAND_SETTINGS:
        git(repository, "config", setting, str(script))
    (repository / "info").mkdir(exist_ok=True)
    (repository / "info/attributes").write_text("* filter=evil diff=evil merge=evil\n")
    (repository / "hooks").mkdir(exist_ok=True)
    shutil.copy(script, repository / "hooks" / "post-index-change")
    assert arena.generated(repository)[::2] == (0, arena.cases)
    assert arena.evaluated(repository, "keyword")[::2] == (0, arena.scores["keyword"])
    assert arena.evaluated(repository, "popular")[0] == 0
    assert not owned.exists()


@pytest.mark.parametrize("url", ["ext::sh -c touch% OWNED", "file:///SOUND", "evil::x"])
def test_a_promisor_is_not_asked_for_what_is_missing(arena: Arena, url: str) -> None:
    owned = arena.folder / "owned"
    repository = arena.copy(f"promisor{abs(hash(url))}")
    for key, value in (
        ("core.repositoryformatversion", "1"), ("extensions.partialClone", "origin"), ("remote.origin.promisor", "true"),
        ("remote.origin.url", url.replace("OWNED", str(owned)).replace("/SOUND", str(arena.sound))),
    ):  # fmt: skip
        git(repository, "config", key, value)
    git(repository, "unpack-objects", "-q", data=take(packs(repository, "pack"), packs(repository, "idx")))
    blob = (
        git(repository, "rev-parse", f"{arena.cases[-1]['parent_commit']}:{arena.cases[-1]['ground_truth_files'][0]}")
        .decode()
        .strip()
    )
    (repository / "objects" / blob[:2] / blob[2:]).unlink()
    code, said, _ = arena.evaluated(repository, "bm25")
    assert (code, "lacks" in said) == (2, True)
    assert arena.generated(repository)[0] in (0, 4)
    assert not owned.exists()
    assert not (repository / "objects" / blob[:2] / blob[2:]).exists()


def take(*files: Path) -> bytes:
    """The content of the first of some files, all of which are gone afterwards."""
    content = files[0].read_bytes()
    for file in files:
        file.unlink()
    return content


def test_replacements_grafts_and_forged_graphs_change_nothing(arena: Arena) -> None:
    repository = arena.copy("forged")
    git(repository, "commit-graph", "write", "--reachable")
    forge_graph(repository / "objects/info/commit-graph")
    tip, older = git(repository, "rev-parse", "main", "main~20").decode().split()
    git(repository, "replace", tip, older)
    (repository / "info").mkdir(exist_ok=True)
    (repository / "info/grafts").write_text(f"{tip} {older}\n")
    assert arena.generated(repository)[::2] == (0, arena.cases)
    assert arena.evaluated(repository, "bm25")[::2] == (0, arena.scores["bm25"])


def test_hostile_names_modes_and_links_stay_inside(arena: Arena) -> None:
    repository = arena.folder / "names"
    write_history(repository, [{b"good.py": (FILE, b"greet = 1\n")}])
    blob, newer = (
        git(repository, "hash-object", "-w", "--stdin", data=text).decode().strip() for text in (b"greet = 1\n", b"greet = 2\n")
    )
    link = git(repository, "hash-object", "-w", "--stdin", data=b"/etc/passwd").decode().strip()
    commits = [git(repository, "commit-tree", "-m", "start", nested(repository, blob, link)).decode().strip()]
    message = "Greet every visitor of the session by name"
    tree = nested(repository, newer, link)
    commits.append(git(repository, "commit-tree", "-p", commits[0], "-m", message, tree).decode().strip())
    git(repository, "update-ref", "refs/heads/main", commits[-1])
    code, said, cases = arena.generated(repository)
    assert (code, cases) == (5, None)
    assert "odd_path 1" in said
    case = {
        "id": "c",
        "query": "greet visitor",
        "ground_truth_files": ["good.py"],
        "parent_commit": commits[0],
        "repository": "names",
    }
    (arena.folder / "names-gold.json").write_text(json.dumps({"test_cases": [case]}))
    command = [
        "evaluate",
        "--gold-set",
        "names-gold.json",
        "--repo",
        f"names={repository}",
        "--agent",
        "keyword",
        "--num-runs",
        "1",
    ]
    assert arena.searchmark(*command, "-m", "RR", "-o", "names-report.json").returncode == 0
    (report,) = json.loads((arena.folder / "names-report.json").read_text())["agents"].values()
    assert [hit["id"] for hit in report["cases"]["c"]["hits"]] == ["good.py", "odd_mode.py"]
    assert not list(arena.folder.rglob("escaped*"))


def nested(repository: Path, blob: str, link: str) -> str:
    """A tree whose names lead elsewhere, in a folder and at its top."""
    names = [b"..", b".git", b".GIT", b"git~1", b".git ", b".g\xe2\x80\x8cit", b"."]
    inner = hand_made_tree(repository, [("100644", b"escaped.py", blob)])
    folders = [("40000", name, inner) for name in names]
    files = [("100644", b"../escaped2.py", blob), ("100644", b"/tmp/escaped3.py", blob), ("100644", b"good.py", blob)]
    return hand_made_tree(repository, [*folders, *files, ("120000", b"link.py", link), ("100777", b"odd_mode.py", blob)])


@pytest.mark.parametrize("name", ["HEAD", "shallow", "packed-refs", "objects/info/alternates", "included"])
def test_a_pipe_is_refused_and_not_waited_for(arena: Arena, name: str) -> None:
    repository = arena.copy(f"pipe-{name.replace('/', '-')}")
    if name == "included":
        git(repository, "config", "include.path", "included")
    (repository / name).unlink(missing_ok=True)
    (repository / name).parent.mkdir(exist_ok=True)
    os.mkfifo(repository / name)
    code, said, cases = arena.generated(repository)
    assert (code, cases) == (4, None)
    assert f"{name} is not a regular file" in said


def test_a_pipe_that_a_config_includes_from_elsewhere_ends_at_the_deadline(arena: Arena) -> None:
    repository = arena.copy("pipe-elsewhere")
    git(repository, "config", "include.path", str(arena.folder / "pipe"))
    os.mkfifo(arena.folder / "pipe")
    code, said, _ = arena.generated(repository, SEARCHMARK_GIT_SECONDS="1")
    assert (code, "git rev-parse said nothing for 1 s" in said) == (4, True)


def test_terminal_codes_in_the_name_of_a_repository_are_shown_as_text(arena: Arena) -> None:
    done = arena.searchmark("generate", "--repo", f"a\x1b]0;pwn\x07b={arena.sound}", "-o", "named.json")
    assert done.returncode == 0
    assert "\x1b" not in done.stderr + done.stdout
    assert r"a\x1b]0;pwn\x07b: " in done.stderr


def test_a_subject_of_ids_costs_no_time(arena: Arena) -> None:
    message = b"Return a number from the login function: " + b"#1 " * 3000
    commits = b"".join(
        b"commit refs/heads/main\ncommitter A <a@x> %d +0000\ndata %d\n%b\nM 100644 inline a.py\ndata 2\n%d\n\n"
        % (1_700_000_000 + number, len(message) + 2, message + b"%02d" % number, number % 10)
        for number in range(60)
    )
    git(arena.folder, "init", "-q", "--bare", "-b", "main", "ids")
    git(arena.folder / "ids", "fast-import", "--quiet", data=commits)
    assert arena.generated(arena.folder / "ids")[0] in (0, 5)  # each of them took seven seconds once


def test_nothing_is_left_behind_and_nothing_has_changed(arena: Arena) -> None:
    assert not [path for path in (arena.folder / "tmp").rglob("*") if path.is_file() and path.name != "lock"]
    assert arena.generated(arena.sound)[::2] == (0, arena.cases)
