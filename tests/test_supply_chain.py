"""What is installed and run for development, CI and releases is what was reviewed: versions, hashes, commits."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LOCKS = sorted((ROOT / "locks").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS = PROJECT["dependency-groups"]
RUNTIME = PROJECT["project"]["dependencies"]
DEV = [*RUNTIME, *GROUPS["build"], *(each for each in GROUPS["dev"] if isinstance(each, str))]
LOCKED = {
    "installer": GROUPS["installer"],
    "runtime": RUNTIME,
    "dev": DEV,
    "bench": [*DEV, *GROUPS["bench"]],
    "browser": [*DEV, *GROUPS["browser"]],
    "servers": [*DEV, *GROUPS["servers"]],
    "scale": [*DEV, *GROUPS["scale"]],
    "models": [*DEV, *GROUPS["models"], *PROJECT["project"]["optional-dependencies"]["transformers"]],
    "site": GROUPS["site"],
    "release": [*GROUPS["build"], *GROUPS["release"]],
}


def pins(lock: Path) -> dict[str, list[Requirement]]:
    """Every locked version by the name of its package; some packages have one version per Python."""
    found: dict[str, list[Requirement]] = {}
    for line in re.findall(r"^[A-Za-z0-9].*?(?= \\$)", lock.read_text(), re.MULTILINE):
        pin = Requirement(line)
        found.setdefault(canonicalize_name(pin.name), []).append(pin)
    return found


def test_every_lock_is_of_known_groups() -> None:
    assert {lock.stem for lock in LOCKS} == set(LOCKED)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_every_locked_version_has_hashes(lock: Path) -> None:
    entries = re.split(r"\n(?=[A-Za-z0-9])", lock.read_text())[1:]
    assert entries
    assert all(re.match(r"\S+==\S+ ", entry) and "--hash=sha256:" in entry for entry in entries)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_has_what_pyproject_asks_for_and_names_no_address(lock: Path) -> None:
    pinned = pins(lock)
    for wanted in map(Requirement, LOCKED[lock.stem]):
        versions = [next(iter(pin.specifier)).version for pin in pinned[canonicalize_name(wanted.name)]]
        assert all(wanted.specifier.contains(version, prereleases=True) for version in versions), (
            f"{wanted}: {versions}; run make lock"
        )
    assert "://" not in lock.read_text()


def test_development_and_releases_have_the_same_versions() -> None:
    dev, runtime = pins(ROOT / "locks" / "dev.txt"), pins(ROOT / "locks" / "runtime.txt")
    assert {name: sorted(map(str, dev[name])) for name in runtime} == {
        name: sorted(map(str, each)) for name, each in runtime.items()
    }


def test_every_package_that_comes_along_is_in_the_notices() -> None:
    notices = canonicalize_name((ROOT / "THIRD_PARTY_NOTICES.md").read_text())
    runtime = {name: pin.marker for name, each in pins(ROOT / "locks" / "runtime.txt").items() for pin in each}
    here = [name for name, marker in runtime.items() if marker is None or marker.evaluate({"sys_platform": "linux"})]
    assert [name for name in here if name not in notices] == []


@pytest.mark.parametrize("workflow", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda file: file.stem)
def test_actions_are_named_by_commit_with_their_version_beside(workflow: Path) -> None:
    used = re.findall(r"uses: (.*)", workflow.read_text())
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", each) for each in used), used


def test_no_make_target_installs_without_the_lock() -> None:
    installs = re.findall(r"^\t.*pip install (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    unlocked = [
        each for each in installs if "--require-hashes" not in each and "--no-deps" not in each and "$(OURSELVES)" not in each
    ]
    assert [each for each in unlocked if "--resolution lowest-direct" not in each] == []
