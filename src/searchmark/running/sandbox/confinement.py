"""What a worker does to itself before it loads an agent: become a different user, and give up what it does not need.

Sent by the runner through a file without a name, and read by a process that has imported nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
from dataclasses import asdict, dataclass
from typing import Any

from searchmark.running.sandbox.landlock import Ruleset, enforce
from searchmark.running.sandbox.system_calls import Calls, refuse_system_calls

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
    """``user``: whom to become, if anybody. ``landlock``: which files the kernel is to leave; None where mounts see to it.

    ``calls``: which system calls it is to leave; None where there is no filter for this processor.
    """

    user: int | None = None
    landlock: Ruleset | None = None
    calls: Calls | None = None

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def read(cls, descriptor: int) -> Confinement:
        size = os.fstat(descriptor).st_size
        plain: dict[str, Any] = json.loads(os.pread(descriptor, size, 0))
        os.close(descriptor)
        rules, calls = plain["landlock"], plain["calls"]
        return cls(plain["user"], None if rules is None else Ruleset(**rules), None if calls is None else Calls(**calls))

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
            enforce(self.landlock)
        if self.calls is not None:
            refuse_system_calls(self.calls)


def _leave_session_keyring() -> None:
    """Keys of whoever started the runner are passed on to all children; a new, empty ring takes their turn."""
    number = _KEYCTL.get(platform.machine())
    if number is not None:
        ctypes.CDLL(None, use_errno=True).syscall(number, _JOIN_SESSION_KEYRING, None)  # there may be no keyrings at all


def _drop_capabilities() -> None:
    _prctl(_PR_SET_SECUREBITS, _NO_ROOT_LOCKED)
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(_LAST_CAPABILITY + 1):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # those that this kernel does not know are refused
    header, nothing = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    if libc.capset(header, nothing):
        raise OSError(ctypes.get_errno(), "capabilities cannot be dropped")


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl {option} was refused")
