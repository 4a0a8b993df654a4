"""A journal says when it is damaged, whatever its size, and the runner notices when somebody else writes into it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from searchmark import FormatError
from searchmark.cli.main import main
from searchmark.running import journal
from searchmark.running.journal import JournalReader, Sealer, has_lines_after_header, read_journal_entries, size_of_whole_lines

CASES = 12
JOURNAL = Path(".searchmark/suite.Fixed.jsonl")
FIXED = "class Fixed:\n    def initialize(self, corpus): pass\n    def retrieve(self, query, k): return ['f0.txt', 'f1.txt']\n"
RIVAL = """
import json
from hashlib import blake2b
from pathlib import Path


def rewritten(content):
    whole, lines = blake2b(digest_size=8), []
    for line in content.decode().splitlines():
        data = {key: value for key, value in json.loads(line).items() if key != "seal"}
        if "ids" in data:
            data["ids"] = ["f2.txt"] * len(data["ids"])
        start = json.dumps(data)[:-1].encode()
        whole.update(start)
        seal = b',"seal":"%s"}\\n' % whole.hexdigest().encode()
        whole.update(seal)
        lines.append(start + seal)
    return b"".join(lines)


class Rival:
    def initialize(self, corpus): pass
    def retrieve(self, query, k): return [f"f{sum(query.encode()) % 2 + 1}.txt"]
    def close(self):
        path = Path(".searchmark/suite.Fixed.jsonl").resolve()
        CHANGE
"""


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "corpus").mkdir()
    for number in range(3):
        (tmp_path / "corpus" / f"f{number}.txt").write_text("text")
    cases = [{"id": f"c{i}", "query": f"query {i}", "ground_truth_files": ["f0.txt"]} for i in range(CASES)]
    (tmp_path / "suite.json").write_text(json.dumps({"test_cases": cases, "metadata": {}}))
    (tmp_path / "fixed.py").write_text(FIXED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluate(*more: str) -> int:
    return main(
        ["evaluate", "--gold-set", "suite.json", "--agent", "fixed.py:Fixed", "--corpus", "corpus", "--num-runs", "1", *more]
    )


def flipped(position: int) -> Callable[[list[bytes]], list[bytes]]:
    """One bit of the fifth line."""
    return lambda rows: [*rows[:4], bytes([*rows[4][:position], rows[4][position] ^ 1, *rows[4][position + 1 :]]), *rows[5:]]


DAMAGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a flipped bit in a hit": lambda rows: [*rows[:4], rows[4].replace(b"f1.txt", b"f2.txt"), *rows[5:]],
    "a flipped bit in the case": flipped(10),
    "a flipped bit in the seal": flipped(-6),
    "a removed line": lambda rows: [*rows[:4], *rows[5:]],
    "a line of zeros": lambda rows: [*rows[:4], bytes(len(rows[4])), *rows[5:]],
    "a repeated line": lambda rows: [*rows[:4], rows[3], *rows[4:]],
    "swapped lines": lambda rows: [*rows[:4], rows[5], rows[4], *rows[6:]],
    "joined lines": lambda rows: [*rows[:4], rows[4] + rows[5], *rows[6:]],
}


@pytest.mark.slow
def test_damage_is_named_by_its_line_and_nothing_is_dropped(workplace: Path, capsys: Any) -> None:
    assert evaluate() == 0
    rows = JOURNAL.read_bytes().split(b"\n")
    told = f"{JOURNAL}, line 5: is damaged (its checksum is wrong); delete it and all lines after it to keep the answers"
    for name, damage in DAMAGES.items():
        JOURNAL.write_bytes(b"\n".join(damage(rows)))
        before = JOURNAL.read_bytes()
        assert evaluate("--resume") == 4, name
        assert told in capsys.readouterr().err, name
        assert JOURNAL.read_bytes() == before, name


@pytest.mark.slow
def test_answers_before_the_damage_are_kept_by_deleting_the_rest(workplace: Path, capsys: Any) -> None:
    assert evaluate("-o", "whole.json") == 0
    JOURNAL.write_bytes(b"".join(JOURNAL.read_bytes().splitlines(keepends=True)[:6]))
    assert evaluate("--resume", "-o", "again.json") == 0
    whole, again = (json.loads(Path(name).read_text())["agents"]["Fixed"] for name in ("whole.json", "again.json"))
    assert again["measures"] == whole["measures"]
    assert JOURNAL.read_bytes().count(b'"case":') == CASES


@pytest.mark.slow
def test_a_journal_of_an_older_version_is_refused_by_its_version(workplace: Path, capsys: Any) -> None:
    assert evaluate() == 0
    JOURNAL.write_bytes(JOURNAL.read_bytes().replace(b'"schema_version":2', b'"schema_version":1', 1))
    assert evaluate("--resume") == 4
    assert "schema_version: is 1" in capsys.readouterr().err


@pytest.mark.slow
def test_a_journal_that_is_longer_than_what_one_read_gives_is_read_to_its_end(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert evaluate() == 0
    whole = read_journal_entries(JOURNAL)
    reads = os.pread
    monkeypatch.setattr(journal, "PIECE", 16)
    monkeypatch.setattr(os, "pread", lambda descriptor, size, position: reads(descriptor, min(size, 64), position))
    assert evaluate("--resume") == 0
    assert read_journal_entries(JOURNAL) == whole


def test_only_a_last_line_without_an_end_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    for content, whole in [(b"", 0), (b"abc", 0), (b"abc\n", 4), (b"abc\nde", 4), (b"abc\nde\n", 7), (b"\n\0\0\0", 1)]:
        path.write_bytes(content)
        descriptor = os.open(path, os.O_RDONLY)
        assert (size_of_whole_lines(descriptor), has_lines_after_header(descriptor)) == (whole, content[:whole].count(b"\n") > 1)
        os.close(descriptor)


def test_a_line_that_is_sealed_but_no_answer_is_refused(tmp_path: Path) -> None:
    sealer, path = Sealer(), tmp_path / "journal"
    header = {**journal.JOURNAL_SCHEMA.header(), "identity": {}, "salt": ""}
    wrong = {"case": "c", "status": "ok", "ids": ["a"], "details": {}, "lines": [[1, 10**40]]}
    path.write_bytes(sealer.seal(header) + sealer.seal(wrong))
    with pytest.raises(FormatError, match="line 2: is not an answer"):
        read_journal_entries(path)


def test_a_repeated_answer_that_was_written_counts(tmp_path: Path) -> None:
    sealer, path = Sealer(), tmp_path / "journal"
    header = {**journal.JOURNAL_SCHEMA.header(), "identity": {}, "salt": ""}
    answers = [{"case": "c", "status": status, "ids": [], "details": {}} for status in ("error", "ok")]
    path.write_bytes(b"".join(map(sealer.seal, [header, *answers])))
    descriptor = os.open(path, os.O_RDONLY)
    reader = JournalReader(path, descriptor)
    reader.header()
    assert len(list(reader.records())) == 2
    assert sealer.fits(descriptor)
    os.close(descriptor)
    assert read_journal_entries(path)["c"].outcome.status == "ok"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "resuming"),
    [
        ("content = rewritten(path.read_bytes()); path.write_bytes(content)", 4),
        ("content = rewritten(path.read_bytes()); path.unlink(); path.write_bytes(content)", 4),
        ("open(path, 'ab').write(path.read_bytes().splitlines(keepends=True)[-1])", 4),
        ("path.unlink()", 0),  # there is nothing to believe: all is asked again
    ],
    ids=["in place", "another file", "appended", "removed"],
)
def test_an_agent_that_writes_into_the_journal_of_another_makes_that_run_untrusted(
    change: str, resuming: int, workplace: Path, capsys: Any
) -> None:
    Path("rival.py").write_text(RIVAL.replace("CHANGE", change))
    command = ["compare", "--gold-set", "suite.json", "--agents", "fixed.py:Fixed", "rival.py:Rival", "--corpus", "corpus"]
    assert main([*command, "--num-runs", "1", "-o", "out.json"]) == 2
    agents = json.loads(Path("out.json").read_text())["agents"]
    assert [agent["status"] for agent in agents.values()] == ["untrusted", "ok"]
    assert "suite.Fixed.jsonl was changed by another process during the run" in capsys.readouterr().out
    assert agents["Fixed"]["measures"]["RR"]["mean"] == 1.0
    assert main([*command, "--num-runs", "1", "--resume"]) == resuming


@pytest.mark.slow
def test_nothing_of_a_changed_journal_is_resumed_and_starting_over_works(workplace: Path, capsys: Any) -> None:
    Path("fixed.py").write_text(FIXED + f"    def close(self): open({str(JOURNAL.resolve())!r}, 'a').write('x')\n")
    assert evaluate() == 2
    assert evaluate("--resume") == 4
    assert "another process changed it during the last run; run without --resume to start over" in capsys.readouterr().err
    Path("fixed.py").write_text(FIXED)
    assert evaluate() == 0
    assert evaluate("--resume") == 0
