"""``searchmark approve`` as a user meets it: a process, files, exit codes."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from searchmark import Answer, AnswerDetails, Hit, Provenance, load_run, load_suite, match_hits, score
from searchmark.records.digests import query_digest
from searchmark.records.provenance import SuiteIdentity, TrustEvent
from tests.judgments.support import WARNING, answered, approve_in_process, changed_lines, command, environment, plain_run, saved

CASES = """\
# Our cases. Do not sort.
owner: "search team"   # who to ask

cases:
  # CRUD
  - query: create a ticket      # the usual wish
    expectedIds:
      - ticket.create           # the one
      - 'ticket.create_many'    # bulk

      # rarely wanted
      - ticket.draft
    category: crud
  - query:   "who may close a ticket, and who may not, and who has to be asked before anything at all is done about it"
    expectedIds: [permission.list,   "permission.get" ]  # flow
    category: users


  - {query: untouched, expectedIds: [a,b], category: x}   # kept
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "cases.yaml"
    path.write_text(CASES)
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return plain_run(
        tmp_path / "engine.json", _1=["ticket.create_many", "ticket.create", "yes"], _2=["permission.get", "12", "x"], _3=["a", "b"]
    )


def approved(suite: Path, run: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return approve_in_process(suite, "--run", run, "--yes", "--author", "Ann", *more)


def refused(suite: Path, *arguments: object) -> tuple[int, str]:
    """The exit code and the one sentence on stderr; nothing is written."""
    before = suite.read_bytes()
    done = approve_in_process(suite, *arguments)
    assert (suite.read_bytes(), done.stderr.count("\n")) == (before, 1)
    return done.returncode, done.stderr.strip()


def test_a_commented_yaml_changes_in_the_said_lines_and_in_no_other(suite: Path, run: Path) -> None:
    done = approve_in_process(suite, "--run", run, "--yes", "--author", "Ann <ann@example.org>", "--reason", "new model: checked")
    assert (done.returncode, done.stderr.strip()) == (0, WARNING)
    assert changed_lines(CASES, suite.read_text()) == [
        "+      - 'ticket.create_many'    # bulk",
        "-      - 'ticket.create_many'    # bulk",
        "-      # rarely wanted",
        "-      - ticket.draft",
        '+      - "yes"',
        '-    expectedIds: [permission.list,   "permission.get" ]  # flow',
        '+    expectedIds: ["permission.get",   "12" ]  # flow',
        "+approvals:",
        '+  - date: "DATE"',
        '+    author: "Ann <ann@example.org>"',
        '+    reason: "new model: checked"',
        '+    run: "engine"',
        '+    cases: ["1", "2"]',
    ]


def test_every_change_is_shown_with_what_is_new_gone_and_moved(suite: Path, run: Path) -> None:
    assert (
        approved(suite, run).stdout
        == f"""\
case 1: create a ticket
  expected now: ticket.create, ticket.create_many, ticket.draft
  what came:    ticket.create_many, ticket.create, yes
  new:          yes
  gone:         ticket.draft
  moved:        ticket.create_many, ticket.create
case 2: who may close a ticket, and who may not, and who has to be asked before anything at all is done about it
  expected now: permission.list, permission.get
  what came:    permission.get, 12
  new:          12
  gone:         permission.list
  moved:        permission.get
approved: 2 of 2 changed expectations
unchanged: 1 case
circular: what 2 cases would expect is exactly what engine returned. Once approved, this run scores 1.0 there by construction \
(RR, and R at that depth): the suite can no longer tell whether engine is right, only whether it changes.
comments of case 1: '# rarely wanted' went with 'ticket.draft', which is no longer expected
written: {suite}
"""
    )


def test_what_was_approved_is_expected_and_scores_one(suite: Path, run: Path) -> None:
    approved(suite, run)
    assert [[judgment.target for judgment in case.judgments] for case in load_suite(suite).cases] == [
        ["ticket.create_many", "ticket.create", "yes"], ["permission.get", "12"], ["a", "b"],
    ]  # fmt: skip
    scores = score(match_hits(load_suite(suite), load_run(run)), ["RR", "R@3", "Tau"])
    assert scores.values.tolist() == [[1.0, 1.0, 1.0]] * 3
    again = approved(suite, run)
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.splitlines() == [f"nothing to approve in {suite}", "unchanged: 3 cases", "nothing is written"]


def test_the_newest_approval_comes_first_and_all_are_metadata(suite: Path, run: Path, tmp_path: Path) -> None:
    approved(suite, run, "--reason", "first")
    approved(suite, plain_run(tmp_path / "other.json", _3=["b", "a"]))
    approvals = load_suite(suite).metadata["approvals"]
    assert [(each["run"], each.get("reason"), each["cases"]) for each in approvals] == [
        ("other", None, ["3"]),
        ("engine", "first", ["1", "2"]),
    ]


def test_one_case_alone_can_be_approved(suite: Path, run: Path) -> None:
    approved(suite, run, "--case", "2")
    assert [len(case.judgments) for case in load_suite(suite).cases] == [3, 2, 2]
    assert load_suite(suite).cases[0].judgments[0].target == "ticket.create"


def test_a_dry_run_shows_the_lines_that_would_change_and_writes_nothing(suite: Path, run: Path) -> None:
    done = approve_in_process(suite, "--run", run, "--dry-run", "--author", "Ann")
    assert (done.returncode, done.stderr, suite.read_text()) == (0, "", CASES)
    assert '+      - "yes"' in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "nothing is written"


def test_the_format_may_be_named(suite: Path, run: Path) -> None:
    assert approved(suite, run, "--format", "case-list").returncode == 0
    assert load_suite(suite).cases[0].judgments[0].target == "ticket.create_many"


def test_names_of_fields_are_those_of_the_run(suite: Path, tmp_path: Path) -> None:
    run = tmp_path / "engine.csv"
    run.write_text("frage,treffer,rank\n1,yes,1\n2,x,1\n2,y,2\n3,a,1\n3,b,2\n")
    named = ("--map", "run.case=frage", "--map", "run.id=treffer")
    assert "x" in approved(suite, run, *named, "--dry-run").stdout
    assert refused(suite, "--run", run, "--yes", "--map", "suite.query=q")[0] == 4


@pytest.mark.slow
def test_the_author_is_who_git_says(suite: Path, run: Path, tmp_path: Path) -> None:
    (tmp_path / "settings").write_text("[user]\n\tname = Ann Zoë\n\temail = ann@example.org\n", encoding="utf-8")
    settings = environment() | {"GIT_CONFIG_GLOBAL": str(tmp_path / "settings")}
    subprocess.run(command(suite, "--run", run, "--yes"), env=settings, check=True, capture_output=True)
    assert load_suite(suite).metadata["approvals"][0]["author"] == "Ann Zoë <ann@example.org>"


@pytest.mark.slow
class TestNeverTouched:
    def test_cases_whose_agent_failed_or_returned_nothing(self, tmp_path: Path) -> None:
        """One failure of twenty is within what a trusted run may have."""
        suite = tmp_path / "cases.yaml"
        suite.write_text("cases:\n" + "".join(f"- {{query: q{number}, expectedIds: [a, b]}}\n" for number in range(1, 41)))
        answers = [answered(str(number), "b", "a") for number in range(5, 41)]
        run = saved(
            tmp_path / "run.jsonl",
            answered("1", status="error"),
            answered("2", status="timeout"),
            answered("3"),
            answered("4"),
            *answers,
        )
        done = approved(suite, run)
        assert done.stdout.splitlines()[-6:-2] == [
            "approved: 36 of 36 changed expectations",
            "left alone: 1 case (the agent failed)",
            "left alone: 1 case (the agent ran out of time)",
            "left alone: 2 cases (the agent returned nothing)",
        ]
        targets = [[judgment.target for judgment in case.judgments] for case in load_suite(suite).cases]
        assert targets == [["a", "b"]] * 4 + [["b", "a"]] * 36

    def test_a_case_of_which_the_run_asked_too_few_hits(self, tmp_path: Path, suite: Path) -> None:
        provenance = Provenance(options={"depth": 2})
        run = saved(
            tmp_path / "run.jsonl",
            answered("1", "x", "y"),
            answered("2", "permission.list", "permission.get"),
            provenance=provenance,
        )
        assert "left alone: 1 case (the run asked for fewer hits than the case expects)" in approved(suite, run).stdout
        assert suite.read_text() == CASES

    def test_a_case_of_which_the_agent_returned_fewer_hits(self, tmp_path: Path, suite: Path) -> None:
        run = plain_run(tmp_path / "run.json", _1=["z"], _2=["permission.list", "permission.get"], _3=["b"])
        assert "left alone: 2 cases (the agent returned fewer hits than the case expects)" in approved(suite, run).stdout
        assert suite.read_text() == CASES

    def test_hits_that_do_not_exist_are_not_expected(self, tmp_path: Path, suite: Path) -> None:
        answer = Answer("3", "ok", (Hit("ghost", 1, valid=False), Hit("b", 2, valid=True), Hit("a", 3, valid=True)))
        done = approved(suite, saved(tmp_path / "run.jsonl", answer))
        assert [judgment.target for judgment in load_suite(suite).cases[2].judgments] == ["b", "a"]
        assert "circular" not in done.stdout

    def test_a_case_that_expects_nothing(self, tmp_path: Path) -> None:
        suite = tmp_path / "cases.json"
        suite.write_text('[{"query": "q", "expectedIds": []}, {"query": "r", "expectedIds": ["a"]}]')
        approved(suite, plain_run(tmp_path / "run.json", _1=["x"], _2=["b"]))
        assert suite.read_text() == '[{"query": "q", "expectedIds": []}, {"query": "r", "expectedIds": ["b"]}]'


@pytest.mark.slow
class TestRefused:
    def test_without_a_terminal_and_without_yes(self, suite: Path, run: Path) -> None:
        code, sentence = refused(suite, "--run", run)
        assert (code, "this is not a terminal; use --yes to approve every change, or --dry-run" in sentence) == (4, True)

    def test_an_untrusted_run(self, suite: Path, tmp_path: Path) -> None:
        spoilt = Provenance(trust=(TrustEvent("corpus_changed", "the corpus changed during the run"),))
        run = saved(tmp_path / "run.jsonl", answered("1", "x"), provenance=spoilt)
        assert refused(suite, "--run", run, "--yes", "--author", "Ann") == (
            2,
            "searchmark: the run 'engine' is untrusted, so nothing of it can be approved: the corpus changed during the run",
        )

    def test_a_run_with_too_many_failures(self, suite: Path, tmp_path: Path) -> None:
        run = saved(tmp_path / "run.jsonl", answered("1", status="error"), answered("2", "x"), answered("3", "b"))
        code, sentence = refused(suite, "--run", run, "--yes", "--author", "Ann")
        assert (code, "1 of 3 cases ended in an error or a time-out" in sentence) == (2, True)

    def test_a_part_of_a_run(self, suite: Path, tmp_path: Path) -> None:
        identity = SuiteIdentity("cases", load_suite(suite).hashes["queries"])
        run = saved(tmp_path / "run.jsonl", answered("1", "x"), provenance=Provenance(suite=identity))
        code, sentence = refused(suite, "--run", run, "--yes", "--author", "Ann")
        assert (code, "2 of 3 cases were not run" in sentence) == (2, True)

    def test_one_shard_of_several(self, suite: Path, tmp_path: Path) -> None:
        identity = SuiteIdentity("cases", "0" * 64)
        run = saved(tmp_path / "run.jsonl", answered("1", "x"), provenance=Provenance(suite=identity))
        assert refused(suite, "--run", run, "--yes", "--author", "Ann") == (
            2,
            (
                "searchmark: the run 'engine' holds a part of the suite 'cases', 1 of 3 cases; give all shards of it, each with a "
                "--run of its own, or run the agent on the whole suite"
            ),
        )

    def test_a_file_that_is_read_only(self, suite: Path, run: Path) -> None:
        suite.chmod(0o444)
        code, sentence = refused(suite, "--run", run, "--yes", "--author", "Ann")
        assert (code, "is read-only, and is left as it is; make it writable first" in sentence) == (4, True)
        assert approve_in_process(suite, "--run", run, "--dry-run", "--author", "Ann").returncode == 0

    def test_a_file_that_has_other_names(self, suite: Path, run: Path, tmp_path: Path) -> None:
        os.link(suite, tmp_path / "other.yaml")
        code, sentence = refused(suite, "--run", run, "--yes", "--author", "Ann")
        assert (code, "is one of 2 hard links to a file, and the others would stay as they are; copy it first" in sentence) == (
            4,
            True,
        )

    def test_a_format_that_is_named_wrongly(self, suite: Path, run: Path) -> None:
        assert refused(suite, "--run", run, "--yes", "--author", "Ann", "--format", "gold-set")[0] == 4

    def test_a_run_of_a_different_suite(self, suite: Path, tmp_path: Path) -> None:
        identity = SuiteIdentity("others", "0" * 64)
        run = saved(tmp_path / "run.jsonl", answered("1", "x"), provenance=Provenance(suite=identity))
        code, sentence = refused(suite, "--run", run, "--yes", "--author", "Ann")
        assert (code, "was made for a different suite" in sentence) == (2, True)

    def test_a_run_that_was_asked_different_queries(self, suite: Path, tmp_path: Path) -> None:
        answer = Answer("1", "ok", answered("1", "x").hits, AnswerDetails(asked=query_digest("something else")))
        code, sentence = refused(suite, "--run", saved(tmp_path / "run.jsonl", answer), "--yes", "--author", "Ann")
        assert (code, "was asked different queries" in sentence) == (2, True)

    def test_a_run_without_any_case_of_the_suite(self, suite: Path, tmp_path: Path) -> None:
        run = plain_run(tmp_path / "run.json", other=["x"])
        assert refused(suite, "--run", run, "--yes", "--author", "Ann")[0] == 5

    def test_a_case_that_the_suite_does_not_have(self, suite: Path, run: Path) -> None:
        sentence = "searchmark: the suite 'cases' has no case '9'"
        assert refused(suite, "--run", run, "--yes", "--author", "Ann", "--case", "9") == (4, sentence)

    def test_an_author_that_nobody_knows(self, suite: Path, run: Path) -> None:
        code, sentence = refused(suite, "--run", run, "--yes")
        assert (code, "name the author with --author" in sentence) == (4, True)
        assert refused(suite, "--run", run, "--yes", "--author", " ")[0] == 4

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            ("", "schema_version"),
            ("cases: 7\n", "schema_version"),
            ("cases: [{query: q, expectedIds: 7}]\n", "is text, not a list"),
            ("cases:\n  - query: [\n", "not valid YAML"),
            ("cases: [{expectedIds: [a]}]\n", "query: is missing"),
            ("owner: b\napprovals: 7\ncases: [{query: create, expectedIds: [z]}]\n", "approvals: is not a list"),
        ],
    )
    def test_a_file_that_is_not_what_it_claims_to_be(self, suite: Path, run: Path, content: str, complaint: str) -> None:
        suite.write_text(content)
        code, sentence = refused(suite, "--run", run, "--yes", "--author", "Ann")
        assert (code, complaint in sentence) == (4, True), sentence

    def test_files_that_are_not_there(self, suite: Path, run: Path, tmp_path: Path) -> None:
        assert refused(suite, "--run", tmp_path / "none.json", "--yes", "--author", "Ann")[0] == 4
        assert approve_in_process(tmp_path / "none.yaml", "--run", run, "--yes", "--author", "Ann").returncode == 4


@dataclass(frozen=True)
class Conversation:
    """A command that believes to have a terminal."""

    process: subprocess.Popen[bytes]
    keys: IO[bytes]

    def wait_for(self, said: bytes) -> bytes:
        """What comes on stderr up to these words."""
        assert self.process.stderr is not None
        heard = b""
        while not heard.endswith(said):
            letter = self.process.stderr.read(1)
            assert letter, heard
            heard += letter
        return heard

    def answer(self, *words: str) -> int:
        """Answer so many questions, and return the exit code."""
        for word in words:
            self.wait_for(b"asking: ")
            self.keys.write(f"{word}\n".encode())
        return self.end()

    def interrupted(self) -> int:
        """Press Ctrl-C until it is heard: what comes just before a process waits for a key is noticed with the next key only."""
        while self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(1)
        return self.end()

    def end(self) -> int:
        self.process.communicate(timeout=60)
        return self.process.returncode


@pytest.fixture
def asked(suite: Path, run: Path) -> Iterator[Conversation]:
    """The command, asking about the first of two cases."""
    ours, theirs = pty.openpty()
    arguments = command(suite, "--run", run, "--author", "Ann")
    with (
        os.fdopen(ours, "wb", buffering=0) as keys,
        subprocess.Popen(
            arguments, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), bufsize=0
        ) as process,
    ):
        os.close(theirs)
        yield Conversation(process, keys)
        process.kill()


def first_targets(suite: Path) -> list[str]:
    return [case.judgments[0].target for case in load_suite(suite).cases]


class TestQuestions:
    @pytest.mark.parametrize(
        ("answers", "expected"),
        [
            pytest.param(["y", "y"], ["ticket.create_many", "permission.get", "a"], marks=pytest.mark.slow),
            pytest.param(["yes", "no"], ["ticket.create_many", "permission.list", "a"], marks=pytest.mark.slow),
            (["n", "what?", "", "Y"], ["ticket.create", "permission.get", "a"]),
            pytest.param(["a"], ["ticket.create_many", "permission.get", "a"], marks=pytest.mark.slow),
            (["n", "a"], ["ticket.create", "permission.get", "a"]),
            (["y", "q"], ["ticket.create_many", "permission.list", "a"]),
        ],
    )
    def test_only_what_was_said_yes_to_is_written(
        self, asked: Conversation, suite: Path, answers: list[str], expected: list[str]
    ) -> None:
        assert asked.answer(*answers) == 0
        assert first_targets(suite) == expected

    @pytest.mark.slow
    @pytest.mark.parametrize("answers", [["n", "n"], ["q"]])
    def test_without_a_yes_nothing_is_written(self, asked: Conversation, suite: Path, answers: list[str]) -> None:
        assert asked.answer(*answers) == 0
        assert suite.read_text() == CASES

    def test_ctrl_c_in_the_middle_writes_nothing(self, asked: Conversation, suite: Path) -> None:
        asked.wait_for(b"asking: ")
        asked.keys.write(b"y\n")
        asked.wait_for(b"asking: ")
        assert (asked.interrupted(), suite.read_text(), sorted(os.listdir(suite.parent))) == (
            130,
            CASES,
            ["cases.yaml", "engine.json"],
        )

    def test_ctrl_d_in_the_middle_writes_nothing(self, asked: Conversation, suite: Path) -> None:
        asked.wait_for(b"asking: ")
        asked.keys.write(b"y\n")
        asked.wait_for(b"asking: ")
        asked.keys.write(b"\x04")
        assert (asked.end(), suite.read_text()) == (130, CASES)

    @pytest.mark.slow
    def test_a_file_that_was_changed_meanwhile_is_left_as_it_is(self, asked: Conversation, suite: Path) -> None:
        asked.wait_for(b"asking: ")
        suite.write_text(CASES + "# by another hand\n")
        asked.keys.write(b"a\n")
        asked.wait_for(b"was changed in the meantime, and nothing is written; approve again\n")
        assert (asked.end(), suite.read_text()) == (4, CASES + "# by another hand\n")
