"""Small corpora for the tests of agents, and a step from one state to the next."""

from __future__ import annotations

from collections.abc import Mapping

from searchmark.corpora.corpus import Changes, Corpus
from searchmark.records import Document

FILES = {
    "app/login.py": "def login(user):\n    check_password(user)\n\n\ndef logout(user):\n    end_session(user)\n",
    "app/session.py": "def end_session(user):\n    drop the cookie of the user\n",
    "app/colours.py": "PALETTE = ['red', 'green']\n\n\ndef paint(wall):\n    return PALETTE[0]\n",
    "docs/login.md": "How users log in: the password is checked once.\n\nA session ends after an hour.\n",
    "empty.py": "",
}


def corpus_from(files: Mapping[str, str], name: str = "files") -> Corpus:
    """A corpus of texts, where the text is its own version."""
    documents = {path: Document(path, text) for path, text in files.items()}
    return Corpus(
        name,
        lambda: iter(documents.values()),
        reader=lambda ids: [documents[path] for path in ids if path in documents],
        versions={path: str(hash(text)) for path, text in files.items()},
    )


def step(before: Mapping[str, str], after: Mapping[str, str]) -> Changes:
    """What an agent is told when the corpus goes from one state to the next."""
    written = tuple(path for path, text in after.items() if before.get(path) != text)
    return Changes(corpus_from(after), written, tuple(path for path in before if path not in after))
