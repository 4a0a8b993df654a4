"""Every format is changed in the lines that change and in no other, or named as one that cannot be approved."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import Answer, Hit, Run, UsageError, load_run, load_suite, save_suite
from searchmark.judgments.approve import approve
from searchmark.judgments.suite_edits import Approval
from tests.conftest import ROOT
from tests.judgments.support import approve_in_process, changed_lines, plain_run

EXAMPLES = ROOT / "examples" / "formats"


def approved(path: Path, **answers: list[str]) -> Approval:
    """Approve all of a run; the case ``1`` is given as ``_1=[...]``."""
    hits = {case.removeprefix("_"): tuple(Hit(each, rank) for rank, each in enumerate(ids, 1)) for case, ids in answers.items()}
    run = Run.from_answers("engine", [Answer(case, "ok", each) for case, each in hits.items()])
    return approve(path, run, lambda _: True, author="Ann")


def lines_changed_in(path: Path, **answers: list[str]) -> list[str]:
    before = path.read_bytes().decode()
    approved(path, **answers)
    return changed_lines(before, path.read_bytes().decode())


def targets(path: Path) -> list[list[str]]:
    return [[judgment.target for judgment in case.judgments] for case in load_suite(path).cases]


class TestExamples:
    def test_a_case_list_in_json(self, tmp_path: Path) -> None:
        path = Path(shutil.copy(EXAMPLES / "case_list.json", tmp_path))
        assert lines_changed_in(
            path, _1=["ticket.open", "ticket.create"], _2=["ticket.create", "ticket.create_many"], _3=["x"]
        ) == [
            '-  {"query": "create a ticket", "expectedIds": ["ticket.create", "ticket.create_many"], "category": "crud"},',
            '+  {"query": "create a ticket", "expectedIds": ["ticket.open", "ticket.create"], "category": "crud"},',
        ]

    def test_a_case_list_in_yaml(self, tmp_path: Path) -> None:
        path = Path(shutil.copy(EXAMPLES / "case_list.yaml", tmp_path))
        assert lines_changed_in(path, _1=["ticket.create_many", "ticket.create"], _2=["permission.list"]) == [
            "-    expectedIds: [ticket.create, ticket.create_many]",
            "+    expectedIds: [ticket.create_many, ticket.create]",
            "+approvals:",
            '+  - date: "DATE"',
            '+    author: "Ann"',
            '+    run: "engine"',
            '+    cases: ["1"]',
        ]

    def test_a_case_list_in_typescript(self, tmp_path: Path) -> None:
        path = Path(shutil.copy(EXAMPLES / "case_list.ts", tmp_path))
        assert lines_changed_in(path, _1=["ticket.create_many", "ticket.create"], _2=["permission.list"]) == [
            "+// approved DATE by Ann from the run engine; cases: 1",
            '-  { query: "create a ticket", expectedIds: ["ticket.create", "ticket.create_many"], category: "crud" },',
            '+  { query: "create a ticket", expectedIds: ["ticket.create_many", "ticket.create"], category: "crud" },',
        ]

    def test_fixtures(self, tmp_path: Path) -> None:
        path = Path(shutil.copy(EXAMPLES / "fixtures.json", tmp_path))
        assert lines_changed_in(path, close_and_far=["cake", "nowhere", "bread", "tyres"]) == [
            '+  "approvals": [',
            '+    {"date": "DATE", "author": "Ann", "run": "engine", "cases": ["close_and_far"]}',
            "+  ],",
            '-      "expected_ranking": ["bread", "cake", "tyres"],',
            '+      "expected_ranking": ["cake", "bread", "tyres"],',
        ]
        assert load_suite(path).model == "all-MiniLM-L6-v2"

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "complaint"),
        [
            ("labels", "the format 'labels' cannot be approved from a run: it holds grades"),
            ("symbols.json", "the format 'symbols' cannot be approved from a run: it holds symbols and patterns"),
            ("beir", "the format 'beir' cannot be approved from a run: it holds grades"),
            ("quepid.csv", "the format 'quepid' cannot be approved from a run: it holds grades"),
            ("rre.json", "the format 'rre' cannot be approved from a run: it holds grades"),
            ("rank_eval.json", "the format 'rank-eval' cannot be approved from a run: it holds grades"),
            ("swe_bench.jsonl", "the format 'swe-bench' cannot be approved from a run: it holds the patches"),
            ("../quickstart/qrels.txt", "the format 'qrels' cannot be approved from a run: it holds grades"),
            ("../quickstart/suite.yaml", "no case can be approved from a run: 'crud-create' expects grades"),
            ("gold_set.json", "no case can be approved from a run: 'login-timeout' expects the files that a commit changed"),
            ("baseline_metrics.json", "is a baseline"),
        ],
    )
    def test_a_format_that_cannot_be_approved_is_named(self, tmp_path: Path, name: str, complaint: str) -> None:
        run = plain_run(tmp_path / "run.json", _1=["a"])
        done = approve_in_process(EXAMPLES / name, "--run", run, "--yes", "--author", "Ann")
        assert (done.returncode, complaint in done.stderr, done.stderr.count("\n")) == (4, True, 1), done.stderr


class TestComments:
    """A comment is beside the id that it was beside, or is named."""

    def test_on_lines_above_an_id_they_move_and_go_with_it(self, file) -> None:
        head = "cases:\n- query: q\n  expectedIds:\n"
        path = file(
            "cases.yaml", f"{head}  # about a\n  # and more\n  - a\n\n  # about b\n  - b  # bb\n  # about c\n  - c\n  category: x\n"
        )
        decided = approved(path, _1=["b", "x", "a"])
        rows = "  # about b\n  - b  # bb\n\n  - x\n  # about a\n  # and more\n  - a\n  category: x\n"
        assert path.read_text().partition("approvals:")[0] == head + rows
        assert decided.comments == (
            "case 1: '# about a # and more' moved with 'a'; see whether it is about that alone",
            "case 1: '# about b' moved with 'b'; see whether it is about that alone",
            "case 1: '# about c' went with 'c', which is no longer expected",
        )

    def test_apart_from_every_id_they_stay(self, file) -> None:
        head = "cases:\n- query: q\n  expectedIds:\n"
        path = file("cases.yaml", f"{head}  - a\n\n  # the optional ones\n\n  - b\n\n  # the end\n")
        assert approved(path, _1=["b", "a"]).comments == ()
        rows = "  - b\n\n  # the optional ones\n\n  - a\n\n  # the end\n"
        assert path.read_text().partition("approvals:")[0] == head + rows

    @pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
    def test_in_typescript_of_either_kind(self, file, end: str) -> None:
        head, tail = "export const CASES = [{\n  query: 'q',\n  expectedIds: [\n", "  ],\n}];\n"
        rows = "    'p', // pp\n    // about q\n    /* blk */ 'q', /* after q */\n    /* about r */\n    'r',\n"
        path = file("cases.ts", f"{head}{rows}{tail}".replace("\n", end).encode())
        approved(path, _1=["q", "r", "p"])
        rows = "    // about q\n    /* blk */ 'q', /* after q */\n    /* about r */\n    'r',\n    'p', // pp\n"
        assert path.read_bytes().decode().split(end, 1)[1] == f"{head}{rows}{tail}".replace("\n", end)

    @pytest.mark.parametrize(
        "ids",
        ["[a,\n    # about b\n    b\n  ]", "[a, # about a\n    b, c]", "[a, # about a\n    b, c\n  ]"],
    )
    def test_between_ids_that_share_a_line_they_stay_and_that_is_said(self, file, ids: str) -> None:
        path = file("cases.yaml", f"cases:\n- query: q\n  expectedIds: {ids}\n")
        assert approved(path, _1=["b", "a", "c"]).comments == (
            "case 1: not all comments in the list could be moved; see whether each is beside the right id",
        )

    def test_within_a_judgment_they_stay_and_that_is_said(self, file) -> None:
        path = file("s.yaml", "schema_version: 1\ncases:\n- id: c\n  judgments:\n  - target: a  # why\n    rank: 1\n")
        assert "not all comments" in approved(path, c=["b"]).comments[0]


class TestJson:
    def test_the_layout_stays_whatever_it_is(self, file) -> None:
        text = '{\r\n\t"cases" : [ {"query":"q",  "expectedIds":[ "a" ,"b" ]\r\n\t} ],\r\n\t"n": 1.50}'
        path = file("cases.json", text)
        assert lines_changed_in(path, _1=["b", 'c"\\é']) == [
            '-\t"cases" : [ {"query":"q",  "expectedIds":[ "a" ,"b" ]\r',
            '+\t"approvals": [\r',
            '+\t\t{"date": "DATE", "author": "Ann", "run": "engine", "cases": ["1"]}\r',
            "+\t],\r",
            '+\t"cases" : [ {"query":"q",  "expectedIds":[ "b" ,"c\\"\\\\é" ]\r',
        ]

    def test_lists_with_a_line_for_each_id(self, file) -> None:
        path = file("cases.json", json.dumps([{"query": "q", "expectedIds": ["a", "b", "c"]}], indent=4))
        assert lines_changed_in(path, _1=["a", "x", "b"]) == [
            '-            "b",',
            '-            "c"',
            '+            "x",',
            '+            "b"',
        ]

    def test_ids_that_are_numbers_stay_numbers(self, file) -> None:
        path = file("cases.json", '[{"query": "q", "expectedIds": [7, 8, 9]}]')
        approved(path, _1=["8", "12", "007"])
        assert path.read_text() == '[{"query": "q", "expectedIds": [8, 12, "007"]}]'

    def test_a_file_that_escapes_letters_keeps_doing_so(self, file) -> None:
        path = file("cases.json", '[{"query": "caf\\u00e9", "expectedIds": ["a"]}]')
        approved(path, _1=["thé"])
        assert path.read_text() == '[{"query": "caf\\u00e9", "expectedIds": ["th\\u00e9"]}]'

    def test_a_byte_order_mark_stays(self, file) -> None:
        path = file("cases.json", b'\xef\xbb\xbf[{"query": "q", "expectedIds": ["a"]}]')
        approved(path, _1=["b"])
        assert path.read_bytes() == b'\xef\xbb\xbf[{"query": "q", "expectedIds": ["b"]}]'

    @pytest.mark.parametrize(
        "content",
        ['[{"query": "é", "expectedIds": ["a"]}]'.encode(each) for each in ("latin-1", "utf-16")],
        ids=["Latin-1", "UTF-16"],
    )
    def test_a_file_that_is_not_utf_8_stays_as_it_is(self, file, tmp_path: Path, content: bytes) -> None:
        path, run = file("cases.json", content), plain_run(tmp_path / "engine.json", _1=["b"])
        with pytest.raises(UsageError, match="UTF-"):
            approve(path, load_run(run), lambda _: True, author="Ann")
        assert path.read_bytes() == content

    @pytest.mark.slow
    def test_a_list_of_cases_has_no_room_for_who_approved(self, file, tmp_path: Path) -> None:
        path, run = file("cases.json", '[{"query": "q", "expectedIds": ["a"]}]'), plain_run(tmp_path / "engine.json", _1=["b"])
        said = approve_in_process(path, "--run", run, "--yes", "--author", "Ann", "--reason", "why not").stdout.splitlines()
        assert said[-3] == f"{path} is a list of cases and keeps nothing else; put this into the commit message:"
        assert said[-2].endswith("by Ann from the run engine, because: why not; cases: 1")

    def test_jsonl_changes_the_line_of_the_case(self, file) -> None:
        path = file("cases.jsonl", '{"query": "q", "expectedIds": ["a"]}\n\n{"query": "r", "expectedIds": ["a"]}\n')
        assert lines_changed_in(path, _1=["a"], _2=["b"]) == [
            '-{"query": "r", "expectedIds": ["a"]}', '+{"query": "r", "expectedIds": ["b"]}',
        ]  # fmt: skip


class TestNative:
    def test_ranks_stay_where_they_are_and_targets_move_with_their_comments(self, file) -> None:
        head = "schema_version: 1\ncases:\n  - id: c\n    judgments:\n"
        path = file(
            "suite.yaml",
            f"{head}      - {{target: b, rank: 2}}  # bulk\n      - {{rank: 1, target: a}}\n      - {{rank: 3, target: z}}\n",
        )
        approved(path, c=["b", "x", "w"])
        rows = "      - {target: x, rank: 2}\n      - {rank: 1, target: b}  # bulk\n      - {rank: 3, target: w}\n"
        assert path.read_text().partition("approvals:")[0] == head + rows

    def test_judgments_of_several_lines(self, file) -> None:
        head = "schema_version: 1\ncases:\n- id: c\n  judgments:\n"
        path = file("suite.yaml", f"{head}  - target: a  # why\n    rank: 1\n\n  - rank: 2\n    target: b\n  category: x\n")
        approved(path, c=["c d", "a"])
        rows = "  - target: c d  # why\n    rank: 1\n\n  - rank: 2\n    target: a\n  category: x\n"
        assert path.read_text().partition("approvals:")[0] == head + rows

    def test_without_ranks_the_order_of_the_file_stays(self, file) -> None:
        path = file(
            "suite.yaml",
            "schema_version: 1\ncases:\n- id: c\n  judgments:\n  - {target: ./a.py, match: path}\n  - {target: b.py, match: path}\n",
        )
        assert approved(path, c=["b.py", "a.py"]).approved == ()
        approved(path, c=["src//c.py", "a.py"])
        assert targets(path) == [["./a.py", "src/c.py"]]

    def test_jsonl_keeps_approvals_in_its_header(self, file) -> None:
        path = file("suite.jsonl", '{"schema_version": 1}\n{"id": "c", "judgments": [{"target": "a"}]}\n')
        approved(path, c=["b"])
        approved(path, c=["d"])
        header, case = map(json.loads, path.read_text().splitlines())
        assert ([each["cases"] for each in header["approvals"]], case["judgments"]) == ([["c"], ["c"]], [{"target": "d"}])

    def test_approvals_survive_a_conversion(self, file, tmp_path: Path) -> None:
        path = file("suite.json", '{"schema_version": 1, "cases": [{"id": "c", "judgments": [{"target": "a"}]}]}')
        approved(path, c=["b"])
        save_suite(load_suite(path), tmp_path / "again.json")
        again = json.loads((tmp_path / "again.json").read_text())
        assert (again["approvals"][0]["author"], "metadata" in again) == ("Ann", False)

    @pytest.mark.parametrize(
        "judgments",
        [
            '[{"target": "a", "grade": 2}]', '[{"target": "*", "match": "glob"}]', '[{"target": "a", "score_range": [0, 1]}]',
            '[{"target": "a"}, {"target": "b", "rank": 1}]', '[{"target": "a", "rank": 1}, {"target": "b", "rank": 1}]',
            '[{"target": "a"}, {"target": "b", "match": "path"}]', '[{"target": "a#L3"}]',
        ],
    )  # fmt: skip
    def test_a_case_that_says_more_than_a_run_is_left_alone(self, file, judgments: str) -> None:
        case = '{"id": "c", "judgments": [{"target": "a"}]}'
        text = f'{{"schema_version": 1, "cases": [{case}, {{"id": "d", "judgments": {judgments}}}]}}'
        decided = approved(file("suite.json", text), c=["b"], d=["z"])
        assert [each.case for each in decided.approved] == ["c"]
        assert [(each.case, each.kind) for each in decided.proposal.left_alone] == [("d", "not_approvable")]


class TestGoldSets:
    def test_cases_that_a_hand_wrote_can_be_approved_and_those_of_a_commit_cannot(self, file) -> None:
        path = file(
            "gold.json",
            '{"test_cases": [{"id": "h", "query": "q", "ground_truth_files": ["a.py", "b.py"]},\n'
            ' {"id": "m", "query": "q", "commit_hash": "f00", "ground_truth_files": ["a.py"]}]}',
        )
        decided = approved(path, h=["c.py", "./b.py"], m=["z.py"])
        assert (targets(path), len(decided.proposal.left_alone)) == ([["c.py", "b.py"], ["a.py"]], 1)


class TestYaml:
    @pytest.mark.parametrize(
        ("text", "named"),
        [
            ("a: &common [x]\ncases:\n- {query: q, expectedIds: *common}\n", "is not written out here"),
            ("cases:\n- {query: q, expectedIds: &common [x]}\n- {query: r, expectedIds: *common}\n", "would also change '2'"),
            ("cases:\n- &one {query: q, expectedIds: [a]}\n- {<<: *one, query: r}\n", "case 2: expected_ids is not written out"),
            (
                "cases:\n- &one {query: q, expectedIds: [a]}\n- {<<: *one, query: r, expectedIds: [x]}\n- {<<: *one, query: s}\n",
                "would also change '3'",
            ),
            ("cases:\n- query: q\n  expectedIds:\n  - |-\n    x\n", "case 1: an expected target is not written on one line"),
            ("cases:\n- query: q\n  expectedIds: [&i x, y]\n  other: *i\n", "cannot be changed in place"),
        ],
    )
    def test_what_others_share_is_not_changed_in_silence(self, file, text: str, named: str) -> None:
        path = file("cases.yaml", text)
        with pytest.raises(UsageError, match=named):
            approved(path, _1=["b", "c"], _2=["x"])
        assert path.read_text() == text

    def test_a_list_at_the_top_keeps_who_approved_in_a_comment(self, file) -> None:
        path = file("cases.yaml", "# ours\n---\n- query: q\n  expectedIds: [a]\n")
        approved(path, _1=["b"])
        assert changed_lines("", path.read_text())[:4] == [
            "+# ours", "+---", "+# approved DATE by Ann from the run engine; cases: 1", "+- query: q",
        ]  # fmt: skip
        assert targets(path) == [["b"]]

    def test_approvals_go_before_the_end_of_the_document_and_behind_a_last_line_without_end(self, file) -> None:
        ended = file("a.yaml", "cases:\n- {query: q, expectedIds: [a]}\n...\n")
        approved(ended, _1=["b"])
        assert ended.read_text().splitlines()[-2:] == ['    cases: ["1"]', "..."]
        cut = file("b.yaml", "cases:\r\n- {query: q, expectedIds: [a]}")
        approved(cut, _1=["b"])
        assert cut.read_bytes().split(b"\r\n")[2:4] == [b"approvals:", b'  - date: "' + cut.read_bytes().split(b'"')[1] + b'"']

    @pytest.mark.parametrize("former", ["approvals: []", "approvals: [{by: hand}]", "approvals:\n- by: hand"])
    def test_former_approvals_stay(self, file, former: str) -> None:
        path = file("cases.yaml", f"{former}\ncases:\n- {{query: q, expectedIds: [a]}}\n")
        approved(path, _1=["b"])
        approvals = load_suite(path).metadata["approvals"]
        assert (approvals[0]["author"], approvals[1:]) == ("Ann", [{"by": "hand"}] if "hand" in former else [])


IDS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12).filter(
    lambda text: text.strip() and "#L" not in text
)


class TestAnyId:
    def test_that_ends_in_a_colon_is_no_key(self, tmp_path: Path) -> None:
        self.round_trip(tmp_path / "cases.yaml", "cases:\n- query: q\n  expectedIds:\n  - a\n", "b:")

    @given(new=IDS, model=st.sampled_from(["a", "'a'", '"a"', "7"]), layout=st.sampled_from([" [{}]", "\n  - {}"]))
    def test_is_read_from_yaml_as_it_was_returned(self, tmp_path: Path, new: str, model: str, layout: str) -> None:
        self.round_trip(tmp_path / "cases.yaml", f"cases:\n- query: q\n  expectedIds:{layout.format(model)}\n", new)

    @given(new=IDS, model=st.sampled_from(['"a"', "7"]))
    def test_is_read_from_json_as_it_was_returned(self, tmp_path: Path, new: str, model: str) -> None:
        self.round_trip(tmp_path / "cases.json", f'[{{"query": "q", "expectedIds": [{model}]}}]', new)

    @given(new=IDS, model=st.sampled_from(["'a'", '"a"', "`a`", "7"]))
    def test_is_read_from_typescript_as_it_was_returned(self, tmp_path: Path, new: str, model: str) -> None:
        self.round_trip(tmp_path / "cases.ts", f"export const CASES = [{{query: 'q', expectedIds: [{model},]}}] as const;\n", new)

    def round_trip(self, path: Path, text: str, new: str) -> None:
        path.write_text(text, encoding="utf-8", newline="")
        approved(path, _1=[new])
        assert targets(path) == [[new]]
