"""Fixtures that many tests share."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every machine, however slow it is: a few in make test, four times as many in make test-slow.
settings.register_profile(
    "searchmark",
    deadline=None,
    derandomize=True,
    max_examples=int(os.environ.get("SEARCHMARK_TEST_EXAMPLES", "15")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("searchmark")

ROOT = Path(__file__).parent.parent
FOLDER_NUMBERS = count()


def pytest_collection_finish() -> None:
    """What was collected stays to the end: nobody needs to look through it for garbage again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """As pytest's own, which looks through the folders of all tests before to find a number."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}{next(FOLDER_NUMBERS)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file and return its path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def shared_data() -> Path:
    """The folder with third-party data, which is not part of the repository."""
    folder = os.environ.get("SEARCHMARK_TEST_DATA")
    if not folder:
        pytest.skip("SEARCHMARK_TEST_DATA does not name the folder with third-party test data")
    return Path(folder)


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is built once for several tests leaves the cache of the user alone, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEARCHMARK_CACHE", str(tmp_path_factory.getbasetemp() / "shared-cache" / "searchmark"))
        (tmp_path_factory.getbasetemp() / "shared-cache").mkdir()
        yield


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test starts with an empty cache and leaves that of the user alone."""
    folder = tmp_path_factory.getbasetemp() / "caches" / str(next(FOLDER_NUMBERS)) / "searchmark"
    folder.parent.mkdir(parents=True)
    monkeypatch.setenv("SEARCHMARK_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a server that runs in a process of its own."""
    command = [sys.executable, "-m", "tests.support.server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.kill()
