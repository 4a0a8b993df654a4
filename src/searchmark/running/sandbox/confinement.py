"""What a worker gives up before it loads an agent, by Landlock, seccomp and capabilities.

Read by a process that has imported only the standard library.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import stat
import struct
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

# Landlock: a process gives up, for itself and all that it starts, whatever the kernel is not told to leave to it.
#
# The kernel's own interface (see its userspace-api/landlock), through ctypes; the numbers are the same on every processor.

MINIMUM_ABI = 6  # the first that keeps signals and abstract sockets inside (Linux 6.12)

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446

_VERSION = 1

_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3

_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15

_ALL_FILE_RIGHTS = (1 << 16) - 1

_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE

_READ = _EXECUTE | _READ_FILE | _READ_DIR

_MAKE_DEVICES = 1 << 6 | 1 << 11

_ALL_TCP = 0b11

_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


_KERNEL_FACTS = (
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/filesystems",
    "/proc/version",
    "/proc/sys/vm/overcommit_memory",
)


@dataclass(frozen=True)
class Ruleset:
    """What stays allowed: to read, to list, and to write; and whether the network does."""

    readable: Sequence[str]
    listed: Sequence[str]
    writable: Sequence[str]
    network: bool


def landlock_abi() -> int:
    """The version of Landlock that this kernel has; 0 if it has none, or is told not to use it."""
    if sys.platform != "linux":
        return 0
    return max(0, _call(None, "syscall", _CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION)))


def enforce_ruleset(rules: Ruleset) -> None:
    """Confine this process for good. It must have one thread, and must not gain privileges any more."""
    handled = struct.pack("=QQQ", _ALL_FILE_RIGHTS, 0 if rules.network else _ALL_TCP, _ABSTRACT_SOCKETS_AND_SIGNALS)
    ruleset = _call_landlock(_CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), ctypes.c_uint32(0))
    try:
        for path in (*rules.readable, *_KERNEL_FACTS, f"/proc/{os.getpid()}"):
            _allow_path(ruleset, path, _READ)
        for path in rules.listed:
            _allow_path(ruleset, path, _READ_DIR)
        for path in _DEVICES:
            _allow_path(ruleset, path, _READ_FILE | _WRITE_FILE)
        for path in rules.writable:
            _allow_path(ruleset, path, _ALL_FILE_RIGHTS & ~_MAKE_DEVICES)
        _call_landlock(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow_path(ruleset: int, path: str, rights: int) -> None:
    """A path that has vanished meanwhile needs no rule. Links are not followed: paths are real ones."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        _call_landlock(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(descriptor)


def _call_landlock(number: int, *arguments: object) -> int:
    return _call("Landlock refuses to confine this process", "syscall", number, *arguments)


def _call(complaint: str | None, function: str, *arguments: object) -> int:
    """Call the C library. Raises OSError with the complaint if that fails; without a complaint, failing is fine."""
    result = int(getattr(ctypes.CDLL(None, use_errno=True), function)(*arguments))
    if result < 0 and complaint is not None:
        raise OSError(ctypes.get_errno(), complaint)
    return result


# A filter (seccomp) for what namespaces leave open (keys, sockets in folders that are shown), and for what Landlock does.
#
# Landlock leaves more: the network, shared memory and queues, other processes of the same user, the attributes of files.
#
# It is a program of the kernel's packet filter: each instruction is a code, two jumps and a number.

_PR_SET_SECCOMP, _FILTER = 22, 2

_LOAD, _AND, _JUMP_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x54, 0x15, 0x45, 0x06

_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000

_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24

_EPERM, _NO_ERROR = 1, 0

_X32 = 0x40000000

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16

_STREAM, _SEQPACKET, _TYPE_MASK = 1, 5, 0xF

Instruction = tuple[int, int, int, int]


@dataclass(frozen=True)
class Processor:
    """The numbers of system calls of one kind of processor."""

    architecture: int
    socket: int
    socketpair: int
    refused: tuple[int, ...]  # fail everywhere: rings that make sockets past this filter, and keys of the user
    # The rest is for a worker without namespaces of its own.
    shared: tuple[int, ...]  # fail: memory, semaphores and queues of other processes, priorities
    own_only: tuple[int, ...]  # limits and scheduling: fail for any other process
    # Do nothing: mode, owner, times and attributes of files, whose refusal would stop ordinary programs that copy a file.
    ignored: tuple[int, ...]


_RINGS = (425, 426, 427)

_NEWER_ATTRIBUTE_CALLS = (452, 463, 466, 469)  # fchmodat2, setxattrat, removexattrat, file_setattr


PROCESSORS = {
    "x86_64": Processor(
        0xC000003E,
        socket=41,
        socketpair=53,
        refused=(*_RINGS, 248, 249, 250),
        shared=(29, 30, 31, 67, 64, 65, 66, 220, 68, 69, 70, 71, *range(240, 246), 251, 141),
        own_only=(302, 142, 144, 203, 314),
        ignored=(90, 91, 268, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199, *_NEWER_ATTRIBUTE_CALLS),
    ),
    "aarch64": Processor(
        0xC00000B7,
        socket=198,
        socketpair=199,
        refused=(*_RINGS, 217, 218, 219),
        shared=(*range(180, 186), *range(186, 198), 30, 140),
        own_only=(261, 118, 119, 122, 274),
        ignored=(52, 53, 54, 55, 88, 5, 6, 7, 14, 15, 16, *_NEWER_ATTRIBUTE_CALLS),
    ),
}


@dataclass(frozen=True)
class AllowedCalls:
    """What the filter leaves: ``network``, the internet; ``namespaces``, what cannot leave the namespaces of the worker."""

    network: bool
    namespaces: bool


def filter_available() -> bool:
    return platform.machine() in PROCESSORS


def refuse_system_calls(calls: AllowedCalls) -> None:
    """Filter the calls of this process and of all that it starts, for good."""
    program = [struct.pack("=HBBI", *instruction) for instruction in _build_filter(PROCESSORS[platform.machine()], calls)]
    instructions = ctypes.create_string_buffer(b"".join(program))
    length_and_place = struct.pack("@HP", len(program), ctypes.addressof(instructions))
    _call("the kernel refuses to filter system calls", "prctl", _PR_SET_SECCOMP, _FILTER, length_and_place, 0, 0)


def _build_filter(processor: Processor, calls: AllowedCalls) -> Iterable[Instruction]:
    """Each block ends where the number of the call is still loaded, or has returned."""
    yield (_LOAD, 0, 0, _ARCHITECTURE)
    yield (_JUMP_EQUAL, 1, 0, processor.architecture)  # programs for a different one have other numbers
    yield (_RETURN, 0, 0, _KILL)
    yield (_LOAD, 0, 0, _NUMBER)
    yield (_JUMP_SET, 0, 1, _X32)
    yield (_RETURN, 0, 0, _ERROR | _EPERM)
    yield from _refuse_each(processor.refused, _EPERM)
    if not calls.namespaces:
        yield from _refuse_each(processor.shared, _EPERM)
        yield from _refuse_each(processor.ignored, _NO_ERROR)
        for number in processor.own_only:
            yield from _allow_first_argument((0,), number)
    yield from _allow_connected_pairs(processor.socketpair)
    yield from _allow_first_argument((_INET, _INET6, _NETLINK) if calls.network or calls.namespaces else (), processor.socket)
    yield (_RETURN, 0, 0, _ALLOW)


def _refuse_each(numbers: Iterable[int], error: int) -> Iterable[Instruction]:
    for number in numbers:
        yield from ((_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | error))


def _allow_first_argument(values: tuple[int, ...], number: int) -> Iterable[Instruction]:
    """Allow a call with one of these first arguments only."""
    yield (_JUMP_EQUAL, 0, len(values) + 3, number)
    yield (_LOAD, 0, 0, _FIRST_ARGUMENT)
    for position, value in enumerate(values):
        yield (_JUMP_EQUAL, len(values) - position, 0, value)
    yield (_RETURN, 0, 0, _ERROR | _EPERM)
    yield (_RETURN, 0, 0, _ALLOW)


def _allow_connected_pairs(number: int) -> Iterable[Instruction]:
    """Allow pairs of Unix sockets that stay connected to each other: one of a pair of datagrams can be sent to any address."""
    yield (_JUMP_EQUAL, 0, 8, number)
    yield (_LOAD, 0, 0, _FIRST_ARGUMENT)
    yield (_JUMP_EQUAL, 0, 4, _UNIX)
    yield (_LOAD, 0, 0, _SECOND_ARGUMENT)
    yield (_AND, 0, 0, _TYPE_MASK)
    yield (_JUMP_EQUAL, 2, 0, _STREAM)
    yield (_JUMP_EQUAL, 1, 0, _SEQPACKET)
    yield (_RETURN, 0, 0, _ERROR | _EPERM)
    yield (_RETURN, 0, 0, _ALLOW)


# What a worker does to itself before it loads an agent: become a different user, and give up what it does not need.
#
# Sent by the runner through a file without a name, and read by a process that has imported nothing but the standard library.

_PR_SET_DUMPABLE = 4

_PR_SET_NO_NEW_PRIVS = 38

_PR_CAPBSET_DROP = 24

_PR_SET_SECUREBITS = 28

_NO_ROOT_LOCKED = 0b11  # SECBIT_NOROOT and its lock: user 0 gains nothing by starting a program

_LAST_CAPABILITY = 63

_CAPABILITY_VERSION = 0x20080522

_KEYCTL, _JOIN_SESSION_KEYRING = {"x86_64": 250, "aarch64": 219}, 1


@dataclass(frozen=True)
class Confinement:
    """What a worker gives up."""

    user: int | None = None  # to become, if any
    landlock: Ruleset | None = None  # the files that the kernel leaves; None where mounts do this
    calls: AllowedCalls | None = None  # the system calls that it leaves; None where there is no filter for this processor

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def read(cls, descriptor: int) -> Confinement:
        size = os.fstat(descriptor).st_size
        plain: dict[str, Any] = json.loads(os.pread(descriptor, size, 0))
        os.close(descriptor)
        rules, calls = plain["landlock"], plain["calls"]
        return cls(plain["user"], None if rules is None else Ruleset(**rules), None if calls is None else AllowedCalls(**calls))

    def become_user(self) -> None:
        """Before the worker is forked from its keeper: neither of them keeps the rights of root."""
        if self.user is not None:
            os.setgroups([])
            os.setresgid(self.user, self.user, self.user)
            os.setresuid(self.user, self.user, self.user)

    def protect_keeper(self) -> None:
        """The worker is of the same user: it must not look into its keeper, nor change it."""
        _prctl(_PR_SET_DUMPABLE, 0)

    def enter(self) -> None:
        """In the worker, before anything foreign is loaded; what follows can only be stricter."""
        _prctl(_PR_SET_DUMPABLE, 1)  # its own /proc/self, and what it starts
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        _leave_session_keyring()
        if self.landlock is not None:
            if os.geteuid() == 0 and not (self.calls is not None and self.calls.namespaces):  # bubblewrap has dropped them
                _drop_capabilities()
            enforce_ruleset(self.landlock)
        if self.calls is not None:
            refuse_system_calls(self.calls)


def _leave_session_keyring() -> None:
    """The keys of the user who started the runner are passed on to all children; a new, empty ring replaces them."""
    number = _KEYCTL.get(platform.machine())
    if number is not None:
        _call(None, "syscall", number, _JOIN_SESSION_KEYRING, None)  # there may be no keyrings at all


def _drop_capabilities() -> None:
    _prctl(_PR_SET_SECUREBITS, _NO_ROOT_LOCKED)
    for capability in range(_LAST_CAPABILITY + 1):
        _call(None, "prctl", _PR_CAPBSET_DROP, capability, 0, 0, 0)  # those that this kernel does not know are refused
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION, 0))  # the kernel may write its version there
    _call("capabilities cannot be dropped", "capset", header, bytes(6 * 4))


def _prctl(option: int, value: int) -> None:
    _call(f"prctl {option} was refused", "prctl", option, value, 0, 0, 0)
