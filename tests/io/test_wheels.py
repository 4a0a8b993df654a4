"""Code that travels as one file is unpacked once, and nothing of it lands elsewhere."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from searchmark import UsageError
from searchmark.running import distribution
from searchmark.running.distribution import Parcel


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCHMARK_CACHE", str(tmp_path / "cache"))


def wheel(path: Path, **entries: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return path


def unpacked(file: Path) -> Path:
    return Parcel.of_wheel(file).unpack(file.read_bytes())


def test_modules_are_unpacked_and_scripts_are_not(tmp_path: Path) -> None:
    content = {"mine/__init__.py": "X = 1", "mine-1.data/scripts/run": "echo", "mine-1.dist-info/METADATA": "Name: mine"}
    folder = unpacked(wheel(tmp_path / "mine.whl", **content))
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert found == ["mine-1.dist-info/METADATA", "mine/__init__.py"]


def test_nothing_leads_out_of_the_folder(tmp_path: Path) -> None:
    folder = unpacked(wheel(tmp_path / "mine.whl", **{"../../../escaped.py": "", "/absolute.py": "", "mine.py": ""}))
    assert not list(tmp_path.rglob("escaped.py"))
    assert not Path("/absolute.py").exists()
    assert (folder / "mine.py").exists()


def test_a_wheel_that_is_not_the_one_that_was_meant_is_refused(tmp_path: Path) -> None:
    file = wheel(tmp_path / "mine.whl", **{"mine.py": ""})
    with pytest.raises(UsageError, match="has the SHA-256 digest"):
        Parcel("wheel", "mine.whl", "0" * 64, file).unpack(file.read_bytes())


def test_what_is_too_large_when_it_is_unpacked_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(distribution, "LARGEST_WHEEL", 10)
    file = wheel(tmp_path / "mine.whl", **{"mine.py": "x" * 11})
    with pytest.raises(UsageError, match="larger than"):
        unpacked(file)
    assert Parcel.of_wheel(file).found() is None
    assert [path.suffix for path in (tmp_path / "cache" / "wheels").iterdir()] == [".lock"]


@pytest.mark.parametrize(("name", "content"), [("mine.zip", None), ("mine.whl", b"no archive")])
def test_a_file_that_is_no_wheel_is_called_that(name: str, content: bytes | None, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content or wheel(tmp_path / "whole", **{"mine.py": ""}).read_bytes())
    with pytest.raises(UsageError, match="is not a wheel"):
        Parcel.of_wheel(tmp_path / name)


def test_a_wheel_that_is_not_there_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        Parcel.of_wheel(tmp_path / "mine.whl")
