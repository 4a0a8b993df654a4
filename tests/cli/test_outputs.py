"""What is written when, and under which names: the tables of docs/outputs.md, row by row."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from searchmark import Answer, AnswerDetails, Hit, Provenance, Report, Run, UsageError, load_config, load_run, load_suite, save_run
from searchmark.cli import groups, output
from searchmark.cli.main import main
from searchmark.config.sections import OutputSettings
from searchmark.io.data import parse_yaml
from searchmark.records.provenance import AgentIdentity
from searchmark.reports.render import RENDERERS, ReportFile, files_in, name_values
from searchmark.reports.report import AgentSummary, RunSummary, SuiteSummary
from tests.generated_docs import ROOT

PAGE = (ROOT / "docs" / "outputs.md").read_text()
TIME = datetime(2026, 11, 16, 5, 3, tzinfo=UTC)
SUITE = ["--gold-set", "examples/quickstart/suite.yaml"]
RUNS = [["--run", "examples/quickstart/bm25.json"], ["--run", "examples/quickstart/semantic.json"]]


def rows_below(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading."""
    lines = PAGE[PAGE.index(f"## {heading}\n") :].splitlines()
    table = "\n".join(lines).split("\n|---", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]


def in_ticks(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for module in (output, groups):
        monkeypatch.setattr(module, "now", lambda: TIME)
    return tmp_path


def arguments_of(command: str) -> list[str]:
    """What the page leaves out: the suite, and what is searched or was found."""
    verb, *rest = shlex.split(command)
    if "--agent" in rest or "--agents" in rest:
        return [verb, *SUITE, *rest, "--corpus", "examples/quickstart/corpus.jsonl", "--num-runs", "1"]
    if verb == "gate":
        return [verb, RUNS[0][1], *SUITE, *rest]
    return [verb, *SUITE, *RUNS[0], *(RUNS[1] if verb == "compare" else []), *rest]


def written_below(folder: Path) -> set[str]:
    """All files but inputs, charts and what is below folders of ours."""
    paths = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    known = {"examples", "searchmark.yaml"}
    return {
        str(path)
        for path in paths
        if path.parts[0] not in known and path.suffix not in {".png", ".svg"} and path.parts[0][0] != "."
    }


@pytest.mark.parametrize(("command", "section", "files"), rows_below("What is written when"))
def test_what_is_written_is_what_the_page_says(workplace: Path, command: str, section: str, files: str, capsys) -> None:
    config = [f"output: {each}" for each in in_ticks(section)]
    (workplace / "searchmark.yaml").write_text("\n".join([*config, "evaluation: {}"]))
    assert main(arguments_of(in_ticks(command)[0])) == 0
    assert written_below(workplace) == set(in_ticks(files))
    said = re.findall(r"^written: (.*)$", capsys.readouterr().err, re.MULTILINE)
    assert {str(Path(path)) for path in said} >= set(in_ticks(files))


@pytest.mark.parametrize("snippet", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_configs_of_the_page_are_read(tmp_path: Path, snippet: str) -> None:
    (tmp_path / "c.yaml").write_text(snippet)
    assert files_in(Path("x"), load_config(tmp_path / "c.yaml").output)
    assert parse_yaml(tmp_path / "c.yaml", snippet)


CORPUS = [
    ("boots", "waterproof hiking boots of leather"),
    ("dress", "red linen dress for the summer"),
    ("jeans", "slim fit jeans of blue denim"),
    ("hoodie", "hooded sweatshirt of fleece"),
]


@pytest.fixture
def labelled(workplace: Path) -> Path:
    """Twelve labelled queries with gold of their own, so that there are intervals, and four items."""
    folder = workplace / "fashion"
    folder.mkdir()
    queries = [f"{text} {size}" for size in ("small", "medium", "large") for _, text in CORPUS]
    (folder / "queries.txt").write_text("\n".join(queries))
    labels = [
        {"query_id": number, "item_id": name, "grade": 3 if place == (number - 1) % 4 else int(place == (number + number // 4) % 4)}
        for number in range(1, 13)
        for place, (name, _) in enumerate(CORPUS)
    ]
    labels[0]["grade"], labels[1]["grade"] = 0, 3  # a case that fails
    (folder / "labels.jsonl").write_text("\n".join(map(json.dumps, labels)))
    (workplace / "items.jsonl").write_text("\n".join(json.dumps({"id": name, "text": text}) for name, text in CORPUS))
    return folder


def found_at(data: Any, path: list[str]) -> list[Any]:
    """All that is at a path; names of measures and of options have dots and stars of their own nowhere."""
    if not path:
        return [data]
    every = data if isinstance(data, list) else list(data.values())
    steps = every if path[0] == "*" else [data[path[0]]]
    return [found for step in steps for found in found_at(step, path[1:])]


@pytest.mark.slow
def test_every_field_of_the_template_is_in_the_report(labelled: Path) -> None:
    command = ["evaluate", "--gold-set", str(labelled), "--agent", "semantic", "--corpus", "items.jsonl", "--num-runs", "3"]
    assert main([*command, "-o", "report.json"]) == 0
    data = json.loads(Path("report.json").read_text())
    paths = [path for row in rows_below("A reporting template for vector search") for path in in_ticks(row[1])]
    assert len(paths) > 40
    assert [path for path in paths if not all(value not in (None, [], {}) for value in found_at(data, path.split(".")))] == []


def test_everything_that_an_agent_may_state_is_in_the_report(workplace: Path) -> None:
    told = AnswerDetails((9.0,), (8.0,), first_hit_ms=2.0, tokens=812, tokens_by="gpt", retries=1, waited_ms=3.0, start_ms=4.0)
    cases = load_suite("examples/quickstart/suite.yaml").table.ids
    answers = [Answer(case, "ok", (Hit("issue.create", 1), Hit("issue.get", 2)), told) for case in cases]
    save_run(Run.from_answers("tool", answers, provenance=Provenance(service="shop")), "run.jsonl")
    assert main(["evaluate", *SUITE, "--run", "run.jsonl", "-o", "report.json"]) == 0
    data = json.loads(Path("report.json").read_text())
    paths = [path for row in rows_below("What agents state") for path in in_ticks(row[1])]
    assert len(paths) == 12
    assert [path for path in paths if not all(value not in (None, [], {}) for value in found_at(data, path.split(".")))] == []


@pytest.mark.slow
def test_the_markdown_report_has_every_part_of_the_template(labelled: Path) -> None:
    command = ["evaluate", "--gold-set", str(labelled), "--agent", "semantic", "--corpus", "items.jsonl", "--num-runs", "3"]
    assert main([*command, "-o", "report.md"]) == 0
    text = Path("report.md").read_text()
    meta = ("dataset\\_version", "model\\_version", "index\\_params", "chunking\\_config", "query\\_set\\_version")
    quality = ("| nDCG(gain", "Recall@10", "Precision@10", "MRR@10", "95 % interval")
    speed = ("| cold |", "| warm |", "| index only (warm) |", "p50 | p90 | p95 | p99")
    stability = (
        "| score of the first hit |",
        "| mean score of the first ten hits |",
        "| norm of vectors |",
        "vectors: 8 of dimension",
    )
    examples = ("### Highest cases", "### Failed queries")
    parts = (*meta, *quality, "ANN recall@8 (exact index)", *speed, *stability, *examples)
    assert [part for part in parts if part not in text] == []


@pytest.mark.slow
def test_what_an_agent_cannot_measure_has_no_placeholder(labelled: Path) -> None:
    command = ["evaluate", "--gold-set", str(labelled), "--agent", "bm25", "--corpus", "items.jsonl", "--num-runs", "1"]
    assert main([*command, "-o", "report.json"]) == 0
    (agent,) = json.loads(Path("report.json").read_text())["agents"].values()
    assert not {"ann", "vectors"} & set(agent)
    assert "index_only" not in agent["latency_ms"]


@pytest.mark.slow
def test_declared_versions_take_precedence_over_known_ones(labelled: Path) -> None:
    (labelled.parent / "c.yaml").write_text("versions: {dataset_version: fashion-4, chunking_config: whole titles}")
    command = ["evaluate", "--gold-set", str(labelled), "--agent", "semantic", "--corpus", "items.jsonl", "--num-runs", "1"]
    assert main([*command, "--config", "c.yaml", "-o", "report.json"]) == 0
    data = json.loads(Path("report.json").read_text())
    versions = data["agents"]["semantic"]["versions"]
    assert versions["dataset_version"] == "fashion-4"
    assert versions["chunking_config"] == "whole titles"
    assert versions["model_version"].startswith("wordllama/l2_supercat_256@")
    assert versions["index_params"] == "ranking=vectors, distance=cosine, index=exact, pooling=max, mean_of=3"
    assert versions["query_set_version"] == data["suite"]["hashes"]["queries"]


def test_versions_of_an_imported_run_are_those_that_are_known(workplace: Path) -> None:
    assert main([*arguments_of("compare -o report.json"), "--corpus", "examples/quickstart/corpus.jsonl"]) == 0
    data = json.loads(Path("report.json").read_text())
    known = {"dataset_version": data["suite"]["hashes"]["corpus"], "query_set_version": data["suite"]["hashes"]["queries"]}
    assert {name: agent["versions"] for name, agent in data["agents"].items()} == {"bm25": known, "semantic": known}


def test_an_unknown_version_is_refused_with_its_field(workplace: Path, capsys) -> None:
    (workplace / "c.yaml").write_text("versions: {data_version: x}")
    assert main([*arguments_of("evaluate"), "--config", "c.yaml"]) == 4
    assert "c.yaml, versions.data_version: is not a known field" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("{time}", r"there is no placeholder {time}; available: {timestamp}, {date}, {suite}, {agent}, {model}, {index}"),
        ("{date:%Y}", "there is no placeholder {date:%Y}"),
        ("{suite.name}", "there is no placeholder {suite.name}"),
        ("{}", "there is no placeholder {}"),
        ("{date", "has a brace without its partner"),
        ("../{date}", "must be a name below the output directory"),
        ("a/../{date}", "must be a name below the output directory"),
        ("/etc/{date}", "must be a name below the output directory"),
        (".git/{date}", "must be a name below the output directory"),
        ("a\\{date}", "must be a name below the output directory"),
        ("", "must be a name below the output directory"),
    ],
)
def test_a_name_that_cannot_be_is_refused_before_the_suite_is_read(workplace: Path, name: str, reason: str, capsys) -> None:
    (workplace / "c.yaml").write_text(json.dumps({"output": {"directory": "results", "file_name": name}}))
    assert main(["evaluate", "--gold-set", "missing.json", "--run", "missing.trec", "--config", "c.yaml"]) == 4
    assert f"c.yaml: file_name {name!r}" in (said := capsys.readouterr().err)
    assert reason in said


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (OutputSettings(formats=("json",), file_name={"csv": "x"}), "output.file_name has a name for 'csv', which output.formats"),
        (OutputSettings(formats=("json",), file_name={"pdf": "x"}), "there is no report format 'pdf'"),
        (
            OutputSettings(formats=("text", "summary"), file_name={"text": "x", "summary": "x"}),
            "'text' and 'summary' one file, 'x.txt'",
        ),
    ],
)
def test_names_that_do_not_fit_the_formats_are_refused(config: OutputSettings, reason: str) -> None:
    with pytest.raises(UsageError, match=re.escape(reason)):
        files_in(Path(), config)


def test_names_without_a_folder_are_refused(workplace: Path, capsys) -> None:
    (workplace / "searchmark.yaml").write_text("output: {file_name: x}")
    assert main(arguments_of("evaluate")) == 4
    assert "nothing says where: set output.directory, or say -o FOLDER/" in capsys.readouterr().err


def report_named(suite: str, agent: str, **description: Any) -> Report:
    run = RunSummary(agent=AgentIdentity("x", description=description))
    return Report(SuiteSummary(suite, {}, 0), {agent: AgentSummary(agent, "ok", {}, {}, {}, {}, {}, run=run)})


@pytest.mark.parametrize("hostile", ["../../etc/passwd", "..", "/", "", "a\x00b\n", "~", "x" * 5000, ".hidden", "C:\\x", "{date}"])
def test_no_value_leads_out_of_the_folder(hostile: str, tmp_path: Path) -> None:
    report = report_named(hostile, hostile, index=hostile, embedder={"model": hostile})
    file = ReportFile(tmp_path, "json", "{suite}/{agent}_{model}_{index}.json")
    path = file.at(name_values(report, TIME))
    assert path.parent.parent == tmp_path
    assert not any(part.startswith(".") or len(part.encode()) > 255 for part in path.relative_to(tmp_path).parts)
    path.parent.mkdir()
    path.write_text("")


def test_a_time_of_another_zone_is_shown_in_utc() -> None:
    values = name_values(report_named("s", "a"), datetime(2026, 11, 16, 1, 30, tzinfo=timezone(timedelta(hours=2))))
    assert (values["timestamp"], values["date"]) == ("20261115T233000Z", "20261115")


def test_a_link_that_leads_out_of_the_folder_is_refused(workplace: Path, capsys) -> None:
    (workplace / "results").mkdir()
    (workplace / "results" / "away").symlink_to("/")
    (workplace / "c.yaml").write_text("output: {directory: results, file_name: away/x}")
    assert main([*arguments_of("evaluate"), "--config", "c.yaml"]) == 4
    assert "results/away cannot be written: a link leads out of results" in capsys.readouterr().err


def test_earlier_reports_are_hidden_from_agents(tmp_path: Path) -> None:
    for name in ("eval_20260101_m.json", "eval_20260102_n.json", "other.json"):
        (tmp_path / name).touch()
    (file,) = files_in(tmp_path, OutputSettings(formats=("json",), file_name="eval_{date}_{model}"))
    assert [path.name for path in file.existing()] == ["eval_20260101_m.json", "eval_20260102_n.json"]


def test_the_help_names_every_format(capsys) -> None:
    assert main(["evaluate", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert [each.suffixes[0] for each in RENDERERS.values() if each.suffixes[0] not in said] == []


def test_an_unknown_extension_is_refused_with_all_that_there_are(workplace: Path, capsys) -> None:
    assert main(arguments_of("evaluate -o out.pdf")) == 4
    said = capsys.readouterr().err
    assert [suffix for each in RENDERERS.values() for suffix in each.suffixes if suffix not in said] == []


@pytest.mark.slow
def test_a_run_saved_as_trec_says_what_it_lacks_and_scores_alike(workplace: Path, capsys) -> None:
    live = arguments_of("evaluate --agent hybrid --save-run run.trec -m nDCG@10 -m RR --per-case")
    assert main(live) == 0
    first = capsys.readouterr()
    assert "not in it: run.trec: answers whose scores are missing or contradict their order" in first.err
    assert main(["evaluate", *SUITE, "--run", "run.trec", "-m", "nDCG@10", "-m", "RR", "--per-case"]) == 0
    assert capsys.readouterr().out == first.out
    assert load_run("run.trec").provenance.tag == "hybrid"


def test_a_case_that_trec_cannot_hold_is_refused_before_anything_is_run(workplace: Path, capsys) -> None:
    Path("s.json").write_text('{"schema_version": 1, "cases": [{"id": "a b", "query": "x", "judgments": [{"target": "t"}]}]}')
    command = ["evaluate", "--gold-set", "s.json", "--agent", "bm25", "--corpus", "examples/quickstart/corpus.jsonl"]
    assert main([*command, "--save-run", "run.trec"]) == 4
    assert "a TREC run cannot hold the id 'a b'" in capsys.readouterr().err
    assert not Path(".searchmark").exists()


@pytest.mark.parametrize("verb", ["evaluate", "compare", "gate"])
def test_the_help_and_the_refusal_name_the_same_formats(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    from searchmark.reports.render import format_of

    with pytest.raises(UsageError) as refused:
        format_of(Path("report.foo"))
    allowed = set(re.findall(r"\.[a-z.]+", str(refused.value).partition("one of")[2])) - {".markdown", ".htm"}  # other spellings
    assert main([verb, "--help"]) == 0
    described = capsys.readouterr().out.partition("-o, --output")[2].partition("--charts")[0]
    assert {name.rstrip(".") for name in re.findall(r"\.[a-z.]+", described)} >= allowed
