"""Whatever is in a file, a reader gives a suite or one sentence with the file's name: never a traceback, never a hang."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import SearchmarkError, UsageError, load_corpus, load_run, load_suite
from searchmark.cli.main import main
from searchmark.formats.suites.trec import read_topics
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
# A file of each format, and the name under which its reader expects it.
SUITES = {
    "native-yaml": "quickstart/suite.yaml",
    "qrels": "quickstart/qrels.txt",
    "gold-set": "formats/gold_set.json",
    "case-list": "formats/case_list.json",
    "case-list-yaml": "formats/case_list.yaml",
    "labels": "formats/labels/labels.jsonl",
    "symbols": "formats/symbols.json",
    "fixtures": "formats/fixtures.json",
    "beir": "formats/beir/qrels/test.tsv",
    "quepid": "formats/quepid.csv",
    "rre": "formats/rre.json",
    "rank-eval": "formats/rank_eval.json",
    "swe-bench": "formats/swe_bench.jsonl",
}
RUNS = {
    "trec": "quickstart/bm25.trec",
    "json": "quickstart/semantic.json",
    "csv": "formats/run-hits.csv",
    "jsonl-hits": "formats/run-hits.jsonl",
    "jsonl-cases": "formats/run-cases.jsonl",
    "responses": "formats/run-responses.json",
    "msearch": "formats/run-msearch.json",
    "rank-eval": "formats/run-rank-eval.json",
    "quepid-csv": "formats/run-quepid.csv",
    "quepid-json": "formats/run-quepid.json",
    "mteb": "formats/run-mteb_predictions.json",
}
CORPORA = {"jsonl": "formats/beir/corpus.jsonl"}

Read = Callable[[Path], object]
READERS: dict[str, tuple[Read, str]] = {
    **{f"suite-{name}": (load_suite, file) for name, file in SUITES.items()},
    **{f"run-{name}": (load_run, file) for name, file in RUNS.items()},
    **{f"corpus-{name}": (lambda path: load_corpus(path).survey, file) for name, file in CORPORA.items()},
    "topics": (read_topics, "quickstart/topics.tsv"),
}
everywhere = pytest.mark.parametrize("name", READERS)

nasty = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        -1,
        1.5,
        1e308,
        10**30,
        "",
        " ",
        "\x00",
        "a\nb",
        "\udcff",
        "é",
        [],
        {},
        [[]],
        {"a": {}},
        [None],
        "9" * 400,
    ]
)


def read_or_refuse(read: Read, path: Path) -> None:
    """The promise of every reader."""
    try:
        read(path)
    except SearchmarkError as error:
        assert error.exit_code in (4, 5)
        assert path.stem in str(error) or path.parent.name in str(error)
        assert "\n" not in str(error).replace("\\n", "")[:2000]


def target(tmp_path: Path, file: str) -> Path:
    """Where to put the changed file; BEIR wants its queries two folders up."""
    folder = tmp_path / "fuzz" / "qrels"
    folder.mkdir(parents=True, exist_ok=True)
    (tmp_path / "fuzz" / "queries.jsonl").write_bytes((EXAMPLES / "formats/beir/queries.jsonl").read_bytes())
    return folder / Path(file).name


@pytest.mark.slow
@everywhere
@given(content=st.binary(max_size=300))
def test_random_bytes(tmp_path: Path, name: str, content: bytes) -> None:
    read, file = READERS[name]
    path = target(tmp_path, file)
    path.write_bytes(content)
    read_or_refuse(read, path)


@pytest.mark.slow
@everywhere
@given(data=st.data())
def test_truncation_and_changed_bytes(tmp_path: Path, name: str, data: st.DataObject) -> None:
    read, file = READERS[name]
    content = bytearray((EXAMPLES / file).read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = target(tmp_path, file)
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    read_or_refuse(read, path)


def places(value: object, here: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Every place in plain data."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(place for key, item in inner for place in places(item, (*here, key)))]


def replaced(value: object, place: tuple[object, ...], new: object) -> object:
    if not place:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)  # type: ignore[call-overload]  # a mapping or a list
    copy[place[0]] = replaced(copy[place[0]], place[1:], new)  # type: ignore[index]  # as above
    return copy


STRUCTURED = [name for name, (_, file) in READERS.items() if file.endswith((".json", ".jsonl"))]


@pytest.mark.slow
@pytest.mark.parametrize("name", STRUCTURED)
@given(data=st.data())
def test_wrong_types_anywhere(tmp_path: Path, name: str, data: st.DataObject) -> None:
    read, file = READERS[name]
    text = (EXAMPLES / file).read_text()
    by_line = file.endswith(".jsonl")
    content = [json.loads(line) for line in text.splitlines()] if by_line else json.loads(text)
    changed = replaced(content, data.draw(st.sampled_from(places(content))), data.draw(nasty))
    lines = changed if by_line and isinstance(changed, list) else [changed]
    path = target(tmp_path, file)
    path.write_text("\n".join(map(json.dumps, lines)))
    read_or_refuse(read, path)


@pytest.mark.slow
@everywhere
@pytest.mark.parametrize(
    "content",
    ["[" * 50_000, "{" * 50_000, '{"a":' * 50_000, "- " * 5_000, "x" * 1_000_000, "x " * 500_000, '"' + "x" * 1_000_000, "\n" * 10_000, "\x00" * 1000],
    ids=["lists", "mappings", "nested mappings", "yaml lists", "long word", "long line", "long string", "blank lines", "nulls"],
)  # fmt: skip
def test_deep_nesting_and_long_lines(tmp_path: Path, name: str, content: str) -> None:
    read, file = READERS[name]
    path = target(tmp_path, file)
    path.write_text(content)
    read_or_refuse(read, path)


def test_a_yaml_bomb_is_refused_without_its_memory(file) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
    )
    path = file("suite.yaml", bomb + "schema_version: 1\nmetadata: *a11\n")
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match="its aliases expand to more than the file itself"):
            load_suite(path)
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


@everywhere
def test_memory_stays_within_a_few_times_the_file(tmp_path: Path, name: str) -> None:
    """A megabyte of one long word where a value should be."""
    read, file = READERS[name]
    path = target(tmp_path, file)
    path.write_text('{"queries": ["' + "x" * 1_000_000 + '"]}')
    tracemalloc.start()
    try:
        read_or_refuse(read, path)
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in READERS if name.startswith("suite-")])
@given(content=st.binary(max_size=100))
def test_the_command_line_says_it_with_exit_code_4_or_5(tmp_path: Path, name: str, content: bytes, capsys) -> None:
    path = target(tmp_path, READERS[name][1])
    path.write_bytes(content)
    code = main(["evaluate", "--gold-set", str(path), "--run", str(EXAMPLES / "quickstart/bm25.trec")])
    error = capsys.readouterr().err
    assert code in (4, 5)
    assert len([line for line in error.splitlines() if not line.startswith("searchmark: note: ")]) == 1
