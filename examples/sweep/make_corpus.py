"""Makes the corpus and the suite of this example from the docstrings of Python's standard library: real texts, on every machine.

    python make_corpus.py OUT

Every function, class and method with a docstring becomes a document: its name is the title, its docstring the text. The query
of a case is the first sentence of a docstring without the words of the name, and the document that it comes from is what must
be found. Which modules there are depends on the version of Python; nothing is drawn at random.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import pkgutil
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

SEEN, CASES = 600, 600  # the grid was chosen by the results on the first; the next ones are asked
SHORTEST, LONGEST = 30, 160  # characters of a query
LEFT_OUT = {"antigravity", "this", "idlelib", "test", "lib2to3", "turtledemo"}
_WORD = re.compile(r"[A-Za-z]+")


def documents() -> Iterator[dict[str, str]]:
    """One per name; a text that two names share is given to the first."""
    seen: set[str] = set()
    for module in sorted(modules()):
        for name, text in sorted(docstrings(module)):
            if text not in seen:
                seen.add(text)
                yield {"id": name, "title": words_of(name), "module": module.partition(".")[0], "text": text}


def modules() -> Iterator[str]:
    for name in sys.stdlib_module_names:
        if name.startswith("_") or name in LEFT_OUT:
            continue
        yield name
        path = getattr(loaded(name), "__path__", None)
        for found in pkgutil.iter_modules(path) if path else ():
            if not found.name.startswith("_") and found.name not in ("tests", "test"):
                yield f"{name}.{found.name}"


def loaded(name: str) -> object:
    try:
        return importlib.import_module(name)
    except BaseException:  # noqa: BLE001  # a module of another system may do anything
        return None


def docstrings(module: str) -> Iterator[tuple[str, str]]:
    for name, found in list(getattr(loaded(module), "__dict__", {}).items()):
        if name.startswith("_") or not (inspect.isclass(found) or inspect.isroutine(found)):
            continue
        if getattr(found, "__module__", None) != module:
            continue
        yield from described(f"{module}.{name}", found)
        if inspect.isclass(found):
            for member, value in vars(found).items():
                if not member.startswith("_") and inspect.isroutine(value):
                    yield from described(f"{module}.{name}.{member}", value)


def described(name: str, found: object) -> Iterator[tuple[str, str]]:
    text = inspect.cleandoc(getattr(found, "__doc__", None) or "")
    if len(text) > SHORTEST:
        yield name, text


def words_of(name: str) -> str:
    return " ".join(_WORD.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)))


def query_of(document: dict[str, str]) -> str:
    """The first sentence, without the words that the name gives away."""
    sentence = re.split(r"(?<=[.!?])\s|\n\n", document["text"], maxsplit=1)[0]
    name = {word.lower() for word in _WORD.findall(document["title"])}
    return " ".join(word for word in sentence.split() if word.strip(".,()'\"`:").lower() not in name)


def main(out: Path) -> None:
    found = list(documents())
    out.mkdir(parents=True, exist_ok=True)
    with (out / "corpus.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(each, ensure_ascii=True) + "\n" for each in found)
    asked = [each for each in found if SHORTEST <= len(query_of(each)) <= LONGEST]
    chosen = sorted(asked, key=lambda each: hashlib.sha256(each["id"].encode()).hexdigest())[SEEN : SEEN + CASES]
    cases = [{"id": each["id"], "query": query_of(each), "judgments": [{"target": each["id"]}]} for each in chosen]
    suite = {"schema_version": 1, "name": "standard library", "cases": cases}
    (out / "suite.json").write_text(json.dumps(suite, indent=1), encoding="utf-8")
    print(f"{len(found)} documents, {len(cases)} cases in {out}")  # noqa: T201  # says what was made


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of modules that are deprecated
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "stdlib"))
