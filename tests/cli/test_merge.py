"""Shards that several machines have run become the run that one machine would have made, or are refused with the reason."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from searchmark import RunLabel, load_run, load_suite
from searchmark.running.plan import shard_rows
from tests.support.commands import searchmark
from tests.support.histories import NOUNS, VERBS, Script

REPOSITORIES = {"shop": 5, "bank": 9, "zoo": 3}
# What may differ between one machine and several: ids, times, machines, how often an index was built, and who the parts were.
MEASURED = {
    "id", "started", "ended", "start_seconds", "seconds", "environment", "index", "restarts", "memory_bytes", "parts", "sha256",
}  # fmt: skip


def history(folder: Path, name: str, commits: int) -> None:
    script, draw = Script(), random.Random(name)
    files = {f"src/{noun}.py": f"def {noun}():\n    pass\n" for noun in NOUNS}
    script.commit("start", "Begin with all modules of the project", dict(files), parent=None)
    for number in range(commits):
        noun, verb = draw.choice(NOUNS), VERBS[number]
        files[f"src/{noun}.py"] += f"    {verb}({name})\n"
        message = f"{verb.title()} every {noun} of the {name} number {number}"
        script.commit(
            f"c{number}", message, {f"src/{noun}.py": files[f"src/{noun}.py"], f"src/new_{number}.py": f"{verb} = {number}\n"}
        )
    script.build(folder / name)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three repositories, a gold set whose cases are in no order, and its run on one machine."""
    folder = tmp_path_factory.mktemp("merge")
    for name, commits in REPOSITORIES.items():
        history(folder, name, commits)
    named = [word for name in REPOSITORIES for word in ("--repo", f"{name}={name}")]
    done = searchmark("generate", *named, "--jobs", "1", "--output", "gold.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    gold = json.loads((folder / "gold.json").read_text())
    random.Random(1).shuffle(gold["test_cases"])
    (folder / "gold.json").write_text(json.dumps(gold))
    evaluate(folder, "--save-run", "single.jsonl", "--journal", "journal")
    score(folder, "single.jsonl", to="single.json")
    return folder


def evaluate(folder: Path, *more: str, agent: str = "bm25", repositories: tuple[str, ...] = tuple(REPOSITORIES)) -> None:
    named = [word for name in repositories for word in ("--repo", f"{name}={name}")]
    words = ["evaluate", "--gold-set", "gold.json", "--agent", agent, *named, "--num-runs", "1"]
    done = searchmark(*words, *more, cwd=folder)
    assert done.returncode == 0, done.stderr


def score(place: Path, *runs: str | Path, to: str | Path) -> None:
    """Write the report of saved runs."""
    searchmark("evaluate", "--gold-set", "gold.json", "--run", *map(str, runs), "-o", str(to), cwd=place)


@pytest.fixture
def shards(place: Path, tmp_path: Path) -> Callable[[int], list[Path]]:
    """The files of all shards, made once."""
    return partial(saved_shards, place, tmp_path)


def saved_shards(place: Path, folder: Path, of: int) -> list[Path]:
    names = [f"{number}-of-{of}.jsonl" for number in range(1, of + 1)]
    for number, name in enumerate(names, 1):
        if not (place / name).exists():
            evaluate(place, "--shard", f"{number}/{of}", "--save-run", name, "--journal", f"journal-{number}-of-{of}")
    return [Path(shutil.copy(place / name, folder)) for name in names]


def merge(*words: str | Path, cwd: Path, code: int = 0) -> str:
    done = searchmark("merge", *map(str, words), cwd=cwd)
    assert done.returncode == code, done.stderr
    return done.stderr


def without_measured(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: without_measured(value) for key, value in data.items() if key not in MEASURED and not key.endswith("_ms")}
    return [without_measured(each) for each in data] if isinstance(data, list) else data


def lines(path: Path) -> list[str]:
    return [json.dumps(without_measured(json.loads(line))) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("of", [pytest.param(of, marks=[] if of == 3 else [pytest.mark.slow]) for of in (1, 2, 3, 5, 7)])
def test_the_merged_run_is_the_one_that_one_machine_makes(place: Path, shards, tmp_path: Path, of: int) -> None:
    paths = shards(of)
    random.Random(of).shuffle(paths)
    merge(*paths, "-o", "merged.jsonl", cwd=tmp_path)
    assert lines(tmp_path / "merged.jsonl") == lines(place / "single.jsonl")
    found = load_run(tmp_path / "merged.jsonl").provenance
    assert (found.shard, [str(part.provenance.shard) for part in found.parts]) == (None, [f"{n}/{of}" for n in range(1, of + 1)])
    score(place, tmp_path / "merged.jsonl", to=tmp_path / "merged.json")
    assert lines_of_report(tmp_path / "merged.json") == lines_of_report(place / "single.json")


def lines_of_report(path: Path) -> str:
    return json.dumps(without_measured(json.loads(path.read_text())), indent=1)


def test_shards_are_scored_together_as_the_run_of_one_machine(place: Path, shards, tmp_path: Path) -> None:
    score(place, *reversed(shards(3)), to=tmp_path / "all.json")
    assert lines_of_report(tmp_path / "all.json") == lines_of_report(place / "single.json")


@pytest.mark.slow
def test_a_machine_needs_only_the_repositories_of_its_shard(place: Path, shards, tmp_path: Path) -> None:
    cases = json.loads((place / "gold.json").read_text())["test_cases"]
    suite = load_suite(place / "gold.json")
    needed = [{cases[row]["repository"] for row in shard_rows(suite, number, 3)} for number in (1, 2, 3)]
    fewest = min(needed, key=len)
    assert len(fewest) < 3
    number = needed.index(fewest) + 1
    paths = shards(3)
    evaluate(place, "--shard", f"{number}/3", "--save-run", f"{tmp_path}/few.jsonl", repositories=tuple(sorted(fewest)))
    paths[number - 1] = tmp_path / "few.jsonl"
    merge(*paths, "-o", "merged.jsonl", cwd=tmp_path)
    assert lines(tmp_path / "merged.jsonl") == lines(place / "single.jsonl")


def test_a_missing_shard_is_named_and_nothing_is_written(place: Path, shards, tmp_path: Path) -> None:
    first, second, third = shards(3)
    lacking = load_run(second)
    said = merge(first, third, "-o", "merged.jsonl", cwd=tmp_path, code=2)
    assert f"shard 2/3 is missing: {len(lacking)} cases; name every shard once" in said
    assert said.count("\n") == 1
    said = merge(first, third, "-o", "merged.jsonl", "--gold-set", place / "gold.json", cwd=tmp_path, code=2)
    assert f"no answer to {', '.join(map(repr, lacking.case_ids))}" in said
    assert not (tmp_path / "merged.jsonl").exists()


def test_a_partial_run_is_untrusted_and_can_be_completed_later(place: Path, shards, tmp_path: Path) -> None:
    first, second, third = shards(3)
    gold = ["--gold-set", str(place / "gold.json")]
    assert "partial: shard 2/3 is missing" in merge(first, third, "-o", "part.jsonl", "--partial", cwd=tmp_path)
    merge(first, third, "-o", "named.jsonl", "--partial", *gold, cwd=tmp_path)
    for name in ("part.jsonl", "named.jsonl"):
        done = searchmark("evaluate", *gold, "--run", name, "-o", "report.json", cwd=tmp_path)
        counts = json.loads((tmp_path / "report.json").read_text())["agents"]["bm25"]["counts"]
        assert (done.returncode, counts["not_run"]) == (2, len(load_run(second)))
        merge(second, name, "-o", "whole.jsonl", cwd=tmp_path)
        assert lines(tmp_path / "whole.jsonl") == lines(place / "single.jsonl")
    named = load_run(tmp_path / "named.jsonl")
    assert named.case_ids == load_run(place / "single.jsonl").case_ids
    missing = named.answer(named.index[load_run(second).case_ids[0]])
    assert (missing.status, missing.details.failure) == ("not_run", "the shard of this case was not among those that were merged")


@pytest.mark.slow
def test_a_shard_that_comes_twice_is_named_with_its_files_and_counts_once_if_that_is_wanted(
    place: Path, shards, tmp_path: Path
) -> None:
    first, second, third = (path.name for path in shards(3))
    evaluate(place, "--shard", "1/3", "--save-run", str(tmp_path / "again.jsonl"))
    said = merge(first, "again.jsonl", second, third, "-o", "merged.jsonl", cwd=tmp_path, code=2)
    assert f"answered more than once, by {first} and again.jsonl: '{load_run(tmp_path / first).case_ids[0]}', " in said
    merge(first, "again.jsonl", second, third, "-o", "merged.jsonl", "--partial", cwd=tmp_path)
    assert lines(tmp_path / "merged.jsonl") == lines(place / "single.jsonl")


@pytest.mark.slow
def test_another_config_of_the_agent_is_refused(place: Path, shards, tmp_path: Path) -> None:
    first, *_ = shards(3)
    (tmp_path / "other.yaml").write_text("agents: [{name: bm25, class: bm25, config: {k1: 2.0}}]\n")
    evaluate(place, "--shard", "2/3", "--save-run", str(tmp_path / "other.jsonl"), "--config", str(tmp_path / "other.yaml"))
    said = merge(first.name, "other.jsonl", "-o", "merged.jsonl", cwd=tmp_path, code=2)
    assert f"the runs of 'bm25' in {first.name} and other.jsonl are not parts of one: they differ in agent (config, " in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "differs"),
    [
        (("--depth", "3"), "options (depth)"),
        (("--sample", "9"), "queries of the suite, or which cases were chosen (17 cases and 9 cases)"),
    ],
)
def test_shards_that_were_asked_otherwise_are_refused(
    place: Path, shards, tmp_path: Path, option: tuple[str, ...], differs: str
) -> None:
    first, *_ = shards(3)
    evaluate(place, "--shard", "2/3", "--save-run", str(tmp_path / "other.jsonl"), *option)
    assert f"they differ in {differs}\n" in merge(first, tmp_path / "other.jsonl", "-o", "merged.jsonl", cwd=tmp_path, code=2)


@pytest.mark.slow
def test_shards_of_several_agents_become_one_run_each(place: Path, tmp_path: Path) -> None:
    named = [word for name in REPOSITORIES for word in ("--repo", f"{name}={name}")]
    for number in (1, 2):
        words = ["--gold-set", "gold.json", "--agents", "bm25", "random", *named, "--num-runs", "1", "--shard", f"{number}/2"]
        done = searchmark("compare", *words, "--save-run", str(tmp_path / f"{number}"), cwd=place)
        assert done.returncode == 0, done.stderr
    said = merge("2", "1", "-o", "merged", cwd=tmp_path)
    assert f"written: merged/bm25.jsonl, shards: 2, answers: {len(load_run(place / 'single.jsonl'))}" in said
    assert lines(tmp_path / "merged" / "bm25.jsonl") == lines(place / "single.jsonl")
    assert load_run(tmp_path / "merged" / "random.jsonl").label == RunLabel("random", "parent")
    assert "is a file for one run, and there are 2" in merge("1", "2", "-o", "merged.trec", cwd=tmp_path, code=4)
    assert "random: shard 2/2 is missing" in merge("1", "2/bm25.jsonl", "-o", "merged", cwd=tmp_path, code=2)


def test_a_merged_run_is_written_as_trec_and_never_over_a_shard(place: Path, shards, tmp_path: Path) -> None:
    first, second, third = (path.name for path in shards(3))
    merge(first, second, third, "-o", "merged.trec", cwd=tmp_path)
    assert load_run(tmp_path / "merged.trec").index.keys() <= load_run(place / "single.jsonl").index.keys()
    said = merge(first, second, third, "-o", first, cwd=tmp_path, code=4)
    assert f"{first} would overwrite the shard {first}; name another file or folder" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing.jsonl", "-o", "out.jsonl"), "nothing.jsonl"),
        (("empty", "-o", "out.jsonl"), "empty holds no saved run (.jsonl)"),
        (("single.jsonl", "-o", "out.jsonl"), "single.jsonl is not a shard: it was not saved by a run with --shard I/N"),
        (("single.jsonl", "-o", "out.csv"), "out.csv: a run is written as TREC (.trec) or in Searchmark's own format (.jsonl)"),
    ],
)
def test_what_is_no_shard_is_refused_in_one_sentence(place: Path, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    shutil.copy(place / "single.jsonl", tmp_path)
    (tmp_path / "empty").mkdir()
    found = merge(*words, cwd=tmp_path, code=4)
    assert said in found
    assert found.count("\n") == 1


@pytest.fixture
def journals(place: Path, shards) -> list[Path]:
    """The journals of three shards, each of which came to its end."""
    shards(3)
    return [next((place / f"journal-{number}-of-3").glob("*.jsonl")) for number in (1, 2, 3)]


def test_journals_are_merged_like_saved_shards(place: Path, journals: list[Path], shards, tmp_path: Path) -> None:
    merge(journals[2], shards(3)[0], journals[1], "-o", "merged.jsonl", cwd=tmp_path)
    assert lines(tmp_path / "merged.jsonl") == lines(place / "single.jsonl")


def test_a_journal_that_was_cut_short_lacks_cases_and_is_not_trusted(journals: list[Path], shards, tmp_path: Path) -> None:
    whole = journals[0].read_bytes().splitlines(keepends=True)
    answers = [number for number, line in enumerate(whole) if b'"case":' in line]
    (tmp_path / "cut.jsonl").write_bytes(b"".join(whole[: answers[-2]]) + whole[answers[-2]][:20])
    others = shards(3)[1:]
    said = merge("cut.jsonl", *others, "-o", "merged.jsonl", cwd=tmp_path, code=2)
    assert f"shard 1/3 lacks 2 of its {len(answers)} cases" in said
    assert not (tmp_path / "merged.jsonl").exists()
    merge("cut.jsonl", *others, "-o", "merged.jsonl", "--partial", cwd=tmp_path)
    assert [event.kind for event in load_run(tmp_path / "merged.jsonl").provenance.trust] == ["interrupted"]


def test_what_no_journal_of_ours_holds_is_refused(journals: list[Path], tmp_path: Path) -> None:
    header, *rest = journals[0].read_bytes().splitlines(keepends=True)
    (tmp_path / "changed.jsonl").write_bytes(header + b"".join(rest).replace(b'"status":"ok"', b'"status":"no"', 1))
    (tmp_path / "empty.jsonl").write_bytes(header[:50])
    assert "is damaged" in merge("changed.jsonl", "-o", "merged.jsonl", cwd=tmp_path, code=4)
    merge("empty.jsonl", "-o", "merged.jsonl", cwd=tmp_path, code=4)


def test_the_journal_of_a_whole_run_is_not_a_shard(place: Path, tmp_path: Path) -> None:
    (journal,) = (place / "journal").glob("*.jsonl")
    assert "is not a shard" in merge(journal, "-o", "merged.jsonl", cwd=tmp_path, code=4)
