"""Tokens: what code and prose are cut into. A change here changes every kept index and every published number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.agents.lexical.analyser import tokenize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n.,;()", []),
        ("plain words", ["plain", "words"]),
        ("camelCase", ["camel", "case", "camelcase"]),
        ("PascalCase", ["pascal", "case", "pascalcase"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("getHTTPResponse2xx", ["get", "http", "response", "2", "xx", "gethttpresponse2xx"]),
        ("snake_case_name", ["snake", "case", "name", "snake_case_name"]),
        ("__init__", ["init"]),
        ("___", []),
        ("_private_name", ["private", "name", "private_name"]),
        ("MAX_RETRIES", ["max", "retries", "max_retries"]),
        ("sha256 utf8", ["sha", "256", "sha256", "utf", "8", "utf8"]),
        ("src/auth/loginView.py", ["src", "auth", "login", "view", "loginview", "py"]),
        ("django.db.models", ["django", "db", "models"]),
        ("it's don't", ["it", "s", "don", "t"]),
        ("twice twice", ["twice", "twice"]),
        ("Über straßeName", ["über", "straße", "name", "straßename"]),
        ("ÉcoleNormale", ["école", "normale", "écolenormale"]),
        ("cafe\u0301", ["café"]),  # typed as a letter and an accent
        ("ﬁle ｆｕｌｌ", ["file", "full"]),  # the very characters are the point
        ("“quoted”—dash", ["quoted", "dash"]),
        ("ПоискФайла", ["поиск", "файла", "поискфайла"]),
        ("हिन्दी", ["हिन्दी"]),
        ("用户登录 登", ["用户", "户登", "登录", "登"]),
        ("user用户ID", ["user", "用户", "id"]),
        ("a\ud800b", ["a", "b"]),
        ("a\0b", ["a", "b"]),
    ],
)
def test_a_text_is_cut_into_these_tokens(text: str, expected: list[str]) -> None:
    assert tokenize(text) == expected


@given(st.text())
def test_tokens_are_lower_case_and_hold_no_separators(text: str) -> None:
    assert all(token and token == token.lower() and not set(token) & set(" ./\t\n") for token in tokenize(text))


@given(st.text(), st.text())
def test_a_separator_cuts_every_text(first: str, second: str) -> None:
    assert tokenize(f"{first}\n{second}") == tokenize(first) + tokenize(second)


@given(st.from_regex(r"[A-Za-z0-9_]+", fullmatch=True))
def test_a_letter_that_is_not_ascii_is_cut_like_one_that_is(word: str) -> None:
    assert tokenize(f"{word}é") == [token[:-1] + "é" if token.endswith("~") else token for token in _marked(word)]


def _marked(word: str) -> list[str]:
    """The tokens of the word with an e at its end, which the last piece and the whole end with: that e as a ~."""
    found = tokenize(f"{word}e")
    ends = {len(found) - 1, len(found) - 2} if len(found) > 1 else {0}
    return [f"{token[:-1]}~" if place in ends else token for place, token in enumerate(found)]
