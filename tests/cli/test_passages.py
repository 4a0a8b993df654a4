"""Passages are targets: what a retriever for RAG returns counts by the chunk, not by its file, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOPICS = ["kettle", "teapot", "samovar", "strainer", "caddy", "infuser", "saucer", "whisk", "tongs", "gaiwan"]
SECTION = "## The {0}\n\nThe {0} is kept on shelf {1} of the pantry.\nIt is cleaned with warm water on day {1} of every month.\n"
pytestmark = pytest.mark.slow  # commands in processes of their own

RETRIEVERS = '''
"""Retrievers as LangChain and LlamaIndex make them: chunks of files, with their texts and where they begin."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Document:
    page_content: str
    metadata: dict = field(default_factory=dict)


@dataclass
class TextNode:
    text: str
    metadata: dict
    start_char_idx: int
    end_char_idx: int


@dataclass
class NodeWithScore:
    node: TextNode
    score: float


def chunks(size):
    for file in sorted(Path("docs").glob("*.md")):
        text = file.read_text()
        for start in range(0, len(text), size):
            yield str(file), start, text[start : start + size]


def words(text):
    return {word.strip("?.#").lower() for word in text.split()}


class LangChain:
    size, offsets = 120, True

    def invoke(self, query):
        ranked = sorted(chunks(self.size), key=lambda chunk: -len(words(query) & words(chunk[2])))[:5]
        return [Document(text, {"source": path} | ({"start_index": start} if self.offsets else {})) for path, start, text in ranked]


class WithoutOffsets(LangChain):
    offsets = False


class WrongChunk(LangChain):
    """Always the last chunk of the file that the right one is in."""

    def invoke(self, query):
        last = {path: (path, start, text) for path, start, text in chunks(self.size)}
        right = [document.metadata["source"] for document in super().invoke(query)]
        return [Document(last[path][2], {"source": path, "start_index": last[path][1]}) for path in dict.fromkeys(right)]


class WorstFirst(LangChain):
    def invoke(self, query):
        return super().invoke(query)[::-1]


class LlamaIndex(LangChain):
    def retrieve(self, query):
        found = super().invoke(query)
        starts = [document.metadata["start_index"] for document in found]
        return [
            NodeWithScore(TextNode(d.page_content, {"file_path": d.metadata["source"]}, start, start + len(d.page_content)), 1 / n)
            for n, (d, start) in enumerate(zip(found, starts), 1)
        ]


class Paths:
    def retrieve(self, query, k):
        return list(dict.fromkeys(document.metadata["source"] for document in LangChain().invoke(query)))


class Texts(LangChain):
    """Mappings with an id and a text."""

    def retrieve(self, query):
        return [{"id": d.metadata["source"], "text": d.page_content} for d in super().invoke(query)]
'''


@pytest.fixture
def pantry(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for name, topics in (("upper.md", TOPICS[:5]), ("lower.md", TOPICS[5:])):
        text = "".join(SECTION.format(topic, number) for number, topic in enumerate(topics, 1))
        (tmp_path / "docs" / name).write_text(
            text + "\n## The end\n\nNothing else is kept here, and nothing needs to be cleaned.\n"
        )
    (tmp_path / "rag.py").write_text(RETRIEVERS)
    return tmp_path


def cases(pantry: Path, match: str) -> Path:
    """The shelf of each thing: by its text, or by the line that says it."""
    rows = []
    for number, topic in enumerate(TOPICS):
        path, place = f"docs/{'upper' if number < 5 else 'lower'}.md", number % 5 + 1
        text = f"the {topic.upper()}  is kept on\nshelf {place} of the pantry"
        line = (place - 1) * 4 + 3
        target = text if match == "text" else f"{path}#L{line}-L{line}"
        rows.append({"id": topic, "query": f"Where is the {topic}?", "judgments": [{"target": target, "match": match}]})
    file = pantry / "cases.json"
    file.write_text(json.dumps({"schema_version": 1, "name": "pantry", "cases": rows}))
    return file


def run(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [Path(sys.executable).with_name("searchmark"), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "160"},
    )
    assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    return done


def evaluate(folder: Path, agent: str, *more: str, code: int = 0) -> dict[str, Any]:
    command = ("evaluate", "--gold-set", "cases.json", "--agent", f"rag.py:{agent}", "-m", "R@5", "--no-archive", "-q")
    run(folder, *command, "-o", "out.json", *more, code=code)
    return next(iter(json.loads((folder / "out.json").read_text())["agents"].values()))


def mean(agent: dict[str, Any]) -> float:
    return agent["measures"]["R@5"]["mean"]


CORPUS = ("--corpus", ".", "--include", "docs/**")


@pytest.mark.parametrize("agent", ["LangChain", "WithoutOffsets", "LlamaIndex", "Texts"])
@pytest.mark.parametrize("match", ["lines", "text"])
def test_a_retriever_of_chunks_is_measured_by_the_chunk(pantry: Path, agent: str, match: str) -> None:
    cases(pantry, match)
    assert mean(evaluate(pantry, agent, *CORPUS)) >= 0.8


@pytest.mark.parametrize("match", ["lines", "text"])
def test_the_wrong_chunk_of_the_right_file_finds_nothing(pantry: Path, match: str) -> None:
    cases(pantry, match)
    assert mean(evaluate(pantry, "WrongChunk", *CORPUS, code=2 if match == "text" else 0)) == 0


def test_passages_need_no_corpus(pantry: Path) -> None:
    cases(pantry, "text")
    assert mean(evaluate(pantry, "LangChain")) >= 0.8


@pytest.mark.parametrize("match", ["lines", "text"])
def test_hits_that_name_files_alone_are_not_trusted_where_parts_are_judged(pantry: Path, match: str) -> None:
    cases(pantry, match)
    agent = evaluate(pantry, "Paths", *CORPUS, code=2)
    assert agent["status"] == "untrusted"
    said = run(pantry, "evaluate", "--gold-set", "cases.json", "--agent", "rag.py:Paths", *CORPUS, "--no-archive", code=2)
    assert "says which part of its document it is, like 'docs/" in " ".join(said.stdout.split())
    assert ("return lines" if match == "lines" else "return the text of each hit") in " ".join(said.stdout.split())


def passage(number: int) -> str:
    return f"The {TOPICS[number]} is kept on shelf {number % 5 + 1} of the pantry."


def question(number: int) -> str:
    return f"Where is the {TOPICS[number]}?"


FORMS = {
    "table.csv": "question,expected_file,expected_passage\n"
    + "".join(f'{question(n)},docs/upper.md,"{passage(n)}"\n' for n in range(10)),
    "ragas.csv": "user_input,reference_contexts,reference\n"
    + "".join(f'{question(n)},"{[passage(n)]}",shelf\n' for n in range(10)),
    "rows.jsonl": "".join(json.dumps({"user_input": question(n), "reference_contexts": [passage(n)]}) + "\n" for n in range(10)),
    "index.json": json.dumps({"examples": [{"query": question(n), "reference_contexts": [passage(n)]} for n in range(10)]}),
    "list.json": json.dumps(
        [{"query": question(n), "expectedIds": ["docs/upper.md"], "expectedPassages": [passage(n)]} for n in range(10)]
    ),
}


@pytest.mark.parametrize("name", list(FORMS))
def test_expected_passages_are_read_as_tools_for_rag_write_them(pantry: Path, name: str) -> None:
    (pantry / name).write_text(FORMS[name])
    (pantry / name).rename(pantry / "cases.json") if name.endswith(".json") else None
    command = ("evaluate", "--agent", "rag.py:LangChain", "-m", "R@5", "--no-archive", "-o", "out.json", "--gold-set")
    said = run(pantry, *command, "cases.json" if name.endswith(".json") else name).stdout
    (agent,) = json.loads((pantry / "out.json").read_text())["agents"].values()
    assert mean(agent) >= 0.8
    assert {each["match"] for case in agent["cases"].values() for each in case["expected"]} == {"text"}
    assert "50 % of its words in one piece" in " ".join(said.split())
    assert ("expected_passage is judged, expected_file is not" in said) == (name == "table.csv")


def test_a_suite_says_how_much_of_a_passage_a_hit_must_hold(pantry: Path) -> None:
    file = cases(pantry, "text")
    content = json.loads(file.read_text())
    found = {}
    for overlap in (0.3, 1.0):
        file.write_text(json.dumps(content | {"defaults": {"overlap": overlap}}))
        found[overlap] = mean(evaluate(pantry, "LangChain"))
        hashes = json.loads((pantry / "out.json").read_text())["suite"]["hashes"]
        found[hashes["judgments"]] = overlap
    assert found[1.0] < found[0.3]  # a passage that is cut in two is in no chunk as a whole
    assert len(found) == 4  # and what is judged is another thing
    file.write_text(json.dumps(content | {"defaults": {"overlap": 1.5}}))
    done = run(pantry, "evaluate", "--gold-set", "cases.json", "--agent", "rag.py:LangChain", code=4)
    assert "defaults.overlap: 1.5 is not a share of words: above 0, at most 1" in done.stderr


def test_a_saved_run_and_one_that_is_resumed_keep_the_texts_of_hits(pantry: Path) -> None:
    cases(pantry, "text")
    first = mean(evaluate(pantry, "LangChain", "--save-run", "run.jsonl", "--journal", "journals"))
    assert mean(evaluate(pantry, "LangChain", "--journal", "journals", "--resume")) == first
    run(pantry, "evaluate", "--gold-set", "cases.json", "--run", "run.jsonl", "-m", "R@5", "--no-archive", "-q", "-o", "again.json")
    (again,) = json.loads((pantry / "again.json").read_text())["agents"].values()
    assert mean(again) == first
    lines = [json.loads(line) for line in (pantry / "run.jsonl").read_text().splitlines()]
    assert all(len(line["texts"]) == len(line["ids"]) for line in lines[1:])


def test_chunks_are_not_merged_into_files_where_passages_are_judged(pantry: Path) -> None:
    cases(pantry, "text")
    (pantry / "searchmark.yaml").write_text("agents:\n  - name: chunks\n    source: rag.py:Chunks\n    chunk_of: '{file}#{n}'\n")
    more = "\n\nclass Chunks(LangChain):\n    def retrieve(self, query):\n"
    more += "        return [{'id': f\"{d.metadata['source']}#{n}\", 'text': d.page_content}"
    (pantry / "rag.py").write_text(RETRIEVERS + f"{more} for n, d in enumerate(super().invoke(query))]\n")
    command = ("evaluate", "--gold-set", "cases.json", "--config", "searchmark.yaml", "--agent", "chunks=rag.py:Chunks")
    run(pantry, *command, "-m", "R@5", "--no-archive", "-q", "-o", "out.json")
    (agent,) = json.loads((pantry / "out.json").read_text())["agents"].values()
    assert mean(agent) >= 0.8
    assert not agent["dropped"].get("merged_chunks")


def test_a_retriever_is_checked_against_the_corpus_that_is_named(pantry: Path) -> None:
    check = ("agents", "--check", "rag.py:LangChain")
    assert "whether its hits exist is not known: name what it searches with --corpus" in run(pantry, *check).stdout
    assert "passed all checks: 6 queries, each asked twice\n" in run(pantry, *check, "--corpus", ".").stdout
    assert "files that do not exist: 'docs/" in run(pantry, *check, "--corpus", "docs", code=1).stdout
    (pantry / "searchmark.yaml").write_text("corpus: {path: docs}\n")
    assert "files that do not exist: 'docs/" in run(pantry, *check, "--config", "searchmark.yaml", code=1).stdout


def test_chunks_of_one_file_are_different_hits_when_runs_are_compared(pantry: Path) -> None:
    cases(pantry, "text")
    agents = ("--agents", "rag.py:LangChain", "rag.py:WorstFirst")
    said = run(pantry, "compare", "--gold-set", "cases.json", *agents, "-m", "R@5", "--no-archive").stdout
    assert f"the first hit changed in {len(TOPICS)}" in said
