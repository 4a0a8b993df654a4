"""Cases that are alike, and what people decided about cases: small repositories, and commands as they are typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from searchmark import DatasetSettings, FormatError, generate_gold_set, mine_suite
from searchmark.cli.main import main
from searchmark.git.mining.decisions import decisions_path, read_decisions
from tests.support.histories import Script

THINGS = ("parsers", "sockets", "cookies", "headers", "tokens")


def history(folder: Path) -> dict[str, str]:
    """A list that grows by one thing at a time, half a year apart, and two commits on other files."""
    script = Script()
    script.commit(
        "root", "Start of all", {"src/kinds.py": "KINDS = []\n", "src/rate_limiter.py": "limit = 1\n", "src/spec.py": "a = 1\n"}
    )
    for number, thing in enumerate(THINGS):
        script.commit(thing, f"Teach the reader about {thing}", {"src/kinds.py": f"KINDS = {number + 1}\n"})
    script.commit("limit", "Count every request in the rate limiters once", {"src/rate_limiter.py": "limit = 2\n"})
    script.commit("spec", "Added spec for nested parameters", {"spec/reader_spec.rb": "it\n", "src/spec.py": "a = 2\n"})
    script.commit("open", "Added spec for nested parameters of the API", {"src/spec.py": "a = 3\n"})
    return script.build(folder)


@pytest.fixture
def hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    return history(tmp_path / "api.git")


def mined(*options: str) -> dict[str, Any]:
    assert main(["generate", "--repo", "api=api.git", "--output", "gold.json", *options]) == 0
    return json.loads(Path("gold.json").read_text())


def case_of(gold: dict[str, Any], commit: str) -> dict[str, Any]:
    return next(case for case in gold["test_cases"] if case["commit_hash"] == commit)


def ledger(gold: dict[str, Any]) -> dict[str, int]:
    return {rule: entry["commits"] for rule, entry in gold["metadata"]["repositories"]["api"]["ledger"].items()}


class TestAlikeCases:
    def test_no_more_than_so_many_have_the_same_targets(self, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
        gold = mined("--max-alike", "2")
        assert ledger(gold)["same_targets"] == 3
        kept = [case["commit_hash"] for case in gold["test_cases"] if case["ground_truth_files"] == ["src/kinds.py"]]
        assert kept == [hashes["tokens"], hashes["headers"]]  # the newest, as without --sample all are taken
        about = gold["metadata"]["repositories"]["api"]
        assert about["test_cases"] + sum(ledger(gold).values()) == about["commits_analyzed"]
        assert (about["target_sets"], about["largest_target_set"]) == (3, 2)
        assert "api: 3 sets of targets, the most frequent one in 2 of 4 cases" in capsys.readouterr().err

    def test_zero_and_switched_off_rules_let_all_in(self, hashes: dict[str, str]) -> None:
        assert "same_targets" not in ledger(mined("--max-alike", "0"))
        assert "same_targets" not in ledger(mined("--max-alike", "2", "--without-rule", "same_targets"))

    def test_queries_that_differ_in_names_alone_are_capped(self, tmp_path: Path) -> None:
        script = Script()
        script.commit("root", "Start of all", {f"src/a{n}.py": "x = 1\n" for n in range(4)})
        for number in range(4):
            script.commit(f"c{number}", f"Removed get_row_{number}() per deprecation timeline", {f"src/a{number}.py": "x = 2\n"})
        script.build(tmp_path / "api.git")
        generate_gold_set([f"api={tmp_path / 'api.git'}"], tmp_path / "gold.json", DatasetSettings(max_alike=3))
        assert ledger(json.loads((tmp_path / "gold.json").read_text()))["near_duplicate"] == 1

    def test_the_same_question_about_the_same_files_is_one_origin(self, hashes: dict[str, str]) -> None:
        gold = mined()
        origins = {
            case.get("origin", case["commit_hash"]) for case in gold["test_cases"] if case["ground_truth_files"] == ["src/kinds.py"]
        }
        assert origins == {hashes["parsers"]}

    def test_explain_says_that_it_is_one_too_many(self, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["generate", "--repo", "api=api.git", "--explain", hashes["parsers"], "--max-alike", "2"]) == 0
        assert "is out, by the rule same_targets" in capsys.readouterr().out


def test_a_spec_is_a_test_only_where_one_is_changed(hashes: dict[str, str]) -> None:
    gold = mined()
    assert gold["metadata"]["repositories"]["api"]["ledger"]["about_tests"]["samples"] == [hashes["spec"]]
    assert case_of(gold, hashes["open"])


def test_a_plural_of_separate_words_leaks_the_name(hashes: dict[str, str]) -> None:
    assert case_of(mined(), hashes["limit"])["leakage"]["level"] == "L2"


class TestDecisions:
    def test_a_rejected_case_stays_out_of_the_next_gold_set(
        self, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        rejected = case_of(mined(), hashes["limit"])["id"]
        assert main(["cases", "gold.json", "--reject", rejected, "--because", "asks for two things"]) == 0
        assert "rejected" in capsys.readouterr().err
        assert json.loads(Path("gold.decisions.jsonl").read_text()) == {
            "repository": "api", "commit": hashes["limit"], "decision": "reject", "because": "asks for two things",
        }  # fmt: skip
        gold = mined()
        assert ledger(gold)["rejected"] == 1
        assert hashes["limit"] not in {case["commit_hash"] for case in gold["test_cases"]}
        assert gold["metadata"]["decisions"] == {"file": "gold.decisions.jsonl", "made": 1}
        about = gold["metadata"]["repositories"]["api"]
        assert about["test_cases"] + sum(ledger(gold).values()) == about["commits_analyzed"]

    def test_a_case_can_ask_what_a_person_wrote(self, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
        case = case_of(mined(), hashes["limit"])["id"]
        assert main(["cases", "gold.json", "--query", case, "requests are counted twice"]) == 0
        gold = mined()
        edited = case_of(gold, hashes["limit"])
        assert (edited["query"], edited["transformation"], edited["variants"]["edited"]) == (
            "requests are counted twice",
            "edited",
            edited["query"],
        )
        assert edited["leakage"]["level"] == "L0"  # of the new words
        assert "query:edited" in edited["tags"]
        assert "api: 1 queries are those of the file of decisions" in capsys.readouterr().err

    def test_the_last_decision_counts_and_can_be_taken_back(self, hashes: dict[str, str]) -> None:
        case = case_of(mined(), hashes["limit"])["id"]
        for typed in (["--reject", case, "--because", "vague"], ["--query", case, "count requests once"], ["--keep", case]):
            assert main(["cases", "gold.json", *typed]) == 0
        assert len(Path("gold.decisions.jsonl").read_text().splitlines()) == 3
        assert read_decisions("gold.decisions.jsonl").by_commit == {}
        assert case_of(mined(), hashes["limit"])["transformation"] == "rule"

    def test_a_rejection_can_be_taken_back_after_the_gold_set_was_mined_without_the_case(
        self, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        case = case_of(mined(), hashes["limit"])["id"]
        assert main(["cases", "gold.json", "--reject", case, "--because", "vague"]) == 0
        mined()
        assert main(["cases", "gold.json", "--keep", case]) == 0
        assert f"{case}: kept, and nothing is decided about it any more" in capsys.readouterr().err
        assert case_of(mined(), hashes["limit"])["id"] == case
        assert main(["cases", "gold.json", "--keep", "api@000000000000"]) == 4

    def test_decisions_about_a_repository_of_another_name_are_told_and_stay(
        self, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        case = case_of(mined(), hashes["limit"])["id"]
        assert main(["cases", "gold.json", "--reject", case, "--because", "vague"]) == 0
        before = Path("gold.decisions.jsonl").read_text()
        capsys.readouterr()
        assert main(["generate", "--repo", "web=api.git", "-o", "gold.json"]) == 0
        told = capsys.readouterr().err
        assert "gold.decisions.jsonl: 1 decision not applied, since no repository of that name was mined: api" in told
        assert Path("gold.decisions.jsonl").read_text() == before

    def test_nothing_is_decided_about_a_built_in_suite(self, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
        case = "larder@52ca2708ee5b"
        assert main(["cases", "builtin:code-history", "--reject", case, "--because", "vague"]) == 4
        assert "builtin:code-history comes with Searchmark and is never changed" in capsys.readouterr().err
        assert not [*Path().glob("builtin*")]

    def test_the_list_and_the_case_show_what_was_decided(self, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
        case = case_of(mined(), hashes["limit"])["id"]
        assert main(["cases", "gold.json", "--reject", case, "--because", "two\x1b[31m things"]) == 0
        capsys.readouterr()
        assert main(["cases", "gold.json"]) == 0
        assert "rejected" in capsys.readouterr().out
        assert main(["cases", "gold.json", case]) == 0
        shown = capsys.readouterr().out
        assert "decision: rejected, because: two" in shown
        assert "\x1b" not in shown

    def test_decisions_about_what_is_not_there_are_counted(
        self, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        line = {"repository": "api", "commit": "0" * 40, "decision": "reject"}
        Path("mine.jsonl").write_text(json.dumps(line) + "\n")
        assert mined("--decisions", "mine.jsonl")["metadata"]["repositories"]["api"]["unused_decisions"] == 1
        assert "1 decisions are about commits that make no case anyway" in capsys.readouterr().err

    def test_a_library_names_the_file(self, hashes: dict[str, str]) -> None:
        Path("mine.jsonl").write_text(json.dumps({"repository": "api", "commit": hashes["limit"], "decision": "reject"}))
        suite = mine_suite(["api=api.git"], decisions="mine.jsonl")
        assert all(case.fields["commit_hash"] != hashes["limit"] for case in suite.cases)

    def test_explain_says_why_a_person_rejected_it(self, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
        decision = {"repository": "api", "commit": hashes["limit"], "decision": "reject", "because": "two things"}
        Path("mine.jsonl").write_text(json.dumps(decision))
        assert main(["generate", "--repo", "api=api.git", "--explain", hashes["limit"], "--decisions", "mine.jsonl"]) == 0
        printed = capsys.readouterr().out
        assert "by the rule rejected: a person rejected it" in printed
        assert "decided, because: two things" in printed

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("typed", "said"),
        [
            (["--reject", "nothing"], "has no case"),
            (["--reject", "CASE"], "say why the case is rejected, with --because TEXT"),
            (["--query", "CASE", " "], "the new query is empty"),
            (["--reject", "CASE", "--keep", "CASE"], "name one case to decide about"),
            (["--because", "no case"], "name one case to decide about"),
            (["--diff"], "--diff is of one case"),
            (["CASE", "--repo", "api.git"], "--repo says where --diff reads"),
        ],
    )
    def test_mistakes_are_told_in_one_sentence(
        self, hashes: dict[str, str], capsys: pytest.CaptureFixture[str], typed: list[str], said: str
    ) -> None:
        case = case_of(mined(), hashes["limit"])["id"]
        capsys.readouterr()
        assert main(["cases", "gold.json", *(case if word == "CASE" else word for word in typed)]) == 4
        assert said in capsys.readouterr().err
        assert not Path("gold.decisions.jsonl").exists()

    def test_a_suite_that_was_not_mined_has_nothing_to_decide_about(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "suite.yaml").write_text("schema_version: 1\ncases: [{id: a, query: b, judgments: [{target: c}]}]\n")
        assert main(["cases", str(tmp_path / "suite.yaml"), "--reject", "a", "--because", "x"]) == 4
        assert "names no repository and commit" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "line",
        [
            "[]", "{", '{"repository": "a", "commit": "12", "decision": "keep"}', '{"repository": 1}', '{"why": "x"}',
            json.dumps({"repository": "a", "commit": "0" * 40, "decision": "maybe"}),
            json.dumps({"repository": "a", "commit": "0" * 40, "decision": "query"}),
            json.dumps({"repository": "a", "commit": "0" * 40, "decision": "reject", "query": "x"}),
        ],
    )  # fmt: skip
    def test_a_file_that_is_none_is_refused_with_its_line(self, tmp_path: Path, line: str) -> None:
        (tmp_path / "x.jsonl").write_text(f"\n{line}\n")
        with pytest.raises(FormatError, match="line 2"):
            read_decisions(tmp_path / "x.jsonl")

    def test_a_file_that_was_named_must_be_there(self, hashes: dict[str, str]) -> None:
        assert main(["generate", "--repo", "api=api.git", "-o", "gold.json", "--decisions", "gone.jsonl"]) == 4
        assert decisions_path("a/gold.json") == Path("a/gold.decisions.jsonl")


class TestDiff:
    def test_a_case_is_shown_with_what_its_commit_changed(self, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
        case = case_of(mined(), hashes["limit"])["id"]
        capsys.readouterr()
        for typed in (["--diff"], ["--diff", "--repo", "api.git"], ["--diff", "--repo", "api=api.git"]):
            assert main(["cases", "gold.json", case, *typed]) == 0
            printed = capsys.readouterr().out.splitlines()
            assert "-limit = 1" in printed
            assert "+limit = 2" in printed

    def test_json_has_it_too(self, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
        case = case_of(mined(), hashes["limit"])["id"]
        capsys.readouterr()
        assert main(["cases", "gold.json", case, "--diff", "-o", "-"]) == 0
        diff = json.loads(capsys.readouterr().out)["diff"]
        assert diff["commit"] == hashes["limit"]
        assert not diff["cut"]

    def test_a_repository_without_the_commit_is_refused(
        self, hashes: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        case = case_of(mined(), hashes["limit"])["id"]
        script = Script()
        script.commit("root", "Another one", {"a.py": "a"})
        script.build(tmp_path / "other.git")
        assert main(["cases", "gold.json", case, "--diff", "--repo", "other.git"]) == 4
        assert "lacks the commit" in capsys.readouterr().err

    def test_a_long_diff_is_cut_and_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        script = Script()
        script.commit("root", "Start of all", {"src/rows.py": "a = 1\n"})
        script.commit("long", "Keep all rows of the reader in memory", {"src/rows.py": "a = 1\n" + "b = 2\x1b[31m\n" * 3_000})
        hashes = script.build(tmp_path / "api.git")
        case = case_of(mined(), hashes["long"])["id"]
        capsys.readouterr()
        assert main(["cases", "gold.json", case, "--diff"]) == 0
        printed = capsys.readouterr().out
        assert printed.endswith("shows all\n")
        assert printed.count("+b = 2") < 2_000
        assert "\x1b" not in printed
