"""Text that tries to be more than text, everywhere in a report where strangers' text can be."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    Decision,
    Finding,
    Gate,
    Hit,
    Judgment,
    Provenance,
    Report,
    Run,
    Suite,
    build_comparison,
    build_report,
    compare,
    match_hits,
    score,
)
from searchmark.gates.rules import RuleResult
from searchmark.records.provenance import AgentIdentity
from searchmark.reports.report import Recommendation
from searchmark.scoring.drift import Drift
from searchmark.scoring.trends import Trend, TrendPoint

ATTACKS = {
    "script": "<script>alert(1)</script>",
    "end of script": "</script><img src=x onerror=alert(1)>",
    "javascript link": "[x](javascript:alert(1)) ![i](javascript:alert(1)) <a href='javascript:alert(1)'>y</a>",
    "terminal codes": "a\x1b[31mred\x1b]8;;http://evil\x07b\x9bc\x00",
    "bidi": "a\u202eevil\u2066b\u2069",
    "zero width": "a\u200bb\u200dc\ufeffd\u00ade",
    "formula": '=HYPERLINK("http://evil","x")',
    "formula with minus": "-1+cmd|' /C calc'!A0",
    "formula in full width": "\uff1d1+1",
    "formula behind a blank": " @SUM(1)",
    "pipes": "a|b||c\\|d",
    "workflow command": "::error file=x::pwned",
    "workflow command on a line of its own": "a\n::error::pwned\r\n::set-output name=x::y",
    "azure command": "##vso[task.complete result=Failed]x ##[error]y ##teamcity[z]",
    "latex input": r"\input{/etc/passwd}",
    "latex shell": r"\immediate\write18{id} \begin{verbatim} ^^M",
    "latex signs": "a & b % c $ d # e _ f { g } h ~ i ^ j [k] *l -- m \\\\",
    "markdown": "`code` **bold** # h\n\n- list\n\n---\n> quote @everyone #123 www.evil.com http://evil.com a@b.com",
    "xml": "]]> &lt; <!-- x --> <?php ?> \ufffe\uffff",
    "quotes": "'\"' OR '1'='1",
    "lone surrogate": "a\udcffb",
    "very long": "w" * 20_000,
}
MEASURES = ["nDCG@10", "RR", "P@5"]


def hostile_run(report: Report, attack: str) -> Report:
    """The report with an attack in every sentence that it can hold."""
    run = next(iter(report.agents))
    case = next(iter(report.agents[run].cases))
    rule = RuleResult(
        attack, {"category": attack}, "at_least", 0.5, 0.25, (case,), "failed", f"{attack}\n{attack}", (attack,), run, attack
    )
    return replace(
        report,
        gate=Gate("failed", (rule, replace(rule, bound="must_be_first", expected=attack, actual=attack))),
        audit=(
            *report.audit,
            Finding("failed", "error", attack, (case, attack), attack, attack),
            Finding(attack, "warning", attack, (case,), attack, attack),
        ),
        recommendations=(Recommendation(attack, run, attack, attack, (case, attack)),),
        drifts=(Drift(run, attack, 0.5, 0.25, -0.5, (attack,), attack, attack),),
        trends=(
            Trend(run, attack, (TrendPoint(attack, datetime(2026, 5, 1, tzinfo=UTC), 0.5),), {"category": attack}, sentence=attack),
        ),
        next_step=attack,
    )


def hostile_scores(attack: str, agent: str, found: str):
    cases = [
        Case(f"{attack}{n}", attack, (Judgment(f"{attack}{n}"),), category=attack, tags=(attack,), fields={attack: attack})
        for n in range(12)
    ]
    suite = Suite.from_cases(attack, cases)
    answers = [
        Answer(
            case.id,
            "ok",
            (Hit(f"{found}{n}", 1, 1.0), Hit(attack, 2, 0.5)),
            AnswerDetails((2.0,), (1.0,), said=attack, tokens=9, tokens_by=attack),
        )
        for n, case in enumerate(cases[1:], 1)
    ]
    failed = Answer(cases[0].id, "error", (), AnswerDetails((2.0,), failure=attack))
    provenance = Provenance(agent=AgentIdentity(agent, {attack: attack}))
    return score(match_hits(suite, Run.from_answers(agent, [failed, *answers], provenance=provenance)), MEASURES)


def hostile_report(attack: str) -> Report:
    """A report on one run."""
    return hostile_run(build_report(hostile_scores(attack, attack, attack), ("category", "tag", attack)), attack)


def hostile_comparison(attack: str) -> Report:
    """A report on two runs and a decision between them."""
    scores = [hostile_scores(attack, f"{attack}{name}", found) for name, found in (("old", "x"), ("new", attack))]
    report = build_comparison(scores, compare(scores, ("category",)), ("category",))
    old, new = report.agents
    decision = Decision(new, old, "nDCG@10", attack, attack, (attack,), (attack,))
    return replace(hostile_run(report, attack), decisions=(decision,))
