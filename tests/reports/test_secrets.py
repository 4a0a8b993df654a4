"""No secret of the environment is in anything that is written of a report, however a format escapes, breaks or cuts its texts."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from searchmark import (
    Answer,
    AnswerDetails,
    Archive,
    Case,
    Decision,
    Hit,
    Judgment,
    Provenance,
    Report,
    ReportExtras,
    ReportSettings,
    Run,
    Suite,
    build_comparison,
    build_report,
    compare,
    match_hits,
    read_report,
    render,
    score,
    write_charts,
)
from searchmark.records.provenance import AgentIdentity
from searchmark.reports.audit import audit_pieces
from searchmark.reports.cards import card
from searchmark.reports.cases import CaseColumns, FactColumns
from searchmark.reports.ci import annotations_of, append_summary
from searchmark.reports.csv_file import to_per_case
from searchmark.reports.page.document import policy, script_text
from searchmark.reports.render import RENDERERS, without_known_secrets, write_report
from tests.reports.audits import audit_with
from tests.reports.hostile import MEASURES, hostile_run

BEGIN, END = "Zq8vTt19", "XkLmN04pQ"
BETWEEN = [r"""_*#@&<>"$|[]{}~""", r"""\/'`^%!=+-,;: é☃""", "::@0x--www. ://", "&amp;\\n", "abc" * 20]


@pytest.fixture(params=BETWEEN)
def secret(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    value = f"{BEGIN}{request.param}{END}"
    monkeypatch.setenv("MY_API_KEY", value)
    return value


def scored(secret: str, agent: str, found: str, tracks: int = 12):
    cases = [
        Case(f"c{n}", f"find {secret} {n}", (Judgment("a"), Judgment(f"t/{secret}")), category=f"cat {secret}", tags=(secret,))
        for n in range(tracks)
    ]
    suite = Suite.from_cases(f"suite {secret}", cases)
    details = AnswerDetails((2.0,), (1.0,), said={secret: [secret]}, unreachable=(secret,), tokens=5, tokens_by=secret)
    answers = [Answer(case.id, "ok", (Hit(found, 1, 1.0), Hit(f"h {secret}", 2, 0.5)), details) for case in cases[1:]]
    failed = Answer("c0", "error", (), AnswerDetails((2.0,), failure=f"boom {secret}", traceback=f"File x\n {secret}"))
    provenance = Provenance(agent=AgentIdentity(agent, {"option": secret}), service=secret)
    return score(match_hits(suite, Run.from_answers(agent, [failed, *answers], provenance=provenance)), MEASURES)


def single(secret: str) -> Report:
    return hostile_run(build_report(scored(secret, f"one {secret}", "x"), ("category", "tag")), secret)


def comparison(secret: str) -> Report:
    scores = [scored(secret, f"old {secret}", "x"), scored(secret, f"new {secret}", "a")]
    report = build_comparison(scores, compare(scores, ("category",)), ("category",))
    old, new = report.agents
    return replace(hostile_run(report, secret), decisions=(Decision(new, old, "RR", secret, secret, (secret,), (secret,)),))


def shows(text: str) -> bool:
    """Whether any end of the secret is left, which are letters and digits that no format changes."""
    return BEGIN in text or END in text


@pytest.mark.parametrize("name", RENDERERS)
@pytest.mark.parametrize("build", [single, comparison])
def test_it_is_in_no_format(secret: str, name: str, build) -> None:
    assert not shows(render(build(secret), name))


@pytest.mark.slow
@pytest.mark.parametrize("name", RENDERERS)
def test_it_is_in_no_format_of_a_report_that_was_read(
    secret: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MY_API_KEY")
    write_report(comparison(secret), tmp_path / "report.json")
    monkeypatch.setenv("MY_API_KEY", secret)
    assert not shows(render(read_report(tmp_path / "report.json"), name))


@pytest.mark.parametrize("suffix", [".json", ".md", ".html", ".txt"])
def test_it_is_in_no_format_of_an_audit(secret: str, suffix: str) -> None:
    assert not shows("".join(audit_pieces(audit_with(secret), suffix)))


def test_it_is_in_nothing_for_github(secret: str, tmp_path: Path) -> None:
    (tmp_path / "summary.md").touch()
    append_summary(comparison(secret), tmp_path / "summary.md")
    told = annotations_of(without_known_secrets(comparison(secret)))
    assert "removed" in "".join(each.command for each in told)
    assert not shows((tmp_path / "summary.md").read_text() + "".join(each.command for each in told))


def test_it_is_not_in_the_values_of_every_case(secret: str) -> None:
    assert not shows("".join(to_per_case(without_known_secrets(single(secret)))))


def test_it_is_in_no_card(secret: str) -> None:
    assert not shows(card(comparison(secret)) + card(scored(secret, secret, "x")) + card(scored(secret, secret, "x").matched.run))


def test_it_is_in_no_archive(secret: str, tmp_path: Path) -> None:
    archive, scores = Archive(tmp_path), scored(secret, f"one {secret}", "x")
    archive.add(single(secret), [scores.matched.run], datetime(2026, 5, 1, tzinfo=UTC))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    texts = [gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text() for path in files]
    assert len(texts) == 3
    assert not [path for path, text in zip(files, texts, strict=True) if shows(text)]


def test_it_is_in_no_chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("resvg_py")
    secret = f"{BEGIN}_$&<{END}"
    monkeypatch.setenv("MY_API_KEY", secret)
    charts = write_charts(comparison(secret), tmp_path, formats=["svg"])
    assert charts
    assert not [chart for chart in charts if shows(chart.alt + chart.title + chart.files[0].read_text())]


def test_a_long_one_that_a_terminal_breaks_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    from searchmark.cli.output import text_for_terminal

    secret = "".join(f"{BEGIN}{n:04}" for n in range(20))
    monkeypatch.setenv("MY_API_KEY", secret)
    assert not shows(text_for_terminal(single(secret)))


def test_the_texts_of_hits_show_none(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = f"{BEGIN}_{END}"
    monkeypatch.setenv("MY_API_KEY", secret)
    extras = ReportExtras(ReportSettings(hit_texts=True), text_of=lambda *_: f"it says {secret}")
    report = build_report(scored("nothing", "one", "x"), extras=extras)
    assert not shows(render(report, "html") + render(report, "json"))
    assert "it says (removed)" in render(report, "json")


def test_runs_and_groups_whose_names_differ_in_secrets_stay_different(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = f"{BEGIN}_1_{END}", f"{BEGIN}_2_{END}"
    monkeypatch.setenv("ONE_API_KEY", one)
    monkeypatch.setenv("TWO_API_KEY", two)
    cases = [Case(f"c{n}", "q", (Judgment("a"),), category=f"cat {one if n % 2 else two}") for n in range(12)]
    suite = Suite.from_cases("s", cases)
    runs = [
        Run.from_answers(f"run {secret}", [Answer(c.id, "ok", (Hit(hit, 1, 1.0),)) for c in cases])
        for secret, hit in ((one, "x"), (two, "a"))
    ]
    scores = [score(match_hits(suite, run), ["RR"]) for run in runs]
    report = without_known_secrets(build_comparison(scores, compare(scores), ("category",)))
    means = {name: agent.measures["RR"].mean for name, agent in report.agents.items()}
    assert means == {"run (removed)": 0.0, "run (removed) (2)": 1.0}
    assert (report.pairs[0].baseline, report.pairs[0].candidate) == tuple(means)
    assert list(report.agents["run (removed)"].segments["category"]) == ["cat (removed)", "cat (removed) (2)"]


def test_ids_of_cases_stay_though_they_begin_as_a_secret_does(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = f"password-reset-flow-{END}"
    monkeypatch.setenv("MY_API_KEY", secret)
    cases = [Case(f"password-reset-{n}", f"{secret}", (Judgment("a"),)) for n in range(12)]
    scores = score(
        match_hits(Suite.from_cases("s", cases), Run.from_answers("one", [Answer("password-reset-0", "ok", (Hit("a", 1, 1.0),))])),
        MEASURES,
    )
    report = build_report(scores)
    assert without_known_secrets(report).agents["one"].worst == report.agents["one"].worst
    for name in RENDERERS:
        assert secret not in render(report, name)


@pytest.mark.parametrize("said", ["nothing", f"{BEGIN}_{END}"])
def test_columns_stay_columns(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", f"{BEGIN}_{END}")
    report = build_report(scored(said, "one", "x"), ("category",))
    clean = without_known_secrets(report)
    assert isinstance(clean.agents["one"].cases, CaseColumns)
    assert isinstance(clean.cases, FactColumns)


def test_a_secret_that_our_script_holds_leaves_the_page_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    report = build_report(scored("nothing", "one", "x"))
    before = render(report, "html")
    monkeypatch.setenv("MY_API_KEY", max(re.findall(r"\w+\(\w+\)", script_text()), key=len))
    assert render(report, "html") == before
    assert policy(*re.findall(r"<style>(.*?)</style>.*<script>(.*?)</script>", before, re.DOTALL)[0]) in before.replace(
        "&#39;", "'"
    )
