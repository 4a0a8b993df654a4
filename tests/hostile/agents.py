"""Agents that attack the runner, one way each. Each is loaded by a worker as code of somebody else: nothing of ours is imported
before it is attacked.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import json
import os
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HITS = ["f0.txt", "f1.txt", "f2.txt"]
HUGE = 10**400


class Honest:
    """What every attacker would be, if it did not attack."""

    def initialize(self, corpus: Any) -> None: ...

    def retrieve(self, query: str, k: int) -> Any:
        return HITS


def for_ever() -> None:
    while True:
        time.sleep(3600)


def fork(work: Any) -> int:
    pid = os.fork()
    if not pid:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def answer_pipes() -> list[int]:
    """The pipes into which this process writes, apart from its output."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        try:
            mode, flags = os.fstat(descriptor).st_mode, fcntl.fcntl(descriptor, fcntl.F_GETFL)
        except OSError:
            continue
        if descriptor > 2 and stat.S_ISFIFO(mode) and flags & os.O_ACCMODE == os.O_WRONLY:
            found.append(descriptor)
    return found


def say(text: str | bytes, *, mark: bytes = b"\x00SMK", length: int | None = None) -> None:
    """Write a frame of one's own into the pipe."""
    body = text.encode() if isinstance(text, str) else text
    for pipe in answer_pipes():
        os.write(pipe, struct.pack(">4sI", mark, len(body) if length is None else length) + body)


def last_id() -> Any:
    """The id of the request that is being answered, from the memory of the worker."""
    for each in gc.get_objects():
        if type(each) is dict and "op" in each and "id" in each:
            return each["id"]
    return 1


def forged(**fields: Any) -> str:
    said = {"id": last_id(), "ns": 1000, "ids": HITS, "scores": None, "lines": None, "dropped": {}, **fields}
    return json.dumps(said)


# Time


class Hangs(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        for number in range(1, signal.NSIG):
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_IGN)
        for_ever()


class Busy(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        while True:
            pass


class HangsInC(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        ctypes.PyDLL(None).sleep(3600)  # holds the interpreter's lock


class HangsInInitialize(Honest):
    def initialize(self, corpus: Any) -> None:
        for_ever()


class HangsInClose(Honest):
    def close(self) -> None:
        for_ever()


class HangsInDel(Honest):
    def __del__(self) -> None:
        for_ever()


class HangsInReset(Honest):
    def reset(self) -> None:
        for_ever()


class HangsInDescribe(Honest):
    def describe(self) -> Any:
        for_ever()


class EndlessAnswer(Honest):
    def retrieve(self, query: str, k: int) -> Iterator[str]:
        while True:
            yield "f0.txt"


class StopsItself(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        os.kill(os.getpid(), signal.SIGSTOP)
        return HITS


class StopsItsKeeper(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        os.kill(os.getppid(), signal.SIGSTOP)
        for_ever()


# Processes


class ManyChildren(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        for _ in range(200):
            fork(lambda: (os.setsid(), for_ever()))
        return HITS


class Daemon(Honest):
    """A grandchild in a session of its own, with an empty environment, whose parents are gone."""

    def retrieve(self, query: str, k: int) -> Any:
        def leave() -> None:
            os.setsid()
            fork(lambda: os.execve("/bin/sleep", ["sleep", "3600"], {}))  # noqa: S606  # that is the attack

        os.waitpid(fork(leave), 0)
        return HITS


class Churn(Honest):
    """A family that moves on faster than it can be counted."""

    def retrieve(self, query: str, k: int) -> Any:
        def churn() -> None:
            for _ in range(100_000):
                if os.fork():
                    os._exit(0)

        fork(churn)
        return HITS


class ForksAndReturns(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        os.fork()
        return HITS


class KillsItsKeeper(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        os.kill(os.getppid(), signal.SIGKILL)
        for_ever()


class KillsItself(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


class Segfaults(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        ctypes.string_at(0)


class Exits(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        os._exit(0)


class SystemExits(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        sys.exit(0)


class ManyThreads(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        for _ in range(500):
            threading.Thread(target=for_ever).start()
        return HITS


# Resources


class Memory(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        return [bytearray(64 << 20) for _ in range(1000)]


class Descriptors(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 30_000), hard))
        while True:
            os.open(os.devnull, os.O_RDONLY)


class Shouts(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        block = b"x" * (1 << 20)
        for _ in range(200):
            os.write(1, block)
            os.write(2, block)
        return HITS


class PrintsForEver(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        while True:
            os.write(2, b"y\n" * 4096)


class ClosesEverything(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        os.closerange(0, 256)
        return HITS


# What goes through the pipe


class Garbage(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        for pipe in answer_pipes():
            os.write(pipe, b"\xff garbage \x00" * 100)
        return HITS


class HugeFrame(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        say(b"{}", length=0xFFFFFFFF)
        return HITS


class EndlessFrame(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        say(b'{"id": 1, "ids": [', length=1 << 20)
        for_ever()


class NoObject(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        say("[1, 2, 3]")
        return HITS


class DeepJson(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        say('{"id":' + "[" * 100_000 + "]" * 100_000 + "}")
        return HITS


class AnswersTwice(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        say(forged(ids=["f1.txt"]))
        return HITS


class AnswersEarly(Honest):
    """Answers the question after this one before it is asked."""

    def retrieve(self, query: str, k: int) -> Any:
        known = last_id()
        threading.Timer(
            0.0, lambda: [say(forged(id=known + ahead)) for ahead in range(1, 5)] if type(known) is int else say("{}")
        ).start()
        return HITS


class HugeNanoseconds(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        say(forged(ns=HUGE))
        for_ever()


class HugeCost(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        say(forged(cost=HUGE))
        for_ever()


class HugeScores(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        say(forged(scores=[HUGE, HUGE, HUGE]))
        for_ever()


class HugeCounts(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        say(forged(dropped={"duplicates": HUGE, "x" * 5000: 1}))
        for_ever()


class HugeDigits(Honest):
    """More digits than Python converts."""

    def retrieve(self, query: str, k: int) -> Any:
        say('{"id": 1, "ns": ' + "9" * 100_000 + "}")
        for_ever()


class NanMetadata(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        say(forged(metadata={"x": float("nan"), "y": float("inf")}))
        for_ever()


class HugeMetadata(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        say(forged(metadata={"x": "y" * (3 << 20)}))
        for_ever()


class NegativeTime(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        say(forged(ns=-1))
        for_ever()


class ManyMemory(Honest):
    def close(self) -> None:
        say(json.dumps({"id": last_id(), "memory": "many"}))
        for_ever()


class OddDescription(Honest):
    def describe(self) -> Any:
        return {"x": HUGE, "y": float("nan"), "z": object()}


class PatchedJson(Honest):
    def initialize(self, corpus: Any) -> None:
        json.dumps = lambda *_, **__: '{"id": 1}'  # type: ignore[assignment]
        json.JSONEncoder.encode = lambda *_: "nonsense"  # type: ignore[method-assign, assignment]
        os.write = lambda *_: 0  # type: ignore[assignment]


# Answers


class OddAnswers(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        return ["f0.txt", None, 5, b"f1.txt", "\ud800", "x" * 1_000_000, "\x1b]0;pwned\x07", "../../etc/passwd", "/etc/passwd"]


class ManyHits(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        return [f"f{i}.txt" for i in range(1_000_000)]


class ASet(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        return set(HITS)


class AnObject(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        return object()


class RaisesOddly(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        class Odd(BaseException):
            def __str__(self) -> str:
                raise RuntimeError("no text either")

        raise Odd


class RaisesLongly(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        raise ValueError("\x1b[31m::error::" * 1_000_000)


class RaisesDeeply(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        return self.retrieve(query, k)


class LiesAboutTime(Honest):
    """The clock of the worker is its own; that of the runner is not."""

    def initialize(self, corpus: Any) -> None:
        from searchmark.running.worker import server

        server.perf_counter_ns = lambda: 0  # type: ignore[assignment]

    def retrieve(self, query: str, k: int) -> Any:
        time.sleep(0.2)
        return HITS


# Files


class DeepFolders(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        os.chdir(tempfile.gettempdir())
        for _ in range(1200):
            Path("d").mkdir()
            os.chdir("d")
        return HITS


class LinkForTmpdir(Honest):
    def initialize(self, corpus: Any) -> None:
        scratch = os.environ["TMPDIR"]
        try:
            shutil.rmtree(scratch)
            Path(scratch).symlink_to(os.environ["HOSTILE_TARGET"])
        except OSError:  # in a sandbox
            pass


class FileForTmpdir(Honest):
    def initialize(self, corpus: Any) -> None:
        try:
            shutil.rmtree(os.environ["TMPDIR"])
            Path(os.environ["TMPDIR"]).write_text("no folder")
        except OSError:  # in a sandbox
            pass


class LockedFolders(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        folder = Path(tempfile.mkdtemp())
        (folder / "file").write_text("x")
        (folder / "inner").mkdir()
        (folder / "inner").chmod(0)
        folder.chmod(0)
        return HITS


class FillsTmpdir(Honest):
    def retrieve(self, query: str, k: int) -> Any:
        for number in range(3000):
            Path(tempfile.gettempdir(), str(number)).write_text("x")
        return HITS


class OddFiles(Honest):
    def initialize(self, corpus: Any) -> None:
        scratch = tempfile.gettempdir()
        os.mkfifo(f"{scratch}/fifo")
        Path(scratch, "root").symlink_to("/")
        Path(scratch, "loop").symlink_to("loop")
        with socket.socket(socket.AF_UNIX) as server:
            os.chdir(scratch)
            server.bind("socket")
        Path(os.fsdecode(b"%s/\xff\xfe" % scratch.encode())).write_text("odd name")


class WritesIntoTheCorpus(Honest):
    def initialize(self, corpus: Any) -> None:
        with contextlib.suppress(OSError):  # in a sandbox
            (Path(corpus.folder) / "planted.txt").write_text("word0 word1 word2")


# Answers that lie in later commits


class ReadsTheFuture(Honest):
    """Looks for objects of Git wherever it can, and answers with the files that the commit after this one changes."""

    def initialize(self, corpus: Any) -> None:
        self._commit = corpus.name.partition("@")[2]
        repository = Path(corpus.origin[0] if corpus.origin else corpus.folder)
        self._roots = [Path.cwd(), Path(tempfile.gettempdir()).parents[1], repository, repository / ".git"]
        self._mirror = tempfile.mkdtemp()  # a repository that borrows whatever objects there are
        for name in ("refs", "objects/info"):
            Path(self._mirror, name).mkdir(parents=True)
        Path(self._mirror, "HEAD").write_text("ref: refs/heads/none\n")

    def retrieve(self, query: str, k: int) -> Any:
        for commit in self._commits():
            parents = [line for line in self._git("cat-file", "-p", commit).splitlines() if line.startswith("parent ")]
            if self._commit and any(line.startswith(f"parent {self._commit}") for line in parents):
                return self._files(commit)
        return HITS

    def _commits(self) -> list[str]:
        Path(self._mirror, "objects/info/alternates").write_text("".join(f"{folder}\n" for folder in self._object_stores()))
        names = self._git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)").splitlines()
        return [name.removeprefix("commit ") for name in names if name.startswith("commit ")]

    def _files(self, commit: str) -> list[str]:
        return self._git("diff-tree", "-r", "--no-commit-id", "--name-only", commit).splitlines()

    def _object_stores(self) -> set[Path]:
        found = (Path(folder) for root in self._roots for folder, _, _ in os.walk(root) if Path(folder).name == "objects")
        return {folder for folder in found if self._mirror not in str(folder)}

    def _git(self, *arguments: str) -> str:
        command = ["git", "-c", "safe.directory=*", f"--git-dir={self._mirror}", *arguments]
        environment = os.environ | {"GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(command, cwd=self._mirror, env=environment, capture_output=True, text=True, check=True).stdout


class ReadsTheNewestCommit(ReadsTheFuture):
    """Answers with what was changed last."""

    def retrieve(self, query: str, k: int) -> Any:
        commits = self._commits()
        return self._files(self._git("rev-list", *commits).split()[0]) if commits else HITS


class RemembersTheFuture(Honest):
    """Keeps what it was shown, in memory and in files, and answers with what it has seen in a later state."""

    def initialize(self, corpus: Any) -> None:
        self._corpus = corpus
        kept = Path(tempfile.gettempdir(), "kept.json")
        seen = json.loads(kept.read_text()) if kept.exists() else {}
        for document in corpus:
            state = int(document.text.rpartition(" ")[2] or 0) if " " in document.text else 0
            seen[document.id] = max(seen.get(document.id, 0), state)
        kept.write_text(json.dumps(seen))
        self._seen = seen

    def retrieve(self, query: str, k: int) -> Any:
        states = {document.id: int(document.text.rpartition(" ")[2]) for document in self._corpus if " " in document.text}
        return [path for path, state in self._seen.items() if state > states.get(path, state)] or HITS
