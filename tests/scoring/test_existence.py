"""Hits are brought to the names that the corpus has for them; what does not exist stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark import Case, Judgment, Suite
from searchmark.scoring.targets import ExistingIds

IDS = ("a.py", "src/b.py", "src/deep/c.py", "caf\u00e9.txt", "with#hash.md", "7")


@pytest.mark.parametrize(
    ("hit", "settled"),
    [
        ("a.py", ("a.py", True)),
        ("./a.py", ("a.py", True)),
        ("src//b.py", ("src/b.py", True)),
        ("src/../a.py", ("a.py", True)),
        ("src/deep/../b.py", ("src/b.py", True)),
        ("src", ("src", True)),
        ("src/", ("src", True)),
        ("src/deep/", ("src/deep", True)),
        ("cafe\u0301.txt", ("caf\u00e9.txt", True)),
        ("a.py#L3-L9", ("a.py#L3-L9", True)),
        ("./src/b.py#L3", ("src/b.py#L3", True)),
        ("with#hash.md", ("with#hash.md", True)),
        ("7", ("7", True)),
        ("../a.py", ("../a.py", False)),
        ("/a.py", ("/a.py", False)),
        ("A.py", ("A.py", False)),
        ("sr", ("sr", False)),
        ("", ("", False)),
        (".", (".", False)),
        ("/", ("/", False)),
        ("a\0b", ("a\0b", False)),
        ("missing.py#L1", ("missing.py#L1", False)),
    ],
)
def test_a_hit_is_settled(hit: str, settled: tuple[str, bool]) -> None:
    assert ExistingIds(IDS).resolve(hit) == settled


def test_absolute_paths_below_the_folder_become_relative(tmp_path: Path) -> None:
    folder = tmp_path / "real"
    folder.mkdir()
    link = tmp_path / "link"
    link.symlink_to(folder)
    for root in (folder, link):
        existing = ExistingIds(IDS, link)
        assert existing.resolve(f"{root}/src/b.py") == ("src/b.py", True)
        assert existing.resolve(f"{root}/src/../a.py#L1-L2") == ("a.py#L1-L2", True)
    assert ExistingIds(IDS, folder).resolve(f"{folder}x/a.py") == (f"{folder}x/a.py", False)


@pytest.mark.parametrize(
    ("ids", "hit", "name"),
    [
        (["./a.py"], "a.py", "./a.py"),
        (["./a.py"], "./a.py", "./a.py"),
        (["./src/a.py"], "src", "./src"),
        (["a.py"], "././a.py", "a.py"),
        (["cafe\u0301/x.py"], "caf\u00e9/x.py", "cafe\u0301/x.py"),
        (["cafe\u0301/x.py"], "caf\u00e9", "cafe\u0301"),
        (["a.py"], "a.py/", "a.py"),
        (["docs/"], "docs", "docs/"),
        (["https://x/y"], "https://x/y/", "https://x/y"),
        (["https://x/y"], "https://x/y#L3", "https://x/y#L3"),
        (["a", "a/b"], "a", "a"),
        (["/abs/a.py"], "/abs", "/abs"),
    ],
)
def test_any_spelling_of_an_id_or_a_directory_exists(ids: list[str], hit: str, name: str) -> None:
    """What the judge takes for a file that exists, the runner takes for one too, and the other way round."""
    assert ExistingIds(ids).resolve(hit) == (name, True)
    assert hit in ExistingIds(ids)


@pytest.mark.parametrize("hit", ["", "b", "sr", "src/bb.py", "a.py/x", "src/b.py/../../..", "a.py#M3"])
def test_what_only_looks_like_an_id_does_not_exist(hit: str) -> None:
    assert hit not in ExistingIds(IDS)
    assert hit not in ExistingIds(["/abs/a.py", *IDS])


def test_missing_targets_are_the_relevant_ones_that_no_hit_could_be() -> None:
    judgments = (
        Judgment("a.py", "path"),
        Judgment("./src//b.py", "path"),
        Judgment("src/deep", "path"),
        Judgment("7"),
        Judgment("gone.py", "path"),
        Judgment("8"),
        Judgment("never.py", "path", grade=0),
        Judgment("*.rb", "glob"),
        Judgment("gone.py#L1-L2", "lines"),
    )
    table = Suite.from_cases("s", [Case("before", judgments=judgments), Case("after", judgments=judgments[4:])]).judgments
    assert ExistingIds(IDS).missing_targets(table, 0, 9) == ["gone.py", "8"]
    assert ExistingIds(IDS).missing_targets(table, 9, 10) == ["gone.py"]
    assert ExistingIds(IDS).missing_targets(table, 0, len(table)) == ["gone.py", "8"] * 2
