"""What makes a case and what does not: paths, messages, queries and leaks, one table each."""

from __future__ import annotations

from time import process_time

import pytest

from searchmark.git.mining.drafts import is_squashed, pull_request
from searchmark.git.mining.leakage import TreeNames, content_words, identifiers_of, leak_of, mask_names, overlap, words_inside
from searchmark.git.mining.messages import (
    MessageWords,
    is_about_docs,
    is_about_tests,
    is_backport,
    is_cut_off,
    is_dependency_bump,
    is_diary,
    is_edition_bump,
    is_follow_up,
    is_formatting,
    is_merge_message,
    is_revert,
    is_review,
    is_short,
    is_unfinished,
    is_vague,
    is_version_bump,
    pleases_tools,
    says_only_size,
)
from searchmark.git.mining.queries import Query
from searchmark.git.mining.selection import ALL_RULES, ALWAYS_ON, RULES, reason_for_rule
from searchmark.records.file_kinds import classify, exclusion_test


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/app.py", "code"), ("latest.py", "code"), ("contest/entry.go", "code"), ("src/attestation.rs", "code"),
        ("django/test/client.py", "code"), ("django/conf/locale/de/formats.py", "code"), ("app/views/index.html", "code"),
        ("db/schema.sql", "code"), ("scripts/run.sh", "code"), ("src/history.py", "code"),
        ("tests/app.py", "test"), ("pkg/tests/data.json", "test"), ("test_app.py", "test"), ("pkg/app_test.go", "test"),
        ("web/app.test.ts", "test"), ("web/app.spec.js", "test"), ("src/test/java/A.java", "test"), ("src/AppTest.java", "test"),
        ("testing/test_mark.py", "test"), ("conftest.py", "test"), ("spec/model_spec.rb", "test"), ("test/helper.rb", "test"),
        ("README.md", "doc"), ("docs/conf.py", "doc"), ("LICENSE", "doc"), ("CHANGES", "doc"), ("examples/app.py", "doc"),
        ("notes.txt", "doc"), ("doc/en/example/conftest.py", "doc"),
        ("package-lock.json", "generated"), ("api/service_pb2.py", "generated"), ("static/app.min.js", "generated"),
        ("locale/de/django.po", "generated"), ("uv.lock", "generated"), ("dist/app.js", "generated"),
        ("vendor/lib/a.go", "vendored"), ("third_party/x/y.c", "vendored"), ("web/node_modules/a/index.js", "vendored"),
        ("setup.py", "config"), ("pyproject.toml", "config"), ("Makefile", "config"), (".github/workflows/tests.yml", "config"),
        ("requirements-dev.txt", "config"), (".gitignore", "config"), ("conf/app.yaml", "config"), ("webpack.config.js", "config"),
        ("logo.png", "other"), ("data.bin", "other"), ("noending", "other"),
    ],
)  # fmt: skip
def test_a_path_is_told_by_its_segments(path: str, kind: str) -> None:
    assert classify(path) == kind


@pytest.mark.parametrize(
    ("pattern", "path", "excluded"),
    [
        ("*.md", "docs/a.md", True), ("*.md", "a.mdx", False), ("test_*", "src/test_a.py", True), ("test_*", "test_dir/a.py", False),
        ("docs/*", "docs/a/b.py", True), ("docs/*", "src/docs/a.py", False), ("*/gen/*", "src/gen/a.py", True), ("a[", "a[", True),
    ],
)  # fmt: skip
def test_a_pattern_without_a_slash_is_about_base_names(pattern: str, path: str, excluded: bool) -> None:
    assert exclusion_test([pattern])(path) is excluded


@pytest.mark.parametrize(
    ("message", "subject"),
    [
        ("fix(auth): reject blank names (#12)", "reject blank names"),
        ("feat!: add streaming answers", "add streaming answers"),
        ("Fixed #12345 -- Allowed blank names in forms.", "Allowed blank names in forms."),
        ("Refs #1, #22 -- Removed a shim", "Removed a shim"),
        ("Fixed CVE-2020-1234 -- Escaped header values", "Escaped header values"),
        ("Fix #12: crash on empty input", "crash on empty input"),
        ("[2.x] PROJ-12: handle UTF-8 and ISO-8859 names", "handle UTF-8 and ISO-8859 names"),
        ("Handle empty rows, closes #12", "Handle empty rows"),
        ("Handle empty rows (fixes gh-12, gh-13)", "Handle empty rows"),
        ("Handle empty rows. Thanks Ada Example for the report.", "Handle empty rows."),
        ("Handle empty rows -- thanks to Ada", "Handle empty rows"),
        ("Broken since 1a2b3c4d5e: rows are lost", "Broken: rows are lost"),
        ("Fixed lost rows introduced by 1a2b3c4d5e", "Fixed lost rows"),
        ("Only read rows once (should fix #12)", "Only read rows once"),
        ("Limit the size of rows (by @ada)", "Limit the size of rows"),
        ("Rows are lost when debug is on (#12)", "Rows are lost when debug is on"),
        ("Use empty rows as proposed by @ada", "Use empty rows"),
        ("Say when no rows are found, close #12", "Say when no rows are found"),
        ("Keep rows in order :)", "Keep rows in order"),
        ("ref(reader): keep rows in order", "keep rows in order"),
        ("See https://example.org/x?y=1 for rows that get lost", "See for rows that get lost"),
        (":bug: handle empty rows", "handle empty rows"),
        ("Call list() before next() and f(x)", "Call list() before next() and f(x)"),
        ("Read the .po file twice", "Read the .po file twice"),
        ("Ask @ada about `@property` and user@example.org", "Ask about `@property`"),
        ("defaced and effaced words stay", "defaced and effaced words stay"),
        ("Rows are lost wh…\n\n…en the file is empty", "Rows are lost when the file is empty"),
        ("Support Python 3.12 and HTTP/2", "Support Python 3.12 and HTTP/2"),
        ("manual py3 compat fixes", "manual py3 compat fixes"),
        ("", ""),
        ("#12", ""),
    ],
)
def test_a_subject_loses_what_nobody_would_type(message: str, subject: str) -> None:
    assert Query(message).subject.replace("  ", " ") == subject


@pytest.mark.parametrize(
    ("message", "clean"),
    [
        ("Keep rows\n\nRows were lost when the file was empty.", "Keep rows. Rows were lost when the file was empty."),
        ("Keep rows\n\n* one commit\n* another commit", "Keep rows"),
        ("Keep rows\n* one commit\n* another commit", "Keep rows"),
        ("Keep rows\n\n    code = here()\n\nIt is the reader that loses them.", "Keep rows. It is the reader that loses them."),
        ("Keep rows\n\n```\ncode here is gone\n```\n", "Keep rows"),
        ("Keep rows\n\nThanks to Ada for the report.\nThe reader lost them.", "Keep rows. The reader lost them."),
        ("Keep rows\n\nRegression in 1a2b3c4d5e6f.", "Keep rows"),
        ("Keep rows\n\nPS. this is awesome! The reader lost them.", "Keep rows. The reader lost them."),
        (
            "Keep rows\n\nAnother helper bites the dust. I am not happy with the name. The reader lost them.",
            "Keep rows. The reader lost them.",
        ),
        ("Keep rows\n\nIt was possible for the following sequence to occur.\n\n1. one\n2. two", "Keep rows"),
        ("Keep rows\n\nSomeone who knows the reader better could comment.", "Keep rows"),
        ("Keep rows\n\nSigned-off-by: Ada <a@x.org>\nChange-Id: I123", "Keep rows"),
        ("Keep rows\n\nThe reader lost them.\n--HG--\nbranch : trunk", "Keep rows. The reader lost them."),
        ("Keep rows\r\n\r\nThe reader lost them.", "Keep rows. The reader lost them."),
    ],
)
def test_the_body_gives_its_prose_and_nothing_else(message: str, clean: str) -> None:
    assert Query(message.replace("\r\n", "\n")).clean == clean


def test_a_long_body_is_cut_between_sentences() -> None:
    body = " ".join(f"Sentence number {number} has exactly eight words here." for number in range(30))
    clean = Query(f"Keep rows\n\n{body}").clean
    assert clean.endswith("words here.")
    assert len(clean.split()) <= 62


@pytest.mark.parametrize(
    "unit", ["#1 ", " ", "-", "[", "to ", "a", "–\t", "( ", ". ", "see #1 ", "[a](", "'", "a@a.", "some ", "check-in ", "fix the "]
)
def test_a_message_takes_time_by_its_length_and_no_faster(unit: str) -> None:
    """Seven seconds, once; the bound is wide, for machines that are busy."""
    start = process_time()
    query = Query("Return a number from the login function: " + unit * (9000 // len(unit)) + "1 ](")
    assert MessageWords(query).first
    assert query.clean
    for rule in (is_diary, is_edition_bump, is_follow_up, is_cut_off, pleases_tools, says_only_size):
        rule(MessageWords(query))
    assert process_time() - start < 1.0


def test_type_and_scope_are_kept_aside() -> None:
    query = Query("fix(parser): keep rows")
    assert (query.type, query.scope) == ("fix", "parser")
    assert Query("keep rows").type is None


_MESSAGE_RULES = {
    "revert": lambda text: is_revert(MessageWords(Query(text)), text),
    "merge_message": lambda text: is_merge_message(MessageWords(Query(text))),
    "fixup": lambda text: is_unfinished(MessageWords(Query(text))),
    "backport": is_backport,
    "dependency_bump": lambda text: is_dependency_bump(MessageWords(Query(text))),
    "version_bump": lambda text: is_version_bump(MessageWords(Query(text))),
    "formatting": lambda text: is_formatting(MessageWords(Query(text))),
    "review": lambda text: is_review(MessageWords(Query(text))),
    "about_docs": lambda text: is_about_docs(MessageWords(Query(text))),
    "about_tests": lambda text: is_about_tests(MessageWords(Query(text))),
    "vague": lambda text: is_vague(MessageWords(Query(text))) or says_only_size(MessageWords(Query(text))),
    "tools": lambda text: pleases_tools(MessageWords(Query(text))),
    "edition_bump": lambda text: is_edition_bump(MessageWords(Query(text))),
    "follow_up": lambda text: is_follow_up(MessageWords(Query(text))),
    "diary": lambda text: is_diary(MessageWords(Query(text))),
    "torso": lambda text: is_cut_off(MessageWords(Query(text))),
}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("revert", 'Revert "Keep rows"'), ("revert", "Reverted the change of rows"), ("revert", "Undo it\n\nThis reverts commit 12."),
        ("revert", "Backed out the change of rows"),
        ("merge_message", "Merge branch 'main' into rows"), ("merge_message", "merged trunk"), ("merge_message", "Merge"),
        ("fixup", "fixup! keep rows"), ("fixup", "WIP rows are kept"), ("fixup", "[wip] rows"),
        ("backport", "Keep rows\n\n(cherry picked from commit 12)"), ("backport", "[1.8.x] Keep rows"), ("backport", "Backport #12 to 1.x"),
        ("dependency_bump", "Bump lodash from 1.2 to 1.3.1"), ("dependency_bump", "chore(deps): lodash"),
        ("dependency_bump", "Update dependencies"), ("dependency_bump", "Drop end of life Python versions"), ("dependency_bump", "Upgraded jQuery to 3.6.0"),
        ("version_bump", "Bump version to 1.2"), ("version_bump", "1.2.3"), ("version_bump", "Prepare release 2.0"), ("version_bump", "Initial commit"),
        ("version_bump", "Release 1.4"),
        ("formatting", "Fixed typo in the admin"), ("formatting", "Removed unused imports"), ("formatting", "pep8 cleanup"),
        ("formatting", "Fix flake8 errors"), ("formatting", "now really fixed the source formatting"), ("formatting", "Remove dead code"), ("about_docs", "incorporate typo/grammar fixes from Ada"), ("formatting", "consistent typing"),
        ("review", "Address review comments from Ada"), ("review", "Apply suggestions from code review"),
        ("about_docs", "Updated the documentation of rows"), ("about_docs", "Add docstrings to readers"), ("about_docs", "docs: explain rows"),
        ("about_docs", "Document how rows are kept"), ("about_docs", "fix url in Reader docstring"), ("about_docs", "Explained the purpose of rows"),
        ("about_docs", "Remove some extraneous `# noqa` comments"), ("about_docs", "Clarified cryptic comment in reader.py"),
        ("about_tests", "Add tests for rows"), ("about_tests", "Fixed failing test of the reader"), ("about_tests", "Speed up the test suite"),
        ("vague", "Some changes to the deploy command"), ("vague", "fixed minor bugs in the row reader"), ("vague", "ref(tree): minor changes"),
        ("tools", "Fix some clippy warnings in readers"), ("tools", "Fix all compile errors in bin/rows"), ("tools", "make the linter happy again"),
        ("edition_bump", "rust: move to Rust 2024"), ("edition_bump", "Bump MSRV to 1.70"), ("edition_bump", "Upgrade to TypeScript 5.2"),
        ("edition_bump", "Migrated crates to the 2018 edition"), ("edition_bump", "Require Go 1.13; use its defaults"),
        ("follow_up", "Missed some type updates"), ("follow_up", "renamed prev util to readRows()"), ("follow_up", "Fix bug in the previous commit"),
        ("follow_up", "Forgot to sort rows by name"), ("follow_up", "Continue work on rows"),
        ("diary", "Filtering of rows works and is pretty fast"), ("diary", "Begin implementing row readers"), ("diary", "Fix the check I must have broken"),
        ("diary", "first stab at reading rows lazily"), ("diary", "table fix began log"),
        ("torso", "Rows are kept since they are shown when the tab…"), ("torso", "Move the reader as it was written when a1b2c3d4e5"),
        ("vague", "more small fixes and cleanups here"), ("vague", "make it work again properly"), ("vague", "Whoops, left in an assert False"), ("vague", "unless i am missing something it fails on rows"),
    ],
)  # fmt: skip
def test_a_rule_removes_what_it_is_named_for(rule: str, message: str) -> None:
    assert _MESSAGE_RULES[rule](message)


@pytest.mark.parametrize(
    "message",
    [
        "Merge duplicate rows when two readers meet",
        "Added test client support for cookies",
        "Handle typos in names of commands by suggesting others",
        "Fixed crash of the test runner with empty suites",
        "Update the cache when a row is renamed",
        "Version numbers are compared as text",
        "Released the lock too early after a timeout",
        "Count quotes and breaks in names correctly",
        "Backslashes in paths are doubled on Windows",
        "Use the import path of the plugin as its name",
        "Removed unused 'flat' argument from Reader.rows()",
        "Comments in templates swallow the next line",
        "Fixed number formatting of readonly fields",
        "Dropped support for GDAL 3.0.",
        "Keep rows in order\n\nBackported to the stable branch as well.",
        "unittest: inline the fixture that makes cases",
        "Handle the 2018 edition flag of the reader",
        "Forgotten passwords: mail a link to set a new one",
        "Mark rows of `list.todo` as 'todo'",
        "Files whose names are starting with a dot are read by default",
        "Skip rows that the reader relies on",
        "Fixed small bug in readers that tried to work with None values",
        "Search with an empty index now works on Windows",
        "Fix I/O errors when rows are read",
        "Addresses issue12. Expose the reader as a plain function",
        "Rename public to public_folder",
        "Implement syntax mapping",
        "Allow --run-rows to take a file argument",
        "Drop deprecated 'optional_features' set",
        "Use prepend instead of include for helpers",
    ],
)
def test_a_message_about_code_passes_all_of_them(message: str) -> None:
    assert [rule for rule, applies in _MESSAGE_RULES.items() if applies(message)] == []


@pytest.mark.parametrize(
    ("message", "short"),
    [
        ("Update src/pkg/reader.py", True), ("simplify", True), ("better naming", True), ("fix import issue", True), ("", True), ("#12", True),
        ("Forbid unsafe separators", False), ("Optimize RowReader.is_hidden", False), ("reader: simplify read_all_rows", False), ("Make the reader lazy", False),
    ],
)  # fmt: skip
def test_a_message_is_short_by_what_its_words_tell(message: str, short: bool) -> None:
    assert is_short(MessageWords(Query(message)), 4) is short


def test_every_rule_has_a_reason_and_a_name_of_its_own() -> None:
    assert len(set(ALL_RULES)) == len(ALL_RULES) > len(RULES)
    assert all(reason_for_rule(name) for name in ALL_RULES)
    assert set(ALL_RULES) > ALWAYS_ON


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Merge pull request #7 from ada/x\n\nKeep rows\n\nThey were lost.", "Keep rows\n\nThey were lost."),
        ("Merge branch 'x' into 'main'\n\nKeep rows\n\nSee merge request a/b!7", "Keep rows"),
        ("Merged in x (pull request #7)\n\nKeep rows", "Keep rows"),
        ("Merged PR 7: Keep rows", "Keep rows\n"),
        ("Merge branch 'x'", None),
        ("Merge pull request #7 from ada/x", None),
        ("Keep rows", None),
    ],
)
def test_a_pull_request_is_known_by_its_merge(message: str, title: str | None) -> None:
    assert pull_request(message) == title


def test_a_squashed_request_ends_with_its_number() -> None:
    assert is_squashed("Keep rows (#12)")
    assert not is_squashed("Keep rows (12)")


def tree(*paths: str) -> TreeNames:
    names = TreeNames()
    for path in paths:
        names.count(path)
    return names


TREE = tree(
    "django/db/models/query.py", "django/db/models/sql/compiler.py", "django/forms/widgets.py", "django/utils.py", "app/utils.py",
    "lib/x/a.py",
)  # fmt: skip
TARGET = "django/db/models/sql/compiler.py"


@pytest.mark.parametrize(
    ("query", "level", "sharing"),
    [
        ("Fix ordering in models/sql/compiler.py", "L4", 1),
        ("Fix ordering in django.db.models.sql.compiler", "L4", 1),
        ("Fix ordering in sql/compiler", "L4", 1),
        ("Fix ordering in compiler.py.", "L3", 1),
        ("Compiler orders rows wrongly", "L2", 1),
        ("Fix wrong sql order", "L1", 1),
        ("Fix order in django", "L0", None),
        ("Compilers are slow", "L2", 1),
        ("Compiling is slow", "L0", None),
    ],
)
def test_the_level_of_a_leak(query: str, level: str, sharing: int | None) -> None:
    leak = leak_of(query, [TARGET], TREE)
    assert (leak.level, leak.files_sharing_name) == (level, sharing)


@pytest.mark.parametrize(
    ("query", "target", "level", "sharing"),
    [
        ("Handle odd objects in inspect", "rich/_inspect.py", "L2", 2),  # the other one is inspect.py
        ("Make the LRU cache faster", "rich/_lru_cache.py", "L2", 1),
        ("Make LRUCache faster", "rich/_lru_cache.py", "L2", 1),
        ("Make the lru_cache_info faster", "rich/_lru_cache.py", "L2", 1),
        ("Show rows of the table", "web/DataTable.js", "L0", None),
        ("Show rows of the data table", "web/DataTable.js", "L2", 1),
        ("Cache the least used, an LRU", "rich/_lru_cache.py", "L0", None),  # not one after the other
        ("Inspector shows odd objects", "rich/_inspect.py", "L0", None),
        ("Make the LRU caches faster", "rich/_lru_cache.py", "L2", 1),
        ("Make lrucache faster", "rich/_lru_cache.py", "L2", 1),
        ("Make the lru-caches faster", "rich/_lru_cache.py", "L2", 1),
        ("Show rows of datatables", "web/DataTable.js", "L2", 1),
        ("The rate limiters count twice", "net/ratelimiter.go", "L2", 2),
        ("The ratelimiter counts twice", "net/rate_limiter.go", "L2", 2),
        ("The rate_limiter counts twice", "net/ratelimiter.go", "L2", 2),
        ("Single-character spinner is cut", "rich/_spinners.py", "L2", 1),
        ("The parser is slow", "parsers/rows.py", "L1", 1),
        ("All queries are slow", "db/query.py", "L2", 1),
        ("Rows in it are lost", "lib/init.lua", "L0", None),  # two words by chance
        ("Paths on Windows are cut", "ui/window.py", "L0", None),
        ("Go to a row", "lib/__a.py", "L0", None),  # too short to be told from a word
    ],
)
def test_a_stem_leaks_by_its_words(query: str, target: str, level: str, sharing: int | None) -> None:
    names = tree(
        "net/ratelimiter.go",
        "net/rate_limiter.go",
        "rich/_spinners.py",
        "db/query.py",
        "parsers/rows.py",
        "lib/init.lua",
        "ui/window.py",
        "rich/_inspect.py",
        "rich/inspect.py",
        "rich/_lru_cache.py",
        "web/DataTable.js",
        "lib/__a.py",
        "x/y.py",
        "x/z.py",
    )
    leak = leak_of(query, [target], names)
    assert (leak.level, leak.files_sharing_name) == (level, sharing)
    assert leak_of(mask_names(query, names), [target], names).level == "L0"


def test_masking_blanks_the_whole_word_or_row_of_words() -> None:
    names = tree("rich/_lru_cache.py", "rich/cells.py")
    assert mask_names("Use chop_cells, the LRU cache and cellsOf() of rows", names) == "Use ___, the ___ and ___() of rows"


def test_a_name_that_many_share_says_how_many() -> None:
    assert leak_of("clean up utils of the app", ["django/utils.py"], TREE).files_sharing_name == 2


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Fix Query ordering in compiler.py.", "Fix ___ ordering in ___."),
        ("Use django.forms.widgets here", "Use ___.___.___ here"),
        ("An x and a utils module", "An x and a ___ module"),
        ("Nothing to hide", "Nothing to hide"),
    ],
)
def test_masking_blanks_every_name_of_the_tree(query: str, expected: str) -> None:
    assert mask_names(query, TREE) == expected


def test_what_reads_as_an_identifier() -> None:
    text = "Make `Reader.rows` and get_rows() return a QuerySet via camelCase, _private and plain words or iOS"
    assert identifiers_of(text) == {"Reader", "rows", "get_rows", "QuerySet", "camelCase", "_private", "iOS"}


def test_overlap_is_the_share_of_words_that_the_targets_have() -> None:
    assert content_words("Fix the QuerySet of rows") == {"query", "set", "rows"}
    inside = words_inside("Fix the QuerySet of rows", [b"class Query: ...", b"# Rows"])
    assert inside == {"query", "rows"}
    assert overlap("Fix the QuerySet of rows", inside) == pytest.approx(0.667)
    assert overlap("", frozenset({"x"})) == 0.0
