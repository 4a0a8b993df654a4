"""A public code-search benchmark, rebuilt: its ripgrep baseline beside random order and beside the agents of Searchmark.

The first argument (or SEARCHMARK_BENCH_CODE_SEARCH) is a folder with two others; docs/audit-demo.md has the commands:

    semble/benchmarks/   repos.json, annotations/NAME.json and, to check our numbers, results/ripgrep-fixed-strings-*.json
    clones/NAME          a Git repository that has the revision which repos.json pins; what is not there is left out

Suites, runs and the files that are searched are written to FOLDER/searchmark, so that `searchmark audit` can read them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from code_search_baselines import DEPTH, DISCOUNTS, check_published, mean
from searchmark import (
    AgentSpec,
    Answer,
    Case,
    Experiment,
    Judgment,
    Run,
    RunSettings,
    Scores,
    SearchScope,
    Suite,
    audit_suite,
    compare,
    load_agent,
    load_corpus,
    load_run,
    load_suite,
    match_hits,
    save_run,
    save_suite,
    score,
)
from searchmark.records.finding import SEVERITIES

NAME, MEASURE, FEWEST, STUB, FEW = "code-search", "nDCG@10", 10, 10, 4
BUILT_IN = ("random", "keyword", "bm25", "fts5", "semantic", "hybrid")
WHOLE, WORDS = "ripgrep-whole-question", "ripgrep-by-words"
PAIRS = (("random", WHOLE), (WORDS, WHOLE), ("keyword", WHOLE), ("bm25", WHOLE), ("bm25", "keyword"), ("bm25", "hybrid"))
# As the benchmark's README says; it goes into the suites, where an audit reads it.
AUTHOR = "Claude Sonnet 4.6"
MADE_BY = {"queries_by": AUTHOR, "labels_by": AUTHOR, "labels_verified_by": AUTHOR}
# What is searched is code, as the benchmark's own engine has it; its ripgrep baseline is checked on all files as well.
_CODE = (
    "bash c cc cjs clj cpp cs cts cxx ex exs go h hh hpp hs hxx inc java js jsx kt kts lua mjs mts php py pyi pyx pxd rb rs scala sh "
    "swift ts tsx vue zig"
)
CODE = frozenset(_CODE.split())


@dataclass(frozen=True)
class Source:
    """One repository of the benchmark: which part of which revision is searched, and what is asked."""

    name: str
    clone: Path
    revision: str
    root: str | None
    tasks: list[dict[str, object]]

    def cases(self) -> Iterator[Case]:
        for number, task in enumerate(self.tasks, 1):
            judgments = tuple(Judgment(path, "path") for path in targets(task))
            yield Case(
                f"{self.name}-{number:02}",
                str(task["query"]),
                judgments,
                category=str(task["category"]),
                fields={"repository": self.name},
            )


def targets(task: Mapping[str, object]) -> list[str]:
    """Primary and secondary ones count alike in the benchmark's own measure."""
    found = [*_listed(task, "relevant"), *_listed(task, "secondary")]
    return list(dict.fromkeys(str(each["path"] if isinstance(each, dict) else each) for each in found))


def _listed(task: Mapping[str, object], key: str) -> list[object]:
    value = task.get(key, [])
    return value if isinstance(value, list) else []


def sources(folder: Path) -> list[Source]:
    """Every repository whose pinned revision is there."""
    benchmark = folder / "semble" / "benchmarks"
    known = json.loads((benchmark / "repos.json").read_text(encoding="utf-8"))
    found = []
    for entry in known:
        name, clone = entry["name"], folder / "clones" / entry["name"]
        annotations = benchmark / "annotations" / f"{name}.json"
        if annotations.exists() and clone.exists() and has(clone, entry["revision"]):
            tasks = json.loads(annotations.read_text(encoding="utf-8"))
            found.append(Source(name, clone, entry["revision"], entry.get("benchmark_root"), tasks))
    print(f"repositories in repos.json: {len(known)}; with annotations and the pinned revision here: {len(found)}")
    return found


def git(clone: Path, *arguments: str, stdin: bytes | None = None, index: Path | None = None) -> bytes:
    env = {**os.environ, **({"GIT_INDEX_FILE": str(index.resolve())} if index else {})}
    command = ["git", "-C", str(clone), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=True, env=env).stdout


def has(clone: Path, revision: str) -> bool:
    asked = ["git", "-C", clone, "cat-file", "-e", f"{revision}^{{tree}}"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def export(source: Source, into: Path, kept: Iterable[str]) -> None:
    """Files of the pinned revision below their own paths, without the clone's own index being touched."""
    if into.exists():
        return
    into.mkdir(parents=True)
    index = into.parent / f".{source.name}.index"
    git(source.clone, "read-tree", source.revision, index=index)
    names = b"\0".join(name.encode() for name in kept)
    git(source.clone, f"--work-tree={into.resolve()}", "checkout-index", "-z", "--stdin", stdin=names, index=index)
    index.unlink()


def tree(source: Source, root: str | None) -> list[str]:
    listed = git(source.clone, "ls-tree", "-r", "-z", "--name-only", "--full-tree", source.revision, *([root] if root else []))
    return [name.decode() for name in listed.split(b"\0") if name]


def prepare(source: Source, out: Path) -> dict[str, str]:
    """The files to search, code alone and all; what is wrong with targets that are not among the code."""
    everything = tree(source, None)
    below = tree(source, source.root)
    code = [name for name in below if name.rpartition(".")[2] in CODE]
    ignores = [name for name in everything if Path(name).name == ".gitignore"]
    export(source, out / "code" / source.name, code)
    export(source, out / "all" / source.name, dict.fromkeys([*below, *ignores]))
    wanted = dict.fromkeys(path for task in source.tasks for path in targets(task))
    where = {path: "outside the searched folder" if path in everything else "not in this revision" for path in wanted}
    return {path: why for path, why in where.items() if path not in code}


def run(suite: Suite, agents: Sequence[AgentSpec | str], trees: Path, names: Iterable[str], depth: int = DEPTH) -> list[Run]:
    where = SearchScope(repositories=tuple(f"{name}={trees / name}" for name in names))
    return list(Experiment(suite, agents, where, options=RunSettings(num_runs=1, depth=depth)).run().runs)


def own(name: str, kind: str) -> AgentSpec:
    return replace(load_agent(f"{Path(__file__).resolve().with_name('code_search_baselines.py')}:{kind}"), name=name)


def save(out: Path, found: Sequence[Source], runs: Sequence[Run]) -> None:
    """One suite over all repositories, with the repository in front of every path, and one for each."""
    everything = [with_repository(case) for source in found for case in source.cases()]
    save_suite(Suite.from_cases(NAME, everything, metadata=MADE_BY), out / "suite.json")
    of_case = {case.id: str(case.fields["repository"]) for case in everything}
    for folder in ("runs", *of_case.values()):
        (out / folder).mkdir(exist_ok=True)
    for source in found:
        save_suite(Suite.from_cases(source.name, source.cases(), metadata=MADE_BY), out / source.name / "suite.json")
    for each in runs:
        answers = [each.answer(row) for row in range(len(each))]
        joined = [below(answer, of_case[answer.case]) for answer in answers]
        save_run(Run.from_answers(each.agent, joined), out / "runs" / f"{each.agent}.jsonl")
        for source in found:
            mine = [answer for answer in answers if of_case[answer.case] == source.name]
            save_run(Run.from_answers(each.agent, mine), out / source.name / f"{each.agent}.jsonl")


def audit(out: Path, names: Iterable[str]) -> None:
    """What an audit of each repository finds, with the baseline and two agents, and in how many of them."""
    said: dict[tuple[str, str], dict[str, str]] = {}
    for name in names:
        runs = [load_run(out / name / f"{agent}.jsonl") for agent in (WHOLE, "keyword", "bm25")]
        found = audit_suite(load_suite(out / name / "suite.json"), load_corpus(out / "code" / name), runs, [MEASURE])
        for each in found.findings:
            said.setdefault((each.severity, each.code), {})[name] = each.message
    for (severity, code), messages in sorted(said.items(), key=lambda entry: (SEVERITIES.index(entry[0][0]), -len(entry[1]))):
        print(f"  {severity} {code}: {len(messages)} repositories ({', '.join(messages)})")
        for name in [*messages][: len(messages) if len(messages) <= FEW else 1]:
            print(f"      {name}: {messages[name]}")


def with_repository(case: Case) -> Case:
    name = case.fields["repository"]
    return replace(case, judgments=tuple(replace(each, target=f"{name}/{each.target}") for each in case.judgments))


def below(answer: Answer, name: str) -> Answer:
    return replace(answer, hits=tuple(replace(hit, id=f"{name}/{hit.id}") for hit in answer.hits))


def expected(case: Case, files: Iterable[str]) -> float:
    """nDCG@10 that a random order of these files has on average."""
    known = {*files}
    wanted = [each.target for each in case.judgments]
    met = sum(path in known for path in wanted) / len(known)
    return met * sum(DISCOUNTS[: len(known)]) / sum(DISCOUNTS[: len(wanted)])


def show_table(suite: Suite, scores: Mapping[str, Scores], chance: Sequence[float]) -> None:
    kinds = list(suite.table.categories or ())
    shown = [kind for kind, count in Counter(kinds).most_common() if count >= FEWEST]
    rows = {kind: [row for row, each in enumerate(kinds) if each == kind] for kind in shown}
    print(f"\n{'agent':<24}{MEASURE:>8}  {'95 % interval':<17}{'no answer':>9}" + "".join(f"{kind:>14}" for kind in shown))
    cells = "".join(f"{mean([chance[row] for row in rows[kind]]):>14.3f}" for kind in shown)
    print(f"{'random, expected':<24}{mean(chance):>8.3f}{'':<28}{cells}")
    for name, found in scores.items():
        all_cases = found.summaries()[MEASURE]
        cells = "".join(f"{found.values[rows[kind], 0].mean():>14.3f}" for kind in shown)
        print(f"{name:<24}{all_cases.mean:>8.3f}  [{all_cases.low:.3f}, {all_cases.high:.3f}]   {found.counts['empty']:>9}{cells}")
    print("cases: " + ", ".join(f"{count} {kind}" for kind, count in Counter(kinds).most_common()))


def show_differences(scores: Mapping[str, Scores]) -> None:
    for base, candidate in PAIRS:
        pair = compare([scores[base], scores[candidate]], ("category",))[0]
        parts = {"all cases": pair.main} | {kind: part for kind, (part, *_) in pair.segments["category"].items()}
        print(f"\n{candidate} - {base}")
        for kind, part in parts.items():
            if part.cases >= FEWEST:
                print(f"  {kind:<14}{part.difference:+.3f} [{part.low:+.3f}, {part.high:+.3f}]  {part.verdict}")


def main() -> None:
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("SEARCHMARK_BENCH_CODE_SEARCH")
    print("code search: a public benchmark, rebuilt")
    if not given or not (Path(given) / "semble" / "benchmarks" / "repos.json").exists():
        print("  no folder with semble/benchmarks/repos.json, so nothing is measured; docs/audit-demo.md says how to get it")
        return
    folder, out = Path(given), Path(given) / "searchmark"
    found = sources(folder)
    missing = {source.name: prepare(source, out) for source in found}
    code = {source.name: load_corpus(out / "code" / source.name).survey.ids for source in found}  # binary files are not searched
    suite = Suite.from_cases(NAME, [case for source in found for case in source.cases()])
    describe(suite, code, missing)
    show_stubs(suite, out / "code")
    print("\nthe published baseline, on all files:")
    results = folder / "semble" / "benchmarks" / "results"
    wanted = {source.name: {case.id: [each.target for each in case.judgments] for case in source.cases()} for source in found}
    check_published(results, wanted, missing, *run(suite, [own(WHOLE, "WholeQuestion")], out / "all", code, depth=1000))
    runs = run(suite, [own(WHOLE, "WholeQuestion"), own(WORDS, "ByWords"), *BUILT_IN], out / "code", code)
    scores = {each.agent: score(match_hits(suite, each), [MEASURE]) for each in runs}
    show_table(suite, scores, [expected(case, code[str(case.fields["repository"])]) for case in suite.cases])
    show_differences(scores)
    save(out, found, runs)
    print(f"\nsuites and runs are in {out}; what audits find, with the first message, or all if they are few:")
    audit(out, code)


def describe(suite: Suite, code: Mapping[str, Collection[str]], missing: Mapping[str, Mapping[str, str]]) -> None:
    sizes = sorted((len(files), name) for name, files in code.items())
    (fewest, small), (most, large) = sizes[0], sizes[-1]
    print(f"cases: {len(suite)}; code files: {fewest} ({small}) to {most} ({large}), median {sizes[len(sizes) // 2][0]}")
    wanted = {(case.fields["repository"], each.target) for case in suite.cases for each in case.judgments}
    unmet = [case for case in suite.cases if {each.target for each in case.judgments} <= {*missing[str(case.fields["repository"])]}]
    print(f"targets: {len(wanted)}; that no search can find: {sum(map(len, missing.values()))}; cases with no other: {len(unmet)}")
    for name, gone in missing.items():
        for path, why in gone.items():
            print(f"  {name}: {path} ({why})")


def show_stubs(suite: Suite, trees: Path) -> None:
    """Targets that are there and hold next to nothing: no audit sees whether a label is a good one."""
    wanted = Counter(trees / str(case.fields["repository"]) / each.target for case in suite.cases for each in case.judgments)
    for path, cases in wanted.items():
        lines = len(path.read_text(encoding="utf-8").splitlines()) if path.is_file() else STUB
        if lines < STUB:
            print(f"  a target of {lines} lines: {path.relative_to(trees)}, in {cases} cases")


if __name__ == "__main__":
    main()
