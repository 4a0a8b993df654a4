"""Gold sets from Git: every odd history gives the gold set that was written down by hand, on every kind of repository."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from searchmark import DatasetSettings, NothingEvaluated, UsageError, generate_gold_set, load_suite, mine_suite, save_suite
from searchmark.cli.main import main
from searchmark.errors import DamagedRepository
from searchmark.git.clones import RepositorySource
from searchmark.git.log import MalformedCommit, parse_record
from searchmark.git.mining.drafts import PathBook
from searchmark.git.mining.leakage import tree_names_along
from searchmark.git.mining.mine import explain_commit
from searchmark.git.process import sealed_environment
from searchmark.git.repository import open_repository, path_text
from tests.formats.test_snapshots import hand_made_tree
from tests.support.forgery import overwrite
from tests.support.histories import long_history, malformed_commit, odd_history, run
from tests.support.small_histories import git

EXPECTED = json.loads((Path(__file__).parent / "odd_gold_set.json").read_text())


class Odd:
    """The repository with every oddity, and the names of its commits."""

    def __init__(self, folder: Path, object_format: str = "sha1") -> None:
        self.folder = folder
        self.hashes = odd_history(40 if object_format == "sha1" else 64).build(folder, object_format=object_format)
        self.hashes["malformed"] = malformed_commit(folder, self.hashes["wide"])
        self.names = {commit: name for name, commit in self.hashes.items()}


@pytest.fixture(scope="module")
def odd(tmp_path_factory) -> Odd:
    return Odd(tmp_path_factory.mktemp("odd") / "odd.git")


def mined(folder: Path, output: Path, **options: Any) -> dict[str, Any]:
    generate_gold_set([RepositorySource(str(folder), "odd")], output, DatasetSettings(**options))
    return json.loads(output.read_text())


def cases_by_name(odd: Odd, gold: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {odd.names[case["commit_hash"]]: case for case in gold["test_cases"]}


def removed(odd: Odd, gold: dict[str, Any]) -> dict[str, list[str]]:
    ledger = gold["metadata"]["repositories"]["odd"]["ledger"]
    return {rule: [odd.names[commit] for commit in entry["samples"]] for rule, entry in ledger.items()}


class TestTheOddHistory:
    @pytest.mark.parametrize("object_format", ["sha1", "sha256"])
    def test_gives_the_gold_set_that_was_written_by_hand(self, tmp_path: Path, object_format: str) -> None:
        odd = Odd(tmp_path / "odd.git", object_format)
        gold = mined(odd.folder, tmp_path / "gold.json")
        found = [
            {
                "commit": odd.names[case["commit_hash"]],
                "parent": odd.names[case["parent_commit"]],
                "query": case["query"],
                "files": {
                    target["path"]: [target["status"], target["lines"], target["inserted_after"]]
                    for target in case["targets"]
                    if target["path"] in case["ground_truth_files"]
                },
                "leak": case["leakage"]["level"],
                **({"guessed": True} if case.get("encoding_guessed") else {}),
                **({"scope": case["scope"]} if "scope" in case else {}),
                **({"beside": beside} if (beside := {t["path"]: t["status"] for t in case["targets"] if t["path"] not in case["ground_truth_files"]}) else {}),
            }
            for case in gold["test_cases"]
        ]  # fmt: skip
        assert found == EXPECTED["cases"]
        assert removed(odd, gold) == EXPECTED["removed"]

    def test_every_commit_is_counted_once(self, odd: Odd, tmp_path: Path) -> None:
        about = mined(odd.folder, tmp_path / "gold.json")["metadata"]["repositories"]["odd"]
        assert about["test_cases"] + sum(entry["commits"] for entry in about["ledger"].values()) == about["commits_analyzed"]
        assert about["commits_analyzed"] == len(odd.hashes)

    def test_a_pull_request_stands_for_its_commits(self, odd: Odd, tmp_path: Path) -> None:
        gold = mined(odd.folder, tmp_path / "gold.json", unit="auto")
        cases = cases_by_name(odd, gold)
        assert cases["pull"]["query"] == "Limit login attempts and say for how long"
        assert cases["pull"]["parent_commit"] == odd.hashes["main1"]
        assert cases["pull"]["ground_truth_files"] == ["src/login.py"]
        assert removed(odd, gold)["in_pull_request"] == ["side2", "side1"]
        assert "main1" in cases

    def test_only_pull_requests(self, odd: Odd, tmp_path: Path) -> None:
        assert list(cases_by_name(odd, mined(odd.folder, tmp_path / "gold.json", unit="pr"))) == ["pull", "edit"]

    def test_a_merge_is_compared_with_its_first_parent(self, odd: Odd, tmp_path: Path) -> None:
        gold = mined(odd.folder, tmp_path / "gold.json", include_merge_commits=True, without_rules=("merge_message",))
        assert cases_by_name(odd, gold)["pull"]["ground_truth_files"] == ["src/login.py"]

    def test_the_seeds_fields_are_there(self, odd: Odd, tmp_path: Path) -> None:
        gold = mined(odd.folder, tmp_path / "gold.json")
        case = cases_by_name(odd, gold)["odd_edit"]
        assert (case["complexity"], case["timestamp"]) == ("medium", "2023-11-14T22:31:20Z")
        assert case["repository"] == "odd"
        assert case["id"] == f"odd@{odd.hashes['odd_edit'][:12]}"
        metadata = gold["metadata"]
        assert metadata["generated_at"] == "2023-11-14T22:46:20Z"
        assert metadata["total_commits_analyzed"] == len(odd.hashes)
        assert metadata["test_cases_generated"] == len(gold["test_cases"])
        assert metadata["repositories"]["odd"]["path"] == str(odd.folder)
        assert metadata["repositories"]["odd"]["commit"] == odd.hashes["malformed"]

    def test_a_name_that_is_not_utf8_is_kept_in_full(self, odd: Odd, tmp_path: Path) -> None:
        case = cases_by_name(odd, mined(odd.folder, tmp_path / "gold.json"))["odd_edit"]
        assert case["targets"][0]["path_base64"] == "c3JjL2NhZukucHk="

    def test_the_file_is_read_and_written_again_without_a_loss(self, odd: Odd, tmp_path: Path) -> None:
        mined(odd.folder, tmp_path / "gold.json")
        suite = load_suite(tmp_path / "gold.json")
        assert save_suite(suite, tmp_path / "again.json", format="gold-set") == []
        assert load_suite(tmp_path / "again.json").hashes == suite.hashes
        assert json.loads((tmp_path / "again.json").read_text()) == json.loads((tmp_path / "gold.json").read_text())


class TestWithoutAFile:
    @pytest.mark.parametrize("options", [{}, {"unit": "auto", "query": "masked"}, {"max_cases": 3, "sample": "random"}], ids=str)
    def test_the_suite_is_the_one_that_a_file_would_hold(self, odd: Odd, tmp_path: Path, options: dict[str, Any]) -> None:
        source = RepositorySource(str(odd.folder), "odd")
        facts = generate_gold_set([source], tmp_path / "gold.json", DatasetSettings(**options))
        written, suite = load_suite(tmp_path / "gold.json"), mine_suite([source], DatasetSettings(**options))
        assert list(suite.cases) == list(written.cases)
        assert suite.metadata == written.metadata
        assert suite.hashes == written.hashes
        assert (suite.name, written.name) == ("odd", "gold")
        assert [one.cases for one in facts] == [len(suite)]

    @pytest.mark.slow
    def test_several_repositories_may_be_mined_at_once(self, odd: Odd) -> None:
        sources = [RepositorySource(str(odd.folder), "one"), RepositorySource(str(odd.folder), "two")]
        one_by_one, at_once = mine_suite(sources, name="both"), mine_suite(sources, name="both", jobs=2)
        assert list(one_by_one.cases) == list(at_once.cases)
        assert one_by_one.metadata == at_once.metadata

    def test_a_history_without_cases_makes_no_suite(self, odd: Odd) -> None:
        with pytest.raises(NothingEvaluated, match="none of 34 commits passes the filters"):
            mine_suite([str(odd.folder)], DatasetSettings(exclude_patterns=("*",)))


class TestVariants:
    def test_all_wordings_are_kept(self, odd: Odd, tmp_path: Path) -> None:
        variants = cases_by_name(odd, mined(odd.folder, tmp_path / "gold.json"))["edit"]["variants"]
        assert variants["raw"].startswith("fix(auth): Reject")
        assert variants["raw"].endswith("Signed-off-by: Ada <a@x.org>")
        assert variants["subject"] == "Reject blank passwords at login"
        assert variants["masked"] == "Reject blank passwords at ___. Blank passwords were let through silently."

    @pytest.mark.parametrize(("query", "status"), [("raw", "raw"), ("clean", "rule"), ("subject", "rule"), ("masked", "rule")])
    def test_the_query_is_the_wording_that_was_asked_for(self, odd: Odd, tmp_path: Path, query: str, status: str) -> None:
        case = cases_by_name(odd, mined(odd.folder, tmp_path / "gold.json", query=query))["edit"]
        assert case["query"] == case["variants"][query]
        assert case["transformation"] == status
        assert f"query:{status}" in case["tags"]

    def test_a_masked_query_leaks_no_name(self, odd: Odd, tmp_path: Path) -> None:
        gold = mined(odd.folder, tmp_path / "gold.json", query="masked")
        assert {case["leakage"]["level"] for case in gold["test_cases"]} == {"L0"}


def test_the_moving_names_are_those_of_the_tree_of_every_parent(odd: Odd) -> None:
    parents = [odd.hashes[name] for name in (*odd.hashes, "edit", "odd_edit", "odd_edit", "root")]
    with open_repository(odd.folder) as repository, repository.objects_reader() as reader:
        trees = tree_names_along(repository, parents, PathBook(DatasetSettings()), frozenset({b"login"}))
        for parent, tree in zip(parents, trees, strict=True):
            files = [entry for entry in repository.tree(parent) if entry.is_file]
            names = Counter(path_text(entry.path).lower().rsplit("/", 1)[-1] for entry in files)
            inside = sum(b"login" in (reader.read(entry.blob) or b"") for entry in files if entry.path.endswith(b".py"))
            assert +tree.basenames == names
            assert (tree.files, tree.identifiers[b"login"]) == (len(files), inside)


class TestOtherRepositories:
    def test_a_worktree_and_a_clone_give_the_same_cases(self, odd: Odd, tmp_path: Path) -> None:
        run(tmp_path, "clone", "-q", "--no-checkout", str(odd.folder), "clone")
        run(tmp_path / "clone", "worktree", "add", "-q", "--detach", "--no-checkout", str(tmp_path / "tree"))
        expected = mined(odd.folder, tmp_path / "a.json")["test_cases"]
        assert mined(tmp_path / "clone", tmp_path / "b.json")["test_cases"] == expected
        assert mined(tmp_path / "tree", tmp_path / "c.json")["test_cases"] == expected

    def test_a_shallow_clone_ends_with_a_reason_and_no_false_root(self, odd: Odd, tmp_path: Path) -> None:
        run(tmp_path, "clone", "-q", "--no-checkout", "--depth=8", "--no-single-branch", odd.folder.as_uri(), "shallow")
        gold = mined(tmp_path / "shallow", tmp_path / "gold.json")
        assert set(cases_by_name(odd, gold)) == {"side2", "side1", "main1", "again", "abbott"}
        assert gold["metadata"]["repositories"]["odd"]["shallow"] is True
        assert removed(odd, gold)["shallow_boundary"]

    @pytest.mark.parametrize("kind", ["", "^{tree}"])
    def test_a_loose_object_that_holds_another_one_gives_no_other_gold_set(self, odd: Odd, tmp_path: Path, kind: str) -> None:
        run(tmp_path, "init", "-q", "--bare", "loose")
        packed = git(odd.folder, "pack-objects", "--all", "--stdout", data=b"")
        git(tmp_path / "loose", "unpack-objects", "-q", data=packed)
        git(tmp_path / "loose", "update-ref", "HEAD", git(odd.folder, "rev-parse", "HEAD").decode().strip())
        names = git(odd.folder, "rev-parse", f"HEAD~1{kind}", f"HEAD~3{kind}").decode().split()
        file, other = (tmp_path / "loose/objects" / name[:2] / name[2:] for name in names)
        overwrite(file, other.read_bytes())
        with pytest.raises(DamagedRepository, match=f"loose is damaged: the object {names[0]} is not what its name says"):
            mined(tmp_path / "loose", tmp_path / "gold.json")
        assert not (tmp_path / "gold.json").exists()

    def test_a_partial_clone_without_contents_says_so(self, odd: Odd, tmp_path: Path) -> None:
        run(odd.folder, "config", "uploadpack.allowFilter", "true")
        run(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", odd.folder.as_uri(), "partial")
        with pytest.raises(DamagedRepository, match=r"partial lacks the content \w+; it is a partial clone: fetch the contents"):
            mined(tmp_path / "partial", tmp_path / "gold.json")
        assert not (tmp_path / "gold.json").exists()

    def test_a_partial_clone_with_some_contents_gives_no_smaller_gold_set(self, odd: Odd, tmp_path: Path) -> None:
        run(odd.folder, "config", "uploadpack.allowFilter", "true")
        run(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", odd.folder.as_uri(), "partial")
        contents = git(odd.folder, "rev-list", "--objects", "--all", "--filter=object:type=blob", "--no-object-names")
        for name in contents.decode().split()[::2]:
            kind = git(odd.folder, "cat-file", "-t", name).decode().strip()
            git(tmp_path / "partial", "hash-object", "-w", "-t", kind, "--stdin", data=git(odd.folder, "cat-file", kind, name))
        with pytest.raises(DamagedRepository, match=r"partial lacks the content \w+; it is a partial clone: fetch the contents"):
            mined(tmp_path / "partial", tmp_path / "gold.json")
        assert not (tmp_path / "gold.json").exists()

    @pytest.mark.parametrize("name", [b"..", b".git", b"git~1", b".g\xe2\x80\x8cit", b".GIT ", b"."])
    def test_a_target_that_no_snapshot_holds_makes_no_case(self, tmp_path: Path, name: bytes) -> None:
        folder = tmp_path / "paths"
        run(tmp_path, "init", "-q", "-b", "main", "paths")
        versions = [git(folder, "hash-object", "-w", "--stdin", data=text).decode().strip() for text in (b"a = 1\n", b"a = 2\n")]
        commit = ""
        for blob, message in zip(versions, ("Start of everything", "Greet every visitor of the session by name"), strict=True):
            inner = hand_made_tree(folder, [("100644", b"x.py", blob)])
            tree = hand_made_tree(folder, [("40000", name, inner), ("100644", b"good.py", blob)])
            commit = git(folder, "commit-tree", *(["-p", commit] if commit else []), "-m", message, tree).decode().strip()
        git(folder, "update-ref", "refs/heads/main", commit)
        with pytest.raises(NothingEvaluated, match="odd_path 1"):
            mined(folder, tmp_path / "gold.json")

    def test_nothing_of_the_users_settings_matters(self, odd: Odd, tmp_path: Path, monkeypatch) -> None:
        expected = mined(odd.folder, tmp_path / "a.json")
        (tmp_path / "config").write_text(
            "[diff]\n renames = copies\n noprefix = true\n[log]\n showSignature = true\n[core]\n quotePath = true\n"
        )
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
        monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
        assert mined(odd.folder, tmp_path / "b.json") == expected


class TestOptions:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({"since": "2023-11-14T22:35:00Z"}, ["side2", "side1", "main1", "again", "abbott"]),
            ({"until": "2023-11-14T22:15:30Z"}, ["edit"]),
            ({"first_parent": True, "since": "2023-11-14T22:35:00Z"}, ["main1", "again", "abbott"]),
            ({"paths": ("src/store.py",)}, ["deleted", "both"]),
            ({"min_files": 2}, ["odd_edit"]),
            ({"max_files": 3, "paths": ("src/ünder.py",), "without_rules": ("too_many_files",)}, ["odd_edit"]),
            ({"exclude_patterns": ("login.py", "src/stay*")}, ["odd_edit", "deleted", "renamed", "moved", "both"]),
            ({"exclude_patterns": ("src/*",)}, []),
            ({"max_cases": 2}, ["side2", "side1"]),
            ({"kinds": ("doc",), "without_rules": ("about_docs",)}, ["docs"]),
            ({"min_words": 9}, ["moved", "renamed", "both", "colon", "lying", "side2"]),
        ],
        ids=str,
    )  # fmt: skip
    def test_which_commits_are_taken(self, odd: Odd, tmp_path: Path, options: dict[str, Any], expected: list[str]) -> None:
        if not expected:
            with pytest.raises(NothingEvaluated, match="none of 34 commits passes"):
                mined(odd.folder, tmp_path / "gold.json", **options)
            return
        found = cases_by_name(odd, mined(odd.folder, tmp_path / "gold.json", **options))
        assert set(found) == set(expected)

    def test_a_range_starts_behind_its_first_commit(self, odd: Odd, tmp_path: Path) -> None:
        gold = mined(odd.folder, tmp_path / "gold.json", revisions=f"{odd.hashes['colon']}..{odd.hashes['again']}")
        assert list(cases_by_name(odd, gold)) == ["again", "abbott"]
        assert gold["metadata"]["repositories"]["odd"]["commit"] == odd.hashes["again"]
        assert gold["metadata"]["repositories"]["odd"]["behind"] == odd.hashes["colon"]

    @pytest.mark.slow
    def test_a_seed_draws_the_same_sample_and_another_one_another(self, odd: Odd, tmp_path: Path) -> None:
        samples = [
            list(cases_by_name(odd, mined(odd.folder, tmp_path / "gold.json", max_cases=4, sample=how, seed=seed)))
            for how in ("random", "spread")
            for seed in (1, 1, 2, 3)
        ]
        assert all(len(sample) == 4 for sample in samples)
        assert samples[0] == samples[1]
        assert samples[4] == samples[5]
        assert len({tuple(sample) for sample in samples[:4]}) > 1
        assert len({tuple(sample) for sample in samples[4:]}) > 1

    def test_spread_takes_one_from_every_part_of_the_history(self, odd: Odd, tmp_path: Path) -> None:
        order = [case["commit"] for case in EXPECTED["cases"]]
        sample = list(cases_by_name(odd, mined(odd.folder, tmp_path / "gold.json", max_cases=2, sample="spread", seed=5)))
        assert order.index(sample[0]) < len(order) / 2 <= order.index(sample[1])

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"revisions": "nonsense"}, "is not a commit"),
            ({"revisions": "a...b"}, "is not a range"),
            ({"since": "yesterday"}, "since: 'yesterday' is not a date"),
            ({"without_rules": ("nonsense",)}, "there is no rule 'nonsense'"),
            ({"without_rules": ("root",)}, "cannot be switched off"),
            ({"min_files": 0}, "min_files must be a whole number of at least 1, not 0"),
            ({"min_files": 5, "max_files": 4}, "max_files must be at least min_files"),
        ],
        ids=str,
    )
    def test_what_makes_no_sense_is_refused(self, odd: Odd, tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
        with pytest.raises(UsageError, match=sentence):
            mined(odd.folder, tmp_path / "gold.json", **options)
        assert list(tmp_path.iterdir()) == []


class TestSeveralRepositories:
    @pytest.mark.slow
    def test_the_bytes_are_the_same_whatever_the_number_of_jobs(self, odd: Odd, tmp_path: Path) -> None:
        sources = [RepositorySource(str(odd.folder), "one"), RepositorySource(str(odd.folder), "two")]
        generate_gold_set(sources, tmp_path / "a.json", jobs=1)
        generate_gold_set(sources, tmp_path / "b.json", jobs=2)
        assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
        cases = load_suite(tmp_path / "a.json").cases
        assert [case.fields["repository"] for case in cases] == ["one"] * 14 + ["two"] * 14

    def test_one_that_cannot_be_read_ends_it_all(self, odd: Odd, tmp_path: Path) -> None:
        sources = [RepositorySource(str(odd.folder), "one"), RepositorySource(str(tmp_path / "nowhere"), "two")]
        with pytest.raises(UsageError, match="nowhere is not a Git repository"):
            generate_gold_set(sources, tmp_path / "gold.json", jobs=2)
        assert list(tmp_path.iterdir()) == []


class TestHistory:
    def test_a_stream_that_breaks_off_is_an_error(self, tmp_path: Path) -> None:
        odd = Odd(tmp_path / "odd.git")
        victim = odd.hashes["colon"]
        (odd.folder / "objects" / victim[:2] / victim[2:]).unlink()
        with pytest.raises(UsageError, match="git log failed"):
            mined(odd.folder, tmp_path / "gold.json")
        assert not (tmp_path / "gold.json").exists()

    @pytest.mark.parametrize(
        "record",
        [b"", b"abc", b"\0".join([b"a" * 40, b"", b"x", b"n", b"e", b"m", b"\n"]), b"\0".join([b"a" * 40, b"", b"1", b"n", b"e", b"m", b"junk\0", b""])],
    )  # fmt: skip
    def test_a_record_that_makes_no_sense_is_malformed(self, record: bytes) -> None:
        assert isinstance(parse_record(record), MalformedCommit)


class TestExplaining:
    @pytest.mark.parametrize(
        ("name", "sentences"),
        [
            ("edit", ["is in", "file: src/login.py (code; present)", "query (clean): Reject blank passwords"]),
            ("renames", ["is out, by the rule mass_rename"]),
            ("binary", ["is out, by the rule binary: what is left of its targets is binary"]),
            ("docs", ["is out, by the rule no_code_file", "README.md (doc; not of a wanted kind, or excluded)"]),
            ("malformed", ["is out, by the rule malformed", "why: its date is not valid"]),
        ],
    )
    def test_says_why(self, odd: Odd, name: str, sentences: list[str]) -> None:
        text = "\n".join(explain_commit(RepositorySource(str(odd.folder), "odd"), odd.hashes[name], DatasetSettings()))
        assert [sentence for sentence in sentences if sentence not in text] == []

    def test_a_commit_outside_the_sample_is_told_apart(self, odd: Odd) -> None:
        text = "\n".join(explain_commit(RepositorySource(str(odd.folder), "odd"), odd.hashes["edit"], DatasetSettings(max_cases=1)))
        assert "passes every rule and was not drawn" in text


class TestCommandLine:
    def test_it_writes_a_gold_set_and_says_what_was_removed(self, odd: Odd, tmp_path: Path, capsys) -> None:
        assert main(["generate", "--repo", f"odd={odd.folder}", "--output", str(tmp_path / "gold.json")]) == 0
        said = capsys.readouterr().err
        assert "odd: 34 commits read, 14 passed, 14 cases" in said
        assert "bot 1" in said
        assert "malformed and skipped: " in said
        assert len(load_suite(tmp_path / "gold.json")) == 14

    def test_the_seeds_config_is_valid_as_it_stands(self, odd: Odd, tmp_path: Path, file, capsys) -> None:
        config = file("benchmark_config.yaml", "dataset:\n  repository_path: \"/path/to/repo\"\n  exclude_patterns:\n    - \"*.md\"\n    - \"test_*\"\n    - \"docs/*\"\n"
                      "  min_files: 2\n  max_files: 20\n  include_merge_commits: false\n")  # fmt: skip
        assert main(["generate", "--repo", str(odd.folder), "--output", str(tmp_path / "gold.json"), "--config", str(config)]) == 0
        assert [case.fields["commit_hash"] for case in load_suite(tmp_path / "gold.json").cases] == [odd.hashes["odd_edit"]]

    def test_the_repository_may_come_from_the_config(self, odd: Odd, tmp_path: Path, file) -> None:
        config = file("c.yaml", f"dataset:\n  repository_path: {odd.folder}\n  max_cases: 1\n")
        assert main(["generate", "--output", str(tmp_path / "gold.json"), "--config", str(config)]) == 0

    def test_terminal_codes_in_the_name_of_a_repository_are_shown_as_text(self, odd: Odd, tmp_path: Path, capsys) -> None:
        assert main(["generate", "--repo", f"a\x1b]0;pwn\x07b={odd.folder}", "-o", str(tmp_path / "gold.json")]) == 0
        said = capsys.readouterr().err
        assert (r"a\x1b]0;pwn\x07b: " in said, "\x1b" in said) == (True, False)

    def test_explain_writes_nothing(self, odd: Odd, capsys) -> None:
        assert main(["generate", "--repo", str(odd.folder), "--explain", odd.hashes["edit"]]) == 0
        assert "is in" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("arguments", "code", "sentence"),
        [
            (["--output", "x.json"], 4, "no repository"),
            (["--repo", "{odd}"], 4, "--output is missing"),
            (["--repo", "{here}", "--output", "x.json"], 4, "is not a Git repository"),
            (["--repo", "{empty}", "--output", "x.json"], 4, "has no commits"),
            (["--repo", "{odd}", "--output", "x.json", "--range", "nope"], 4, "is not a commit"),
            (["--repo", "{odd}", "--output", "x.json", "--exclude", "*"], 5, "there is nothing to ask"),
            (["--repo", "{odd}", "--output", "{here}"], 4, "it is a folder"),
            (["--repo", "{odd}", "--output", "/proc/nowhere/x.json"], 4, "cannot be written"),
            (["--repo", "{odd}", "--output", "x.json", "--query", "llm"], 4, "needs 'dataset.rewriter' with a model in the config"),
            (["--repo", "{odd}", "--repo", "b={odd}", "--explain", "HEAD"], 4, "name one --repo"),
        ],
    )
    def test_bad_input_gets_one_sentence_and_leaves_nothing(
        self, odd: Odd, tmp_path: Path, monkeypatch, capsys, arguments: list[str], code: int, sentence: str
    ) -> None:
        here = tmp_path / "here"
        here.mkdir()
        monkeypatch.chdir(here)
        run(tmp_path, "init", "-q", str(tmp_path / "empty"))
        filled = [text.format(odd=odd.folder, here=here, empty=tmp_path / "empty") for text in arguments]
        assert main(["generate", *filled]) == code
        assert sentence in capsys.readouterr().err
        assert list(here.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to see processes")
@pytest.mark.parametrize("repositories", [1, 2])
def test_an_interrupt_leaves_no_file_and_no_process(tmp_path: Path, repositories: int) -> None:
    for number in range(repositories):
        run(tmp_path, "init", "-q", "--bare", "-b", "main", f"{number}.git")
        stream = b"".join(long_history(3_000, files=50, seed=number))
        subprocess.run(
            ["git", "fast-import", "--quiet"], cwd=tmp_path / f"{number}.git", input=stream, env=sealed_environment(), check=True
        )
    repos = [f"--repo={tmp_path / f'{number}.git'}" for number in range(repositories)]
    (tmp_path / "temporary").mkdir()
    command = [sys.executable, "-m", "searchmark", "generate", *repos, "--jobs=2", f"--output={tmp_path / 'gold.json'}"]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    while not list((tmp_path / "temporary").glob("searchmark-*/*/HEAD")) and process.poll() is None:
        pass  # until git is at work
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert process.stderr is not None
    assert "interrupted" in process.stderr.read()
    process.stderr.close()
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".git"] == ["temporary"]
    assert [path for path in (tmp_path / "temporary").rglob("*") if not path.name.startswith("searchmark-")] == []
    assert not [line for line in Path("/proc").glob("[0-9]*/cmdline") if _mentions(line, str(tmp_path))]


@pytest.mark.slow
def test_several_processes_make_the_file_that_one_makes(tmp_path: Path) -> None:
    run(tmp_path, "init", "-q", "--bare", "-b", "main", "long.git")
    stream = b"".join(long_history(3_000, files=50))
    subprocess.run(["git", "fast-import", "--quiet"], cwd=tmp_path / "long.git", input=stream, env=sealed_environment(), check=True)
    for jobs, output in (("1", "one.json"), ("2", "two.json")):
        command = [sys.executable, "-m", "searchmark", "generate", "--repo", "long.git", "--jobs", jobs, "--output", output]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert json.loads((tmp_path / "one.json").read_bytes())["metadata"]["test_cases_generated"] > 800
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def _mentions(file: Path, text: str) -> bool:
    try:
        return text in file.read_text()
    except OSError:
        return False
