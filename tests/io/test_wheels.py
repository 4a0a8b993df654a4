"""Code that travels as one file is unpacked once, and nothing of it lands elsewhere."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from searchmark.errors import UsageError
from searchmark.files import wheels
from searchmark.files.wheels import read_wheel, unpacked_wheel, wheel_digest


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCHMARK_CACHE", str(tmp_path / "cache"))


def wheel(**entries: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return content.getvalue()


def test_modules_are_unpacked_and_scripts_are_not() -> None:
    content = wheel(**{"mine/__init__.py": "X = 1", "mine-1.data/scripts/run": "echo", "mine-1.dist-info/METADATA": "Name: mine"})
    folder = unpacked_wheel(content, wheel_digest(content))
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert found == ["mine-1.dist-info/METADATA", "mine/__init__.py"]


def test_nothing_leads_out_of_the_folder(tmp_path: Path) -> None:
    content = wheel(**{"../../../escaped.py": "", "/absolute.py": "", "mine.py": ""})
    folder = unpacked_wheel(content, wheel_digest(content))
    assert not list(tmp_path.rglob("escaped.py"))
    assert not Path("/absolute.py").exists()
    assert (folder / "mine.py").exists()


def test_a_wheel_that_is_not_the_one_that_was_meant_is_refused() -> None:
    with pytest.raises(UsageError, match="has the SHA-256 digest"):
        unpacked_wheel(wheel(**{"mine.py": ""}), "0" * 64)


def test_what_is_too_large_when_it_is_unpacked_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(wheels, "LARGEST", 10)
    content = wheel(**{"mine.py": "x" * 11})
    with pytest.raises(UsageError, match="larger than"):
        unpacked_wheel(content, wheel_digest(content))
    assert not list((tmp_path / "cache" / "wheels").glob(wheel_digest(content)))


@pytest.mark.parametrize(("name", "content"), [("mine.zip", None), ("mine.whl", b"no archive")])
def test_a_file_that_is_no_wheel_is_called_that(name: str, content: bytes | None, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(wheel(**{"mine.py": ""}) if content is None else content)
    with pytest.raises(UsageError, match="is not a wheel"):
        read_wheel(tmp_path / name)


def test_a_wheel_that_is_not_there_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_wheel(tmp_path / "mine.whl")
