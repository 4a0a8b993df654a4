"""Which models have made the gold, as far as the suite says so, and whether an agent has one of the same family."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.records import Run, Suite
from searchmark.records.model_names import described
from searchmark.records.shown import quoted

# Names that tell the family. A program that runs models of others (ollama, llama.cpp) tells none.
FAMILIES: Mapping[str, re.Pattern[str]] = {
    family: re.compile(pattern, re.IGNORECASE)
    for family, pattern in {
        "OpenAI": r"gpt-?\d|\b(?:chat)?gpt\b|openai|text-embedding-(?:3|ada)|\bo[134](?:-mini|-pro|-preview)?\b|davinci",
        "Anthropic": r"claude|anthropic",
        "Llama": r"(?<![a-z]o)(?<!\bo)llama(?![-_. ]?(?:cpp|file|index|parse))",
        "Google": r"gemini|gemma|\bpalm-?2\b|text-bison|embedding-gecko|text-embedding-00\d",
        "Qwen": r"qwen|\bqwq\b",
        "Mistral": r"mistral|mixtral|codestral|ministral",
        "DeepSeek": r"deepseek",
        "Cohere": r"cohere|command-[ra]\b|embed-(?:english|multilingual)",
        "BGE": r"\bbge\b|\bbaai\b",
        "E5": r"\b(?:multilingual-)?e5-",
        "GTE": r"\bgte-",
        "Jina": r"\bjina",
        "Nomic": r"\bnomic",
        "Voyage": r"\bvoyage-",
        "Sentence Transformers": r"minilm|mpnet|sentence-transformers|multi-qa-|msmarco-(?:distilbert|bert)",
        "Phi": r"\bphi-?[2-5]\b",
        "Grok": r"\bgrok\b",
        "BM25": r"\bbm25\b|\bokapi\b",
        "TF-IDF": r"\btf-?idf\b",
        "hashed words": r"\bhash(?:ed|ing)\b|\bfeature[- ]hash",
    }.items()
}
Part = Literal["queries", "labels", "all", "check"]
# What is a second look at a part, so that it should not be that of the same model.
_CHECKED_BY: Mapping[Part, tuple[Part, ...]] = {
    "queries": ("labels", "check"),
    "all": ("labels", "check"),
    "labels": ("check",),
    "check": (),
}
# What a key of the metadata, or of a case, says that its value has made: the first that fits.
_PARTS: tuple[tuple[Part, re.Pattern[str]], ...] = (
    ("check", re.compile(r"verif|valid|review|(?:double|cross)_?check|checked_by|audited")),
    ("labels", re.compile(r"label|judge|judg|annotat|assess|grader|graded|relevance|expected|ground_truth|qrel")),
    ("queries", re.compile(r"quer|question|rewrit|paraphras|prompt")),
    ("all", re.compile(r"generat|written_by|author|creat|synthe|made_by|produced|\bllm\b|(?:^|\.)model$|source_model")),
)
_NO_MAKER = re.compile(r"count|number|date|time|version|seed|path|commit|temperature|hash|id$|approvals")
_OF_CASES = ("generat", "written_by", "label", "judge", "annotat", "verif", "rewrit", "_model", "llm", "author")
_LONGEST = 200  # letters of a value that is a name
_FOLDERS = re.compile(r"(?:^|(?<=[\s:=]))(?:[/~.]|\w+://)\S*/")  # of files and addresses: they are called after people and machines


@dataclass(frozen=True)
class Maker:
    """Something that the suite says it was made with: which part of it, by what, where that is said."""

    part: Part
    name: str
    key: str

    @property
    def families(self) -> set[str]:
        return families_of(self.name)


def families_of(name: str) -> set[str]:
    """The families that a name tells; none if it tells none that is known."""
    return {family for family, pattern in FAMILIES.items() if pattern.search(name)}


def model_families(subject: Subject) -> Iterator[Finding]:
    """Gold and agents of one family, and gold that was checked by what had made it."""
    makers = list(dict.fromkeys(makers_of(subject.suite)))
    yield from _checked_by_author(makers)
    for name, scores in subject.scores.items():
        shared = _shared(makers, scores.judged.run)
        if shared is not None:
            before = f"{name}: " if len(subject.scores) > 1 else ""
            yield finding("same-model-family", f"{before}{shared}")


def _shared(makers: Sequence[Maker], run: Run) -> str | None:
    """What of a run and what of the gold are of one family; None if nothing is."""
    for used in names_in_run(run) if makers else ():
        for maker in makers:
            common = families_of(used) & maker.families
            if common:
                return f"the agent has {quoted(used)}, the gold {quoted(maker.name)} ({maker.key}): both {min(common)}"
    return None


def _checked_by_author(makers: Sequence[Maker]) -> Iterator[Finding]:
    for author, again in product(makers, makers):
        common = author.families & again.families
        if common and again.part in _CHECKED_BY[author.part]:
            said = f"{author.key} is {quoted(author.name)} and {again.key} is {quoted(again.name)}"
            yield finding("checked-by-own-author", f"{said}: both {min(common)}")
            return


def makers_of(suite: Suite) -> Iterator[Maker]:
    """All that the metadata and the fields of the cases say of models that made them."""
    yield from _makers(suite.metadata, "")
    seen: set[tuple[str, str]] = set()
    for fields in suite.table.fields or ():
        for key, value in fields.items():
            if isinstance(value, str) and (key, value) not in seen and any(word in key.lower() for word in _OF_CASES):
                seen.add((key, value))
                yield from _makers({key: value}, "")


def _makers(said: Any, key: str) -> Iterator[Maker]:
    if isinstance(said, Mapping):
        for name, value in said.items():
            yield from _makers(value, f"{key}.{name}" if key else str(name))
    elif isinstance(said, list | tuple):
        for value in said:
            yield from _makers(value, key)
    elif isinstance(said, str) and 0 < len(said) <= _LONGEST and families_of(said):
        spelled = re.sub(r"(?<=[a-z])(?=[A-Z])|[- ]", "_", key).lower()
        part = next((part for part, pattern in _PARTS if pattern.search(spelled)), None)
        if part is not None and not _NO_MAKER.search(spelled):
            yield Maker(part, said, key)


def names_in_run(run: Run) -> Iterator[str]:
    """How a run is called, and every name in what its agent says of itself and in its options; not the folders of files."""
    agent = run.provenance.agent
    said = [run.label.identity, *(() if agent is None else (agent.source, agent.description, agent.config))]
    return (_FOLDERS.sub("", text) for text in _texts(said))


def _texts(said: Any) -> Iterator[str]:
    """Every short text in nested data; what is searched for in documents is left out."""
    if isinstance(said, str):
        yield from (said,) if len(said) <= _LONGEST else ()
    elif isinstance(said, list | tuple):
        for value in said:
            yield from _texts(value)
    else:
        for _, value in described(said):
            yield from _texts(value)
