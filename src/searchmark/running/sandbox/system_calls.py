"""A filter (seccomp) for what namespaces leave open (keys, sockets in folders that are shown), and for what Landlock does.

Landlock leaves more: the network, shared memory and queues, other processes of the same user, the attributes of files.

It is a program of the kernel's packet filter: each instruction is a code, two jumps and a number.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterable
from dataclasses import dataclass

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
    """The numbers of one kind of processor.

    ``refused`` fail everywhere: rings that make sockets past this filter, and keys of the user. The rest is for a worker without
    namespaces of its own: ``shared`` (memory, semaphores and queues of other processes, priorities) fail; ``own_only`` are for
    limits and scheduling of the process itself, and fail for any other; ``ignored`` do nothing: mode, owner, times and further
    attributes of files, whose refusal would stop ordinary programs that copy a file.
    """

    architecture: int
    socket: int
    socketpair: int
    refused: tuple[int, ...]
    shared: tuple[int, ...]
    own_only: tuple[int, ...]
    ignored: tuple[int, ...]


_RINGS = (425, 426, 427)
_ATTRIBUTES_OF_LATE = (452, 463, 466, 469)  # fchmodat2, setxattrat, removexattrat, file_setattr
PROCESSORS = {
    "x86_64": Processor(
        0xC000003E,
        socket=41,
        socketpair=53,
        refused=(*_RINGS, 248, 249, 250),
        shared=(29, 30, 31, 67, 64, 65, 66, 220, 68, 69, 70, 71, *range(240, 246), 251, 141),
        own_only=(302, 142, 144, 203, 314),
        ignored=(90, 91, 268, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199, *_ATTRIBUTES_OF_LATE),
    ),
    "aarch64": Processor(
        0xC00000B7,
        socket=198,
        socketpair=199,
        refused=(*_RINGS, 217, 218, 219),
        shared=(*range(180, 186), *range(186, 198), 30, 140),
        own_only=(261, 118, 119, 122, 274),
        ignored=(52, 53, 54, 55, 88, 5, 6, 7, 14, 15, 16, *_ATTRIBUTES_OF_LATE),
    ),
}


@dataclass(frozen=True)
class Calls:
    """What the filter leaves: ``network``, the internet; ``namespaces``, what cannot leave the namespaces of the worker."""

    network: bool
    namespaces: bool


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("hit", ctypes.c_uint8), ("miss", ctypes.c_uint8), ("value", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def filter_available() -> bool:
    return platform.machine() in PROCESSORS


def refuse_system_calls(calls: Calls) -> None:
    """Filter the calls of this process and of all that it starts, for good."""
    program = list(_program(PROCESSORS[platform.machine()], calls))
    instructions = (_Instruction * len(program))(*(_Instruction(*each) for each in program))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(_Program(len(program), instructions)), 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel refuses to filter system calls")


def _program(processor: Processor, calls: Calls) -> Iterable[Instruction]:
    """Each block ends where the number of the call is still loaded, or has returned."""
    yield (_LOAD, 0, 0, _ARCHITECTURE)
    yield (_JUMP_EQUAL, 1, 0, processor.architecture)  # programs for a different one have other numbers
    yield (_RETURN, 0, 0, _KILL)
    yield (_LOAD, 0, 0, _NUMBER)
    yield (_JUMP_SET, 0, 1, _X32)
    yield (_RETURN, 0, 0, _ERROR | _EPERM)
    yield from _each(processor.refused, _EPERM)
    if not calls.namespaces:
        yield from _each(processor.shared, _EPERM)
        yield from _each(processor.ignored, _NO_ERROR)
        for number in processor.own_only:
            yield from _only_with((0,), number)
    yield from _only_connected_pairs(processor.socketpair)
    yield from _only_with((_INET, _INET6, _NETLINK) if calls.network or calls.namespaces else (), processor.socket)
    yield (_RETURN, 0, 0, _ALLOW)


def _each(numbers: Iterable[int], error: int) -> Iterable[Instruction]:
    for number in numbers:
        yield from ((_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | error))


def _only_with(allowed: tuple[int, ...], number: int) -> Iterable[Instruction]:
    """Allow a call with one of these first arguments only."""
    yield (_JUMP_EQUAL, 0, len(allowed) + 3, number)
    yield (_LOAD, 0, 0, _FIRST_ARGUMENT)
    for position, value in enumerate(allowed):
        yield (_JUMP_EQUAL, len(allowed) - position, 0, value)
    yield (_RETURN, 0, 0, _ERROR | _EPERM)
    yield (_RETURN, 0, 0, _ALLOW)


def _only_connected_pairs(number: int) -> Iterable[Instruction]:
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
