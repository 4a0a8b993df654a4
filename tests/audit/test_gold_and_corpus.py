"""Gold against its corpus: what is found, and what is near and must stay unsaid."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from searchmark import (
    Answer,
    Case,
    Corpus,
    Defaults,
    Document,
    Finding,
    Hit,
    Judgment,
    Run,
    Suite,
    audit_suite,
    evaluate_run,
    load_corpus,
    load_suite,
)
from searchmark.audit.check import Subject, all_kinds, spoils
from searchmark.audit.documents import deprecation
from searchmark.audit.full import CHECKS, full_audit
from searchmark.audit.shifts import judgments_of_other_queries
from searchmark.experiments.audit import build_subject
from searchmark.formats.corpora.corpus import corpus_of
from searchmark.records.finding import CORPUS
from searchmark.scoring.targets import NearIds
from tests.audit.clean import clean

TEXT = "a text that is long enough to be told from others, number {}"


def documents(*ids: str) -> list[Document]:
    return [Document(each, TEXT.format(number)) for number, each in enumerate(ids)]


def subject(judgments: Iterable[Judgment], found: Sequence[Document], *, ignore_case: bool = False, **case: Any) -> Subject:
    suite = Suite.from_cases("s", [Case("c", "a query", tuple(judgments), **case)], defaults=Defaults(ignore_case=ignore_case))
    return build_subject(suite, Corpus.of("corpus", found))


def said(audited_subject: Subject) -> dict[str, Finding]:
    """What the checks of gold against its corpus say, by code."""
    known = {kind.code for kind in all_kinds().values() if kind.theme == CORPUS}
    found = [each for check in CHECKS if known.intersection(check.codes) for each in check.look(audited_subject)]
    return {each.code: each for each in found if each.code in known}


class TestMissing:
    def test_one_target_under_another_spelling_of_its_path_is_there(self) -> None:
        assert said(subject([Judgment("./docs//a.md", "path")], documents("docs/a.md"))) == {}

    @pytest.mark.parametrize(
        ("target", "id_there", "words"),
        [
            ("guide.md", "docs/guide.md", "with the prefix 'docs/' added, 1 of them"),
            ("docs/guide.md", "guide.md", "with the prefix 'docs/' left out, 1 of them"),
            ("Guide.MD", "guide.md", "with upper and lower case ignored, 1 of them"),
            ("guide.html", "guide.md", "with extensions left out, 1 of them"),
            ("docs\\guide.md", "docs/guide.md", "with backslashes written as slashes, 1 of them"),
            ("D007", "D7", "with leading zeros left out, 1 of them"),
            ("my%20guide", "my guide", "with percent signs decoded, 1 of them"),
            ("my-guide", "my_guide", "with separators and case ignored, 1 of them"),
        ],
    )
    def test_what_would_make_all_targets_fit_is_named(self, target: str, id_there: str, words: str) -> None:
        found = said(subject([Judgment(target)], documents(id_there, "another", "a third one")))
        assert words in found["all-targets-missing"].message
        assert f"{target!r} (the corpus has {id_there!r})" in found["all-targets-missing"].message
        assert found["all-targets-missing"].cases == ("c",)

    def test_a_form_that_several_ids_have_says_nothing(self) -> None:
        found = said(subject([Judgment("GUIDE")], documents("guide", "Guide")))
        assert "would be found" not in found["all-targets-missing"].message

    def test_some_missing_targets_are_told_with_similar_ids(self) -> None:
        found = said(subject([Judgment("createIssueV2"), Judgment("other")], documents("createIssue", "createIssueType", "other")))
        assert (
            found["unreachable-targets"].message
            == "1 of 2 relevant targets (50 %) are not in the corpus: 'createIssueV2' (the corpus has 'createIssue')"
        )

    @pytest.mark.parametrize(
        ("target", "id_there"),
        [
            ("middleware/cors.go", "middleware/content_type_test.go"),
            ("chi/middleware/redirects.go", "gin/redirect.go"),
            ("doc-0000012", "doc-0000013"),
        ],
    )
    def test_an_id_that_no_person_would_take_for_it_is_no_hint(self, target: str, id_there: str) -> None:
        found = said(subject([Judgment(target), Judgment("x")], documents(id_there, "x")))
        assert found["unreachable-targets"].message.endswith(f"not in the corpus: {target!r}")

    def test_a_typing_error_in_the_same_folder_is_a_hint(self) -> None:
        found = said(subject([Judgment("chi/midleware/redirects.go"), Judgment("x")], documents("chi/middleware/redirect.go", "x")))
        assert "the corpus has 'chi/middleware/redirect.go'" in found["unreachable-targets"].message

    @pytest.mark.parametrize(("there", "code"), [(1, "most-targets-missing"), (2, "unreachable-targets")])
    def test_more_than_half_missing_is_an_error_that_leaves_the_result(self, there: int, code: str) -> None:
        judgments = [Judgment(each) for each in ("alpha", "beta", "gamma", "delta")]
        (found,) = said(subject(judgments, documents("other", *(each.target for each in judgments[:there])))).values()
        assert (found.code, found.severity == "error", spoils(found)) == (code, there == 1, False)

    def test_not_all_targets_are_missing_where_a_glob_fits(self) -> None:
        found = said(subject([Judgment("gone"), Judgment("x*", "glob")], documents("x1")))
        assert found.keys() == {"unreachable-targets"}

    def test_the_file_of_lines_may_be_missing_too(self) -> None:
        assert "all-targets-missing" in said(subject([Judgment("a.py#L3-L9", "lines")], documents("b.py")))
        assert said(subject([Judgment("a.py#L3-L9", "lines")], documents("a.py"))) == {}

    def test_a_target_of_grade_0_need_not_be_there(self) -> None:
        assert said(subject([Judgment("a"), Judgment("gone", "id", 0)], documents("a"))) == {}

    def test_a_report_says_once_that_nothing_could_be_found_and_is_untrusted(self) -> None:
        suite = Suite.from_cases("s", [Case("c", "q", (Judgment("guide.md"),))], dropped={"topics_without_judgments": 2})
        survey = Corpus.of("corpus", documents("docs/guide.md")).survey
        report = evaluate_run(suite, [Run.from_scores({"c": {"docs/guide.md": 1.0}})], ["RR"], corpus=survey)
        assert [each.code for each in report.audit].count("all-targets-missing") == 1
        assert "unreachable-targets" not in [each.code for each in report.audit]


def test_cases_with_documents_of_their_own_may_use_one_name_for_several() -> None:
    cases = [
        Case(f"c{row}", f"query {row}", (Judgment("a"),), documents=(Document("a", f"{TEXT} {row}"), Document("b", f"other {row}")))
        for row in range(2)
    ]
    suite = Suite.from_cases("fixtures", cases)
    codes = {each.code for each in audit_suite(suite, corpus_of(suite)).findings}
    assert not codes & {"ambiguous-targets", "duplicate-documents"}


class TestNearest:
    def test_of_equal_names_the_one_in_the_same_folder_is_near(self) -> None:
        ids = [f"docs/{folder}/create.md" for folder in ("apples", "invoice", "wishlist")]
        assert NearIds(ids, ["docs/invoice/cretae.md"]).nearest("docs/invoice/cretae.md") == "docs/invoice/create.md"


class TestRenamed:
    def test_a_field_says_so(self) -> None:
        found = [Document("new", TEXT, fields={"previous_id": "old"}), *documents("x")]
        assert "'old' is now 'new'" in said(subject([Judgment("old"), Judgment("x")], found))["renamed-targets"].message

    def test_what_replaced_a_target_that_is_still_there_is_told(self) -> None:
        found = [Document("old", TEXT, fields={"replaced_by": "new"}), *documents("new")]
        assert "'old' is now 'new'" in said(subject([Judgment("old")], found))["renamed-targets"].message

    def test_a_replacement_that_is_not_in_the_corpus_is_none(self) -> None:
        assert said(subject([Judgment("old")], [Document("old", TEXT, fields={"replaced_by": "gone"})])) == {}

    def test_a_last_part_that_two_documents_have_says_nothing(self) -> None:
        judgments = [Judgment("src/util/names.py", "path"), Judgment("x")]
        one = said(subject(judgments, documents("src/names.py", "x")))
        two = said(subject(judgments, documents("src/names.py", "src/core/names.py", "x")))
        assert ("renamed-targets" in one, "renamed-targets" in two) == (True, False)

    @pytest.mark.parametrize(
        ("id_there", "renamed"),
        [("gin/redirect.go", False), ("chi/redirect.go", True), ("go/chi/middleware/redirect.go", True), ("redirect.go", True)],
    )
    def test_a_file_of_another_project_is_not_the_same_under_another_name(self, id_there: str, renamed: bool) -> None:
        judgments = [Judgment("chi/middleware/v5/redirect.go", "path"), Judgment("x")]
        assert ("renamed-targets" in said(subject(judgments, documents(id_there, "x")))) is renamed

    def test_what_was_renamed_is_not_told_as_missing_too(self) -> None:
        judgments = [Judgment("src/util/names.py", "path"), Judgment("x")]
        found = documents("src/names.py", "x")
        assert list(said(subject(judgments, found))) == ["renamed-targets"]
        one_more = said(subject([*judgments, Judgment("y"), Judgment("gone")], [*found, *documents("y")]))
        assert one_more["unreachable-targets"].message.startswith(
            "1 of 4 relevant targets (25 %) are not in the corpus (beside 1 that"
        )


class TestCopies:
    def test_a_copy_that_is_relevant_too_is_no_flaw(self) -> None:
        copies = [Document("a", TEXT), Document("b", TEXT)]
        assert said(subject([Judgment("a"), Judgment("b")], copies)) == {}
        assert "'a' is also 'b'" in said(subject([Judgment("a"), Judgment("b", "id", 0)], copies))["duplicated-targets"].message

    def test_documents_that_differ_in_a_field_are_not_copies_unless_it_only_tells_them_apart(self) -> None:
        fields = [{"colour": "red"}, {"colour": "blue"}], [{"url": "x/1"}, {"url": "x/2"}]
        pairs = ([Document(name, TEXT, fields=each) for name, each in zip("ab", two, strict=True)] for two in fields)
        assert [list(said(subject([Judgment("a")], pair))) for pair in pairs] == [[], ["duplicated-targets"]]

    def test_an_exact_copy_is_not_a_near_one_too(self) -> None:
        text = " ".join(f"word{number}" for number in range(40))
        two = subject([Judgment("a")], [Document("a", text), Document("b", text)])
        codes = [each.code for each in full_audit(two).findings if "duplicate" in each.code]
        assert codes == ["duplicated-targets"]

    def test_short_contents_are_the_same_by_chance(self) -> None:
        assert said(subject([Judgment("a")], [Document("a", "yes"), Document("b", "yes")])) == {}

    def test_one_content_twice_under_one_id_is_not_ambiguous(self) -> None:
        assert said(subject([Judgment("a")], [*documents("a"), *documents("a")])) == {}


@pytest.mark.parametrize(
    ("document", "deprecated"),
    [
        (Document("a", "text", fields={"deprecated": True}), True),
        (Document("a", "text", fields={"Deprecated": "since 2.0"}), True),
        (Document("a", "text", fields={"deprecated": False}), False),
        (Document("a", "text", fields={"deprecated": "No"}), False),
        (Document("a", "text", fields={"status": "Archived"}), True),
        (Document("a", "text", fields={"status": "active"}), False),
        (Document("a", "text", fields={"tags": ["api", "obsolete"]}), True),
        (Document("a", "text", fields={"notes": "deprecated"}), False),
        (Document("a", "/**\n * @deprecated use b\n */\nfunction a() {}"), True),
        (Document("a", "Deprecated, use `Get projects paginated` that supports search."), True),
        (Document("a", "intro\n\n.. deprecated:: 2.0\n"), True),
        (Document("a", "[Obsolete(\"use b\")] void A();"), True),
        (Document("a", "Deprecated features are listed here."), False),
        (Document("a", "How to find out what is deprecated in this release"), False),
        (Document("a", "\n" * 40 + "@deprecated"), False),
    ],
)  # fmt: skip
def test_marks_of_deprecation_are_told_from_mentions(document: Document, deprecated: bool) -> None:
    assert (deprecation(document) is not None) is deprecated


class TestPatterns:
    def test_a_report_names_the_glob_that_leaves_a_case_without_target(self) -> None:
        cases = [Case("c1", "q", (Judgment("nothing*", "glob"),)), Case("c2", "r", (Judgment("a"),))]
        survey = Corpus.of("corpus", documents("a", "b")).survey
        report = evaluate_run(
            Suite.from_cases("s", cases), [Run.from_scores({"c1": {"a": 1.0}, "c2": {"a": 1.0}})], ["RR"], corpus=survey
        )
        said = {each.code: each for each in report.audit}
        assert said["patterns-without-match"].message == "1 of 1 glob or symbol fit no document: 'nothing*'"
        assert said["patterns-without-match"].cases == ("c1",)
        assert "cases-without-target" not in said

    def test_an_exclusion_that_fits_nothing_is_harmless(self) -> None:
        assert said(subject([Judgment("a"), Judgment("Test*", "glob", 0)], documents("a"))) == {}

    def test_a_suite_that_ignores_case_has_no_pattern_in_another_case(self) -> None:
        heeding, ignoring = (
            said(subject([Judgment("MAIL*", "glob")], documents("mailer", "b"), ignore_case=each)) for each in (False, True)
        )
        assert (list(heeding), ignoring) == (["patterns-in-other-case"], {})
        assert "'MAIL*' ('mailer' is there)" in heeding["patterns-in-other-case"].message

    @pytest.mark.parametrize(("fitting", "of", "broad"), [(5, 10, True), (4, 10, False), (9, 9, False)])
    def test_a_pattern_is_broad_from_half_of_ten_documents_on(self, fitting: int, of: int, broad: bool) -> None:
        ids = [f"x{number}" if number < fitting else f"y{number}" for number in range(of)]
        assert ("broad-patterns" in said(subject([Judgment("x*", "glob")], documents(*ids)))) is broad

    def test_a_symbol_fits_a_pattern_by_what_it_means_in_the_corpus(self) -> None:
        judgments = [Judgment("Send", "symbol", 2), Judgment("*Mail*", "glob")]
        assert said(subject(judgments, documents("TMailer.Send", "Mail", "x"))) == {}
        assert "symbols-outside-patterns" in said(subject(judgments, documents("TPost.Send", "Mail", "x")))

    def test_symbols_of_a_case_without_patterns_are_not_held_against_any(self) -> None:
        assert said(subject([Judgment("Send", "symbol")], documents("TPost.Send", "x"))) == {}

    def test_a_symbol_that_case_alone_keeps_out_is_counted(self) -> None:
        case = Case("c", "q", (Judgment("CalcularFactura", "symbol"), Judgment("*factura*", "glob")))
        found = said(Subject(Suite.from_cases("s", [case])))
        assert found["symbols-outside-patterns"].message.endswith("1 of them only because of upper and lower case")


class TestExclusions:
    def test_a_field_that_no_document_has_is_told(self) -> None:
        found = said(subject([Judgment("a*", "glob")], documents("a", "b"), exclude={"deprecated": True}))
        assert found["exclusions-not-applied"].message.endswith("no document of the corpus has such a field")
        assert found["exclusions-not-applied"].cases == ("c",)

    def test_what_is_excluded_is_not_a_deprecated_target(self) -> None:
        found = [
            Document("a1", TEXT, fields={"deprecated": True}),
            Document("a2", TEXT + "!", fields={"deprecated": False}),
            *documents("b", "c", "d"),
        ]
        assert "deprecated-targets" in said(subject([Judgment("a*", "glob")], found))
        assert said(subject([Judgment("a*", "glob")], found, exclude={"deprecated": True})) == {}

    def test_every_report_says_that_it_could_not_be_applied(self) -> None:
        suite = Suite.from_cases("s", [Case("c", "q", (Judgment("a*", "glob"),), exclude={"deprecated": True})])
        report = evaluate_run(suite, [Run.from_scores({"c": {"a": 1.0}})], ["RR"])
        assert "exclusions-not-applied" in [each.code for each in report.audit]


class TestJoin:
    @staticmethod
    def joined(without: int, of: int, unjudged: int) -> list[str]:
        cases = [Case(f"c{row}", None if row < without else "a query", (Judgment("a"),)) for row in range(of)]
        suite = Suite.from_cases("s", cases, dropped={"queries_without_judgments": unjudged} if unjudged else {})
        return list(said(Subject(suite)))

    def test_queries_of_other_splits_are_usual(self) -> None:
        assert self.joined(without=0, of=10, unjudged=90) == []

    def test_judgments_without_any_queries_were_not_joined_at_all(self) -> None:
        assert self.joined(without=10, of=10, unjudged=0) == []

    def test_few_cases_without_a_query_are_tolerated_only_if_all_queries_are_judged(self) -> None:
        assert [self.joined(1, 100, unjudged) for unjudged in (0, 1)] == [[], ["partial-join"]]

    def test_a_join_that_covers_nothing_is_told(self) -> None:
        assert self.joined(without=10, of=10, unjudged=10) == ["nothing-joined"]

    def test_ids_of_both_sides_and_what_makes_them_fit_are_named(self, tmp_path: Path) -> None:
        (tmp_path / "qrels.txt").write_text("".join(f"q{row:02} 0 d{row} 1\n" for row in range(1, 25)))
        (tmp_path / "topics.tsv").write_text("".join(f"q{row:03}\tquery {row}\n" for row in range(1, 25)))
        found = said(Subject(load_suite(tmp_path / "qrels.txt", topics=tmp_path / "topics.tsv")))["nothing-joined"]
        assert (found.severity, len(found.cases)) == ("error", 24)
        assert found.message == (
            "none of 24 judged cases has a query, and none of 24 queries is judged: the case 'q01' may be the query 'q001'; "
            "with leading zeros left out, 24 of them would be found"
        )


def rotated(steps: int, count: int = 60) -> Subject:
    """The clean suite with judgments that belong to queries so many cases earlier; with its runs on the right queries."""
    whole = clean()
    cases = whole.cases[:count]
    moved = [replace(case, judgments=cases[(row + steps) % count].judgments) for row, case in enumerate(cases)]
    return replace(whole, cases=tuple(moved), answers={}).subject()


def runs_alone(steps: int, names: Sequence[str]) -> Subject:
    whole = clean()
    cases = [replace(case, judgments=whole.cases[(row + steps) % 60].judgments) for row, case in enumerate(whole.cases)]
    return build_subject(
        Suite.from_cases("s", cases), None, [Run.from_answers(name, whole.answers[name]) for name in names], ["RR"]
    )


def codes_of(found: Subject) -> list[str]:
    return [each.code for each in judgments_of_other_queries(found)]


class TestOwnQueries:
    @pytest.mark.parametrize("steps", [1, -1, 2, -2])
    def test_a_shift_is_told_with_its_direction(self, steps: int) -> None:
        (found,) = judgments_of_other_queries(rotated(steps))
        side = "earlier" if steps > 0 else "later"
        assert found.code == "shifted-judgments"
        assert f"{abs(steps)} case{'s' if abs(steps) > 1 else ''} {side}" in found.message
        assert re.search(r": 'c\d\d' \(.*\) has the target 'd\d{4}', and 'd\d{4}' of 'c\d\d' fits$", found.message)

    def test_a_join_far_off_is_at_chance(self) -> None:
        assert codes_of(rotated(23)) == ["judgments-at-chance"]

    def test_nineteen_cases_are_too_few_to_tell(self) -> None:
        assert codes_of(rotated(9, count=19)) == []

    def test_a_shift_is_seen_by_a_run_alone(self) -> None:
        assert codes_of(runs_alone(1, ["strong"])) == ["shifted-judgments"]
        assert codes_of(runs_alone(0, ["strong"])) == []

    def test_one_run_at_chance_may_be_a_bad_search_and_two_are_told(self) -> None:
        assert codes_of(runs_alone(23, ["strong"])) == []
        assert codes_of(runs_alone(23, ["strong", "weak"])) == ["judgments-at-chance"]

    def test_a_run_that_finds_the_targets_clears_queries_in_other_words(self) -> None:
        whole = clean()
        cases = [replace(case, query=whole.cases[(row + 23) % 60].query) for row, case in enumerate(whole.cases)]
        foreign = replace(whole, cases=tuple(cases))
        assert codes_of(replace(foreign, answers={}).subject()) == ["judgments-at-chance"]
        assert codes_of(foreign.subject()) == []

    @pytest.mark.parametrize("seed", range(5))
    def test_queries_that_share_a_few_words_with_documents_by_chance_say_nothing(self, seed: int) -> None:
        """As in another language: loan words are in the documents, and not more often in the right ones."""
        whole, chance = clean(), random.Random(seed)
        words = [word for case in whole.cases for word in (case.query or "").split()]
        cases = [replace(case, query=" ".join(["wie", "kann", *chance.sample(words, 2)])) for case in whole.cases]
        assert codes_of(replace(whole, cases=tuple(cases), answers={}).subject()) == []

    def test_one_gold_for_all_cases_says_nothing(self) -> None:
        whole = clean()
        same = [replace(case, judgments=whole.cases[0].judgments) for case in whole.cases]
        assert codes_of(replace(whole, cases=tuple(same), answers={}).subject()) == []

    def test_queries_that_share_no_word_with_any_document_say_nothing(self) -> None:
        whole = clean()
        foreign = [replace(case, query=f"xq{row} yq{row}") for row, case in enumerate(whole.cases)]
        assert codes_of(replace(whole, cases=tuple(foreign), answers={}).subject()) == []


@pytest.mark.slow
def test_random_joins_pass_as_right_about_once_in_twenty() -> None:
    whole, told = clean(), 0
    for seed in range(200):
        order = random.Random(seed).sample(range(60), 60)
        cases = [replace(case, judgments=whole.cases[row].judgments) for case, row in zip(whole.cases, order, strict=True)]
        told += codes_of(replace(whole, cases=tuple(cases), answers={}).subject()) == ["judgments-at-chance"]
    assert 180 <= told <= 199


class TestOwnFiles:
    @staticmethod
    def project(folder: Path) -> Path:
        queries = [f"how to do thing number {row} well" for row in range(6)]
        (folder / "docs").mkdir()
        for row in range(6):
            (folder / "docs" / f"p{row}.md").write_text(f"page {row} on thing {row} and how it is done\n")
        cases = "".join(
            f"- id: c{row}\n  query: {query}\n  judgments: [{{target: docs/p{row}.md}}]\n" for row, query in enumerate(queries)
        )
        (folder / "suite.yaml").write_text(f"name: x\nschema_version: 1\ncases:\n{cases}")
        return folder

    def found(self, folder: Path, suite_file: str) -> dict[str, Finding]:
        from searchmark import load_suite

        path = folder / suite_file
        audit = audit_suite(load_suite(folder / "suite.yaml"), load_corpus(folder), suite_file=path)
        return {each.code: each for each in audit.findings}

    def test_the_suite_in_the_searched_folder_is_told(self, tmp_path: Path) -> None:
        assert (
            "'suite.yaml' (the suite itself)" in self.found(self.project(tmp_path), "suite.yaml")["suite-among-documents"].message
        )

    def test_a_copy_of_its_queries_is_told_whatever_it_is_called(self, tmp_path: Path) -> None:
        message = self.found(self.project(tmp_path), "elsewhere.yaml")["suite-among-documents"].message
        assert "holds 6 of 6 queries word for word" in message

    def test_a_page_with_some_of_the_queries_is_a_page(self) -> None:
        cases = [Case(f"c{row}", f"how to do thing {row}", (Judgment("faq"),)) for row in range(10)]
        found = [Document("faq", "how to do thing 1? how to do thing 2?"), Document("b", "other")]
        assert said(build_subject(Suite.from_cases("s", cases), Corpus.of("x", found))).keys() <= {"duplicated-targets"}

    def test_build_outputs_count_only_where_git_ignores_them(self, tmp_path: Path) -> None:
        project = self.project(tmp_path)
        (project / "build").mkdir()
        (project / "build" / "a.txt").write_text("built")
        assert "ignored-folders-among-documents" not in self.found(project, "suite.yaml")
        (project / ".gitignore").write_text("/build/\n")
        assert "1 in 'build'" in self.found(project, "suite.yaml")["ignored-folders-among-documents"].message


def test_a_run_alone_may_know_that_nothing_was_there_to_be_found() -> None:
    suite = Suite.from_cases("s", [Case("c", "q", (Judgment("a"),))])
    run = replace(Run.from_answers("r", [Answer("c", "ok", (Hit("b", 1, 1.0),))]), dropped={"unreachable_targets": 1})
    assert "all-targets-missing" in [each.code for each in evaluate_run(suite, [run], ["RR"]).audit]


def test_near_ids_are_the_same_whatever_the_order_of_a_set_and_long_ones_are_not_compared() -> None:
    ids = [f"guides/install-{''.join(letters)}.md" for letters in product("abcdefgh", repeat=3)]
    target = "guides/install-aaaa.md"
    assert {NearIds(order, [target]).nearest(target) for order in (ids, ids[::-1])} == {"guides/install-aaa.md"}
    assert NearIds(["x" * 3000 + "a"], ["x" * 3000 + "b"]).nearest("x" * 3000 + "b") is None
