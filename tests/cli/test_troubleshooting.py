"""Every message that the page of troubles quotes is printed by the command that leads to it."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from searchmark import Answer, AnswerDetails, Run, UsageError, load_suite, save_run
from searchmark.agents.lexical import ripgrep
from searchmark.cli.main import main
from tests.conftest import ROOT

NAMES = ("DOCKER", "INSTALL", "CONFIG", "SEARCH", "LOGGING", "METRICS")
QUOTED = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
MODELS = """agents:
- {name: minilm, source: semantic, config: {embedder: minilm}}
- {name: transformer, source: semantic, config: {embedder: transformer}}
- {name: vectors, source: semantic, config: {index: pgvector}}
"""
GOOD = "evaluate --gold-set good.json -m nDCG@10"


def write_suite(name: str, target: Callable[[str], str]) -> None:
    cases = [{"query": f"how do I use {each} here", "expectedIds": [target(each)]} for each in NAMES]
    Path(name).write_text(json.dumps(cases))


def write_run(name: str, hit: Callable[[str], str]) -> None:
    lines = (f"{n} Q0 {hit(each)} 1 2.0 t\n{n} Q0 {hit('EXTRA')} 2 1.0 t\n" for n, each in enumerate(NAMES, 1))
    Path(name).write_text("".join(lines))


def save_answers(name: str, *answers: Answer) -> None:
    save_run(Run.from_answers("agent", answers), name)


def git(*arguments: str) -> None:
    identity = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


def write_repository(name: str, file: str, message: str) -> None:
    git("init", "-q", "-b", "main", name)
    for number in range(3):
        for text in ("one = 1\n", "one = 2\n"):
            (Path(name) / file.format(number)).write_text(text)
            git("-C", name, "add", ".")
            git("-C", name, "commit", "-qm", message.format(number, text.strip()))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small project, and everything that can be wrong with it."""
    folder = tmp_path_factory.mktemp("troubles")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for each in ("docs", "ed"):
            Path(each).mkdir()
        for each in NAMES:
            Path("docs", f"{each}.md").write_text(f"how to use {each}\n")
        write_suite("good.json", "{}.md".format)
        write_suite("prefix.json", "docs/{}.md".format)
        write_suite("half.json", lambda each: f"{each}.md" if each < "L" else f"docs/{each}.md")
        Path("bare.json").write_text('[{"query": "a b", "expectedIds": []}, {"query": "c d", "expectedIds": []}]')
        Path("s.yaml").write_text("schema_version: 1\ncases:\n- {id: a, querry: hi}\n")
        write_run("ok.trec", "{}.md".format)
        write_run("docs.trec", "docs/{}.md".format)
        write_run("foreign.trec", lambda each: {"DOCKER": "42"}.get(each, f"{len(each)}{each}"))
        Path("one.trec").write_text("".join(f"{n} Q0 DOCKER.md 1 1 t\n" for n in range(1, 7)))
        Path("none.trec").write_text("q1 Q0 DOCKER.md 1 1 t\n")
        Path("same.trec").write_text("".join(f"{n} Q0 A.md 1 2 t\n{n} Q0 DOCKER.md 2 1 t\n" for n in range(1, 7)))
        Path("dup.trec").write_text("".join(f"{n} Q0 DOCKER.md {k} {20 - k} t\n" for n in range(1, 7) for k in range(1, 12)))
        Path("e.trec").write_text("")
        write_run("some.trec", lambda each: f"{each}.md" if each < "L" else f"docs/{each}.md")
        Path("zero.txt").write_text("".join(f"{n} 0 {each}.md 0\n" for n, each in enumerate(NAMES, 1)))
        glob = [{"target": "src/*.rs", "match": "glob"}]
        cases = [{"id": str(n), "query": each, "judgments": glob} for n, each in enumerate(NAMES, 1)]
        Path("globs.json").write_text(json.dumps({"schema_version": 1, "cases": cases}))
        for name, scores in (("distance", (1, 2)), ("equal", (1, 1))):
            lines = (f"{n} Q0 {each}.md 1 {scores[0]} t\n{n} Q0 A.md 2 {scores[1]} t\n" for n, each in enumerate(NAMES, 1))
            Path(f"{name}.trec").write_text("".join(lines))
        with zipfile.ZipFile("two.zip", "w") as archive:
            for each in ("good.json", "ok.trec"):
                archive.write(each)
        Path("cut.trec.gz").write_bytes(gzip.compress(Path("ok.trec").read_bytes())[:30])
        Path("latin.csv").write_bytes("query,docid,rating\ncafé,a,1\n".encode("latin-1"))
        Path("odd.csv").write_text("question,answer\nx,y\n")
        ids = load_suite("good.json").table.ids
        save_answers("empty.jsonl", *(Answer(each, "empty") for each in ids))
        failed = AnswerDetails(failure="ValueError: server said 503")
        save_answers("failed.jsonl", *(Answer(each, "error", (), failed) for each in ids))
        save_answers("part.jsonl", Answer(ids[0], "empty"), *(Answer(each, "not_run") for each in ids[1:]))
        Path("q.txt").write_text("0301 0 A 1\n0302 0 B 1\n0303 0 C 1\n")
        topic = "<top>\n<num> Number: {}\n<title> a thing\n</top>\n"
        Path("topics.txt").write_text("".join(topic.format(n) for n in (301, 302, 303)))
        Path("c.yaml").write_text("evaluation: {num_run: 3, timeout_second: 4}\n")
        Path("models.yaml").write_text(MODELS)
        Path("agent.yaml").write_text("agents: [{name: bm25, config: {k: 1.2}}]\n")
        write_repository("r", "m{}.py", "Parse the header of module number {} as {}")
        write_repository("manual", "m{}.md", "Explain the limits of part {} as {}")
        write_repository("guides", "g{}.md", "Tell how part {} is set up with {}")
        git("clone", "-q", "--depth", "1", f"file://{folder}/r", "shallow")
        assert main(["generate", "--repo", "r", "-o", "gold.json"]) == 0
        mined = json.loads(Path("gold.json").read_text())
        mined["metadata"]["repositories"]["r"]["path"] = "/home/alice/r"
        Path("moved.json").write_text(json.dumps(mined))
    return folder


# The beginning of what is quoted, the command that leads to it, and how that ends.
TROUBLES = {
    "untrusted: none of the 6 relevant": ("evaluate --gold-set prefix.json --run ok.trec --corpus docs", 2),
    "untrusted: none of 12 hits is in": (f"{GOOD} --run docs.trec --corpus docs", 2),
    "untrusted: none of 12 hits is judged: 'docs": (f"{GOOD} --run docs.trec", 2),
    "untrusted: none of 12 hits is judged: '42'": (f"{GOOD} --run foreign.trec", 2),
    "untrusted: all of 6 answers are empty": (f"{GOOD} --run empty.jsonl", 2),
    "untrusted: nearly all hits": (f"{GOOD} --run dup.trec", 2),
    "untrusted: all of 6 answers are one": (f"{GOOD} --run one.trec", 2),
    "untrusted: 6 of 6 cases": (f"{GOOD} --run failed.jsonl", 2),
    "untrusted: 5 of 6 cases": (f"{GOOD} --run part.jsonl", 2),
    "untrusted: none of 2 cases": ("evaluate --gold-set bare.json --run one.trec -m nDCG@10", 2),
    "untrusted: none of 6 judgments": ("evaluate --gold-set zero.txt --run ok.trec -m nDCG@10", 2),
    "untrusted: 1 of 1 glob": ("evaluate --gold-set globs.json --run ok.trec --corpus docs -m nDCG@10", 2),
    "3 of 6 relevant targets": ("evaluate --gold-set half.json --run ok.trec --corpus docs", 0),
    "hits that do not exist": (f"{GOOD} --run ok.trec --corpus docs", 0),
    "hits that are not judged for": (f"{GOOD} --run some.trec", 0),
    "all 6 answers are the same": (f"{GOOD} --run same.trec", 0),
    "scores rise down": (f"{GOOD} --run distance.trec", 0),
    "the hits of every answer": (f"{GOOD} --run equal.trec", 0),
    "the run 'none'": (f"{GOOD} --run none.trec", 5),
    "3 of 3 cases have no query, and": ("evaluate --gold-set q.txt --topics topics.txt --agent bm25 --corpus docs", 4),
    "3 of 3 cases have no query, like": ("evaluate --gold-set q.txt --agent bm25 --corpus docs", 4),
    "e.trec": (f"{GOOD} --run e.trec", 4),
    "the corpus 'ed'": (f"{GOOD} --agent bm25 --corpus ed", 5),
    "none of 6 commits passes the filters (no_code_file": ("generate --repo guides -o guides.json", 5),
    "none of 6 commits passes the filters (about_docs 3": ("generate --repo manual --kind doc -o guides.json", 5),
    "there is nothing to search": (f"{GOOD} --agent bm25", 4),
    "missing.json": ("evaluate --gold-set missing.json --run ok.trec", 4),
    "c.yaml": (f"{GOOD} --run ok.trec --config c.yaml", 4),
    "agent bm25": (f"{GOOD} --agent bm25 --corpus docs --config agent.yaml", 4),
    "s.yaml": ("evaluate --gold-set s.yaml --run ok.trec", 4),
    "there is no measure": ("evaluate --gold-set good.json --run ok.trec -m nDGC@10", 4),
    "there is no agent": (f"{GOOD} --agent bm52 --corpus docs", 4),
    "x.yaml": ("generate --repo r -o x.yaml", 4),
    "the gold set names": ("evaluate --gold-set moved.json --agent bm25 --repo foo=r", 4),
    "it is a shallow clone": ("evaluate --gold-set gold.json --agent bm25 --repo shallow", 4),
    "ok.trec: is a TREC run": ("evaluate --gold-set ok.trec --run good.json", 4),
    "good.json: is": ("evaluate --gold-set good.json --run good.json", 4),
    "odd.csv": ("evaluate --gold-set odd.csv --run ok.trec", 4),
    "two.zip": (f"{GOOD} --run two.zip", 4),
    "cut.trec.gz": (f"{GOOD} --run cut.trec.gz", 4),
    "latin.csv": ("evaluate --gold-set latin.csv --run ok.trec", 4),
    "~colleague/": ("evaluate --gold-set ~colleague/s.json --run ok.trec", 4),
    "no page is about": ("docs runing", 4),
    "the agent could not be started: gt_": (f"{GOOD} --corpus docs --config models.yaml --agent minilm", 5),
    "the agent could not be started: gt_all": (f"{GOOD} --corpus docs --config models.yaml --agent transformer", 5),
    "the agent could not be started: no database": (f"{GOOD} --corpus docs --config models.yaml --agent vectors", 5),
    "git is not on the PATH": ("generate --repo r -o new.json", 4),
}
MISSING = {"git is not on the PATH"}  # seen where nothing is on the PATH


def test_every_trouble_on_the_page_has_its_command() -> None:
    quotes = QUOTED.findall(PAGE)
    assert len(quotes) == len(TROUBLES)
    assert [quote.startswith(begin) for quote, begin in zip(quotes, TROUBLES, strict=True)] == [True] * len(quotes)


@pytest.mark.parametrize("quote", QUOTED.findall(PAGE), ids=lambda quote: quote[:40])
def test_what_is_quoted_is_what_is_printed(
    quote: str, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    monkeypatch.delenv("SEARCHMARK_DSN", raising=False)
    begin, (command, code) = next(found for found in TROUBLES.items() if quote.startswith(found[0]))
    if begin in MISSING:
        monkeypatch.setenv("PATH", str(files / "ed"))
    assert main([*command.split(), *(["--no-archive"] if "--agent " in command else [])]) == code
    printed = " ".join("".join(capsys.readouterr()).split())
    assert quote in printed
    assert not quote.startswith("untrusted") or printed.startswith("untrusted: ")


def test_ripgrep_that_is_missing_is_told_as_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ripgrep.shutil, "which", lambda *_, **__: None)
    with pytest.raises(UsageError) as told:
        ripgrep.ripgrep.__wrapped__()
    assert f"`{told.value}`" in PAGE


@pytest.mark.parametrize("suffix", ["txt", "md"])
def test_files_begin_with_it_too(suffix: str, files: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(files)
    file = tmp_path / f"report.{suffix}"
    assert main([*f"{GOOD} --run empty.jsonl -o".split(), str(file)]) == 2
    assert file.read_text().lstrip("*").startswith("untrusted: all of 6 answers are empty")


def test_the_page_has_it_as_its_headline(files: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(files)
    assert main([*f"{GOOD} --run empty.jsonl -o".split(), str(tmp_path / "r.html")]) == 2
    assert '<h2 id="headline">Do not trust this result: all of 6 answers are empty' in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("form", ["-o -", "--per-case"])
def test_what_goes_to_a_program_has_it_on_stderr(
    form: str, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    assert main(f"{GOOD} --run empty.jsonl {form}".split()) == 2
    assert capsys.readouterr().err.startswith("untrusted: all of 6 answers are empty")


@pytest.mark.parametrize("broken", ["docs.trec", "foreign.trec", "empty.jsonl", "dup.trec", "one.trec"])
def test_nobody_wins_against_a_broken_run(
    broken: str, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    assert main(f"compare --gold-set good.json --run ok.trec --run {broken} -m nDCG@10".split()) == 2
    printed = capsys.readouterr().out
    assert printed.startswith("untrusted: ")
    assert "(untrusted)" in printed
    assert "INVALID" in printed
    assert "IMPROVED" not in printed
    assert "REGRESSED" not in printed


def test_a_gate_does_not_fail_a_broken_run_but_says_that_nothing_is_known(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    assert main(["gate", "docs.trec", "--gold-set", "good.json", "--fail-under", "nDCG@10=0.5"]) == 2
    printed = capsys.readouterr().out
    assert printed.startswith("untrusted: none of 12 hits is judged")
    assert "gate untrusted" in printed
