"""The key that seals what is cached in a folder, and how a run keeps it from code of others.

Whatever is sealed with the key was computed by code of ours, so it is believed whoever wrote the file last. The key is a file
beside the caches. While code of others runs, the key is in the memory of the runner alone, which gives it to any process of this
user that does not descend from the runner: other runs go on caching meanwhile. A runner that is killed takes the key with it,
and the cache begins again.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.io.folders import make_once
from searchmark.io.store import atomic_write

KEY_FILE = "cache.key"

KEY_BYTES = 32

PATIENCE = 5.0  # seconds to wait for an answer that takes none

_HAS_KEEPERS = sys.platform == "linux"  # sockets without a file, and the kernel's word on who asks


def seal(key: bytes, content: bytes | memoryview) -> bytes:
    """What proves that the owner of the key wrote this."""
    return blake2b(content, key=key, digest_size=16).digest()


def cache_key(folder: Path) -> bytes:
    """The key of the caches in a folder; where it is withheld from this process, one that nobody else has."""
    return _shared_key(folder) or secrets.token_bytes(KEY_BYTES)


@contextmanager
def withheld_key(folder: Path) -> Iterator[bytes]:
    """Keep the key of a folder from all processes below this one. To be left when those have ended."""
    shared = _shared_key(folder)
    key = shared or secrets.token_bytes(KEY_BYTES)
    keeper = _Keeper(folder, key) if _HAS_KEEPERS else None
    if keeper is not None:
        keeper.start()
    with suppress(OSError, UsageError):
        _write(folder / KEY_FILE, str(os.getpid()).encode())
    try:
        yield key
    finally:
        if keeper is not None:
            keeper.end()
        if shared is not None and not _keepers(folder):  # else code of others still runs, and another run keeps the key
            with suppress(OSError, UsageError):
                _write(folder / KEY_FILE, key)


def _shared_key(folder: Path) -> bytes | None:
    """The key that others have as well, made if there is none; None where a run withholds it."""
    keepers = _keepers(folder)
    for name in keepers:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(name)
            if len(key := connection.recv(KEY_BYTES)) == KEY_BYTES:
                return key
    file = folder / KEY_FILE
    if keepers or _is_withheld(file):
        return None
    with suppress(OSError, UsageError):  # a folder that cannot be written to
        return make_once(file, _write_new_key, _is_key).read_bytes()
    return None


def _is_withheld(file: Path) -> bool:
    """Whether the run that has put its process id there is alive, and will bring the key back."""
    try:
        os.kill(int(file.read_bytes()), 0)
    except (ValueError, OSError):
        return False
    return True


def _write_new_key(path: Path) -> None:
    _write(path, secrets.token_bytes(KEY_BYTES))


def _is_key(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == KEY_BYTES


def _write(path: Path, content: bytes) -> None:
    with atomic_write(path, private=True) as file:
        file.write(content)


def _address(folder: Path) -> str:
    return f"searchmark-{blake2b(os.fsencode(folder.resolve()), digest_size=16).hexdigest()}-"


def _keepers(folder: Path) -> list[str]:
    """The addresses of all runs that keep the key of this folder."""
    if not _HAS_KEEPERS:
        return []
    start, names = f"@{_address(folder)}", set[str]()
    with suppress(OSError):
        for line in Path("/proc/net/unix").read_text(errors="replace").splitlines():
            name = line.rpartition(" ")[2]
            if name.startswith(start):
                names.add(f"\0{name[1:]}")
    return sorted(names)


class _Keeper(threading.Thread):
    """Gives the key to processes that ask for it, but to none below this one."""

    def __init__(self, folder: Path, key: bytes) -> None:
        super().__init__(daemon=True)
        self._key = key
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(f"\0{_address(folder)}{secrets.token_hex(8)}")
        self._socket.listen()

    def run(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                connection, _ = self._socket.accept()
                with connection, suppress(OSError):
                    pid = int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], sys.byteorder)
                    if pid == os.getpid() or not _is_below_us(pid):
                        connection.sendall(self._key)

    def end(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self.join()
        self._socket.close()


def _is_below_us(pid: int) -> bool:
    """Whether a process descends from this one; true also of one that has gone, or whose parents cannot be seen."""
    while pid != 1:
        if pid == os.getpid() or not pid:
            return True
        try:  # the name of a program may hold blanks and brackets; what follows its last bracket cannot
            pid = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return True
    return False
