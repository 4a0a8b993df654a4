"""Mutations of real input, reader by reader, and everything that follows: an answer or one sentence, never a traceback or a hang.

``SEARCHMARK_FUZZ_SECONDS`` is the time for all targets together, ``SEARCHMARK_FUZZ_SEED`` draws other mutations. What is
found is kept in ``findings/`` once it is mended, where a fast test reads it again.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.hostile.fuzz import Target, campaign, tried
from tests.hostile.seeds import SUITES
from tests.hostile.targets import all_targets

FINDINGS = Path(__file__).parent / "findings"
SECONDS = float(os.environ.get("SEARCHMARK_FUZZ_SECONDS", "60"))
SEED = os.environ.get("SEARCHMARK_FUZZ_SEED", "0")
AT_LEAST = 20
OTHERS = (
    "suite-native-json", "suite-case-list-yaml", "run-native", "run-json", "run-trec", "corpus-jsonl", "corpus-json", "corpus-csv", "topics", "topics-jsonl",
    "config-yaml", "config-toml", "baseline", "measures", "globs", "sources", "journal", "frames",
)  # fmt: skip
NAMES = (*(f"suite-{name}" for name in SUITES), *OTHERS)


@pytest.fixture(scope="session")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Target]:
    return all_targets(tmp_path_factory.mktemp("targets") / "seeds")


def test_every_target_is_fuzzed(targets: dict[str, Target]) -> None:
    assert sorted(targets) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_real_input_is_accepted(tmp_path: Path, targets: dict[str, Target], name: str) -> None:
    """A target that refuses its own seeds would fuzz nothing but the refusal."""
    for seed in targets[name].seeds:
        path = tmp_path / targets[name].name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(seed)
        targets[name].exercise(path)


@pytest.mark.hostile
@pytest.mark.parametrize("name", NAMES)
def test_mutations_are_read_or_refused(tmp_path: Path, targets: dict[str, Target], name: str) -> None:
    _, findings = campaign(targets[name], tmp_path, SECONDS / len(NAMES), f"{SEED} {name}", AT_LEAST)
    assert not findings, "\n".join(
        f"seed {SEED!r}, mutation {each.number}: {each.failure}\n{each.content[:2000]!r}\n{each.trace}" for each in findings
    )


@pytest.mark.parametrize("finding", sorted(FINDINGS.iterdir()), ids=lambda path: path.name)
def test_what_was_found_is_read_or_refused(tmp_path: Path, targets: dict[str, Target], finding: Path) -> None:
    """A finding is named TARGET--WHAT."""
    target = targets[finding.name.partition("--")[0]]
    path = tmp_path / target.name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(finding.read_bytes())
    assert tried(target, path) is None
