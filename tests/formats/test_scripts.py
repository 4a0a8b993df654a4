"""Cases in TypeScript and JavaScript: literals are read, nothing is executed, anything else is refused with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import FormatError, load_suite
from searchmark.formats.suites.literals import ListSpan, LiteralReader, MappingSpan, Span, value_of_span

SEED = """\
import { describe } from "vitest";

/**
 * Run with UPDATE_BENCHMARK_EXPECTATIONS=true to update expected results.
 *
 * export const BENCHMARK_CASES = [{ query: "an example", expectedIds: ["x"] }];
 */
// export const BENCHMARK_CASES = nothing;
/*
export const BENCHMARK_CASES = [{ query: "an old one", expectedIds: ["x"] }];
*/
const GLOB = "src/*.ts";

export const BENCHMARK_CASES: BenchmarkCase[] = [
  { query: "create new issue", expectedIds: ["createIssue", "createIssues", "createIssueBulk", "updateIssue", "getIssue"] },
  {
    'query': 'user\\'s "group"', // both quotes
    "expectedIds": [`addUserToGroup`, 'get\\u0055serGroups',],
    category: "users" as const, /* why not */
    weight: -1.5e1, old: false, note: null, 7: [],
  },
] satisfies BenchmarkCase[];

describe("search", () => { expect(`${1 + 1}`).toBe(/["'`]/); });
"""


def test_the_cases_of_a_test_file_are_a_suite(file) -> None:
    suite = load_suite(file("search-relevance.test.ts", SEED))
    assert [(case.query, [judgment.target for judgment in case.judgments]) for case in suite.cases] == [
        ("create new issue", ["createIssue", "createIssues", "createIssueBulk", "updateIssue", "getIssue"]),
        ('user\'s "group"', ["addUserToGroup", "getUserGroups"]),
    ]
    assert (suite.cases[1].category, suite.cases[1].fields) == ("users", {"weight": -15.0, "old": False, "7": []})


@pytest.mark.parametrize("extension", ["js", "mjs", "cjs", "ts", "mts", "cts", "tsx", "jsx"])
@pytest.mark.parametrize(
    "end", ["", ";", " as const;", " as readonly BenchmarkCase[];", "\nexport const OTHER = BENCHMARK_CASES.map(f)"]
)
def test_every_extension_and_every_end_of_a_declaration(file, extension: str, end: str) -> None:
    assert len(load_suite(file(f"cases.{extension}", "const CASES = [{query: 'q', expectedIds: ['a']}]" + end))) == 1


@pytest.mark.parametrize(
    ("literal", "complaint"),
    [
        (
            "[\n  ...others,\n]",
            "line 2: '...others,' is not a literal; only strings, numbers, true, false, null, lists and objects are read",
        ),
        ("[{query: 'a',\n expectedIds: ids('a')}]", "line 2: \"ids('a')}]\" is not a literal"),
        ("[{query: 'a' + 'b', expectedIds: ['a']}]", "line 1: \"+ 'b', expectedIds: ['a']}]\" is not a literal"),
        ("[{query: `a ${b}`, expectedIds: ['a']}]", "line 1: a template with ${} is not a literal"),
        ("[{query, expectedIds: ['a']}]", "line 1: \"query, expectedIds: ['a']}]\" is not a literal"),
        ("[{[query]: 'a'}]", "is not a literal"),
        ("[{query() { return 1 }}]", "is not a literal"),
        ("[{query: 'a', query: 'b'}]", "line 1: duplicate key 'query'"),
        ("[{query: 'a\n', expectedIds: ['a']}]", "line 1: a string is not closed"),
        ("[{query: 'a', expectedIds: ['a']}", "line 1: the text ends in the middle of a literal"),
        ("[{query: 'a', expectedIds: ['a'],, }]", "is not a literal"),
        ("[{query: '\\u12', expectedIds: ['a']}]", "is not an escape that a string can have"),
        ("[{query: '\\u{110000}', expectedIds: ['a']}]", "is not an escape that a string can have"),
        ("[{query: 'a', n: 0x10, expectedIds: ['a']}]", "is not a literal"),
        ("[{query: 'a', n: 1_000, expectedIds: ['a']}]", "is not a literal"),
        ("[{query: 'a', n: " + "9" * 5000 + ", expectedIds: ['a']}]", "a number has too many digits"),
        ("[{query: 'a', n: 99999999999999999999, expectedIds: ['a']}]", "a whole number has more than 64 bits"),
        ("[{query: 'a', n: 1e999, expectedIds: ['a']}]", "inf is not a finite number"),
        ("[{query: 'a', n: undefined, expectedIds: ['a']}]", "is not a literal"),
        ("[{query: 'a', expectedIds: ['a']}].map(f)", "line 1: '.map(f)' is not a literal"),
        ("[{query: 'a', expectedIds: ['a']}]\n  .concat(more)", "line 2: '.concat(more)' is not a literal"),
        ("Object.freeze([])", "is not a literal"),
        ("{}", "BENCHMARK_CASES is not a list"),
        ("[];\nBENCHMARK_CASES.push({})", "line 2: BENCHMARK_CASES is changed after its declaration"),
        ("[];\nBENCHMARK_CASES[0] = {}", "line 2: BENCHMARK_CASES is changed after its declaration"),
        ("[];\nBENCHMARK_CASES[0].expectedIds = ['z'];", "line 2: BENCHMARK_CASES is changed after its declaration"),
        ("[];\nBENCHMARK_CASES[0]!['expectedIds'][1] ??= 'z';", "line 2: BENCHMARK_CASES is changed after its declaration"),
        ("[];\nBENCHMARK_CASES[0]?.expectedIds.sort();", "line 2: BENCHMARK_CASES is changed after its declaration"),
        ("[];\nBENCHMARK_CASES.length = 0;", "line 2: BENCHMARK_CASES is changed after its declaration"),
        ("[];\ndelete BENCHMARK_CASES[0];", "line 2: BENCHMARK_CASES is changed after its declaration"),
        ("[];\nconst TEST_CASES = []", "line 2: TEST_CASES is a second list of cases"),
        ("[{query: 'a'}]", "case-list (no expected_ids)"),
        ("[]", "its cases have no expectedIds"),
        ("[" * 500 + "]" * 500, "is nested more than 100 levels deep"),
        ("[/* open", "is not a literal"),
        ("[7]", "its cases have no expectedIds"),
    ],
)
def test_anything_but_literals_is_one_sentence_with_its_line(file, literal: str, complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_suite(file("cases.ts", f"export const BENCHMARK_CASES = {literal}"))
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "const HELP = `\nexport const BENCHMARK_CASES = [{query: 'q', expectedIds: ['a']}];\n`;",
        "const HELP = `${f({a: `b`})}\nexport const BENCHMARK_CASES = [{query: 'q', expectedIds: ['a']}];\n`;",
        "", "export default [];", "export const BENCHMARK_CASES_OLD = []", "let CASES = []", "  // const CASES = []",
    ],
)  # fmt: skip
def test_a_script_without_cases_says_what_is_looked_for(file, text: str) -> None:
    with pytest.raises(FormatError, match=r"holds no cases; they are read from 'export const BENCHMARK_CASES = \[\.\.\.\]'"):
        load_suite(file("cases.ts", text))


@pytest.mark.parametrize(
    "before",
    [
        "const A = `x`; const B = /[`]/g; const C = '`';", "// don't `\n/* ` */", "f(/`/, 4 / 2)", 'const GLOB = "src/*.ts"',
        "const A = `${`a ${'}'}`} \\` {`;", "const broken = `",
    ],
)  # fmt: skip
def test_what_is_before_a_declaration_does_not_hide_it(file, before: str) -> None:
    assert len(load_suite(file("cases.ts", f"{before}\nconst CASES = [{{query: 'q', expectedIds: ['a']}}]"))) == 1


@pytest.mark.parametrize(
    "use", [".length >= 3", ".length !== 0", "[0].query === 'q'", ".map(c => c)", "[0].expectedIds.slice().sort()"]
)
def test_what_only_looks_at_the_cases_does_not_change_them(file, use: str) -> None:
    assert len(load_suite(file("cases.ts", f"const CASES = [{{query: 'q', expectedIds: ['a']}}];\nexpect(CASES{use})"))) == 1


def test_a_declaration_without_value_is_refused(file) -> None:
    with pytest.raises(FormatError, match="line 1: BENCHMARK_CASES has no value"):
        load_suite(file("cases.d.ts", "export const BENCHMARK_CASES: Case[];"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def every_span(span: Span) -> list[Span]:
    inner = (
        span.items if isinstance(span, ListSpan) else [each.value for each in span.members] if isinstance(span, MappingSpan) else []
    )
    return [span, *(deeper for each in inner for deeper in every_span(each))]


@given(data=JSON, indent=st.none() | st.integers(0, 3), escaped=st.booleans())
def test_json_is_read_as_python_reads_it_and_every_part_is_where_it_is_said_to_be(
    data: object, indent: int | None, escaped: bool
) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=escaped)
    span = LiteralReader("file", text).value(0)
    assert value_of_span(span) == data
    assert [json.loads(text[each.start : each.end]) for each in every_span(span)] == [
        value_of_span(each) for each in every_span(span)
    ]


def test_nothing_is_executed(file, tmp_path: Path) -> None:
    load_suite(
        file("cases.js", f"require('fs').writeFileSync('{tmp_path}/ran', '');\nconst CASES = [{{query: 'q', expectedIds: ['a']}}];")
    )
    assert not (tmp_path / "ran").exists()
