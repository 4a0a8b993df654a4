"""What a user reads is in the words of the trade; docs/glossary.md says which words are avoided."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import searchmark
from tests.conftest import ROOT

_AVOIDED = re.compile(
    r"\b(plain|stands|anew|go on|goes on|gone on|nobody|somebody|whoever|everybody|strangers?)\b|\b(is|are) no (?!better|larger|longer)\w"
)
_PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
# The folder of gold sets quotes the messages of other projects.
_PAGES += [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if page.stem not in ("architecture", "glossary") and page.parent.name != "gold-sets"
]
_BLOCK = re.compile(r"```.*?```", re.DOTALL)
_MISSING = re.compile(r"there (is|are) no ", re.IGNORECASE)


def sentences(path: Path) -> Iterator[str]:
    """String literals with several words, docstrings left out; the text between the values of an f-string is one of them."""
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node, clean=False)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings and " " in node.value:
            yield node.value


def avoided_in(text: str) -> list[str]:
    return [found.group() for found in _AVOIDED.finditer(_MISSING.sub("", text))]


def test_no_message_uses_a_word_that_is_avoided() -> None:
    files = sorted(Path(searchmark.__file__).parent.rglob("*.py"))
    assert [(file.name, text) for file in files for text in sentences(file) if avoided_in(text)] == []


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_no_page_uses_a_word_that_is_avoided(page: Path) -> None:
    assert avoided_in(_BLOCK.sub("", page.read_text())) == []


@pytest.mark.parametrize("text", ["the key stands twice", "it goes on", "x is no repository", "nobody knows", "(plain: 0.01)"])
def test_an_avoided_word_is_found(text: str) -> None:
    assert avoided_in(text) != []
