"""For each code about runs: the clean suite and its runs with one thing wrong, as the findings of a report show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from searchmark import (
    Answer,
    AnswerDetails,
    Archive,
    Corpus,
    Finding,
    Hit,
    Judgment,
    Provenance,
    Report,
    Run,
    RunLabel,
    Scores,
    Suite,
    audit_suite,
    build_comparison,
    build_report,
    compare,
    match_hits,
    score,
    with_history,
)
from searchmark.formats.corpora.corpus import Survey
from searchmark.formats.corpora.source import FolderListing, SkippedFiles
from searchmark.records.provenance import (
    TRUST_KINDS,
    AgentIdentity,
    CandidateKinds,
    Environment,
    ImportedRun,
    RunPart,
    SuiteIdentity,
    TrustEvent,
    VectorStatistics,
)
from tests.audit.clean import MEASURES, Clean, clean

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
FIRST = 0


@dataclass(frozen=True)
class Asked:
    """One run of the clean suite, what is known of it, and how it is reported."""

    suite: Suite
    answers: tuple[Answer, ...]
    survey: Survey
    label: RunLabel
    provenance: Provenance = field(default_factory=Provenance)
    dropped: dict[str, int] = field(default_factory=dict)
    measures: tuple[str, ...] = MEASURES
    by: tuple[str, ...] = ("category",)

    @property
    def scores(self) -> Scores:
        run = Run.from_answers(self.label, self.answers, dropped=self.dropped, provenance=self.provenance)
        return score(match_hits(self.suite, run, corpus=self.survey.ids), self.measures)

    def report(self) -> Report:
        return build_report(self.scores, self.by, corpus=self.survey)

    def knowing(self, **known: object) -> Asked:
        return replace(self, provenance=replace(self.provenance, **known))  # type: ignore[arg-type]  # its fields

    def answering(self, first: int, **changes: object) -> Asked:
        """The first answers changed."""
        changed = [replace(each, **changes) for each in self.answers[:first]]  # type: ignore[arg-type]  # fields of an answer
        return replace(self, answers=(*changed, *self.answers[first:]))

    def detailed(self, *details: AnswerDetails) -> Asked:
        """The first answers with these details, all others with the last."""
        told = [*details, *[details[-1]] * (len(self.answers) - len(details))]
        answers = (replace(answer, details=each) for answer, each in zip(self.answers, told, strict=True))
        return replace(self, answers=tuple(answers))


@cache
def asked(run: str = "strong") -> Asked:
    """The clean suite as one of its agents answers it."""
    return asked_about(clean(), run)


def asked_about(of: Clean, run: str = "strong") -> Asked:
    corpus = Corpus.of("catalogue", of.documents)
    return Asked(Suite.from_cases("clean", of.cases), of.answers[run], corpus.survey, RunLabel(run))


def compared(*some: Asked) -> Report:
    scores = [each.scores for each in some]
    return build_comparison(scores, compare(scores), corpus=some[0].survey)


def agent(name: str = "strong", **known: object) -> Asked:
    """A run of ours, whose agent and corpus are known."""
    one = asked(name)
    identity = SuiteIdentity("clean", **one.suite.hashes)
    return one.knowing(
        suite=identity, agent=AgentIdentity(name, code="digest"), version="1.0", corpora={"catalogue": one.survey.digest}, **known
    )


def _environment(host: str) -> Environment:
    return Environment("3.12", "Linux", host=host)


def _on_two_hosts() -> Report:
    cases = [answer.case for answer in asked().answers]
    parts = ((cases[:2], "ci-1"), (cases[2:], "ci-2"))
    return (
        asked()
        .knowing(parts=tuple(RunPart(tuple(own), Provenance(environment=_environment(host))) for own, host in parts))
        .report()
    )


def _on_different_hosts() -> Report:
    hosts = {"strong": "ci-1", "weak": "ci-2"}
    runs = [agent(name, environment=_environment(host)).detailed(AnswerDetails((5.0,))) for name, host in hosts.items()]
    return compared(*runs)


def _trust(kind: str) -> Callable[[], Report]:
    return asked().knowing(trust=(TrustEvent(kind, "it happened"),)).report  # type: ignore[arg-type]  # one of the kinds


def _left_out(key: str) -> Callable[[], Report]:
    return replace(asked(), dropped={key: 1}).report


def _suite_left_out(key: str) -> Callable[[], Report]:
    one = asked()
    return replace(one, suite=replace(one.suite, dropped={key: 1})).report


def _surveyed(**changes: int | FolderListing) -> Callable[[], Report]:
    one = asked()
    return replace(one, survey=replace(one.survey, **changes)).report  # type: ignore[arg-type]  # its fields


def _vectors(**known: object) -> Callable[[], Report]:
    lengths = {"norm_mean": 1.0, "norm_std": 0.0, "norm_min": 1.0, "norm_min_nonzero": 1.0, "norm_max": 1.0, "normalized": True}
    return asked().knowing(vectors=(VectorStatistics(100, 8, **{**lengths, **known}),)).report  # type: ignore[arg-type]  # its fields


def _hits(*hits: Hit) -> Callable[[], Report]:
    return asked().answering(1, hits=hits).report


def _with_hits(prefix: str, instead: str = "d", cases: int | None = None) -> Asked:
    """All hits under other ids, or those of the first cases."""
    one = asked()
    changed = (
        replace(answer, hits=tuple(replace(hit, id=prefix + hit.id.replace("d", instead)) for hit in answer.hits))
        for answer in one.answers[:cases]
    )
    return replace(one, answers=(*changed, *one.answers[len(one.answers) if cases is None else cases :]))


def _with_grades_of_0() -> Asked:
    one = asked()
    cases = (replace(case, judgments=tuple(replace(each, grade=0) for each in case.judgments)) for case in one.suite.cases)
    return replace(one, suite=Suite.from_cases(one.suite.name, cases))


def _with_line_judgments() -> Asked:
    one = asked()
    cases = [replace(case, judgments=(Judgment("d0001#L3-L9", "lines"),)) for case in one.suite.cases]
    return replace(one, suite=Suite.from_cases(one.suite.name, cases))


def _two_snapshots() -> Report:
    """Two agents, each about two states: only the pairs that cross both say nothing."""
    made = [
        replace(agent(name), label=RunLabel(name, snapshot), provenance=replace(agent(name).provenance, id=f"{name}{snapshot}"))
        for name in ("strong", "weak")
        for snapshot in ("parent", "head")
    ]
    return compared(*made)


def _repeated() -> Report:
    first, second = (agent(id=f"run-{n}", started=NOON + timedelta(minutes=n)).detailed(AnswerDetails((2.0,))) for n in (1, 2))
    return compared(first, second)


def _after_other_queries() -> Report:
    one = agent()
    other = one.knowing(suite=SuiteIdentity("clean", "other queries"))
    with TemporaryDirectory() as folder:
        archive = Archive(Path(folder))
        changed = other.report()
        archive.add(replace(changed, suite=replace(changed.suite, hashes={**changed.suite.hashes, "queries": "other"})), [], NOON)
        return with_history(one.report(), archive, NOON + timedelta(days=1))


REPORTS: dict[str, Callable[[], Report]] = {
    **{TrustEvent(kind, "it happened").code: _trust(kind) for kind in TRUST_KINDS},
    "cases-not-run": asked().answering(1, status="not_run", hits=()).report,
    "too-many-failures": asked().answering(6, status="error", hits=()).report,
    "not-comparable": lambda: compared(agent(), agent("weak").knowing(corpora={"c": "another"})),
    "all-hits-invalid": lambda: _with_hits("docs/").report(),
    "hits-in-other-spelling": lambda: build_report(_unchecked(_with_hits("docs/"))),
    "some-hits-in-other-spelling": lambda: build_report(_unchecked(_with_hits("docs/", cases=6))),
    "nothing-relevant": lambda: _with_grades_of_0().report(),
    "no-hit-judged": lambda: build_report(_unchecked(_with_hits("", "elsewhere-"))),
    "failures": asked().answering(1, status="error", hits=(), details=AnswerDetails(failure="crash")).report,
    "repeat-failures": asked().detailed(AnswerDetails(repeat_failure="slow", repeat_failures=1), AnswerDetails()).report,
    "unstable-answers": asked().detailed(AnswerDetails(unstable=1), AnswerDetails()).report,
    "worker-restarts": asked().knowing(restarts=1).report,
    "parallel-workers": asked().knowing(workers=2).report,
    "several-hosts": _on_two_hosts,
    "latencies-not-compared": _on_different_hosts,
    "retried-searches": asked().detailed(AnswerDetails((5.0,), retries=1), AnswerDetails((5.0,), retries=0)).report,
    "process-start": asked().detailed(AnswerDetails((5.0,), start_ms=4.0)).report,
    "partly-stated": asked().detailed(AnswerDetails((5.0,), start_ms=1.0), AnswerDetails((5.0,))).report,
    "several-token-counters": asked()
    .detailed(AnswerDetails(tokens=5, tokens_by="one"), AnswerDetails(tokens=5, tokens_by="two"))
    .report,
    "vectors-not-finite": _vectors(not_finite=1),
    "vectors-of-other-dimension": _vectors(wrong_dimension=1),
    "zero-vectors": _vectors(zero=1, norm_min=0.0),
    "unnormalised-vectors": _vectors(norm_max=2.0),
    "normalised-already": _vectors(normalized=False),
    "double-normalised": _vectors(unit_before=100),
    "duplicate-vectors": _vectors(duplicates=1),
    "own-corpus": lambda: build_report(_unchecked(asked().knowing(service="a service"))),
    "limited-candidates": asked().knowing(candidates=CandidateKinds(("code",))).report,
    "different-snapshots": _two_snapshots,
    "cut-answers": replace(asked().knowing(options={"depth": 20}), measures=("AP",)).report,
    "noise-floor": _repeated,
    "earlier-runs-differ": _after_other_queries,
    "cases-missing": replace(asked(), answers=asked().answers[1:]).report,
    "most-cases-missing": replace(asked(), answers=asked().answers[:9]).report,
    "nothing-to-find": asked_about(
        clean().with_cases(replace(case, judgments=(), unanswerable=case.id == FIRST) for case in clean().cases)
    ).report,
    "empty-answers": asked().answering(59, status="empty", hits=()).report,
    "all-answers-empty": asked().answering(60, status="empty", hits=()).report,
    "only-duplicates": asked().answering(60, hits=tuple(Hit("d0001", rank, 1 / rank) for rank in range(1, 11))).report,
    "one-document": asked().answering(60, hits=(Hit("d0001", 1, 0.9),)).report,
    "no-passages": lambda: _with_line_judgments().report(),
    "same-answers": asked().answering(60, hits=(Hit("d0001", 1, 0.9), Hit("d0002", 2, 0.8))).report,
    "undefined-values": replace(asked(), measures=("Tau", "RR")).report,
    "cases-not-in-one-segment": replace(asked_about(clean().with_case(FIRST, tags=("odd",))), by=("tag",)).report,
    "formula": replace(asked(), measures=("mine = 0.5*P@5 + 0.5*RR",)).report,
    "duplicate-hits": _hits(Hit("d0001", 1, 0.9), Hit("d0001", 2, 0.8)),
    "invalid-hits": _hits(Hit("nowhere", 1, 0.9)),
    "other-corpus": asked().knowing(corpora={"c": "another"}).report,
    "cases-not-in-suite": replace(asked(), answers=(*asked().answers, Answer("other", "ok", (Hit("d0001", 1, 0.9),)))).report,
    "scores-out-of-order": _hits(Hit("d0001", 1, 0.5), Hit("d0002", 2, 0.9)),
    "topics-without-judgments": _suite_left_out("topics_without_judgments"),
    "queries-without-judgments": _suite_left_out("queries_without_judgments"),
    "unrated-hits": _suite_left_out("hits_without_rating"),
    "cases-not-in-all-runs": _suite_left_out("cases_not_in_all_runs"),
    "cases-filtered-out": _suite_left_out("cases_filtered_out"),
    "hits-below-same-depth": _left_out("below_same_depth"),
    "hits-beyond-depth": _left_out("beyond_depth"),
    "merged-chunks": _left_out("merged_chunks"),
    "not-chunks": _left_out("not_chunks"),
    "unusable-lines": _left_out("lines_unusable"),
    "unusable-scores": _left_out("scores_unusable"),
    "texts-cut": _left_out("texts_cut"),
    "impossible-times": _left_out("impossible_times"),
    "left-out": _left_out("odd_things"),
    "duplicate-documents": _surveyed(duplicates=1),
    "empty-documents": _surveyed(empty=1),
    "skipped-files": _surveyed(skipped=1),
    "left-out-files": _surveyed(files=FolderListing(left_out=(SkippedFiles("ignored", 1, ("build/",)),))),
    "ignored-files-unknown": _surveyed(files=FolderListing(problems=("git is not on the PATH",))),
}


def _unchecked(one: Asked) -> Scores:
    """Scores of hits that no corpus is at hand for."""
    run = Run.from_answers(one.label, one.answers, provenance=one.provenance)
    return score(match_hits(one.suite, run), one.measures)


def _made_for_another_suite() -> Sequence[Finding]:
    """Only an audit says so: a report on such a run is refused."""
    one = clean()
    foreign = Run.from_answers("foreign", [replace(each, case=f"other-{each.case}") for each in one.answers["strong"]])
    return audit_suite(Suite.from_cases("clean", one.cases), Corpus.of("catalogue", one.documents), [foreign], MEASURES).findings


FOUND: dict[str, Callable[[], Sequence[Finding]]] = {
    **{code: partial(lambda made: made().audit, made) for code, made in REPORTS.items()},
    "run-not-scored": _made_for_another_suite,
    "run-as-read": lambda: asked().knowing(imported=ImportedRun(("searches that timed out: 3",))).report().audit,
}


def codes(findings: Iterable[Finding]) -> set[str]:
    return {each.code for each in findings}
