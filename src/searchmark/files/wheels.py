"""Wheels: code that travels as one file, unpacked once on every machine; nothing of it is run for that."""

from __future__ import annotations

import hashlib
import zipfile
from io import BytesIO
from pathlib import Path, PurePosixPath

from searchmark.errors import UsageError
from searchmark.files.cache_folders import cache_folder
from searchmark.files.made_once import made_once

LARGEST = 1 << 30  # bytes, unpacked


def read_wheel(path: Path) -> bytes:
    """The content of a wheel, as far as can be told without unpacking it."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if path.suffix != ".whl" or not zipfile.is_zipfile(BytesIO(content)):
        raise UsageError(f"{path} is not a wheel; make one of a package: pip wheel --no-deps FOLDER")
    return content


def wheel_digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def wheel_folder(digest: str) -> Path:
    """Where the wheel with this digest is unpacked, or will be."""
    return (cache_folder() / "wheels" / digest).absolute()


def unpacked_wheel(content: bytes, digest: str) -> Path:
    """The folder with the modules of a wheel."""
    if wheel_digest(content) != digest:
        raise UsageError(f"a wheel has the SHA-256 digest {wheel_digest(content)}, not {digest}; send it again")
    return made_once(wheel_folder(digest), lambda folder: _unpack(content, folder))


def _unpack(content: bytes, folder: Path) -> None:
    """All modules. What an installer would put elsewhere (scripts, headers) stays out, and nothing leads out of the folder."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > LARGEST:
                raise UsageError(f"a wheel is larger than {LARGEST >> 20} MB when it is unpacked, and is not taken")
            folder.mkdir(parents=True)
            for entry in entries:
                parts = PurePosixPath(entry.filename).parts
                if not entry.is_dir() and parts and ".." not in parts and not parts[0].endswith(".data"):
                    archive.extract(entry, folder)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UsageError(f"a wheel cannot be unpacked: {error}") from error
