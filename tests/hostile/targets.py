"""What is fuzzed: every reader with all that follows once it has accepted something."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from searchmark import (
    Answer,
    AnswerDetails,
    Experiment,
    Hit,
    ResumeSettings,
    Run,
    SearchmarkError,
    SearchScope,
    Suite,
    compare_runs,
    evaluate_run,
    join_runs,
    load_agent,
    load_baseline_metrics,
    load_config,
    load_corpus,
    load_run,
    load_suite,
    render,
    save_run,
    save_suite,
    score_runs,
)
from searchmark.agents.lexical.bm25 import Bm25Agent
from searchmark.config.agents import parse_named_source
from searchmark.formats import SUITE_FORMATS, WRITABLE_FORMATS
from searchmark.formats.corpora.case_locations import snapshots_to_search
from searchmark.formats.corpora.locator import locate_cases
from searchmark.measures.grammar import parse_measures
from searchmark.records.matching import matches_glob
from searchmark.running.journal import read_journal_entries
from searchmark.running.worker.frames import FrameBuffer, InvalidFrame, encode_frame
from searchmark.running.worker.protocol import reply_problem
from tests.conftest import ROOT
from tests.hostile.fuzz import Target
from tests.hostile.mutation import Mutate, in_bytes, in_json, in_lines, in_toml, in_yaml
from tests.hostile.seeds import CONFIG, GLOBS, LINES, MEASURES, MINED, REPLIES, SOURCES, SUITES, TOPICS

EXAMPLES = ROOT / "examples"
QUICKSTART = EXAMPLES / "quickstart"
REPORTS = ("json", "text", "markdown", "csv")


def all_targets(folder: Path) -> dict[str, Target]:
    """Every target by its name; seeds that are not among the examples are made in the folder."""
    folder.mkdir(parents=True)
    run, journal = _recorded(folder)
    return {
        **{f"suite-{name}": _suite_target(name, *known) for name, known in SUITES.items()},
        "suite-native-json": _native_suite(folder),
        "suite-case-list-yaml": _suite_target("case-list", in_yaml, ("formats/case_list.yaml",)),
        "run-native": Target((run, _eventful_run(folder)), _signed, _run, "run.jsonl"),
        "run-json": Target((_few_answers(),), in_json, _run, "run.json"),
        "run-trec": Target((_few_lines("quickstart/bm25.trec", 12),), in_bytes, _run, "run.trec"),
        "corpus-jsonl": Target((_few_lines("quickstart/corpus.jsonl", 8),), in_lines, _corpus, "corpus.jsonl"),
        "corpus-json": Target((_array(_few_lines("quickstart/corpus.jsonl", 8)),), in_json, _corpus, "corpus.json"),
        "corpus-csv": Target((b'id,title,text\n1,"a ""b""",login form\n2,x,"several\nlines"\n',), in_bytes, _corpus, "corpus.csv"),
        "topics": Target((_few_lines("quickstart/topics.tsv", 6), *TOPICS), in_bytes, _topics, "topics.txt"),
        "topics-jsonl": Target((b'{"id": "users-search", "query": "find people", "tags": ["a"], "unanswerable": false}',), in_lines, _topics, "topics.jsonl"),
        "config-yaml": Target(_contents("gates/searchmark.yaml"), in_yaml, _config, "searchmark.yaml"),
        "config-toml": Target((CONFIG.encode(),), in_toml, _config, "searchmark.toml"),
        "baseline": Target(_contents("formats/baseline_metrics.json"), in_json, load_baseline_metrics, "baseline.json"),
        "measures": Target(tuple(map(str.encode, MEASURES)), in_bytes, _measures, "measures.txt"),
        "globs": Target(tuple(map(str.encode, GLOBS)), in_bytes, _glob, "glob.txt"),
        "sources": Target(tuple(map(str.encode, SOURCES)), in_bytes, lambda path: parse_named_source(_string(path)), "source.txt"),
        "journal": Target((journal,), in_lines, read_journal_entries, "journal.jsonl"),
        "frames": Target(tuple(json.dumps(reply).encode() for reply in REPLIES), in_json, _frames, "reply.json"),
    }  # fmt: skip


@cache
def _few_cases() -> Suite:
    suite = load_suite(QUICKSTART / "suite.yaml")
    return suite.only(suite.table.ids[:5])


def _few_lines(file: str, count: int) -> bytes:
    """The beginning of an example: what is short is read more often."""
    return b"".join((EXAMPLES / file).read_bytes().splitlines(keepends=True)[:count])


def _few_answers() -> bytes:
    answers = json.loads((QUICKSTART / "semantic.json").read_bytes())
    scored = {"crud-history": {"user.get": 2, "issue.get": 0.5}, "other": ["issue.get", 7]}
    return json.dumps({case: answers[case] for case in list(answers)[:3]} | scored).encode()


def _contents(*files: str) -> tuple[bytes, ...]:
    return tuple((EXAMPLES / file).read_bytes() for file in files)


def _array(lines: bytes) -> bytes:
    return json.dumps([json.loads(line) for line in lines.splitlines()]).encode()


def _string(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _suite_target(name: str, mutate: Mutate, files: tuple[str, ...]) -> Target:
    file = f"qrels/{Path(files[0]).name}" if name == "beir" else Path(files[0]).name
    more = (json.dumps(MINED).encode(),) if name == "gold-set" else ()
    return Target((*more, *(_few_lines(each, LINES.get(each, 1000)) for each in files)), mutate, partial(_suite, name), file)


def _native_suite(folder: Path) -> Target:
    """What there is in no example: inline documents, score ranges, orders, every way to match."""
    rows: dict[str, Any] = json.loads((EXAMPLES / "formats/gold_set.json").read_text())
    save_suite(load_suite(EXAMPLES / "formats/fixtures.json"), folder / "fixtures.json")
    case = {
        "id": "x",
        "query": "q",
        "tags": ["t"],
        "origin": "o",
        "other_orders": [["b", "a"]],
        "fields": {"deep": [{"a": 1}], "repository": "r"},
    }
    matches = [("a", "id"), ("b", "id"), ("c/*.py", "glob"), ("d/e.py", "path"), ("A.b", "symbol"), ("f.py#L1-L5", "lines")]
    judgments = [{"target": target, "match": match, "grade": 2, "rank": row} for row, (target, match) in enumerate(matches, 1)]
    metadata = {
        **rows["metadata"],
        "repositories": {"r": {"path": "nowhere"}},
        "options": {"kinds": ["code"], "exclude_patterns": ["x/*"]},
    }
    suite = {
        "schema_version": 1,
        "name": "n",
        "metadata": metadata,
        "defaults": {"rel": 1, "gain": "exp"},
        "cases": [case | {"judgments": judgments}],
    }
    seeds = json.dumps(suite).encode(), (folder / "fixtures.json").read_bytes()
    return Target(seeds, in_json, partial(_suite, "native"), "suite.json")


def _recorded(folder: Path) -> tuple[bytes, bytes]:
    """A run of a function of this process, as it is saved, and its journal."""
    suite = _few_cases()

    def words(query: str, k: int) -> list[tuple[str, float]]:
        return [("user.search", 2.5), ("issue.search", len(query) / k)]

    resumption = ResumeSettings(journal_folder=str(folder / "journals"))
    ran = Experiment(suite, (words,), SearchScope(corpus=str(QUICKSTART / "corpus.jsonl")), resumption=resumption).run()
    save_run(ran.runs[0], folder / "run.jsonl")
    (journal,) = (folder / "journals").glob("*.jsonl")
    return (folder / "run.jsonl").read_bytes(), journal.read_bytes()


def _eventful_run(folder: Path) -> bytes:
    """A run in which everything is known that can be known of an answer."""
    details = AnswerDetails(
        (1.5,),
        (1.0, 2.0),
        first_hit_ms=0.5,
        cost=0.25,
        tokens=812,
        tokens_by="gpt",
        retries=1,
        waited_ms=0.25,
        start_ms=0.5,
        traceback='File "agent.py", line 3, in retrieve',
        repeat_failure="it failed",
        repeat_failures=1,
        unstable=1,
        dropped={"merged_chunks": 2},
        unreachable=("user.get",),
        said={"note": [1]},
        asked="fc137e8b5fb443c4",
    )
    failed = AnswerDetails((30000.0,), failure="timed out")
    hits = (Hit("user.search", 1, 2.5, True, (1, 5)), Hit("user.get", 2, None, False), Hit("user.get", 3, 1.0, True))
    known = _few_cases().table.ids
    answers = [
        Answer(known[0], "ok", hits, details),
        Answer(known[1], "timeout", (), failed),
        Answer(known[2], "empty"),
        Answer(known[3], "not_run"),
    ]
    recorded = load_run(folder / "run.jsonl")
    run = Run.from_answers(recorded.label, answers, dropped={"x": 1}, provenance=replace(recorded.provenance, tag="t"))
    save_run(run, folder / "eventful.jsonl")
    return (folder / "eventful.jsonl").read_bytes()


def _signed(random: Random, content: bytes, other: bytes) -> bytes:
    """A saved run whose header counts and signs what it holds after all, most of the time."""
    first, _, body = in_lines(random, content, other).partition(b"\n")
    try:
        header = json.loads(first)
        header |= {"answers": body.count(b"\n") + bool(body), "sha256": hashlib.sha256(body).hexdigest()}
    except (ValueError, TypeError, RecursionError):
        return first + b"\n" + body
    return json.dumps(header).encode() + b"\n" + body


def _suite(name: str, path: Path) -> None:
    """Read, answered by an agent that knows a few targets, judged, reported, written in every format, and located."""
    assert name in SUITE_FORMATS
    if name == "beir":
        path.parent.with_name("queries.jsonl").write_bytes((EXAMPLES / "formats/beir/queries.jsonl").read_bytes())
    suite = load_suite(path, format=name)
    _reported(suite, [_answered(suite, 2), _answered(suite, 1)], path)
    kind = WRITABLE_FORMATS[zlib.crc32(path.read_bytes()) % len(WRITABLE_FORMATS)]
    _or_refused(lambda: save_suite(suite, path.with_name(f"written-{kind}.json"), format=kind))
    _or_refused(lambda: [locate_cases(suite, SearchScope(), snapshot) for snapshot in snapshots_to_search(suite, SearchScope())])


def _answered(suite: Suite, most: int) -> Run:
    answers = []
    for case in suite.cases:
        hits = tuple(Hit(judgment.target, rank, 1.0 / rank) for rank, judgment in enumerate(case.judgments[:most], 1))
        answers.append(Answer(case.id, "ok" if hits else "empty", hits))
    return Run.from_answers(f"first {most}", answers)


def _reported(suite: Suite, runs: list[Run], path: Path) -> None:
    """A report in one of its forms, which the input itself decides: inputs are many, and reports take longest."""
    chosen = zlib.crc32(path.read_bytes())
    reports = [
        lambda: evaluate_run(suite, runs[:1]),
        lambda: compare_runs(suite, runs),
        lambda: compare_runs(suite, runs, intersect=True),
    ]
    _or_refused(lambda: render(reports[chosen % 3](), REPORTS[chosen // 3 % len(REPORTS)]))


def _or_refused(act: Callable[[], object]) -> None:
    """What follows may be refused as well, and the rest goes on."""
    try:
        act()
    except SearchmarkError as error:
        if error.exit_code not in (2, 4, 5):
            raise


def _run(path: Path) -> None:
    """Read, written and read again, judged, compared and joined."""
    run = load_run(path)
    save_run(run, path.with_name("again.jsonl"))
    assert load_run(path.with_name("again.jsonl")) == run
    _reported(_few_cases(), [run, load_run(QUICKSTART / "bm25.json")], path)
    _or_refused(lambda: score_runs(_few_cases(), [run, run], same_depth=True))
    _or_refused(lambda: score_runs(_few_cases(), [join_runs([run, run])]))


def _corpus(path: Path) -> None:
    corpus = load_corpus(path)
    assert corpus.survey
    agent = Bm25Agent()
    agent.initialize(corpus)
    agent.retrieve("login form", 5)


def _topics(path: Path) -> None:
    path.with_name("qrels.txt").write_bytes(_few_lines("quickstart/qrels.txt", 12))
    suite = load_suite(path.with_name("qrels.txt"), topics=path)
    _reported(suite, [_answered(suite, 2), _answered(suite, 1)], path)


def _config(path: Path) -> None:
    """Read; its agents are made ready to be sent to a worker."""
    config = load_config(path)
    for spec in config.agents:
        encode_frame(load_agent(spec).to_plain())
    suite = Suite.from_grades({f"c{n}": {"a": 1} for n in range(12)})
    _or_refused(lambda: compare_runs(suite, [_answered(suite, 1), Run.from_answers("none", [])], options=config.compare))


def _measures(path: Path) -> None:
    suite, run = _few_cases(), load_run(QUICKSTART / "bm25.trec")
    render(evaluate_run(suite, [run], parse_measures([_string(path)], suite.defaults)), "json")


def _glob(path: Path) -> None:
    for hit in ("src/a/b/c.py", "x.tsx", "a" * 200, "a/" * 50 + "b"):
        matches_glob(_string(path), hit)


def _frames(path: Path) -> None:
    """What a worker says is taken apart and looked at; it may be garbled or malformed, and nothing else."""
    content = path.read_bytes()
    for sent in (content, b"\x00SMK" + len(content).to_bytes(4, "big") + content):
        buffer = FrameBuffer(1 << 20)
        try:
            for start in range(0, len(sent), 1000):
                buffer.feed(sent[start : start + 1000])
                reply = buffer.take()
                if reply is not None:
                    assert all(isinstance(reply_problem(kind, reply, 100), str | None) for kind in ("search", "prepare", "again"))
        except InvalidFrame:
            continue
