"""The archive: entries are whole or not there, however many write at once and whatever becomes of them."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from searchmark import Archive, FormatError, Report, Run, RunLabel, UsageError, render
from searchmark.io.data import Schema
from searchmark.reports import archive as store
from searchmark.reports import json_file
from searchmark.reports.archive import (
    REPORT,
    SUMMARY,
    EntrySelection,
    PinnedEntries,
    Retention,
    entry_summaries,
    history_rows,
    new_entry,
    parse_entry,
    prunable_entries,
)
from searchmark.reports.history import archived_trends
from searchmark.reports.report import REPORT_SCHEMA
from tests.conftest import ROOT
from tests.reports.samples import NOON, report_of, watched_run
from tests.support.archives import texts_below

CASES = [f"c{number}" for number in range(12)]
RUN = watched_run(CASES)
WRITER = """
import sys
from datetime import timedelta
from pathlib import Path
from searchmark.reports.archive import Archive
from tests.reports.samples import NOON, report_of
report = report_of()
for number in range(int(sys.argv[2])):
    Archive(Path(sys.argv[1])).add(report, [], NOON + timedelta(seconds=number))
    print("added", flush=True)
"""


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / ".searchmark" / "runs")


def writer(archive: Archive, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(archive.folder), str(number)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def hidden(archive: Archive) -> list[str]:
    return [path.name for path in archive.folder.iterdir() if path.name.startswith(".")]


class TestAdd:
    def test_what_is_read_back_is_what_was_archived(self, archive: Archive) -> None:
        report = report_of(minimum=0.5)
        entry = archive.add(report, [RUN], NOON)
        assert render(archive.report(entry), "json") == render(report, "json")
        assert archive.run(entry, "bm25").provenance == RUN.provenance
        assert [path.name for path in archive.runs(entry)] == ["bm25.jsonl"]

    def test_a_summary_has_all_numbers_and_no_case(self, archive: Archive) -> None:
        report = report_of(minimum=0.5)
        summary = archive.summary(archive.add(report, [], NOON))
        assert summary.agents["agent"].measures == report.agents["agent"].measures
        assert summary.agents["agent"].segments == report.agents["agent"].segments
        assert summary.gate == report.gate
        assert (dict(summary.cases), dict(summary.agents["agent"].cases)) == ({}, {})

    def test_the_folder_says_when_it_was_and_of_what(self, archive: Archive) -> None:
        entry = archive.add(report_of(), [], NOON + timedelta(milliseconds=7))
        assert archive.path(entry).name == f"20260501T120000007Z_demo_agent_{entry}"
        (known,) = archive.entries()
        assert (known.id, known.time, known.about) == (entry, NOON + timedelta(milliseconds=7), "demo_agent")

    def test_one_report_is_archived_twice_in_one_moment(self, archive: Archive) -> None:
        first, second = archive.add(report_of(), [], NOON), archive.add(report_of(), [], NOON)
        assert first != second
        assert {entry.id for entry in archive.entries()} == {first, second}

    def test_nothing_else_is_left(self, archive: Archive) -> None:
        archive.add(report_of(), [RUN], NOON)
        assert hidden(archive) == []

    def test_git_ignores_it_and_it_is_for_its_owner_alone(self, archive: Archive) -> None:
        entry = archive.add(report_of(), [RUN], NOON)
        assert (archive.folder.parent / ".gitignore").read_text() == "*\n"
        folders = (archive.folder.parent, archive.folder, archive.path(entry), archive.path(entry) / "runs")
        assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}
        assert {stat.S_IMODE(file.stat().st_mode) for file in archive.path(entry).rglob("*.json*")} == {0o600}

    @pytest.mark.parametrize("mode", [0o775, 0o1777])
    def test_whoever_reads_a_shared_archive_reads_its_entries_and_cannot_change_them(self, tmp_path: Path, mode: int) -> None:
        (tmp_path / "shared").mkdir()
        (tmp_path / "shared").chmod(mode)
        archive = Archive(tmp_path / "shared")
        entry = archive.path(archive.add(report_of(), [RUN], NOON))
        assert {stat.S_IMODE(folder.stat().st_mode) for folder in (entry, entry / "runs")} == {0o755}
        assert {stat.S_IMODE(file.stat().st_mode) for file in entry.rglob("*.json*")} == {0o644}

    def test_a_link_in_the_stead_of_our_gitignore_is_not_written_through(self, archive: Archive, tmp_path: Path) -> None:
        archive.folder.parent.mkdir()
        (archive.folder.parent / ".gitignore").symlink_to(tmp_path / "elsewhere")
        archive.add(report_of(), [], NOON)
        assert not (tmp_path / "elsewhere").exists()

    def test_secrets_of_the_environment_are_removed_from_reports_and_runs(
        self, archive: Archive, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SHOP_API_KEY", "k3y-that-nobody-must-see")
        said = replace(RUN.details[1], failure="401 for k3y-that-nobody-must-see")
        archive.add(report_of(hit="k3y-that-nobody-must-see"), [replace(RUN, details=(said, *RUN.details[1:]))], NOON)
        texts = list(texts_below(archive.folder))
        assert len(texts) == 3
        assert [text for text in texts if "k3y-that" in text] == []
        assert any("401 for " in text for text in texts)


class TestTogether:
    @pytest.mark.slow
    def test_two_writers_at_once_lose_nothing(self, archive: Archive) -> None:
        processes = [writer(archive, 25), writer(archive, 25)]
        for process in processes:
            process.communicate()
        assert [process.returncode for process in processes] == [0, 0]
        entries = archive.entries()
        assert len({entry.id for entry in entries}) == 50
        assert all(archive.report(entry).suite.name == "demo" for entry in entries)
        assert hidden(archive) == []

    @pytest.mark.slow
    def test_a_killed_writer_leaves_no_entry_and_the_next_one_cleans_up(self, archive: Archive) -> None:
        process = writer(archive, 100_000)
        assert process.stdout is not None
        for _ in range(3):
            process.stdout.readline()
        process.kill()
        process.communicate()
        entries = archive.entries()
        assert len(entries) >= 3
        assert all(archive.report(entry).suite.name == "demo" for entry in entries)
        archive.add(report_of(), [], NOON)
        assert hidden(archive) == []

    def test_what_a_living_process_writes_is_left_alone(self, archive: Archive) -> None:
        from searchmark.io.folders import unfinished_entry

        archive.folder.mkdir(parents=True)
        with unfinished_entry(archive.folder) as unfinished:
            unfinished.mkdir()
            archive.add(report_of(), [], NOON)
            assert unfinished.is_dir()
            assert len(archive.entries()) == 1


class TestNames:
    @pytest.mark.parametrize("name", ["latest", "id", "folder", "beginning"])
    def test_an_entry_has_several_names(self, archive: Archive, name: str) -> None:
        archive.add(report_of(), [], NOON)
        entry = archive.add(report_of(), [], NOON + timedelta(days=1))
        known = {"latest": "latest", "id": entry, "folder": archive.path(entry).name, "beginning": entry[:5]}
        assert archive.find(known[name]).id == entry

    @pytest.mark.parametrize("name", ["nope", "", "../x", "latest"])
    def test_an_unknown_name_is_refused(self, archive: Archive, name: str) -> None:
        with pytest.raises(UsageError, match=r"has no entry .*; 'searchmark history' lists"):
            archive.find(name)

    def test_a_beginning_of_several_is_refused(self, archive: Archive, tmp_path: Path) -> None:
        for name in ("20260501T120000000Z_demo_agent_ab000000", "20260501T120000000Z_demo_agent_ab111111"):
            (archive.folder / name).mkdir(parents=True)
        with pytest.raises(UsageError, match=r"'ab' is the beginning of 2 entries"):
            archive.find("ab")

    @pytest.mark.parametrize(
        "name",
        [
            "notes",
            "20261399T120000000Z_demo_agent_ab000000",
            "20260501T120000000Z_demo_ab00000",
            ".20260501T120000000Z_a_b_ab000000",
        ],
    )
    def test_other_folders_are_no_entries(self, archive: Archive, name: str) -> None:
        (archive.folder / name).mkdir(parents=True)
        assert archive.entries() == []

    def test_a_name_of_any_suite_is_read_back(self) -> None:
        report = report_of()
        report = replace(report, suite=replace(report.suite, name="名/../_a\n" * 40))
        entry = new_entry(report, NOON)
        assert parse_entry(entry.folder) == entry
        assert entry.may_be_of(report.suite.name)
        assert len(entry.folder.encode()) < 255


class TestDamage:
    @pytest.mark.parametrize(
        ("content", "wrong"),
        [
            (content, "is damaged")
            for content in (b"", b"{", b"[]", b"\xff\x00", b'{"schema_version": 1}', b'{"schema_version": "2"}')
        ]
        + [(b'{"schema_version": 999}', "was written by a newer version of Searchmark")],
    )
    def test_a_summary_that_cannot_be_read_is_named_and_left_out(self, archive: Archive, content: bytes, wrong: str) -> None:
        kept, damaged = archive.add(report_of(), [], NOON), archive.add(report_of(), [], NOON + timedelta(hours=1))
        (archive.path(damaged) / SUMMARY).write_bytes(content)
        warnings: list[str] = []
        assert [entry.id for entry, _ in entry_summaries(archive, EntrySelection(), warnings.append)] == [kept]
        assert len(warnings) == 1
        assert warnings[0].startswith(f"the entry {damaged} {wrong} and is left out: ")

    @pytest.mark.parametrize(
        "content",
        [b"", b"nothing packed", gzip.compress(b"{}", mtime=0)[:-3], gzip.compress(b"{}", mtime=0), gzip.compress(b"{}") + b"x"],
        ids=["empty", "not packed", "cut", "no report", "more"],
    )
    def test_a_damaged_report_is_one_sentence(self, archive: Archive, content: bytes) -> None:
        entry = archive.add(report_of(), [], NOON)
        (archive.path(entry) / REPORT).write_bytes(content)
        with pytest.raises(FormatError, match=REPORT):
            archive.report(entry)

    def test_a_report_that_unpacks_without_end_is_one_sentence(self, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
        entry = archive.add(report_of(), [], NOON)
        monkeypatch.setattr(store, "LARGEST_REPORT", 1 << 20)
        (archive.path(entry) / REPORT).write_bytes(gzip.compress(b" " * ((1 << 20) + 1)))
        with pytest.raises(FormatError, match=r"report\.json\.gz: holds more than 1 MiB, more than a report can have$"):
            archive.report(entry)

    def test_an_entry_without_files_is_named(self, archive: Archive) -> None:
        (archive.folder / "20260501T120000000Z_demo_agent_ab000000").mkdir(parents=True)
        warnings: list[str] = []
        assert list(entry_summaries(archive, EntrySelection(), warnings.append)) == []
        assert len(warnings) == 1

    def test_an_older_version_is_read(self, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
        entry = archive.add(report_of(), [], NOON)
        newer = Schema("report", REPORT_SCHEMA.version + 1, {REPORT_SCHEMA.version: lambda data: data | {"next_step": "migrated"}})
        monkeypatch.setattr(json_file, "REPORT_SCHEMA", newer)
        assert archive.summary(entry).next_step == "migrated"
        assert archive.report(entry).next_step == "migrated"

    @pytest.mark.skipif(os.getuid() == 0, reason="the superuser may write everywhere")
    def test_a_read_only_archive_is_one_sentence_and_can_be_read(self, archive: Archive) -> None:
        entry = archive.add(report_of(), [], NOON)
        archive.folder.chmod(0o500)
        try:
            with pytest.raises(UsageError, match=r"cannot be written: Permission denied$"):
                archive.add(report_of(), [], NOON)
            with pytest.raises(UsageError, match=r"cannot be written: Permission denied$"):
                archive.remove(archive.find(entry))
            assert archive.summary(entry).suite.name == "demo"
        finally:
            archive.folder.chmod(0o700)

    @pytest.mark.skipif(os.getuid() == 0, reason="the superuser may write everywhere")
    def test_an_entry_of_another_user_is_not_removed_and_stays_whole(self, archive: Archive) -> None:
        entry = archive.find(archive.add(report_of(), [], NOON))
        archive.path(entry).chmod(0o500)
        try:
            with pytest.raises(UsageError, match=r"cannot be removed: it is writable for its owner alone$"):
                archive.remove(entry)
            assert archive.report(entry).suite.name == "demo"
        finally:
            archive.path(entry).chmod(0o700)

    def test_a_file_in_its_stead_is_one_sentence(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(UsageError, match=r"the archive .*file cannot be written: "):
            Archive(tmp_path / "file").add(report_of(), [], NOON)
        with pytest.raises(UsageError, match=r"the archive .*file cannot be read: "):
            Archive(tmp_path / "file").entries()


def named(suite: str, agent: str) -> Report:
    report = report_of()
    return replace(report, suite=replace(report.suite, name=suite), agents={agent: report.agents["agent"]})


def filtered(report: Report) -> Report:
    agent = report.agents["agent"]
    return replace(report, agents={"agent": replace(agent, dropped={**agent.dropped, "cases_filtered_out": 3})})


class TestPruning:
    def filled(self, archive: Archive) -> list[str]:
        return [archive.add(report_of(), [RUN], NOON + timedelta(days=day)) for day in range(4)]

    def test_the_newest_of_each_suite_are_kept(self, archive: Archive) -> None:
        first, second, *_ = self.filled(archive)
        other = replace(report_of(), suite=replace(report_of().suite, name="other"))
        archive.add(other, [], NOON)
        assert [each.entry.id for each in prunable_entries(archive, Retention(keep=2))] == [second, first]

    def test_those_before_a_moment_are_outdated(self, archive: Archive) -> None:
        first, *_ = self.filled(archive)
        assert [each.entry.id for each in prunable_entries(archive, Retention(since=NOON + timedelta(days=1)))] == [first]

    def test_the_run_and_the_file_of_the_baseline_are_pinned(self, archive: Archive) -> None:
        first, second, third, _ = self.filled(archive)
        report = report_of()
        agent = replace(report.agents["agent"], run=replace(report.agents["agent"].run, id="run-0"))
        pinned = archive.add(replace(report, agents={"agent": agent}), [], NOON - timedelta(days=1))
        held = PinnedEntries(frozenset({"run-0"}), (archive.runs(second)[0],))
        found = {each.entry.id: each.kept for each in prunable_entries(archive, Retention(keep=1), held)}
        assert found == {first: None, second: "is the baseline", third: None, pinned: "is the baseline"}

    def test_suites_and_agents_with_similar_names_are_counted_apart(self, archive: Archive) -> None:
        first, second = (archive.add(named(suite, agent), [], NOON) for suite, agent in (("shop_en", "bm25"), ("shop", "en_bm25")))
        assert {archive.find(each).about for each in (first, second)} == {"shop_en_bm25"}
        assert list(prunable_entries(archive, Retention(keep=1))) == []

    def test_a_run_of_some_cases_does_not_push_out_one_of_all_of_them(self, archive: Archive) -> None:
        whole = archive.add(report_of(), [], NOON)
        parts = [archive.add(filtered(report_of()), [], NOON + timedelta(days=day)) for day in (1, 2)]
        found = [each.entry.id for each in prunable_entries(archive, Retention(keep=1))]
        assert (found, whole in found) == ([parts[0]], False)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("content", "kept"), [("{", "is damaged"), ('{"schema_version": 999}', "was written by a newer version of Searchmark")]
    )
    @pytest.mark.parametrize("retention", [Retention(keep=1), Retention(keep=0), Retention(since=NOON + timedelta(days=9))])
    def test_what_cannot_be_read_stays_and_does_not_count(
        self, archive: Archive, content: str, kept: str, retention: Retention
    ) -> None:
        *_, third, fourth = self.filled(archive)
        (archive.path(fourth) / SUMMARY).write_text(content)
        found = {each.entry.id: each.kept for each in prunable_entries(archive, retention)}
        assert found[fourth] == kept
        assert (third in found) == (retention.keep != 1)

    def test_what_is_no_entry_stays(self, archive: Archive, tmp_path: Path) -> None:
        name = "20200501T120000000Z_demo_agent_ab000000"
        (archive.folder / name).mkdir(parents=True)
        (archive.folder / name / "mine.txt").touch()
        (archive.folder / name.replace("ab", "cd")).symlink_to(tmp_path)
        assert list(prunable_entries(archive, Retention(keep=0))) == []

    def test_an_entry_is_removed_whole_and_no_link_is_followed(self, archive: Archive, tmp_path: Path) -> None:
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "file").touch()
        entry = archive.find(archive.add(report_of(), [RUN], NOON))
        (archive.path(entry) / "link").symlink_to(tmp_path / "outside")
        archive.remove(entry)
        archive.remove(entry)
        assert list(archive.folder.iterdir()) == []
        assert (tmp_path / "outside" / "file").exists()


def trusted_report():
    report = report_of()
    return replace(report, agents={"agent": replace(report.agents["agent"], status="ok")})


@pytest.mark.parametrize(
    ("wanted", "runs"),
    [
        ("bm25", ["bm25@head", "bm25@parent", "bm25@head#2"]),
        ("bm25@head", ["bm25@head", "bm25@head#2"]),
        ("bm25@head#2", ["bm25@head#2"]),
        ("bm25#2", ["bm25@head#2"]),
        ("bm2", []),
    ],
)
def test_an_agent_has_the_same_names_in_lists_and_trends(archive: Archive, wanted: str, runs: list[str]) -> None:
    report = trusted_report()
    of = {"bm25@head": ("head", 1), "bm25@parent": ("parent", 1), "bm25@head#2": ("head", 2)}
    agents = {
        name: replace(report.agents["agent"], name="bm25", snapshot=snapshot, repeat=repeat)
        for name, (snapshot, repeat) in of.items()
    }
    archive.add(replace(report, agents=agents), [], NOON)
    selection = EntrySelection(agent=wanted)
    found = list(entry_summaries(archive, selection, pytest.fail))
    assert [row.run for entry, each in found for row in history_rows(entry, each, selection)] == runs
    trends = archived_trends(archive, selection)
    assert {trend.snapshot for trend in trends} == {of[run][0] for run in runs}


@pytest.mark.slow
def test_a_thousand_entries_are_listed_quickly(archive: Archive, capsys: pytest.CaptureFixture[str]) -> None:
    name = archive.add(report_of(minimum=0.5), [], NOON)
    summary = (archive.path(name) / SUMMARY).read_bytes()
    for number in range(1000):
        entry = new_entry(report_of(), datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number))
        (archive.folder / entry.folder).mkdir()
        (archive.folder / entry.folder / SUMMARY).write_bytes(summary)
    started = time.perf_counter()
    found = list(entry_summaries(archive, EntrySelection(suite="demo"), pytest.fail))
    with capsys.disabled():
        print(f"\n1,001 entries listed in {time.perf_counter() - started:.2f} s")  # noqa: T201  # for those who watch the figure
    assert len(found) == 1001


def test_a_run_is_found_by_any_name_that_it_has(archive: Archive) -> None:
    run = Run.from_scores({"c1": {"a": 1.0}}, RunLabel("x y/z"))
    entry = archive.add(report_of(), [run], NOON)
    assert archive.run(entry, "x y/z").case_ids == ("c1",)
    assert json.loads((archive.path(entry) / SUMMARY).read_text())["schema_version"] == REPORT_SCHEMA.version
