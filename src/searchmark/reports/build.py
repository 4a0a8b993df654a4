"""From a report to what an archive tells of it later: numbers, and fingerprints of all that could explain them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from searchmark.analysis.past import Fingerprints, PastRun
from searchmark.files.store import plain_json
from searchmark.options.run_options import CHANGE_NO_ANSWER
from searchmark.records import AgentIdentity, Run
from searchmark.records.id_columns import Texts
from searchmark.records.run import ScoredRun
from searchmark.reports.report import AgentSummary, Report, SuiteSummary
from searchmark.reports.versions import value_text

_HASHED_AT_ONCE = 1 << 18  # texts, which bounds the memory that it takes


def past_runs(entry: str, time: datetime, report: Report) -> list[PastRun]:
    """Every run of a report, which needs no cases. A run that knows when it was started is as old as that, not as its entry."""
    labels: Counter[tuple[str, str | None, int]] = Counter()
    found = []
    for agent in report.agents.values():
        label = agent.qualified or agent.name, agent.snapshot, agent.repeat
        labels[label] += 1
        found.append(_past_run(entry, time, report.suite, agent, labels[label]))
    return found


def _past_run(entry: str, time: datetime, suite: SuiteSummary, agent: AgentSummary, number: int) -> PastRun:
    return PastRun(
        entry=entry,
        time=_aware(agent.run.started or time),
        suite=suite.name,
        agent=agent.name,
        trusted=agent.status == "ok",
        measures=agent.measures,
        segments=agent.segments,
        latency_ms=agent.latency_ms,
        similarity=agent.similarity,
        ann=agent.ann,
        vectors=agent.vectors,
        fingerprints=_fingerprints(suite, agent),
        id=agent.run.id,
        snapshot=agent.snapshot,
        repeat=agent.repeat,
        number=number,
        qualified=agent.qualified,
        answers=agent.run.answers,
    )


def answers_digest(run: Run) -> str:
    """A digest of all that a run answered, in its order; cheap enough for millions of hits."""
    digest = hashlib.sha256()
    for texts in (list(run.case_ids), run.ids):
        for start in range(0, len(texts), _HASHED_AT_ONCE):
            digest.update(_one_text(texts[start : start + _HASHED_AT_ONCE]).encode("utf-8", "surrogatepass"))
    rank = None if isinstance(run, ScoredRun) else run.rank  # which ranks by score, only when someone asks
    for column in (run.starts, run.status, run.scores, rank, run.first_line, run.last_line):
        digest.update(b"-" if column is None else column.tobytes())
    return digest.hexdigest()


def _one_text(texts: Texts) -> str:
    return "\0".join(texts) if isinstance(texts, list) else texts.str.join("\0").item()


def _fingerprints(suite: SuiteSummary, agent: AgentSummary) -> Fingerprints:
    run, declared = agent.run, agent.versions
    who = run.agent or AgentIdentity("")
    asked = {name: value for name, value in run.options.items() if name not in CHANGE_NO_ANSWER or name == "jobs"}
    return Fingerprints(
        model=_all_of(who.model, declared.model_version),
        normalisation=_all_of(*map(_normalised, _said(who.description, "normalize"))),
        chunking=_all_of(*_said(who.description, "chunking"), declared.chunking_config),
        index=_all_of(*_unsaid(_said(who.description, "index"), declared.index_params), declared.index_params),
        corpus=run.corpus or suite.hashes.get("corpus") or declared.dataset_version,
        queries=suite.hashes.get("queries"),
        judgments=suite.hashes.get("judgments"),
        code=who.code,
        options=None if run.agent is None else _digest({"source": who.source, "config": _without(who.config, who.model)}),
        asking=_digest(asked) if asked else None,
        version=run.version,
        packages=None if run.environment is None else _digest([run.environment.python, dict(run.environment.packages)]),
        machine=None if run.environment is None else run.environment.hardware,
        host=None if run.environment is None else run.environment.host,
    )


def _all_of(*known: str | None) -> str | None:
    """What is observed and what is declared, each once."""
    return ", ".join(dict.fromkeys(filter(None, known))) or None


def _unsaid(said: Iterator[str], declared: str | None) -> Iterator[str]:
    """What an agent says and what its parameters do not say already."""
    return (each for each in said if each not in (declared or ""))


def _said(description: Any, key: str) -> Iterator[str]:
    """What an agent, or any of its arms, says under one key."""
    if isinstance(description, Mapping):
        for name, value in description.items():
            if name == key:
                yield value_text(value)
            else:
                yield from _said(value, key)


def _normalised(said: str) -> str:
    return {"true": "normalised", "false": "not normalised"}.get(said, said)


def _without(config: Any, model: str | None) -> Any:
    """Options without the name of the model, which is told by itself."""
    if isinstance(config, Mapping):
        return {name: _without(value, model) for name, value in config.items()}
    if isinstance(config, list | tuple):
        return [_without(value, model) for value in config]
    return None if model is not None and config == model else config


def _digest(value: Any) -> str:
    return hashlib.sha256(_text(value).encode()).hexdigest()


def _text(value: Any) -> str:
    """As JSON; of a Python object among the options only the type is the same in the next run."""
    return json.dumps(plain_json(value), sort_keys=True, default=lambda each: type(each).__qualname__)


def _aware(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)
