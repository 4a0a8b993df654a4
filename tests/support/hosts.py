"""Runs that were measured on one host or on several: each host takes as long as its name says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from searchmark import Answer, AnswerDetails, Case, Hit, Judgment, Provenance, Run, RunLabel, Suite, join_runs
from searchmark.records.provenance import Environment, IndexBuild, RunPart, SuiteIdentity

CASES = tuple(f"c{number}" for number in range(12))
SUITE = Suite.from_cases("hosted", [Case(case, f"query {case}", (Judgment("a"),), origin=case) for case in CASES])
MILLISECONDS = {"ci-1": 10.0, "ci-2": 200.0, "ci-3": 3000.0, None: 40.0}
EVERYWHERE = {"ci-1": CASES[:6], "ci-2": CASES[6:9], "ci-3": CASES[9:]}


def environment(host: str | None, **known: Any) -> Environment:
    return Environment("3.12", "Linux", {}, "EPYC", 4, 16 * 10**9, host=host, **known)


def part(host: str | None, cases: Sequence[str], label: str | RunLabel = "bm25", **known: Any) -> Run:
    """What one host has answered; ``known`` is more of its provenance."""
    milliseconds = MILLISECONDS.get(host, 7.0)
    details = AnswerDetails((milliseconds,), (milliseconds / 2, milliseconds / 2), start_ms=milliseconds / 4)
    answers = [Answer(case, "ok", (Hit("a", 1, 1.0),), details) for case in cases]
    provenance = Provenance(
        id=f"{label}-{host}-{cases[0]}",
        version="1.0",
        suite=SuiteIdentity("hosted"),
        environment=environment(host),
        index=IndexBuild(milliseconds / 10, 1, 0, 4096),
        start_seconds=(milliseconds / 100,),
        memory_bytes=int(milliseconds * 1e6),
    )
    return Run.from_answers(label, answers, provenance=replace(provenance, **known))


def on(host: str | None, label: str | RunLabel = "bm25", **known: Any) -> Run:
    """All cases on one host."""
    return part(host, CASES, label, **known)


def on_several(hosts: Mapping[str | None, Sequence[str]] = EVERYWHERE, label: str | RunLabel = "bm25") -> Run:
    """The cases of each host, joined."""
    return join_runs([part(host, cases, label) for host, cases in hosts.items()])


def made_of(*parts: Run) -> Run:
    """The answers of these as one run that only its parts know anything of."""
    known = Provenance(suite=SuiteIdentity("hosted"), parts=tuple(RunPart(each.case_ids, each.provenance) for each in parts))
    return Run.from_answers("bm25", [answer for each in parts for answer in each.answers], provenance=known)
