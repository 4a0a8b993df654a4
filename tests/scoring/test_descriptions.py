"""Globs and symbols in a corpus: with and without regard to case, and without what a suite excludes by a field."""

from __future__ import annotations

from dataclasses import replace

import pytest

from searchmark import Case, Corpus, Defaults, Document, Judgment, Run, Suite, match_hits, score_runs
from searchmark.formats.corpora.case_locations import with_exclusions
from searchmark.records.matching import judgment_fits
from searchmark.scoring.targets import DescribedIds

IDS = (
    "src/Mail/SendMail.pas",
    "src/mail/other.PAS",
    "TMailer.Send",
    "TMailer.Test.Send",
    "straße.Calc",
    "docs/a b.md",
    "docs/deep/x/y.md",
)
PATTERNS = (
    "*mail*",
    "*Mail*",
    "src/**",
    "**/*.pas",
    "[Tt]*",
    "docs/*/?/*.md",
    "{*.md,*.PAS}",
    "*",
    "STRASSE*",
    "./src/Mail/*",
    "**/x/**",
    "",
)


def suite_of(*judgments: Judgment, exclude: dict[str, object] | None = None, ignore_case: bool = False) -> Suite:
    case = Case("c", "send mail", judgments, exclude=exclude or {})  # type: ignore[arg-type]  # as a file has it
    return Suite.from_cases("s", [case], defaults=Defaults(ignore_case=ignore_case))


def relevant(suite: Suite) -> dict[str, int]:
    return {each.target: each.grade for each in suite.cases[0].judgments}


@pytest.mark.parametrize("ignore_case", [False, True])
@pytest.mark.parametrize(
    "judgment",
    [
        *(Judgment(each, "glob") for each in PATTERNS),
        *(Judgment(each, "symbol") for each in ("send", "Send", "TMailer.Send", "Test.Send", "STRASSE")),
    ],
)
def test_the_index_finds_what_fits_one_by_one(judgment: Judgment, ignore_case: bool) -> None:
    one_by_one = [each for each in IDS if judgment_fits(judgment, each, ignore_case=ignore_case)]
    assert DescribedIds(IDS, ignore_case=ignore_case).meant_by(judgment) == one_by_one


def test_globs_and_symbols_heed_case_unless_the_suite_says_otherwise() -> None:
    found = [DescribedIds(IDS, ignore_case=each).meant_by(Judgment("*mail*", "glob")) for each in (False, True)]
    assert found == [[], ["src/Mail/SendMail.pas", "TMailer.Send", "TMailer.Test.Send"]]
    symbols = [DescribedIds(IDS, ignore_case=each).meant_by(Judgment("tmailer.send", "symbol")) for each in (False, True)]
    assert symbols == [[], ["TMailer.Send"]]


@pytest.mark.parametrize("match", ["id", "path"])
def test_ids_and_paths_stay_exact(match: str) -> None:
    suite = suite_of(Judgment("docs/A.md", match), ignore_case=True)  # type: ignore[arg-type]  # one of the matches
    run = Run.from_scores({"c": {"docs/a.md": 1.0}}, "r")
    assert match_hits(suite, run, ["docs/a.md"]).dropped["unreachable_targets"] == 1


@pytest.mark.parametrize("corpus", [None, ("SendMail", "Other")])
def test_a_run_is_judged_without_regard_to_case_with_and_without_a_corpus(corpus: tuple[str, ...] | None) -> None:
    run = Run.from_scores({"c": {"SendMail": 2.0, "Other": 1.0}}, "r")
    grades = [
        match_hits(suite_of(Judgment("*mail*", "glob"), ignore_case=each), run, corpus).hits.grade.tolist()
        for each in (False, True)
    ]
    assert grades == [[], [1]]


def test_ignoring_case_changes_the_digest_of_judgments_only_where_it_can_matter() -> None:
    described, named = (
        [suite_of(judgment, ignore_case=each).hashes["judgments"] for each in (False, True)]
        for judgment in (Judgment("*a", "glob"), Judgment("a"))
    )
    assert described[0] != described[1]
    assert named[0] == named[1]


DOCUMENTS = [
    Document("TMailer.Send", "sends"),
    Document("TMailer.OldSend", "sends", fields={"deprecated": True}),
    Document("TMailer.Hidden", "sends", fields={"status": "internal", "deprecated": False}),
]


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        ({}, {"TMailer.Send": 2, "TMailer.OldSend": 2, "TMailer.Hidden": 2}),
        ({"deprecated": True}, {"TMailer.Send": 2, "TMailer.OldSend": 0, "TMailer.Hidden": 2}),
        ({"deprecated": "true", "status": ("internal", "removed")}, {"TMailer.Send": 2, "TMailer.OldSend": 0, "TMailer.Hidden": 0}),
        ({"unknown": "x"}, {"TMailer.Send": 2, "TMailer.OldSend": 2, "TMailer.Hidden": 2}),
    ],
)
def test_documents_that_a_suite_excludes_by_a_field_are_not_relevant(exclude: dict[str, object], left: dict[str, int]) -> None:
    survey = Corpus.of("code", DOCUMENTS).survey
    suite = suite_of(Judgment("TMailer", "symbol", 2), Judgment("*Send*", "glob"), exclude=exclude)
    (scores,) = score_runs(suite, [Run.from_scores({"c": {each.id: 1.0 for each in DOCUMENTS}}, "r")], ["P@3"], corpus=survey)
    assert relevant(scores.matched.suite) == left
    assert scores.values[0, 0] == pytest.approx(sum(grade > 0 for grade in left.values()) / 3)


def test_what_is_named_by_id_stays_relevant() -> None:
    survey = Corpus.of("code", DOCUMENTS).survey
    suite = suite_of(Judgment("TMailer.OldSend", "id", 3), Judgment("*Send*", "glob"), exclude={"deprecated": True})
    (scores,) = score_runs(suite, [Run.from_scores({"c": {"TMailer.Send": 1.0}}, "r")], ["P@3"], corpus=survey)
    assert relevant(scores.matched.suite) == {"TMailer.OldSend": 3, "TMailer.Send": 1}


def test_hits_are_excluded_also_where_the_ids_of_the_corpus_are_not_given() -> None:
    suite = with_exclusions(suite_of(Judgment("*Send*", "glob"), exclude={"deprecated": True}), Corpus.of("code", DOCUMENTS).survey)
    judged = match_hits(suite, Run.from_scores({"c": {"TMailer.OldSend": 2.0, "TMailer.Send": 1.0}}, "r"))
    assert judged.hits.grade.tolist() == [0, 1]
    assert judged.matches.met.tolist() == [1]


def test_what_is_excluded_is_in_the_digest_and_what_a_corpus_makes_of_it_is_not() -> None:
    suite = suite_of(Judgment("*Send*", "glob"), exclude={"deprecated": True})
    resolved = with_exclusions(suite, Corpus.of("code", DOCUMENTS).survey)
    assert resolved.hashes == suite.hashes
    assert suite.hashes["judgments"] != suite_of(Judgment("*Send*", "glob")).hashes["judgments"]
    spelt = suite_of(Judgment("*Send*", "glob"), exclude={"deprecated": ["true"]})
    assert spelt.hashes == suite.hashes


def test_nothing_is_read_where_nothing_is_excluded() -> None:
    survey = replace(Corpus.of("code", DOCUMENTS).survey, fields=None)
    suite = suite_of(Judgment("*Send*", "glob"))
    assert with_exclusions(suite, survey) is suite
