"""Gold against itself: what is told, and near misses that must stay silent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from searchmark import Answer, Case, Corpus, Defaults, Document, Finding, Hit, Judgment, Provenance, Run, Suite, evaluate_run
from searchmark.audit.check import Subject
from searchmark.audit.documents import NearCopies, shingles, similarity
from searchmark.audit.full import CHECKS
from searchmark.audit.gold import near_duplicate_queries
from searchmark.audit.quick import short_audit
from searchmark.config.gates import DecisionRule, DecisionTable
from searchmark.experiments.audit import build_subject
from searchmark.records.finding import GOLD
from searchmark.records.provenance import AgentIdentity
from searchmark.reports.report import outcome_of

OF_GOLD = [check for check in CHECKS if check.theme == GOLD]


def case(number: int, query: str | None = None, *judgments: Judgment, **more: object) -> Case:
    """A case with a query and a target of its own, unless others are given."""
    return Case(f"c{number}", query or f"query number {number}", judgments or (Judgment(f"d{number}"),), **more)  # type: ignore[arg-type]  # fields of a case


def suite_of(*cases: Case, **more: object) -> Suite:
    return Suite.from_cases("s", cases, **more)


def found_in(suite: Suite, **more: object) -> dict[str, Finding]:
    subject = Subject(suite, **more)  # type: ignore[arg-type]  # its fields
    return {found.code: found for check in OF_GOLD for found in check.look(subject)}


def with_corpus(suite: Suite, **texts: str) -> dict[str, Finding]:
    subject = build_subject(suite, Corpus.of("c", [Document(name, text) for name, text in texts.items()]))
    return {found.code: found for check in OF_GOLD for found in check.look(subject)}


class TestDuplicateQueries:
    @pytest.mark.parametrize("again", ["Make  TEA", " make tea\t", "ｍake tea", "MAKE TEA"])
    def test_case_spaces_and_unicode_forms_do_not_tell_queries_apart(self, again: str) -> None:
        found = found_in(suite_of(case(0, "make tea"), case(1, again), case(2)))["duplicate-queries"]
        assert found.cases == ("c0", "c1")
        assert found.message == (
            "2 of 3 cases repeat 1 query: 'make tea' in 'c0' and 'c1'; 1 of these queries with different targets"
        )

    @pytest.mark.parametrize(
        "more",
        [
            ({"documents": (Document("d0", "a"),)}, {"documents": (Document("d1", "b"),)}),
            ({"request": {"filter": "a"}}, {"request": {"filter": "b"}}),
            ({"fields": {"repository": "flask"}}, {"fields": {"repository": "rich"}}),
            ({"fields": {"parent_commit": "1"}}, {"fields": {"parent_commit": "2"}}),
        ],
        ids=["documents", "request", "repository", "commit"],
    )
    def test_the_same_words_elsewhere_are_another_query(self, more: tuple[dict[str, object], dict[str, object]]) -> None:
        cases = [case(number, "make tea", **each) for number, each in enumerate(more)]
        assert "duplicate-queries" not in found_in(suite_of(*cases))

    def test_accents_tell_queries_apart(self) -> None:
        assert "duplicate-queries" not in found_in(suite_of(case(0, "papa"), case(1, "papá")))

    def test_cases_without_a_query_are_not_duplicates(self) -> None:
        assert "duplicate-queries" not in found_in(Suite.from_grades({"a": {"x": 1}, "b": {"y": 1}}))


class TestNearDuplicateQueries:
    LONG = "how do I change the colour of all the icons in the tool bar"

    def near(self, one: str, other: str, **more: object) -> list[Finding]:
        return list(near_duplicate_queries(Subject(suite_of(case(0, one, **more), case(1, other, **more), case(2)))))

    @pytest.mark.parametrize("other", [f"{LONG} please", "In the tool bar, how do I change the colour of all the icons?"])
    def test_nearly_the_same_words_in_any_order_are(self, other: str) -> None:
        (found,) = self.near(self.LONG, other)
        assert found.cases == ("c0", "c1")

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("hotels in Rome", "hotels in Paris"),
            ("create issue", "create an issue"),
            (f"{LONG} of version 3", f"{LONG} of version 4"),
            (LONG, LONG.replace("colour", "size").replace("icons", "words")),
        ],
        ids=["template", "short", "number", "two words"],
    )
    def test_others_are_not(self, one: str, other: str) -> None:
        assert self.near(one, other) == []

    def test_variants_of_one_origin_are_declared(self) -> None:
        assert self.near(self.LONG, f"{self.LONG} please", origin="icons") == []

    def test_the_index_finds_every_pair_that_comparing_all_finds(self) -> None:
        words = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll"]
        queries = [" ".join(words[:size] + words[size + 1 :]) for size in range(11)] + [" ".join(words)]
        (found,) = near_duplicate_queries(Subject(suite_of(*(case(number, query) for number, query in enumerate(queries)))))
        assert found.message.startswith("11 pairs of nearly equal queries, of 12 cases")


class TestSharedGold:
    def test_what_the_cases_are_worth_is_told(self) -> None:
        shared = [case(number, None, Judgment("x")) for number in range(4)]
        found = found_in(suite_of(*shared, case(4), case(5)))["shared-targets"]
        assert found.cases == ("c0", "c1", "c2", "c3")
        assert found.message == (
            "4 of 6 cases share their relevant targets with another, in 1 group, the largest of 4 cases ('c0', 'c1', 'c2', 1 more); "
            "all cases are worth 2 observations"
        )

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (case(0, None, Judgment("x", grade=2)), case(1, None, Judgment("x", grade=1))),
            (case(0, None, Judgment("x")), case(1, None, Judgment("x"), Judgment("y"))),
            (case(0, None, Judgment("x")), case(1, None, Judgment("x"), origin="o")),
            (case(0, None, Judgment("x", grade=0)), case(1, None, Judgment("x", grade=0))),
            (Case("c0", "a", unanswerable=True), Case("c1", "b", unanswerable=True)),
            (
                case(0, None, Judgment("x"), documents=(Document("x", "1"),)),
                case(1, None, Judgment("x"), documents=(Document("x", "2"),)),
            ),
            (case(0, None, Judgment("x"), fields={"repository": "a"}), case(1, None, Judgment("x"), fields={"repository": "b"})),
        ],
        ids=["grades", "one more", "origin", "nothing relevant", "unanswerable", "own documents", "repository"],
    )
    def test_cases_that_share_less_are_observations_of_their_own(self, one: Case, other: Case) -> None:
        assert "shared-targets" not in found_in(suite_of(one, other))

    def test_the_order_of_judgments_and_what_is_irrelevant_do_not_count(self) -> None:
        one = case(0, None, Judgment("x"), Judgment("y", grade=2), Judgment("z", grade=0))
        assert "shared-targets" in found_in(suite_of(one, case(1, None, Judgment("y", grade=2), Judgment("x"))))


class TestContradictions:
    def test_duplicate_queries_that_grade_a_document_differently(self) -> None:
        suite = suite_of(
            case(0, "tea", Judgment("x", grade=2), Judgment("y")), case(1, "Tea", Judgment("x", grade=0), Judgment("z"))
        )
        found = found_in(suite)["contradictory-grades"]
        assert (found.severity, found.cases) == ("error", ("c0", "c1"))
        assert found.message == "1 document has several grades for one query: 'x' has 2 in 'c0' and 0 in 'c1'"

    def test_an_id_and_a_path_may_name_one_document(self) -> None:
        suite = suite_of(case(0, None, Judgment("docs/a.md"), Judgment("docs/./a.md", "path", 0)))
        assert found_in(suite)["contradictory-grades"].cases == ("c0",)

    @pytest.mark.parametrize(
        "judgments",
        [
            (Judgment("x", grade=1), Judgment("X", grade=0)),
            (Judgment("x", grade=1), Judgment("./x", "path", 1)),
            (Judgment("x", grade=1), Judgment("x", "symbol", 0)),
            (Judgment("x", grade=1), Judgment("./x", "path", -1)),
        ],
        ids=["case", "agreement", "pattern", "not judged"],
    )
    def test_what_does_not_contradict(self, judgments: tuple[Judgment, ...]) -> None:
        assert "contradictory-grades" not in found_in(suite_of(case(0, None, *judgments)))

    def test_different_queries_may_grade_differently(self) -> None:
        suite = suite_of(case(0, "tea", Judgment("x", grade=2)), case(1, "coffee", Judgment("x", grade=0)))
        assert "contradictory-grades" not in found_in(suite)


class TestHollowCases:
    def test_no_judgment_and_no_relevant_one_are_told_apart(self) -> None:
        suite = suite_of(Case("bare", "a"), case(1, None, Judgment("x", grade=0)), case(2), Case("none", "b", unanswerable=True))
        found = found_in(suite)
        assert (found["cases-without-judgments"].cases, found["cases-without-target"].cases) == (("bare",), ("c1",))

    def test_lower_grades_are_told(self) -> None:
        suite = suite_of(case(0, None, Judgment("x", grade=1)), case(1, None, Judgment("y", grade=2)), defaults=Defaults(rel=2))
        assert found_in(suite)["cases-without-target"].message == (
            "cases without a target of grade 2 or higher, which can only score 0 in measures that count from this grade: 1 of 2"
        )

    def test_a_pattern_may_match_something(self) -> None:
        assert "cases-without-target" not in found_in(suite_of(case(0, None, Judgment("src/**", "glob"))))

    def test_it_is_said_once_beside_a_run(self) -> None:
        suite = suite_of(Case("bare", "a"), case(1, None, Judgment("x", grade=0)), case(2))
        run = Run.from_answers("agent", [Answer(each, "ok", (Hit("x", 1),)) for each in suite.table.ids])
        codes = [found.code for found in short_audit(build_subject(suite, runs=[run]))]
        assert (codes.count("cases-without-judgments"), codes.count("cases-without-target")) == (1, 1)


class TestOwnDocuments:
    DOCUMENTS = (Document("x", "a"), Document("y", "b"))

    def test_every_document_is_relevant(self) -> None:
        flat = case(0, None, Judgment("x"), Judgment("y"), documents=self.DOCUMENTS)
        fair = case(1, None, Judgment("x"), documents=self.DOCUMENTS)
        found = found_in(suite_of(flat, fair))["all-documents-relevant"]
        assert (found.cases, found.message) == (("c0",), "1 case of 2 with documents of their own: every document is relevant")

    @pytest.mark.parametrize(
        "second", [Judgment("y", grade=2), Judgment("y", rank=2), Judgment("y", grade=0)], ids=["grade", "rank", "irrelevant"]
    )
    def test_an_order_that_can_be_wrong_is_fair(self, second: Judgment) -> None:
        assert "all-documents-relevant" not in found_in(suite_of(case(0, None, Judgment("x"), second, documents=self.DOCUMENTS)))


class TestGrades:
    def grades(self, *grades: int, **more: object) -> str:
        suite = suite_of(*(case(number, None, Judgment("x", grade=each)) for number, each in enumerate(grades)), **more)
        found = found_in(suite).get("grades-outside-scale")
        return found.message if found else ""

    def test_below_those_of_trec(self) -> None:
        assert self.grades(-5, -5, 1) == "2 judgments have a grade below -2 (down to -5), which counts as not judged"

    def test_labels_end_at_three(self) -> None:
        assert self.grades(1, 2, 3, 4, kind="labels") == "1 label has a grade above 3 (up to 4), the highest of their scale"

    def test_fractional_gains_are_said(self) -> None:
        suite = suite_of(case(0, None, Judgment.of_gain("x", 0.5), Judgment("y")), case(1, None, Judgment.of_gain("x", 1.5)))
        found = found_in(suite)["fractional-gains"]
        assert found.message == "2 judgments have a fractional gain: nDCG and DCG pay it, other measures see it rounded up"

    def test_a_slip_of_the_pen(self) -> None:
        assert self.grades(1, 2, 22, 2) == "the grade 22 is given once, and all other relevant grades are 1, 2"

    def test_percents_with_exponential_gains(self) -> None:
        told = "2 grades are above 10 (up to 90), and the gain doubles with each"
        assert self.grades(10, 50, 90, defaults=Defaults(gain="exp")) == told

    @pytest.mark.parametrize("grades", [(-2, -1, 0, 1, 2, 3), (0, 1, 2, 3, 4), (1, 5), (10, 50, 90), (1, 1, 1), (1, 3, 7), ()])
    def test_ordinary_scales_are_fine(self, grades: tuple[int, ...]) -> None:
        assert self.grades(*(grades * 10)) == ""

    def test_equal_grades_under_an_exponential_gain_are_harmless(self) -> None:
        assert self.grades(2, 2, 2, defaults=Defaults(gain="exp")) == ""


class TestDominance:
    def test_the_score_of_a_constant_answer_is_that_of_an_agent_that_gives_it(self) -> None:
        cases = [case(number, None, Judgment("home"), category=f"k{number}") for number in range(5)]
        cases += [case(number) for number in range(5, 20)]
        found = found_in(suite_of(*cases))["dominant-target"]
        assert found.message == (
            "'home' is relevant in 5 of 20 cases (25%): an agent that answers nothing else, whatever the query, gets nDCG@10 0.2500"
        )

    def test_one_of_many_targets_pays_little(self) -> None:
        many = [Judgment(f"x{number}") for number in range(40)]
        cases = [case(number, None, Judgment("home"), *many[number : number + 20]) for number in range(20)]
        assert "dominant-target" in found_in(suite_of(*cases[:5]))
        assert "dominant-target" not in found_in(suite_of(*cases[:6], *(case(number) for number in range(20, 40))))

    def test_few_cases_may_share_a_target_by_chance(self) -> None:
        assert "dominant-target" not in found_in(suite_of(*(case(number, None, Judgment("home")) for number in range(4))))

    def test_cases_with_documents_of_their_own_share_none(self) -> None:
        cases = [case(n, None, Judgment("doc1"), documents=(Document("doc1", str(n)), Document("doc2", "b"))) for n in range(20)]
        assert "dominant-target" not in found_in(suite_of(*cases))

    def test_a_path_of_many_repositories_is_many_targets(self) -> None:
        """As in SWE-bench, whose cases name theirs as `repo`."""
        cases = [
            case(n, None, Judgment("setup.py", "path"), fields={"repo": f"p{n % 20}", "commit_hash": str(n)}) for n in range(40)
        ]
        assert not {"dominant-target", "shared-targets"} & {*found_in(suite_of(*cases))}
        assert suite_of(*cases).clusters is None

    def test_a_path_of_one_of_two_repositories_is_answered_there_only(self) -> None:
        homes = [case(n, None, Judgment("home", "path"), fields={"repo": "a" if n < 8 else "b"}) for n in range(10)]
        found = found_in(suite_of(*homes))["dominant-target"]
        assert found.message.startswith("'home' of 'a' is relevant in 8 of 10 cases (80%)")
        assert found.message.endswith("nDCG@10 0.8000")

    @pytest.mark.parametrize(("sizes", "told"), [((6, 2, 3), True), ((5, 2, 3), False), ((9, 1), False)])
    def test_a_category_dominates_with_more_than_half_of_three(self, sizes: tuple[int, ...], told: bool) -> None:
        names = [f"k{kind}" for kind, size in enumerate(sizes) for _ in range(size)]
        suite = suite_of(*(case(number, category=name) for number, name in enumerate(names)))
        assert ("dominant-category" in found_in(suite)) is told


class TestDecidedCategories:
    def decided(self, suite: Suite, *categories: str) -> str | None:
        table = DecisionTable("b", "a", (DecisionRule("keep", above=0.1, categories=categories),))
        found = found_in(suite, decisions=(table,)).get("small-decided-categories")
        return found.message if found else None

    def test_those_that_are_worth_fewer_than_ten_cases(self) -> None:
        suite = suite_of(*(case(number, category="few" if number < 9 else "many") for number in range(30)))
        told = "1 of 2 categories that a decision table decides by are worth fewer than 10 independent cases: 'few' has 9"
        assert self.decided(suite, "all") == told
        assert self.decided(suite, "many") is None
        assert self.decided(suite) is None

    def test_cases_with_the_same_targets_are_one(self) -> None:
        suite = suite_of(*(case(number, None, Judgment(f"x{number // 2}"), category="k") for number in range(12)))
        assert (self.decided(suite, "k") or "").endswith("'k' has 12, worth 6")


class TestTwins:
    TEXT = "the quick brown fox jumps over the lazy dog and runs far away into the dark old forest behind the quiet hills"

    @pytest.mark.parametrize(("grade", "told"), [(None, "not judged"), (0, "graded 0")])
    def test_a_copy_that_does_not_count(self, grade: int | None, told: str) -> None:
        more = () if grade is None else (Judgment("copy", grade=grade),)
        found = with_corpus(
            suite_of(case(0, None, Judgment("fox"), *more)), fox=self.TEXT, copy=f"{self.TEXT.upper()} today", other="x"
        )
        assert found["near-duplicate-targets"].message == (
            f"1 relevant document has a near copy that does not count: 'fox' and 'copy' in 'c0', {told}"
        )

    def test_a_copy_that_counts_too_is_fine(self) -> None:
        suite = suite_of(case(0, None, Judgment("fox"), Judgment("copy")))
        assert "near-duplicate-targets" not in with_corpus(suite, fox=self.TEXT, copy=self.TEXT)

    @pytest.mark.parametrize(
        "copy", [TEXT.replace("fox", "cat").replace("dog", "cow").replace("dark", "green"), "the quick brown fox"]
    )
    def test_other_texts_are_no_copies(self, copy: str) -> None:
        assert "near-duplicate-targets" not in with_corpus(suite_of(case(0, None, Judgment("fox"))), fox=self.TEXT, copy=copy)

    def test_texts_of_a_few_words_are_names(self) -> None:
        assert "near-duplicate-targets" not in with_corpus(suite_of(case(0, None, Judgment("a"))), a="user name", b="user name")

    def test_texts_without_spaces_are_compared_sign_by_sign(self) -> None:
        text = "東京は日本の首都であり世界最大の都市圏を形成している"
        found = with_corpus(suite_of(case(0, None, Judgment("a"))), a=text, b=f"{text}。")
        assert "near-duplicate-targets" in found

    def test_boilerplate_that_all_texts_share_makes_no_copies(self) -> None:
        texts = {
            f"d{number}": shingles(Document("d", f"{self.TEXT} {number} {number * 7} {number * 13} x{number}" * 3))
            for number in range(200)
        }
        assert sorted(NearCopies(texts, 0.9).of(texts["d7"])) == ["d7"]

    def test_copies_among_many_that_share_boilerplate_are_found(self) -> None:
        """The first words are in all texts, the next ones in a text and its copy, the last one in one text alone."""
        shared = " ".join(f"notice{number}" for number in range(300))
        own = [" ".join(f"own{number}of{word}" for word in range(50)) for number in range(120)]
        texts = {f"d{number}": shingles(Document("d", f"{shared} {each} end")) for number, each in enumerate(own)}
        index = NearCopies(texts, 0.9)
        assert [list(index.of(shingles(Document("d", f"{shared} {each} other")))) for each in own] == [[name] for name in texts]

    def test_every_one_of_many_equal_texts_has_its_turn(self) -> None:
        texts = {f"d{number}": shingles(Document("d", f"{self.TEXT} {self.TEXT} text {number}")) for number in range(120)}
        index = NearCopies(texts, 0.9)
        found = {copy for text in texts.values() for copy in index.of(text)}
        assert found == set(texts)
        assert index.cut

    def test_the_numbers_of_a_text_are_the_same_in_every_process(self) -> None:
        assert shingles(Document("d", "Grüße from Böblingen")).tolist() == [16719787633110636842]

    def test_similarity_is_the_share_of_common_sequences(self) -> None:
        one, other = (shingles(Document("d", text)) for text in ("a b c d e", "a b c d f"))
        assert similarity(one, other) == pytest.approx(2 / 4)


class TestModels:
    def told(self, description: dict[str, object] | None, ranges: object, model: str | None = "BAAI/bge-small") -> list[str]:
        agent = None if description is None else AgentIdentity("agent", description=description)
        run = Run.from_answers("agent", [Answer("c0", "ok", (Hit("x", 1, 0.7),))], provenance=Provenance(agent=agent))
        suite = suite_of(case(0, None, Judgment("x", score_range=ranges)), case(1), model=model)  # type: ignore[arg-type]  # ranges
        found = short_audit(build_subject(suite, runs=[run]))
        return [each.message for each in found if each.code == "ranges-of-another-model"]

    def test_another_model(self) -> None:
        ranges_for = (
            "agent: score ranges are known for BAAI/bge-small, and the run searched with MiniLM, in 1 of 1 cases with ranges"
        )
        assert self.told({"embedder": {"model": "MiniLM"}}, (0.5, 1.0)) == [ranges_for]

    def test_no_model(self) -> None:
        assert self.told({"ranking": "bm25"}, (0.5, 1.0)) == [
            "agent: score ranges of 1 case are for BAAI/bge-small, and the agent names no model"
        ]

    @pytest.mark.parametrize(
        ("description", "ranges", "model"),
        [
            ({"embedder": {"model": "bge-small"}}, (0.5, 1.0), "BAAI/bge-small"),
            ({"embedder": {"model": "MiniLM"}}, {"MiniLM": (0.5, 1.0)}, "BAAI/bge-small"),
            ({"ranking": "bm25"}, (0.5, 1.0), None),
            (None, (0.5, 1.0), "BAAI/bge-small"),
            ({"ranking": "bm25"}, None, "BAAI/bge-small"),
        ],
        ids=["owner left out", "its own range", "any model", "unknown agent", "no ranges"],
    )
    def test_what_fits_or_is_not_known(self, description: dict[str, object] | None, ranges: object, model: str | None) -> None:
        assert self.told(description, ranges, model) == []


@pytest.mark.parametrize(
    ("bare", "judged", "unanswerable", "code"),
    [(24, 0, 0, "nothing-judged"), (1, 23, 0, "cases-without-judgments"), (23, 0, 1, "cases-without-judgments"), (0, 0, 24, None)],
)
def test_a_suite_without_any_judgment_measures_nothing(bare: int, judged: int, unanswerable: int, code: str | None) -> None:
    kinds = [{}] * bare + [{"judgments": (Judgment("a"),)}] * judged + [{"unanswerable": True}] * unanswerable
    cases = [Case(f"c{row}", f"query {row}", **each) for row, each in enumerate(kinds)]  # type: ignore[arg-type]  # its fields
    run = Run.from_answers("r", [Answer(case.id, "ok", (Hit("a", 1),)) for case in cases])
    report = evaluate_run(Suite.from_cases("s", cases), [run], ["nDCG@10", "Abstain"] if unanswerable else ["nDCG@10"])
    said = {each.code for each in report.audit} & {"nothing-judged", "cases-without-judgments"}
    assert said == ({code} if code else set())
    assert (outcome_of(report) == "untrusted") is (bare > 0 and not judged)


def test_no_check_needs_anything_but_a_suite() -> None:
    empty = Suite.from_cases("empty", [])
    assert found_in(empty) == {}
    assert found_in(replace(empty, name="again")) == {}
