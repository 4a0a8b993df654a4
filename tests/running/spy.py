"""An agent that tries whatever an agent should not be able to do, once, and prints what came of it."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import signal
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

TARGETS = json.loads(Path(__file__).with_name("targets.json").read_text())
BYSTANDER = TARGETS["bystander"]
LIBC = ctypes.CDLL(None, use_errno=True)
KEYCTL = {"x86_64": 250, "aarch64": 219}[platform.machine()]
KEYCTL_LINK, USER_KEYRING, SESSION_KEYRING = 8, -4, -3
IO_URING_SETUP = 425


def command_lines() -> str:
    """Whether any command line names the gold set; processes come and go meanwhile."""
    found = (Path(f"/proc/{pid}/cmdline") for pid in os.listdir("/proc") if pid.isdigit())
    return str(any(b"hidden-suite.json" in content(line) for line in found))


def content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def connect(family: int, address: Any) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.connect(address)


def send(port: int) -> None:
    """Twice: where nobody listens, the second one is refused."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", port))
        client.send(b"secret")
        client.send(b"secret")


def send_from_a_pair(kind: int, address: str) -> None:
    """Each end of a pair of datagram sockets can be sent to any address."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    with ours, theirs:
        ours.sendto(b"secret", address)


def checked(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def ring() -> None:
    """Opened with room for its parameters, and closed."""
    checked(opened := LIBC.syscall(IO_URING_SETUP, 1, ctypes.create_string_buffer(120)))
    os.close(opened)


def runner_environment() -> None:
    """The environment of the runner, which is the parent of our keeper."""
    keeper = Path(f"/proc/{os.getppid()}/stat").read_text()
    Path(f"/proc/{keeper.rpartition(')')[2].split()[1]}/environ").read_bytes()


def write(path: str) -> None:
    with Path(path).open("a") as file:
        file.write("poison\n")


def own_file() -> None:
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("mine")


ATTEMPTS: dict[str, Callable[[], Any]] = {
    "command lines": command_lines,
    "gold set": lambda: Path(TARGETS["suite"]).read_text(),
    "saved run": lambda: Path(TARGETS["saved"]).read_text(),
    "home": lambda: Path(TARGETS["home"], "diary.txt").read_text(),
    "journal": lambda: write(TARGETS["journal"]),
    "cache": lambda: write(TARGETS["cache"]),
    "corpus": lambda: write(TARGETS["corpus"]),
    "new file in the corpus": lambda: write(TARGETS["corpus"] + ".new"),
    "folders of rivals": lambda: Path(TARGETS["rival"]).read_text(),
    "tcp": lambda: connect(socket.AF_INET, ("127.0.0.1", TARGETS["tcp"])),
    "udp": lambda: send(TARGETS["udp"]),
    "unix socket": lambda: connect(socket.AF_UNIX, TARGETS["unix"]),
    "abstract socket": lambda: connect(socket.AF_UNIX, "\0" + TARGETS["abstract"]),
    "unix socket beside the code": lambda: connect(socket.AF_UNIX, TARGETS["unix beside the code"]),
    "datagram pair": lambda: send_from_a_pair(socket.SOCK_DGRAM, TARGETS["datagrams"]),
    "raw pair": lambda: send_from_a_pair(socket.SOCK_RAW, TARGETS["datagrams"]),
    "datagram pair beside the code": lambda: send_from_a_pair(socket.SOCK_DGRAM, TARGETS["datagrams beside the code"]),
    "shared memory": lambda: checked(LIBC.shmget(TARGETS["key"], 0, 0)),
    "semaphores": lambda: checked(LIBC.semget(TARGETS["key"], 0, 0)),
    "message queue": lambda: checked(LIBC.msgget(TARGETS["key"], 0)),
    "named message queue": lambda: checked(LIBC.mq_open(TARGETS["queue"].encode(), os.O_RDWR)),
    "keys of the user": lambda: checked(LIBC.syscall(KEYCTL, KEYCTL_LINK, USER_KEYRING, SESSION_KEYRING)),
    "ring": ring,
    "see a process": lambda: Path(f"/proc/{BYSTANDER}/stat").read_text(),
    "memory": lambda: Path(f"/proc/{BYSTANDER}/mem").open("rb").close(),
    "limits": lambda: resource.prlimit(BYSTANDER, resource.RLIMIT_NOFILE, (10, 10)),
    "signal": lambda: os.kill(BYSTANDER, signal.SIGTERM),
    "runner": runner_environment,
    "setting of the kernel": lambda: Path("/proc/sys/fs/lease-break-time").open("r+").close(),
    "core pattern": lambda: Path("/proc/sys/kernel/core_pattern").open("r+").close(),
    "own file": own_file,
    "connected pair": lambda: [end.close() for end in socket.socketpair()],
}
HARMLESS = {"command lines"}


def outcome(name: str) -> str:
    try:
        said = ATTEMPTS[name]()
    except (OSError, ValueError) as error:
        return type(error).__name__
    return f"done {said}" if name in HARMLESS else "done"


def status(field: str) -> str:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith(f"{field}:"))


class Spy:
    def initialize(self, repo_path: str) -> None:
        self.ids = sorted(path.name for path in Path(repo_path).iterdir())
        found = {name: outcome(name) for name in ATTEMPTS}
        facts = {"user": os.getuid(), "capabilities": status("CapEff"), "no new privileges": status("NoNewPrivs")}
        print(json.dumps({"attempts": found, "variables": sorted(os.environ), **facts}), flush=True)  # noqa: T201  # the only way out

    def retrieve(self, query: str, k: int) -> list[str]:
        return self.ids[:k]


class NeedsKey:
    def __init__(self) -> None:
        self.key = os.environ["SPY_TOKEN"]

    def initialize(self, repo_path: str) -> None:
        pass

    def retrieve(self, query: str) -> list[str]:
        return [query.replace("word", "f") + ".txt"]


class Family:
    """Starts a child that would outlive everything, and never answers."""

    def initialize(self, repo_path: str) -> None:
        pass

    def retrieve(self, query: str) -> list[str]:
        if os.fork() == 0:
            os.setsid()
            os.execvp("sleep", ["sleep", TARGETS["mark"]])  # noqa: S606  # no shell is wanted
        while True:
            signal.pause()
