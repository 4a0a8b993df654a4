"""Landlock: a process gives up, for itself and all that it starts, whatever the kernel is not told to leave to it.

The kernel's own interface (see its userspace-api/landlock), through ctypes; the numbers are the same on every processor.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass

LEAST_ABI = 6  # the first that keeps signals and abstract sockets inside (Linux 6.12)
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


class _RulesetAttributes(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def abi() -> int:
    """The version of Landlock that this kernel has; 0 if it has none, or is told not to use it."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))))


def enforce(rules: Ruleset) -> None:
    """Confine this process for good. It must have one thread, and must not gain privileges any more."""
    network = 0 if rules.network else _ALL_TCP
    attributes = _RulesetAttributes(_ALL_FILE_RIGHTS, network, _ABSTRACT_SOCKETS_AND_SIGNALS)
    ruleset = _checked(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(ctypes.sizeof(attributes)), ctypes.c_uint32(0))
    try:
        for path in (*rules.readable, *_KERNEL_FACTS, f"/proc/{os.getpid()}"):
            _allow(ruleset, path, _READ)
        for path in rules.listed:
            _allow(ruleset, path, _READ_DIR)
        for path in _DEVICES:
            _allow(ruleset, path, _READ_FILE | _WRITE_FILE)
        for path in rules.writable:
            _allow(ruleset, path, _ALL_FILE_RIGHTS & ~_MAKE_DEVICES)
        _checked(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    """A path that has vanished meanwhile needs no rule. Links are not followed: paths are real ones."""
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            rights &= _OF_FILES
        rule = _PathBeneath(rights, opened)
        _checked(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(opened)


def _checked(number: int, *arguments: object) -> int:
    result = int(_libc().syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock refuses to confine this process")
    return result


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
