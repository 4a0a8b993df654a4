"""Small corpora for the tests of agents, and a step from one state to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from searchmark import Changes, Corpus, Document
from searchmark.formats.corpora.source import DocumentSource

FILES = {
    "app/login.py": "def login(user):\n    check_password(user)\n\n\ndef logout(user):\n    end_session(user)\n",
    "app/session.py": "def end_session(user):\n    drop the cookie of the user\n",
    "app/colours.py": "PALETTE = ['red', 'green']\n\n\ndef paint(wall):\n    return PALETTE[0]\n",
    "docs/login.md": "How users log in: the password is checked once.\n\nA session ends after an hour.\n",
    "empty.py": "",
}


class Read(DocumentSource):
    """Documents that a function reads, by ids that are known with the names of their contents."""

    def __init__(self, function: Callable[[Sequence[str]], Iterable[Document]], versions: Mapping[str, str]) -> None:
        self._function, self._versions = function, versions

    def stream(self) -> Iterable[Document]:
        return self._function(list(self._versions))

    @property
    def reads_by_id(self) -> bool:
        return True

    def read(self, ids: Sequence[str]) -> Iterable[Document]:
        return self._function(ids)

    @property
    def versions(self) -> Mapping[str, str]:
        return self._versions


class Streamed(DocumentSource):
    """Documents that a function gives, each time anew, and that cannot be read by id."""

    def __init__(self, function: Callable[[], Iterable[Document]]) -> None:
        self._function = function

    def stream(self) -> Iterable[Document]:
        return self._function()


def corpus_from(files: Mapping[str, str], name: str = "files") -> Corpus:
    """A corpus of texts, where the text is its own version."""
    documents = [Document(path, text) for path, text in files.items()]
    return Corpus.of(name, documents, {path: str(hash(text)) for path, text in files.items()})


def step(before: Mapping[str, str], after: Mapping[str, str]) -> Changes:
    """What an agent is told when the corpus goes from one state to the next."""
    written = tuple(path for path, text in after.items() if before.get(path) != text)
    return Changes(corpus_from(after), written, tuple(path for path in before if path not in after))
